"""When a question is about: every kind of expression with its exact window, and what only looks like one."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import assert_quick

from memory_butler.english.time.expressions import _pattern
from memory_butler.english.time.question_expressions import EDGE_CHARACTERS
from memory_butler.english.time.question_times import (
    TimeHint,
    closeness,
    find_time_hint,
    with_anchor,
    without_time_words,
)
from memory_butler.english.time.windows import AFTERWARDS, Window

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)  # a Sunday
DAY = timedelta(days=1)

EXPRESSIONS = [
    ("What did I cook yesterday?", "2026-02-28 .. 2026-03-01"),
    ("What did I eat today?", "2026-03-01 .. 2026-03-02"),
    ("Where was I the day before yesterday?", "2026-02-27 .. 2026-02-28"),
    ("What did we discuss last night?", "2026-02-28 .. 2026-03-01"),
    ("What did I note this morning?", "2026-03-01 .. 2026-03-02"),
    ("What do I have planned tomorrow?", "2026-03-02 .. 2026-03-03"),
    ("What gardening did I do two weeks ago?", "2026-02-12 .. 2026-02-19"),
    ("What did Anna tell me 3 days ago?", "2026-02-26 .. 2026-02-27"),
    ("What charity event did I take part in a month ago?", "2026-01-17 .. 2026-02-17"),
    ("Where did Caroline move from 4 years ago?", "2021-08-31 .. 2022-08-31"),
    ("What did I fix a couple of weeks ago?", "2026-02-12 .. 2026-02-19"),
    ("What did I say 3 hours ago?", "2026-03-01 05:30 .. 2026-03-01 06:30"),
    ("How much did I jog last week?", "2026-02-16 .. 2026-02-23"),
    ("Which shoes did I clean last month?", "2026-02-01 .. 2026-03-01"),
    ("Where did we travel last year?", "2025-01-01 .. 2026-01-01"),
    ("What did I decide this week?", "2026-02-23 .. 2026-03-02"),
    ("What have I spent this month?", "2026-03-01 .. 2026-04-01"),
    ("What is due next week?", "2026-03-02 .. 2026-03-09"),
    ("What did I buy in the past three months?", "2025-12-01 .. 2026-03-02"),
    ("How many plants did I get in the last month?", "2026-01-30 .. 2026-03-02"),
    ("What have I read in the last few months?", "2025-10-17 .. 2026-03-02"),
    ("What did I watch over the past week?", "2026-02-22 .. 2026-03-02"),
    ("Who came to the party last Saturday?", "2026-02-28 .. 2026-03-01"),
    ("What time did I reach the clinic on Monday?", "2026-02-23 .. 2026-02-24"),
    ("What is on this Friday?", "2026-02-27 .. 2026-02-28"),
    ("What did I do last Sunday?", "2026-02-22 .. 2026-02-23"),
    ("Where did we hike last weekend?", "2026-02-21 .. 2026-02-23"),
    ("What did I do over the weekend?", "2026-02-28 .. 2026-03-02"),
    ("What did John host in May 2023?", "2023-05-01 .. 2023-06-01"),
    ("what did i do in may?", "2025-05-01 .. 2025-06-01"),
    ("When did Melanie go camping in June?", "2025-06-01 .. 2025-07-01"),
    ("What kind of deal did John get in December?", "2025-12-01 .. 2026-01-01"),
    ("What did I do last March?", "2025-03-01 .. 2025-04-01"),
    ("What did I do in March?", "2026-03-01 .. 2026-04-01"),
    ("What happened last May?", "2025-05-01 .. 2025-06-01"),
    ("What trip is planned next May?", "2026-05-01 .. 2026-06-01"),
    ("What did Gina find on 1 February, 2023?", "2023-02-01 .. 2023-02-02"),
    ("What did Nate make on October 9, 2022?", "2022-10-09 .. 2022-10-10"),
    ("Where was the picture shared on December 1,2023 taken?", "2023-12-01 .. 2023-12-02"),
    ("What did they say on the 8th of December?", "2025-12-08 .. 2025-12-09"),
    ("What did they give him when they met on Aug 15th?", "2025-08-15 .. 2025-08-16"),
    ("What did I do on Feb 29?", "2024-02-29 .. 2024-03-01"),
    ("What happened on 2023-05-08?", "2023-05-08 .. 2023-05-09"),
    ("What did I log in 2023-05?", "2023-05-01 .. 2023-06-01"),
    ("What happened on 22.07.2025?", "2025-07-22 .. 2025-07-23"),
    ("What happened on 08/05/2023?", "2023-08-05 .. 2023-08-06 or 2023-05-08 .. 2023-05-09"),
    ("What happened on 7/22?", "2025-07-22 .. 2025-07-23"),
    ("How often did she go to the beach in 2023?", "2023-01-01 .. 2024-01-01"),
    ("What did I believe in the 1990s?", "1990-01-01 .. 2000-01-01"),
    ("What did we do last spring?", "2025-03-01 .. 2025-06-01"),
    ("What state did Joanna visit in summer 2021?", "2021-06-01 .. 2021-09-01"),
    ("Where were we in the summer of 2022?", "2022-06-01 .. 2022-09-01"),
    ("Where did I ski in the winter of 2021?", "2020-12-01 .. 2021-03-01 or 2021-12-01 .. 2022-03-01"),
    ("What did I study in the fall?", "2025-09-01 .. 2025-12-01"),
    ("What did I get last Christmas?", "2025-12-24 .. 2025-12-27"),
    ("Who came at Easter 2024?", "2024-03-29 .. 2024-04-02"),
    ("What did we cook over Thanksgiving?", "2025-11-27 .. 2025-12-01"),
    ("What did I promise on New Year's Eve?", "2025-12-31 .. 2026-01-01"),
    ("What did we ship in Q3 2023?", "2023-07-01 .. 2023-10-01"),
    ("Which tournament did Nate win in the beginning of November 2022?", "2022-11-01 .. 2022-11-11"),
    ("Was the first half of September 2022 a good month?", "2022-09-01 .. 2022-09-16"),
    ("Which country was Tim visiting in the second week of November?", "2025-11-08 .. 2025-11-15"),
    ("What did I plan in mid-July?", "2025-07-11 .. 2025-07-21"),
    ("What was decided in early 2023?", "2023-01-01 .. 2023-05-02"),
    ("What did I do in late August 2024?", "2024-08-21 .. 2024-09-01"),
    ("What did I do in the week of May 10, 2023?", "2023-05-08 .. 2023-05-15"),
    ("Where did we go between March and June?", "2025-03-01 .. 2025-07-01"),
    ("Where was John between August 11 and August 15 2023?", "2023-08-11 .. 2023-08-16"),
    ("Where was John between August 11 and 15, 2023?", "2023-08-11 .. 2023-08-16"),
    ("What did I read from March to June 2023?", "2023-03-01 .. 2023-07-01"),
    ("Where did I live from 2019 to 2021?", "2019-01-01 .. 2022-01-01"),
    ("Where were we from 3 to 10 July 2025?", "2025-07-03 .. 2025-07-11"),
    ("What have I learned since January?", "2026-01-01 .. -"),
    ("What did I do before May 2023?", "- .. 2023-05-01"),
    ("How many tournaments has Nate won by July 10, 2022?", "- .. 2022-07-11"),
    ("What changed after 2020?", "2021-01-01 .. -"),
    ("What did I use until last summer?", "- .. 2025-09-01"),
    (
        "What did Maria get two weeks before August 11, 2023?",
        "2023-07-25 .. 2023-08-01 or 2023-08-11 .. 2023-08-12",
    ),
    ("What did John do the week before August 3, 2023?", "2023-07-27 .. 2023-08-03 or 2023-08-03 .. 2023-08-04"),
    ("What was shown on the Sunday before October 25, 2022?", "2022-10-23 .. 2022-10-24 or 2022-10-25 .. 2022-10-26"),
    ("Where did we go in May last year?", "2025-05-01 .. 2025-06-01"),
    ("What was Tim's issue last week, as mentioned on November 6, 2023?", "2023-11-06 .. 2023-11-07"),
    ("What did I do in May 2023 or in June 2024?", "2023-05-01 .. 2023-06-01 or 2024-06-01 .. 2024-07-01"),
    ("What did I do in 2022, on 3 June 2022?", "2022-06-03 .. 2022-06-04"),
]

FALSE_FRIENDS = [
    "May I ask what you may know about me?",
    "What may have caused the outage?",
    "The state I was in may have been the reason, was it?",
    "What did I march for?",
    "Did we march 5 miles?",
    "From 3 to 5 may help, did it?",
    "What did April say about the trip?",
    "Which gift did I get from June?",
    "Who was it painted by, by April?",
    "Did Jan 5 times call me?",
    "When did June's mother visit?",
    "Is the March 15th issue on my desk?",
    "Give me a second, did I get a second opinion?",
    "Did I finish in 5 minutes of work?",
    "Which one did I like?",
    "Did I get sun burnt? I sat down in the sun",
    "Did I move to Python 3.11 or was it 3.12?",
    "What are my top 10 books?",
    "Did we meet at 2?",
    "Did I spend 2000 dollars on it?",
    "Did it sell in 2000 pieces?",
    "Was it finished in 2024 words?",
    "Did I pay $2023 for the sofa?",
    "Which room was I in, room 2024?",
    "Did error 2023 occur in v2023.05.08-rc1?",
    "When did Caroline go to the support group?",
    "How many days ago did I buy a smoker?",
    "How long ago was my birthday?",
    "When was the last time I sold cakes?",
    "What did I pack for my 5-day trip?",
    "Where did I go on a week-long trip?",
    "What time do I wake up on Saturday mornings?",
    "What time do I wake up on Fridays?",
    "Which class do I take every Monday?",
    "Is the shop open on Monday?",
    "What do they love during Thanksgiving?",
    "What does she want for Christmas?",
    "Did I hang the lights on the Christmas tree?",
    "What did I configure in Spring Boot?",
    "How did he get hurt during the fall?",
    "Did I attend the 'Summer Nights' festival?",
    "What do I eat in winter?",
    "Is support available 24/7, as it was on 24/7?",
    "Did I win on 3/4 of the days?",
    "Can you recommend a film to watch tonight?",
    "I'm planning my meal prep next week, any suggestions?",
    "What should I cook this weekend?",
    "I'm planning a trip on May 15th, what was it that I need?",
    "Have I been going after my goals?",
    "Have I made kimchi before from a recipe?",
    "Did I fix bug #2023 and issue 2023/05?",
    "Was the answer 31 February 2023?",
    "I look after my mother, what did I name her cat, named after a king?",
    "After all, what did I say?",
    "After how many weeks did we meet?",
    "How many days before the party did I order the gift?",
    "Since I'm a vegetarian, what can I eat?",
    "What did I pack, since I tend to travel light?",
    "What do I drink after work?",
    "What did he do day after day?",
    "",
    "?",
]

EVENTS = [
    ("What did we decide after May left?", "after", "May left"),
    ("Where did I live before the move?", "before", "the move"),
    ("How did Melanie feel after the accident?", "after", "the accident"),
    ("What have I bought since I changed jobs?", "after", "I changed jobs"),
    ("Since the wedding, what did we argue about?", "after", "the wedding"),
    ("Which city was John in before traveling to Chicago?", "before", "traveling to Chicago"),
    ("What did I smoke until the baby came?", "before", "the baby came"),
    ("What did I eat prior to the surgery when I was ill?", "before", "the surgery"),
]


def spelt(moment: datetime | None) -> str:
    return "-" if moment is None else moment.isoformat(" ")[:16].removesuffix(" 00:00")


def read(query: str, now: datetime = NOW) -> TimeHint:
    hint = find_time_hint(query, now)
    assert hint is not None
    return hint


@pytest.mark.parametrize(("query", "windows"), EXPRESSIONS)
def test_an_expression_opens_its_window(query: str, windows: str) -> None:
    """Each expression gives exactly the window, or the alternatives, that a person would mean on 1 March 2026."""
    found = [f"{spelt(window.start)} .. {spelt(window.end)}" for window in read(query).windows]
    assert " or ".join(found) == windows


@pytest.mark.parametrize("query", FALSE_FRIENDS)
def test_what_only_looks_like_a_time_gives_no_hint(query: str) -> None:
    """Verbs, friends called June, prices, versions, habits and wishes for advice are no moments."""
    assert find_time_hint(query, NOW) is None


@pytest.mark.parametrize(("query", "direction", "anchor"), EVENTS)
def test_an_event_gives_a_direction_and_an_anchor(query: str, direction: str, anchor: str) -> None:
    """Without a date there is no window yet, but the words to find the event by."""
    hint = read(query)
    assert (hint.direction, hint.anchor, hint.windows) == (direction, anchor, ())
    assert closeness(hint, NOW) == 0


def test_a_known_anchor_settles_the_window() -> None:
    """Before is everything up to the end of the anchor's day, after everything from its beginning on."""
    moved = datetime(2024, 6, 10, 15, tzinfo=UTC)
    before = with_anchor(read("Where did I live before the move?"), moved)
    after = with_anchor(read("What did I buy after the move?"), moved)
    years = 400 * DAY
    assert [closeness(before, moved + days) for days in (-years, timedelta(0))] == [1, 1]
    assert [closeness(after, moved + days) for days in (timedelta(0), years)] == [1, 1]
    assert closeness(before, moved + years) < 0.01 > closeness(after, moved - years)
    dated = read("What did I do in May 2023?")
    assert with_anchor(dated, moved) == dated


def test_a_hint_says_whether_it_hangs_on_the_clock() -> None:
    """What is written out holds on any day; "in May" and "last week" are counted from the clock."""
    queries = (
        "What did I do in May 2023?",
        "What did I do in May?",
        "What did I do in May last year?",
        "What is due next week?",
    )
    assert [read(query).relative for query in queries] == [False, True, True, True]
    assert [read(query).ahead for query in queries] == [False, False, False, True]


def test_the_words_of_time_can_be_taken_out() -> None:
    """What is left is what the question is about; the words of an anchor stay."""
    for query, rest in (
        ("What did Gina find on 1 February, 2023 for her store?", "What did Gina find for her store?"),
        ("Where did we go between March and June 2023?", "Where did we go?"),
        ("What did we eat before the move?", "What did we eat the move?"),
    ):
        assert without_time_words(query, read(query)) == rest


def test_windows_follow_the_clock_and_its_zone() -> None:
    """Yesterday is the day before the request's own day, wherever the machine stands."""
    tokyo = timezone(timedelta(hours=9))
    late = datetime(2026, 3, 1, 20, tzinfo=UTC)
    assert read("What did I do yesterday?", late).windows[0].start == datetime(2026, 2, 28, tzinfo=UTC)
    assert read("What did I do yesterday?", late.astimezone(tokyo)).windows[0].start == datetime(
        2026, 3, 1, tzinfo=tokyo
    )


def test_closeness_is_one_inside_and_halves_with_each_softness_outside() -> None:
    """The window is half-open, as soft as half its width, and time after it counts half as much as time before."""
    start, end = datetime(2023, 5, 1, tzinfo=UTC), datetime(2023, 6, 1, tzinfo=UTC)
    hint = read("What did I do in May 2023?")
    soft = (end - start) / 2
    assert closeness(hint, start) == closeness(hint, end - timedelta(microseconds=1)) == 1
    assert closeness(hint, start - soft) == pytest.approx(0.5)
    assert closeness(hint, end + soft / AFTERWARDS) == pytest.approx(0.5)
    assert closeness(hint, start - 40 * soft) < 1e-9


def test_the_nearest_of_several_windows_counts() -> None:
    """Alternatives do not get in each other's way."""
    hint = read("What did I do in May 2023 or in June 2024?")
    assert closeness(hint, datetime(2024, 6, 5, tzinfo=UTC)) == closeness(hint, datetime(2023, 5, 5, tzinfo=UTC)) == 1


def test_only_the_edges_of_a_long_text_are_read() -> None:
    """Dates in the middle of what is pasted say nothing about the question, and reading takes no longer for them."""
    filler = "lorem ipsum " * EDGE_CHARACTERS
    assert find_time_hint(f"{filler} in May 2023 {filler}", NOW) is None
    assert read(f"{filler} What did I do in May 2023?").windows == read("What did I do in May 2023?").windows
    assert read(f"In May 2023 I wrote: {filler}").words == ((0, 11),)
    assert_quick(lambda: find_time_hint("in May 2023 before the " * 40_000, NOW), 0.5)


def test_a_text_full_of_dates_gives_no_hint() -> None:
    """A list of dates is not a question about one of them."""
    assert find_time_hint("I was there in 2019, in 2020, in 2021, in 2022 and in 2023.", NOW) is None


def test_many_threads_read_alike() -> None:
    """The pattern is shared by threads that start with it at the same moment, and answers each the same."""
    queries = [query for query, _ in EXPRESSIONS] * 3
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda query: find_time_hint(query, NOW + 7 * DAY), queries))
    assert together == [find_time_hint(query, NOW + 7 * DAY) for query in queries]


def test_the_pattern_is_compiled_for_the_first_question_with_a_time() -> None:
    """It takes 10 milliseconds, and only a question with a date in it waits for that."""
    _pattern.cache_clear()
    find_time_hint("Where do I live?", NOW)
    assert _pattern.cache_info().currsize == 0
    find_time_hint("What did I do in May 2023?", NOW)
    assert _pattern.cache_info().currsize == 1


VOCABULARY = (
    "in on since before after between and last next this the of a two 31 5 12 2023 1999 2099 May march June sun spring "
    "winter Christmas Easter week weekend month year days ago early mid- late Monday yesterday , ? q3 's 24/7 "
    "00/00/2023 99.99.2023 2023-12-31 0 999 years February 29 30 first half week of couple few past from to until"
)
WORDS = st.sampled_from(VOCABULARY.split())
TEXTS = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=14).map(" ".join))
CLOCKS = st.integers(-20_000, 40_000).map(lambda days: NOW + days * DAY)


@given(TEXTS, CLOCKS)
def test_any_text_is_read_the_same_way_twice(text: str, now: datetime) -> None:
    """Reading never raises and depends on nothing but text and clock; windows are not empty, words lie in the text."""
    hint = find_time_hint(text, now)
    assert hint == find_time_hint(text, now)
    if hint is None:
        return
    assert bool(hint.windows) != bool(hint.anchor)
    assert all(window.start is None or window.end is None or window.start < window.end for window in hint.windows)
    assert all(window.softness > timedelta(0) for window in hint.windows)
    ends = [place for span in hint.words for place in span]
    assert ends == sorted(ends)
    assert 0 <= ends[0] < ends[-1] <= len(text)
    assert len(without_time_words(text, hint)) < len(text)


@given(st.integers(1, 4000), st.integers(1, 900), st.integers(-9000, 9000), st.integers(-9000, 9000))
def test_closeness_only_falls_on_the_way_out(width: int, softness: int, one: int, other: int) -> None:
    """Always in [0, 1], 1 inside and only there, and of two moments on one side the farther is never closer."""
    hint = TimeHint(windows=(Window(NOW, NOW + width * DAY, softness * DAY),), words=())
    near, far = closeness(hint, NOW + one * DAY), closeness(hint, NOW + other * DAY)
    assert 0 <= near <= 1
    if one != width:
        assert (near == 1) == (0 <= one < width)
    if other <= one < 0 or width <= one <= other:
        assert near >= far
