"""When: words of time against the day of the episode, a Wednesday."""

from datetime import UTC, date, datetime

import pytest

from memory_butler.english.extraction import distil
from memory_butler.english.time.event_dates import find_event_date
from memory_butler.english.time.periods import Direction

WEDNESDAY = datetime(2026, 3, 4, 10, tzinfo=UTC)

AHEAD = {
    "tomorrow": date(2026, 3, 5),
    "the day after tomorrow": date(2026, 3, 6),
    "on Friday": date(2026, 3, 6),
    "this Friday": date(2026, 3, 6),
    "next Friday": date(2026, 3, 13),
    "on Wednesday": date(2026, 3, 11),
    "in two weeks": date(2026, 3, 18),
    "in 10 days": date(2026, 3, 14),
    "in a month": date(2026, 4, 4),
    "on the 14th": date(2026, 3, 14),
    "on the 2nd": date(2026, 4, 2),
    "on 3 February": date(2027, 2, 3),
    "on March 20": date(2026, 3, 20),
    "on 2026-05-19": date(2026, 5, 19),
    "on 12/31/2026": date(2026, 12, 31),
    "on 19.5.2026": date(2026, 5, 19),
    "next month": date(2026, 4, 1),
    "next weekend": date(2026, 3, 14),
    "in June": date(2026, 6, 1),
    "by the end of May": date(2026, 5, 31),
    "a week from Friday": date(2026, 3, 13),
    "from 3 to 10 August": date(2026, 8, 3),
}
BEHIND = {
    "yesterday": date(2026, 3, 3),
    "the day before yesterday": date(2026, 3, 2),
    "last night": date(2026, 3, 3),
    "last Friday": date(2026, 2, 27),
    "on Monday": date(2026, 3, 2),
    "three days ago": date(2026, 3, 1),
    "a week ago": date(2026, 2, 25),
    "two months ago": date(2026, 1, 4),
    "on 12 April": date(2025, 4, 12),
    "last month": date(2026, 2, 1),
    "last weekend": date(2026, 2, 28),
    "last summer": date(2025, 6, 1),
    "in 2011": date(2011, 1, 1),
}


@pytest.mark.parametrize(
    ("words", "direction", "day"),
    [(words, "future", day) for words, day in AHEAD.items()] + [(words, "past", day) for words, day in BEHIND.items()],
)
def test_words_of_time_name_a_day(words: str, direction: Direction, day: date) -> None:
    """Forward for what is to come, back for what has been."""
    found = find_event_date(f"we meet {words}", WEDNESDAY, direction)
    assert found is not None and found.day == datetime(day.year, day.month, day.day, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["I may go", "June is nice", "room 2000", "version 3.14", "on 31 February", "the 2nd floor"]
)
def test_other_words_name_none(text: str) -> None:
    """A verb, a friend, a number, a day that no calendar has."""
    assert find_event_date(text, WEDNESDAY, "future") is None


@pytest.mark.parametrize(
    ("sentence", "predicate", "content", "day"),
    [
        ("I'm flying to Tokyo on 12 April.", "plan:flying_tokyo", "flying to Tokyo", date(2026, 4, 12)),
        (
            "I have a dentist appointment on March 20.",
            "event:dentist_appointment",
            "a dentist appointment",
            date(2026, 3, 20),
        ),
        ("My visa interview is in 10 days.", "event:visa_interview", "visa interview", date(2026, 3, 14)),
        ("The report is due tomorrow.", "deadline:report", "report", date(2026, 3, 5)),
        ("I need to submit my essay by Friday.", "deadline:submit_essay", "submit their essay", date(2026, 3, 6)),
        ("Yesterday I ran a marathon.", "event:ran_marathon", "ran a marathon", date(2026, 3, 3)),
        ("I sprained my ankle yesterday.", "health:ankle", "sprained their ankle", date(2026, 3, 3)),
        (
            "Review call with Hanneke next Monday.",
            "event:review_call_hanneke",
            "Review call with Hanneke",
            date(2026, 3, 9),
        ),
        ("Remember to water the plants on Friday.", "plan:water_plants", "water the plants", date(2026, 3, 6)),
        ("I've booked a table for 14 June.", "event:booked_table", "booked a table", date(2026, 6, 14)),
        (
            'I attended their guided tour of "The Evolution of Abstract Expressionism" today, led by Dr. Patel.',
            "event:attended_guided_tour",
            "attended their guided tour",
            date(2026, 3, 4),
        ),
        (
            'I participated in a webinar on "Data Analysis using Python" two months ago.',
            "event:participated_webinar",
            "participated in a webinar",
            date(2026, 1, 4),
        ),
    ],
)
def test_dated_things_are_events(sentence: str, predicate: str, content: str, day: date) -> None:
    """They carry their day, at midnight UTC, and the words of time leave the content."""
    (found,) = distil(sentence, WEDNESDAY)
    assert (found.predicate, found.content) == (predicate, content)
    assert found.valid_at == datetime(day.year, day.month, day.day, tzinfo=UTC)


def test_the_past_year_names_no_day() -> None:
    """It is a length of time: the plan keeps the words and gets no date."""
    (found,) = distil("I'm trying to organize my calendar for the past year.", WEDNESDAY)
    assert (found.content, found.valid_at) == ("organize their calendar for the past year", None)


@pytest.mark.parametrize("gap", [1, 16, 17, 100])
def test_the_preposition_before_a_gap_belongs_to_the_date(gap: int) -> None:
    """Blanked-out quotations leave gaps of any width."""
    found = find_event_date(f"a talk on{' ' * gap}the 2nd of March", WEDNESDAY, "past")
    assert found is not None and (found.start, found.lead) == (7, "on")


def test_the_day_of_the_episode_decides() -> None:
    """The same words on another day mean another day: no clock is asked."""
    (found,) = distil("I'm flying to Tokyo tomorrow.", datetime(2019, 12, 31, 23, tzinfo=UTC))
    assert found.valid_at == datetime(2020, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "sentence",
    [
        "My dentist appointment is no longer on Thursday.",
        "Actually, my dentist appointment is no longer on Thursday, it is on Friday.",
        "My dentist appointment isn't on Thursday, it's on Friday.",
        "The meeting with Anna is not tomorrow.",
        "The launch isn't next Friday anymore.",
        "My visa interview isn't until 3 December.",
        "My exam is never on a Monday.",
        "My exam is not hard but on Monday I will be tired.",
        "The meeting is not in Berlin but on Thursday we decide.",
    ],
)
def test_a_day_that_does_not_hold_is_no_event(sentence: str) -> None:
    """Better nothing than the very day that is denied."""
    assert distil(sentence, WEDNESDAY) == []


@pytest.mark.parametrize(
    ("sentence", "day"),
    [
        ("My dentist appointment is not on Thursday but on Friday.", date(2026, 3, 6)),
        ("My dentist appointment is on Friday, not on Thursday.", date(2026, 3, 6)),
        ("My dentist appointment moved from Thursday to Friday.", date(2026, 3, 6)),
        ("My dentist appointment was moved from Thursday to Friday.", date(2026, 3, 6)),
        ("My dentist appointment was postponed to 3 February.", date(2027, 2, 3)),
        ("My dentist appointment is from Thursday to Friday.", date(2026, 3, 5)),
    ],
)
def test_the_day_that_takes_its_place_counts(sentence: str, day: date) -> None:
    """What is moved is moved to a day to come."""
    (found,) = distil(sentence, WEDNESDAY)
    assert (found.predicate, found.content) == ("event:dentist_appointment", "dentist appointment")
    assert found.valid_at == datetime(day.year, day.month, day.day, tzinfo=UTC)
