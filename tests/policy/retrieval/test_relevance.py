"""How well a candidate answers a question."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.models import Hit, MemoryType
from memory_butler.policy.retrieval.question import ParsedQuestion, parse_question
from memory_butler.policy.retrieval.relevance import (
    WEIGHTS,
    Signals,
    knows_rare_term,
    level_of,
    penalty_of,
    rarity_of,
    relevance,
    signals_of,
    vote,
)

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
MakeHit = Callable[..., Hit]
PLAIN = parse_question("where is the key", NOW)

votes = st.floats(-50, 50)
shares = st.floats(0, 1)
hits_given = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(MemoryType),
            "similarity": st.one_of(st.none(), st.floats(-1, 1)),
            "word_score": st.floats(0, 20),
            "word_coverage": shares,
            "is_named": st.booleans(),
            "context_word_score": st.floats(0, 20),
            "has_context": st.booleans(),
            "session_id": st.sampled_from([None, "one", "two"]),
            "content": st.sampled_from(["Anna: Shall we?", "Ben: On Monday.", "two cats", "", "the move was hard"]),
        }
    ),
    min_size=1,
    max_size=12,
)
ASKED = (
    "When did Anna call?",
    "how many cats",
    "what happened before the move?",
    "in May 2023",
    "last week",
    "how to go",
)
questions = st.sampled_from([parse_question(text, NOW) for text in ASKED])


def made(make_hit: MakeHit, given: list[dict[str, Any]]) -> list[Hit]:
    return [make_hit(n, **each) for n, each in enumerate(given, start=1)]


def only(make_hit: MakeHit, parsed: ParsedQuestion = PLAIN, **given: Any) -> Signals:
    return signals_of([make_hit(1, **given)], parsed)[0]


@given(given=hits_given, parsed=questions, seed=st.integers(0, 100))
def test_the_same_candidates_in_any_order_get_the_same_votes(
    make_hit: MakeHit, given: list[dict[str, Any]], parsed: ParsedQuestion, seed: int
) -> None:
    """A vote depends on the candidate and on who else there is, not on the order in which the database gave them."""
    hits = made(make_hit, given)
    mixed = random.Random(seed).sample(hits, len(hits))
    votes = {hit.id: vote(signals) for hit, signals in zip(hits, signals_of(hits, parsed), strict=True)}
    assert votes == {hit.id: vote(signals) for hit, signals in zip(mixed, signals_of(mixed, parsed), strict=True)}
    assert all(math.isfinite(value) for value in votes.values())


@given(given=hits_given, parsed=questions, more=st.floats(0, 1), at=st.integers(0, 11))
def test_more_similarity_never_lowers_the_vote(
    make_hit: MakeHit, given: list[dict[str, Any]], parsed: ParsedQuestion, more: float, at: int
) -> None:
    """All else equal, what is nearer in meaning is judged no worse, though it is compared with the others.

    Without a group, that is: the match of a group is relative to the best of all.
    """
    hits = [hit._replace(session_id=None, subject_label=str(hit.id)) for hit in made(make_hit, given)]
    at %= len(hits)
    near = hits[at].similarity or 0.0
    before = [*hits[:at], hits[at]._replace(similarity=near), *hits[at + 1 :]]
    after = [*hits[:at], hits[at]._replace(similarity=min(1.0, near + more)), *hits[at + 1 :]]
    # Where a question is dated by an event, the nearest memory may become another one, and with it the date.
    if parsed.time_hint is None or parsed.time_hint.anchor is None:
        assert vote(signals_of(after, parsed)[at]) >= vote(signals_of(before, parsed)[at]) - 1e-9


@given(own=votes, best=votes, more=st.floats(0, 10), unknown=st.booleans(), memories=st.integers(0, 10**7))
def test_relevance_rises_with_the_own_vote_and_with_the_best(
    own: float, best: float, more: float, unknown: bool, memories: int
) -> None:
    """It is a share, and never falls if the candidate or the best of all is judged better."""
    parsed = replace(PLAIN, has_only_unknown_names=unknown, memory_count=memories)
    here = relevance(own, best, parsed)
    assert 0 < here <= 1
    assert relevance(own + more, best, parsed) >= here
    assert relevance(own, best + more, parsed) >= here


def test_somebody_unheard_of_and_a_large_store_lower_relevance() -> None:
    """A question about a stranger needs better matches, and in a small store each memory is the likelier one."""
    stranger, tiny = replace(PLAIN, has_only_unknown_names=True), replace(PLAIN, memory_count=5)
    for own in (0.0, 3.0, 6.0, 9.0):
        assert 0 < relevance(own, 9.0, stranger) < relevance(own, 9.0, PLAIN) <= relevance(own, 9.0, tiny) < 1


@pytest.mark.parametrize("extreme", [-1e308, -1e6, 1e6, 1e308])
def test_extreme_votes_do_not_overflow(extreme: float) -> None:
    """Whatever the numbers, it is a share and no error."""
    for odds in (relevance(extreme, 0.0, PLAIN), relevance(0.0, extreme, PLAIN)):
        assert odds == pytest.approx(0.0 if extreme < 0 else 1.0, abs=1e-9)


def test_it_works_without_vectors(make_hit: MakeHit) -> None:
    """By words alone, all are taken to be as near as candidates usually are: the words decide."""
    hits = [make_hit(n, word_score=n / 4, word_coverage=n / 4) for n in range(1, 5)]
    judged = [vote(signals) for signals in signals_of(hits, PLAIN)]
    assert judged == sorted(judged)
    assert judged[0] < judged[-1]
    assert signals_of([], PLAIN) == []


def test_weights_have_a_say_each() -> None:
    """A signal without a weight would be a signal for nothing; meaning and words speak for a candidate."""
    assert all(WEIGHTS)
    assert min(WEIGHTS.similarity, WEIGHTS.bm25, WEIGHTS.term_coverage, WEIGHTS.name_match, WEIGHTS.time_match) > 0


def test_who_is_asked_about_counts(make_hit: MakeHit) -> None:
    """Of two that are equal otherwise, the one that stands under the name is judged better."""
    hits = [make_hit(1, similarity=0.5, is_named=True), make_hit(2, similarity=0.5)]
    asked, other = signals_of(hits, PLAIN)
    assert (asked.name_match, other.name_match) == (1, 0)
    assert vote(asked) > vote(other)


@pytest.mark.parametrize(
    ("own", "source", "expected"),
    [
        ((0.2, 0.0, 0.0), None, 0.0),
        ((0.2, 0.0, 0.0), (0.5, 0.6, 0.4), 0.6),
        ((0.5, 0.6, 0.4), (0.2, 0.0, 0.0), 0.0),
        ((0.4, 0.3, 0.0), (0.4, 0.3, 0.0), 0.0),
    ],
)
def test_a_fact_is_told_by_where_it_came_from(
    make_hit: MakeHit, own: tuple[float, ...], source: tuple[float, ...] | None, expected: float
) -> None:
    """By as much as its episode matches better than itself; a worse one, or none, takes nothing away."""
    given: dict[str, Any] = dict(zip(("similarity", "word_score", "word_coverage"), own, strict=True))
    if source:
        given |= dict(zip(("context_similarity", "context_word_score", "context_word_coverage"), source, strict=True))
    assert only(make_hit, type=MemoryType.FACT, **given).source_match == pytest.approx(expected)


def test_company_is_a_session_or_a_subject(make_hit: MakeHit) -> None:
    """An episode shares the best match of its session, a fact that of its subject, a rule has its own."""
    hits = [
        make_hit(1, MemoryType.EPISODE, session_id="s", similarity=0.9, word_score=2.0),
        make_hit(2, MemoryType.EPISODE, session_id="s", similarity=0.1),
        make_hit(3, MemoryType.EPISODE, session_id="s", butler="other", similarity=0.1),
        make_hit(4, MemoryType.EPISODE, similarity=0.1),
        make_hit(5, subject_label="Anna", similarity=0.8),
        make_hit(6, subject_label="ANNA", similarity=0.1),
        make_hit(7, MemoryType.RULE, similarity=0.1),
    ]
    matches = [round(s.group_match, 6) for s in signals_of(hits, PLAIN)]
    assert matches[0] == matches[1] == 2.0
    assert matches[4] > matches[5] > matches[6]
    assert matches[2] == matches[3] == matches[6]


def test_a_kind_of_question_wants_its_kind_of_answer(make_hit: MakeHit) -> None:
    """A time where it asks when, a rule where it asks how to."""
    when = parse_question("when did they leave?", NOW)
    assert only(make_hit, when, content="They left on Monday").answer_type == 1
    assert only(make_hit, when, content="They left").answer_type == 0
    assert only(make_hit, PLAIN, content="They left on Monday").answer_type == 0
    how = parse_question("how do I deploy?", NOW)
    assert [only(make_hit, how, type=kind).preferred_type for kind in MemoryType] == [
        float(kind is MemoryType.RULE) for kind in MemoryType
    ]


def timely(make_hit: MakeHit, question: str, *given: dict[str, Any]) -> list[float]:
    hits = [make_hit(n, **each) for n, each in enumerate(given, start=1)]
    return [signals.time_match for signals in signals_of(hits, parse_question(question, NOW))]


def test_a_time_that_is_asked_for_counts(make_hit: MakeHit) -> None:
    """A fact's own time, else when it was seen or stored; inside the time asked for more than outside."""
    may = datetime(2023, 5, 10, tzinfo=UTC)
    found = timely(
        make_hit,
        "what did we do in May 2023?",
        {"valid_at": may},
        {"type": MemoryType.EPISODE, "observed_at": may},
        {"created_at": may},
        {"valid_at": may - timedelta(days=20)},
        {"valid_at": may - timedelta(days=900)},
    )
    assert found[0] == found[1] == found[2] > found[3] > found[4] >= 0
    assert timely(make_hit, "what did we do?", {"valid_at": may}, {"created_at": NOW}) == [0, 0]


def test_a_time_counted_from_now_counts_less_than_one_written_out(make_hit: MakeHit) -> None:
    """Last week is vaguer than a date, but what is from last week is still ahead of what is older."""
    given = ({"created_at": NOW - timedelta(days=7)}, {"created_at": NOW - timedelta(days=700)})
    counted, written = (
        timely(make_hit, f"what did we do {when}?", *given) for when in ("last week", "in February 2026")
    )
    assert written[0] > counted[0] > counted[1] >= 0


def test_what_is_still_to_come_is_sought_among_what_has_a_time(make_hit: MakeHit) -> None:
    """Next week is no property of when a thing was noted."""
    soon = NOW + timedelta(days=3)
    meant, noted, other = timely(make_hit, "what is on next week?", {"valid_at": soon}, {"created_at": soon}, {})
    assert meant > noted == other == 0


def test_an_event_dates_a_question(make_hit: MakeHit) -> None:
    """Before the move: what is from before the memory that speaks of the move is closer than what came after."""
    parsed = parse_question("what did Anna do before the move?", NOW)
    assert parsed.time_hint is not None
    assert parsed.time_hint.anchor is not None
    moved = make_hit(1, content="The move to Lisbon", similarity=0.9, valid_at=NOW - timedelta(days=100))
    earlier = make_hit(2, content="Sold the car", similarity=0.1, valid_at=NOW - timedelta(days=110))
    later = make_hit(3, content="Bought a bike", similarity=0.1, valid_at=NOW - timedelta(days=10))
    _, before, after = signals_of([moved, earlier, later], parsed)
    assert before.time_match > after.time_match
    assert all(s.time_match == 0 for s in signals_of([earlier, later], parsed)), "nobody speaks of the move"


def test_an_opening_is_no_turn_of_a_dialogue(make_hit: MakeHit) -> None:
    """The first of a session says what it is about, unless it is two people greeting each other."""
    first = partial(only, make_hit, type=MemoryType.EPISODE, session_id="s1")
    assert first(content="I need help with my garden.").session_start == 1
    assert first(content="Anna: Hi Ben!").session_start == 0


@pytest.mark.parametrize(("having", "memories", "rarity"), [(1, 1, 1.0), (1, 1000, 1.0), (1000, 1000, 0.0)])
def test_a_term_of_one_memory_is_rare_and_one_of_all_is_common(having: int, memories: int, rarity: float) -> None:
    """The unit is a term that only one memory has."""
    assert rarity_of(having, memories) == pytest.approx(rarity, abs=0.01)


@given(memories=st.integers(2, 10**6), having=st.integers(1, 10**6))
def test_rarity_falls_with_every_memory_that_has_the_term(memories: int, having: int) -> None:
    """It is a share for any store."""
    having = min(having, memories - 1)
    assert 0 < rarity_of(having + 1, memories) < rarity_of(having, memories) <= 1


def test_a_rare_name_or_number_is_evidence(make_hit: MakeHit) -> None:
    """The only memory of a name, and the only one that says a number, stand out; a name of half the store does not."""
    parsed = replace(PLAIN, exact_terms=("inc-4711",), memory_count=100)
    hits = [
        make_hit(1, name_rarity=1.0),
        make_hit(2, content="Closed INC-4711 today."),
        make_hit(3, content="Closed INC-47110 today."),
        make_hit(4, name_rarity=0.2),
    ]
    exact = [signals.exact_match for signals in signals_of(hits, parsed)]
    assert exact == [1.0, 1.0, 0.0, 0.0]


def test_the_turn_before_says_what_a_turn_is_about(make_hit: MakeHit) -> None:
    """A turn of a dialogue gains from better turns around it, from those before it most; a note does not."""

    def turns(label: str) -> list[float]:
        asked = make_hit(1, MemoryType.EPISODE, content=f"{label}Did you get the kiln?", similarity=0.8)
        reply = make_hit(2, MemoryType.EPISODE, content=f"{label}Yes, on Friday.", similarity=0.1, context_id=asked.id)
        later = make_hit(3, MemoryType.EPISODE, content=f"{label}Great.", similarity=0.1, context_id=reply.id)
        return [signals.turn_match for signals in signals_of([asked, reply, later], PLAIN)]

    assert turns("Anna: ") == pytest.approx([0.0, 0.7, 0.42])
    assert turns("") == [0.0, 0.0, 0.0]


def test_a_rare_term_halves_the_deduction_for_unknown_names(make_hit: MakeHit) -> None:
    """One unknown name does not hide what else the question names exactly."""
    unknown = replace(PLAIN, has_only_unknown_names=True)
    assert penalty_of(PLAIN) == 0 < penalty_of(replace(unknown, has_rare_term=True)) < penalty_of(unknown)
    asked = replace(PLAIN, exact_terms=("4711",), possible_new_names=("vladimir", "kestrel"), memory_count=100)
    assert knows_rare_term([make_hit(1, content="Invoice 4711.")], asked, {"vladimir", "kestrel"})
    assert knows_rare_term([make_hit(1, content="Kestrel is an API.")], asked, {"vladimir"})
    assert not knows_rare_term([make_hit(1, content="Tea.")], asked, {"vladimir"})


def test_relevance_in_words() -> None:
    """Four levels, from weak to strong."""
    assert [level_of(share) for share in (0.0, 0.029, 0.03, 0.1, 0.3, 1.0)] == [
        "weak",
        "weak",
        "possible",
        "likely",
        "strong",
        "strong",
    ]
