"""Facts of a small store: the nearest in meaning answers, a single common word does not."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memory_butler.models import Hit, MemoryType
from memory_butler.policy.retrieval.question import ParsedQuestion, parse_question
from memory_butler.policy.retrieval.relevance import SMALL_STORE, signals_of
from memory_butler.policy.retrieval.small_stores import is_small, with_facts_by_meaning

FLOOR = 0.01
Relevances = Callable[..., list[float]]


def asked(memories: int = 26) -> ParsedQuestion:
    parsed = parse_question("how does she get around town", datetime(2026, 3, 1, tzinfo=UTC))
    return replace(parsed, memory_count=memories)


@pytest.fixture
def relevances(make_hit: Callable[..., Hit]) -> Relevances:
    def found(
        similarities: Sequence[float | None],
        *,
        memories: int = 26,
        judge: float = 0.005,
        kind: MemoryType = MemoryType.FACT,
    ) -> list[float]:
        hits = [make_hit(type=kind, similarity=one) for one in similarities]
        parsed = asked(memories)
        return with_facts_by_meaning([judge] * len(hits), hits, signals_of(hits, parsed), parsed)

    return found


def test_the_nearest_fact_with_a_lead_is_relevant(relevances: Relevances) -> None:
    """Without a lead over the others, or farther away, it is not."""
    assert relevances([0.42, 0.2, 0.18, 0.15, 0.1, 0.1])[0] > FLOOR > relevances([0.42, 0.2, 0.18, 0.15, 0.1, 0.1])[1]
    assert relevances([0.28, 0.27, 0.27, 0.26, 0.26, 0.26])[0] < FLOOR
    assert relevances([0.25, 0.1, 0.1, 0.1, 0.1, 0.1])[0] < FLOOR


def test_the_nearer_the_more_relevant(relevances: Relevances) -> None:
    found = relevances([0.6, 0.5, 0.4, 0.3, 0.2, 0.1])
    assert found == sorted(found, reverse=True) and len(set(found)) == len(found)


def test_a_larger_store_takes_more(relevances: Relevances) -> None:
    """Where there are more facts, some fact is always near."""
    sizes = [relevances([0.42, 0.2, 0.18, 0.15, 0.1, 0.1], memories=size)[0] for size in (10, 26, 100, 499)]
    assert sizes[0] == sizes[1] > sizes[2] > sizes[3]


def test_a_model_may_take_more_evidence(make_hit: Callable[..., Hit]) -> None:
    hits = [make_hit(similarity=one) for one in (0.42, 0.2, 0.18, 0.15, 0.1, 0.1)]
    given = [0.005] * len(hits), hits, signals_of(hits, asked()), asked()
    assert with_facts_by_meaning(*given)[0] > with_facts_by_meaning(*given, more=0.3)[0]


def test_the_judge_is_believed_less_but_never_forgotten(relevances: Relevances) -> None:
    """A match by words alone loses some of its relevance; a strong one stays relevant."""
    weak, strong = (relevances([0.05] * 6, judge=judge)[0] for judge in (0.02, 0.2))
    assert weak < FLOOR < strong < 0.2


def test_other_types_stay_as_they_are(relevances: Relevances) -> None:
    assert relevances([0.6, 0.1], kind=MemoryType.EPISODE) == [0.005, 0.005]


def test_without_a_vector_the_judge_decides(relevances: Relevances) -> None:
    assert 0.2 > relevances([None, None], judge=0.2)[0] > relevances([None, None], judge=0.1)[0]


@pytest.mark.parametrize(("memories", "unknown", "small"), [(26, False, True), (26, True, False)])
def test_a_question_about_somebody_unknown_is_not_answered_by_meaning(
    memories: int, *, unknown: bool, small: bool
) -> None:
    assert is_small(replace(asked(memories), has_only_unknown_names=unknown)) is small
    assert not is_small(asked(SMALL_STORE))
