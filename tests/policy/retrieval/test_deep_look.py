"""The deep look changes the order within limits: it never undoes what the store knows about time."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from memory_butler.models import MemoryType, Ranked
from memory_butler.policy.retrieval.deep_look import deepened, is_about_present
from memory_butler.policy.retrieval.question import parse_question
from memory_butler.policy.retrieval.ranking import RankingRules

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
RULES = RankingRules(
    fit=1.0,
    importance=0.0,
    recency=0.0,
    confidence=0.0,
    semantic_weight=1.0,
    keyword_weight=1.0,
    recency_half_life_days=30,
)
Make = Callable[..., Ranked]


def scored(make: Make, number: int, content: str, relevance: float, *, days_ago: int = 0, **given: object) -> Ranked:
    moment = NOW - timedelta(days=days_ago)
    one = make(number, MemoryType.EPISODE, content=content, observed_at=moment, created_at=moment, **given)
    return one._replace(parts=one.parts._replace(relevance=relevance, fit=relevance, score=relevance))


def order(ranked: list[Ranked], scores: list[float], question: str) -> list[str]:
    by_id = {entry.hit.id: score for entry, score in zip(ranked, scores, strict=True)}
    return [entry.hit.content for entry in deepened(ranked, by_id, parse_question(question, NOW), RULES)]


def test_it_lifts_a_paraphrase(make_ranked: Make) -> None:
    ranked = [scored(make_ranked, 1, "The house is old.", 0.1), scored(make_ranked, 2, "The cat gets insulin.", 0.08)]
    assert order(ranked, [0.00001, 0.9], "Which pet was ill?") == ["The cat gets insulin.", "The house is old."]


def test_without_scores_nothing_changes(make_ranked: Make) -> None:
    ranked = [scored(make_ranked, 1, "one", 0.1), scored(make_ranked, 2, "two", 0.08)]
    assert deepened(ranked, {}, parse_question("Which?", NOW), RULES) == ranked


@pytest.mark.parametrize("past", ["I used to live in Porto.", "I live in Porto."])
def test_for_the_present_an_older_memory_does_not_pass_a_newer_one(make_ranked: Make, past: str) -> None:
    """The cross-encoder's real scores for these texts, the newer one preferred by the judge."""
    ranked = [
        scored(make_ranked, 1, "I moved to Lisbon last month.", 0.1, days_ago=30),
        scored(make_ranked, 2, past, 0.099, days_ago=900),
    ]
    assert order(ranked, [0.0001, 0.3], "Where do I live now?")[0] == "I moved to Lisbon last month."


def test_for_the_past_it_may(make_ranked: Make) -> None:
    ranked = [
        scored(make_ranked, 1, "I moved to Lisbon last month.", 0.1, days_ago=30),
        scored(make_ranked, 2, "I used to live in Porto.", 0.099, days_ago=900),
    ]
    assert order(ranked, [0.0001, 0.3], "Where did I live before?")[0] == "I used to live in Porto."


def test_evidence_of_a_replaced_fact_stays_behind_the_replacement(make_ranked: Make) -> None:
    new = scored(make_ranked, 1, "The user moved to Lisbon.", 0.1)
    old = scored(make_ranked, 2, "I live in Porto.", 0.09, since_changed=True, replaced_by=new.hit.id)
    assert order([new, old], [0.0001, 0.99], "Where did the user live?") == [
        "The user moved to Lisbon.",
        "I live in Porto.",
    ]


def test_unseen_candidates_stay_behind_equals(make_ranked: Make) -> None:
    seen, unseen = scored(make_ranked, 1, "seen", 0.05), scored(make_ranked, 2, "unseen", 0.05)
    found = deepened([unseen, seen], {seen.hit.id: 0.5}, parse_question("Which was it?", NOW), RULES)
    assert {entry.hit.content for entry in found} == {"seen", "unseen"}


@pytest.mark.parametrize(
    ("question", "is_present"),
    [("Where do I live now?", True), ("What is my job?", True), ("Where did I live?", False), ("When is it?", False)],
)
def test_questions_about_the_present_are_recognized(question: str, is_present: bool) -> None:
    assert is_about_present(parse_question(question, NOW)) is is_present
