"""How a score is computed and what it orders."""

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.models import Hit, Maturity, MemoryType, Mode, Ranked
from memory_butler.policy.retrieval import ranking
from memory_butler.policy.retrieval.question import parse_question
from memory_butler.policy.retrieval.ranking import RRF_K, RankingRules, fuse

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
RULES = RankingRules(
    fit=0.4,
    importance=0.3,
    recency=0.2,
    confidence=0.1,
    semantic_weight=1.0,
    keyword_weight=1.0,
    recency_half_life_days=30,
)
FUSED = replace(RULES, with_judge=False)
ONLY_FIT = replace(RULES, fit=1.0, importance=0.0, recency=0.0, confidence=0.0)
ONLY_FUSION = replace(ONLY_FIT, with_judge=False)
ASKING = parse_question("Which tea is best?", NOW)
MakeHit = Callable[..., Hit]

# Two lists as a search gives them: not every memory is on both, and they are of different lengths.
two_lists = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-100, 100).map(lambda n: n / 100)),
        st.one_of(st.none(), st.integers(1, 300).map(lambda n: n / 10)),
    ).filter(lambda pair: pair != (None, None)),
    min_size=1,
    max_size=40,
)
weights = st.sampled_from([0.3, 0.5, 1.0, 2.0])


def candidates(make_hit: MakeHit, scores: Sequence[tuple[float | None, float | None]]) -> list[Hit]:
    return [make_hit(n, semantic_score=s, keyword_score=k) for n, (s, k) in enumerate(scores, start=1)]


def rank(hits: Sequence[Hit], mode: Mode, rules: RankingRules, now: datetime) -> list[Ranked]:
    return ranking.rank(hits, ASKING, mode, rules, now)


def fused(entry: Ranked, semantic_weight: float, keyword_weight: float) -> float:
    votes = ((entry.parts.semantic_rank, semantic_weight), (entry.parts.keyword_rank, keyword_weight))
    return sum(weight / (60 + place) for place, weight in votes if place is not None)


@given(scores=two_lists, semantic_weight=weights, keyword_weight=weights)
def test_the_fused_order_is_that_of_weighted_reciprocal_rank_fusion(
    make_hit: MakeHit,
    scores: list[tuple[float | None, float | None]],
    semantic_weight: float,
    keyword_weight: float,
) -> None:
    """Fit is larger exactly where the weighted sum of 1 / (60 + rank) is, whatever the lists' lengths."""
    rules = replace(ONLY_FUSION, semantic_weight=semantic_weight, keyword_weight=keyword_weight)
    ranked = rank(candidates(make_hit, scores), Mode.HYBRID, rules, NOW)
    by_fusion = sorted((round(fused(r, semantic_weight, keyword_weight), 9) for r in ranked), reverse=True)
    assert [round(fused(r, semantic_weight, keyword_weight), 9) for r in ranked] == pytest.approx(by_fusion, abs=2e-7)
    assert RRF_K == 60


def test_a_long_list_does_not_outvote_a_short_one(make_hit: MakeHit) -> None:
    """Second of two by words and fiftieth by meaning is above first by meaning alone, as the fusion says."""
    scores: list[tuple[float | None, float | None]] = [(1 - n / 100, None) for n in range(100)]
    scores[49] = (scores[49][0], 1.0)
    scores[99] = (scores[99][0], 2.0)
    ranked = rank(candidates(make_hit, scores), Mode.HYBRID, ONLY_FUSION, NOW)
    assert [entry.hit.id.int for entry in ranked[:3]] == [50, 100, 1]


@given(scores=two_lists)
def test_every_part_of_a_score_is_a_share(make_hit: MakeHit, scores: list[tuple[float | None, float | None]]) -> None:
    """Fit, relevance and the score itself stay between 0 and 1, with a judge and without."""
    for mode, rules in itertools.product(Mode, (RULES, FUSED)):
        for entry in rank(candidates(make_hit, scores), mode, rules, NOW):
            assert 0 <= entry.parts.fit <= 1
            assert 0 <= entry.parts.relevance <= 1
            assert 0 <= entry.parts.score <= 1


def test_fit_discriminates(make_hit: MakeHit) -> None:
    """On one list the first gets 1, the last almost nothing and the middle something between, also with no other."""
    for empty in (Mode.SEMANTIC, Mode.HYBRID):
        ranked = rank(candidates(make_hit, [(1 - n / 100, None) for n in range(100)]), empty, FUSED, NOW)
        fit = [entry.parts.fit for entry in ranked]
        assert fit[0] == 1.0
        assert fit[-1] < 0.02
        assert 0.1 < fit[50] < 0.6


def test_the_best_match_beats_an_important_stranger(make_hit: MakeHit) -> None:
    """First on both lists with middling importance is above last on one with the highest."""
    best = make_hit(1, semantic_score=0.9, keyword_score=9.0, importance=5)
    stranger = make_hit(2, semantic_score=0.1, importance=10)
    others = [make_hit(n, semantic_score=0.5, keyword_score=1.0) for n in range(3, 20)]
    ranked = rank([stranger, *others, best], Mode.HYBRID, FUSED, NOW)
    assert ranked[0].hit.id == best.id


def test_first_on_every_list_fits_best(make_hit: MakeHit) -> None:
    """Whatever the weights, nothing fits better than the first of both lists."""
    hits = candidates(make_hit, [(0.9, 5.0), (0.8, None), (None, 4.0)])
    for weight in (0.1, 1.0, 7.0):
        ranked = rank(hits, Mode.HYBRID, replace(FUSED, keyword_weight=weight), NOW)
        assert ranked[0].parts.fit == 1.0


def test_a_missing_rank_contributes_nothing(make_hit: MakeHit) -> None:
    """A memory on one list is below one at the same place on both, and says which list it is not on."""
    hits = candidates(make_hit, [(0.9, None), (0.8, 3.0), (0.7, None)])
    ranked = rank(hits, Mode.HYBRID, ONLY_FUSION, NOW)
    assert [entry.hit.id.int for entry in ranked] == [2, 1, 3]
    assert [entry.parts.keyword_rank for entry in ranked] == [1, None, None]


@pytest.mark.parametrize(("mode", "expected"), [(Mode.SEMANTIC, [1, 2]), (Mode.KEYWORD, [3, 2]), (Mode.HYBRID, None)])
def test_a_mode_uses_its_own_lists_only(make_hit: MakeHit, mode: Mode, expected: list[int] | None) -> None:
    """A memory that is on no list of the mode is not a result."""
    hits = candidates(make_hit, [(0.9, None), (0.8, 1.0), (None, 2.0)])
    ids = [entry.hit.id.int for entry in rank(hits, mode, ONLY_FUSION, NOW)]
    assert ids == expected if expected else sorted(ids) == [1, 2, 3]


def test_a_list_without_a_vote_changes_nothing(make_hit: MakeHit) -> None:
    """With weight 0 the keyword list has no say in the order."""
    hits = candidates(make_hit, [(0.9, 1.0), (0.8, 5.0), (0.7, 9.0)])
    silent = rank(hits, Mode.HYBRID, replace(ONLY_FUSION, keyword_weight=0), NOW)
    assert [entry.hit.id.int for entry in silent] == [1, 2, 3]
    only_said = make_hit(4, keyword_score=9.0)
    assert only_said not in [
        e.hit for e in rank([*hits, only_said], Mode.HYBRID, replace(FUSED, keyword_weight=0), NOW)
    ]


def test_list_weights_change_the_order(make_hit: MakeHit) -> None:
    """Best by meaning leads when meaning votes more, best by words when words do."""
    hits = candidates(make_hit, [(0.9, 1.0), (0.8, 2.0), (0.7, 3.0)])
    words = rank(hits, Mode.HYBRID, replace(ONLY_FUSION, keyword_weight=3), NOW)
    meaning = rank(hits, Mode.HYBRID, replace(ONLY_FUSION, semantic_weight=3), NOW)
    assert (words[0].hit.id.int, meaning[0].hit.id.int) == (3, 1)


PART: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "importance": ({"importance": 9}, {"importance": 2}),
    "recency": ({"last_referenced_at": NOW}, {"created_at": NOW - timedelta(days=90)}),
    "confidence": ({"confidence": 1.0}, {"confidence": 0.3}),
}


@pytest.mark.parametrize("part", PART)
def test_each_part_counts_with_its_weight(make_hit: MakeHit, part: str) -> None:
    """Alone it decides the order; without weight the other parts do."""
    more, less = PART[part]
    hits = [
        make_hit(1, semantic_score=0.5, **{"created_at": NOW - timedelta(days=90), **more}),
        make_hit(2, semantic_score=0.9, **less),
    ]
    nothing: dict[str, Any] = {"fit": 0.0, "importance": 0.0, "recency": 0.0, "confidence": 0.0}
    alone = RankingRules(**{**nothing, part: 1.0}, semantic_weight=1, keyword_weight=1, recency_half_life_days=30)
    assert [entry.hit.id.int for entry in rank(hits, Mode.HYBRID, alone, NOW)] == [1, 2]
    assert [entry.hit.id.int for entry in rank(hits, Mode.HYBRID, ONLY_FUSION, NOW)] == [2, 1]


def test_the_score_is_the_weighted_sum_of_its_parts(make_hit: MakeHit) -> None:
    """0.4 fit + 0.3 importance + 0.2 recency + 0.1 effective confidence."""
    hit = make_hit(1, semantic_score=0.5, importance=8, created_at=NOW - timedelta(days=30))
    parts = rank([hit], Mode.HYBRID, RULES, NOW)[0].parts
    assert (parts.fit, parts.importance, parts.recency) == (1.0, 0.8, 0.5)
    assert parts.effective_confidence == pytest.approx(0.786628)
    assert parts.score == pytest.approx(0.4 + 0.24 + 0.1 + 0.0786628, abs=1e-6)


def test_recency_halves_with_its_half_life_from_the_last_reference(make_hit: MakeHit) -> None:
    """Counted from the last reference, else from storing; the half-life is configurable; the future adds nothing."""
    old = NOW - timedelta(days=60)
    hits = [
        make_hit(1, semantic_score=0.1, created_at=old),
        make_hit(2, semantic_score=0.1, created_at=old, last_referenced_at=NOW - timedelta(days=30)),
        make_hit(3, semantic_score=0.1, created_at=NOW + timedelta(days=5)),
    ]
    recency = {entry.hit.id.int: entry.parts.recency for entry in rank(hits, Mode.HYBRID, RULES, NOW)}
    assert recency == {1: 0.25, 2: 0.5, 3: 1.0}
    slower = rank(hits, Mode.HYBRID, replace(RULES, recency_half_life_days=60), NOW)
    assert {entry.hit.id.int: entry.parts.recency for entry in slower}[1] == 0.5


def test_a_reference_does_not_renew_confidence(make_hit: MakeHit) -> None:
    """Only a confirmation resets decay."""
    old = NOW - timedelta(days=100)
    read = make_hit(1, semantic_score=0.1, created_at=old, last_referenced_at=NOW)
    confirmed = make_hit(2, semantic_score=0.1, created_at=old, last_confirmed_at=NOW)
    found = {e.hit.id.int: e.parts.effective_confidence for e in rank([read, confirmed], Mode.HYBRID, RULES, NOW)}
    assert found == {1: pytest.approx(0.449329), 2: 1.0}


def test_a_rules_importance_is_what_it_has_earned(make_hit: MakeHit) -> None:
    """Rules without an importance of their own are ordered by maturity, all else equal."""
    hits = [
        make_hit(n, MemoryType.RULE, semantic_score=0.5, maturity=maturity)
        for n, maturity in enumerate((Maturity.CANDIDATE, Maturity.ESTABLISHED, Maturity.PROVEN), start=1)
    ]
    rules = replace(RULES, fit=0.0, importance=0.7)
    assert [entry.hit.id.int for entry in rank(hits, Mode.HYBRID, rules, NOW)] == [3, 2, 1]


def test_ties_go_to_the_newest_then_to_the_smallest_id(make_hit: MakeHit) -> None:
    """Equal scores: created later first, and equal in that too: id ascending."""
    flat = replace(RULES, fit=0.0, importance=1.0, recency=0.0, confidence=0.0)
    older, newer = NOW - timedelta(microseconds=1), NOW
    hits = [
        make_hit(4, semantic_score=0.9, created_at=older),
        make_hit(3, semantic_score=0.1, created_at=newer),
        make_hit(2, semantic_score=0.2, created_at=older),
        make_hit(1, semantic_score=0.3, created_at=newer),
    ]
    assert [entry.hit.id.int for entry in rank(hits, Mode.HYBRID, flat, NOW)] == [1, 3, 2, 4]


@given(scores=two_lists, seed=st.integers(0, 1000))
def test_the_order_of_the_input_does_not_matter(
    make_hit: MakeHit, scores: list[tuple[float | None, float | None]], seed: int
) -> None:
    """The same candidates in any order give the same result."""
    hits = candidates(make_hit, scores)
    mixed = random.Random(seed).sample(hits, len(hits))
    assert rank(mixed, Mode.HYBRID, RULES, NOW) == rank(hits, Mode.HYBRID, RULES, NOW)


def test_scores_are_rounded_before_they_order(make_hit: MakeHit) -> None:
    """A difference beyond the sixth digit is none: the tie rule decides, so two machines agree."""
    tiny = replace(RULES, fit=0.0, importance=0.0, recency=0.0, confidence=1.0)
    hits = [
        make_hit(2, semantic_score=0.5, confidence=0.5000000001, decay_rate=0.0),
        make_hit(1, semantic_score=0.5, confidence=0.5, decay_rate=0.0),
    ]
    ranked = rank(hits, Mode.HYBRID, tiny, NOW)
    assert [entry.hit.id for entry in ranked] == [UUID(int=1), UUID(int=2)]
    assert {entry.parts.score for entry in ranked} == {0.5}


def test_nothing_in_nothing_out() -> None:
    """No candidates, no results."""
    assert rank([], Mode.HYBRID, RULES, NOW) == []


def test_importance_does_not_overrule_a_clearly_better_match(make_hit: Callable[..., Hit]) -> None:
    """In a small store too: first on both lists beats second on both lists that is three points more important."""
    best = make_hit(1, semantic_score=0.9, keyword_score=9.0, importance=5)
    other = make_hit(2, semantic_score=0.5, keyword_score=2.0, importance=8)
    third = make_hit(3, semantic_score=0.1, importance=5)
    ranked = rank([other, third, best], Mode.HYBRID, FUSED, NOW)
    assert ranked[0].hit is best
    assert ranked[1].parts.fit < 0.7


def order(ranked: Sequence[Ranked]) -> list[int]:
    return [entry.hit.id.int for entry in ranked]


def test_the_judge_decides_a_hybrid_search_and_no_other(make_hit: MakeHit) -> None:
    """Third on both lists but about the one asked for: the judge puts it first, a search by one list does not."""
    hits = [
        make_hit(1, semantic_score=0.52, similarity=0.52, keyword_score=3.0, word_score=1.0, word_coverage=0.5),
        make_hit(2, semantic_score=0.51, similarity=0.51, keyword_score=2.0, word_score=1.0, word_coverage=0.5),
        make_hit(
            3, semantic_score=0.50, similarity=0.50, keyword_score=1.0, word_score=1.0, word_coverage=0.5, is_named=True
        ),
    ]
    assert order(rank(hits, Mode.HYBRID, ONLY_FIT, NOW)) == [3, 1, 2]
    assert order(rank(hits, Mode.HYBRID, ONLY_FUSION, NOW)) == [1, 2, 3]
    for mode in (Mode.SEMANTIC, Mode.KEYWORD):
        assert order(rank(hits, mode, ONLY_FIT, NOW)) == [1, 2, 3]


def test_a_second_look_decides_the_order(make_hit: MakeHit) -> None:
    """A cross-encoder's scores come before the judge's; what it did not look at follows in the fused order."""
    hits = candidates(make_hit, [(1 - n / 100, None) for n in range(6)])
    looked = [0.1, 0.9, None, 0.5, None, None]
    ranked = ranking.rank(hits, ASKING, Mode.HYBRID, ONLY_FIT, NOW, second_look=looked)
    assert order(ranked) == [2, 4, 1, 3, 5, 6]


@given(scores=two_lists, seed=st.integers(0, 1000))
def test_a_second_look_at_nothing_is_the_fused_order(
    make_hit: MakeHit, scores: list[tuple[float | None, float | None]], seed: int
) -> None:
    """No scores at all, or scores of none of them, change nothing; scores of some lose none."""
    hits = candidates(make_hit, scores)
    nothing = ranking.rank(hits, ASKING, Mode.HYBRID, ONLY_FIT, NOW, second_look=[None] * len(hits))
    assert order(nothing) == order(rank(hits, Mode.HYBRID, ONLY_FUSION, NOW))
    dice = random.Random(seed)
    some = [dice.random() if dice.random() < 0.5 else None for _ in hits]
    ranked = ranking.rank(hits, ASKING, Mode.HYBRID, ONLY_FIT, NOW, second_look=some)
    assert sorted(order(ranked)) == sorted(order(nothing))
    seen = {hit.id.int for hit, score in zip(hits, some, strict=True) if score is not None}
    assert set(order(ranked)[: len(seen)]) == seen


def test_relevance_does_not_depend_on_who_orders(make_hit: MakeHit) -> None:
    """The judge says how likely a candidate bears on the question, whatever the order comes from."""
    hits = [
        make_hit(
            n, semantic_score=n / 10, similarity=n / 10, keyword_score=n * 1.0, word_score=n / 10, word_coverage=n / 10
        )
        for n in range(1, 8)
    ]
    by_judge = {e.hit.id: e.parts.relevance for e in rank(hits, Mode.HYBRID, RULES, NOW)}
    fused_only = {e.hit.id: e.parts.relevance for e in rank(hits, Mode.HYBRID, FUSED, NOW)}
    looked = ranking.rank(hits, ASKING, Mode.HYBRID, RULES, NOW, second_look=[0.1 * n for n in range(7)])
    assert by_judge == fused_only == {e.hit.id: e.parts.relevance for e in looked}
    assert by_judge[hits[-1].id] > by_judge[hits[0].id]


def test_only_unknown_names_make_everything_less_relevant(make_hit: MakeHit) -> None:
    """The order stays the same and every relevance is lower."""
    hits = [
        make_hit(n, semantic_score=n / 10, similarity=n / 10, word_score=n / 5, word_coverage=n / 10)
        for n in range(1, 6)
    ]
    known = rank(hits, Mode.HYBRID, RULES, NOW)
    unknown = ranking.rank(hits, replace(ASKING, has_only_unknown_names=True), Mode.HYBRID, RULES, NOW)
    assert order(known) == order(unknown)
    assert all(a.parts.relevance > b.parts.relevance for a, b in zip(known, unknown, strict=True))


def test_places_on_the_lists_are_shared_by_equals(make_hit: MakeHit) -> None:
    """Equal scores have the same place, the next one counts on; a list that a memory is not on gives it none."""
    lists = fuse(candidates(make_hit, [(0.9, None), (0.9, 2.0), (0.8, 3.0), (None, 3.0)]), Mode.HYBRID, RULES)
    assert lists.semantic == [1, 1, 3, None]
    assert lists.keyword == [None, 3, 1, 1]
    assert lists.fused == [3, 1, 1, 3]


@given(scores=two_lists)
def test_the_best_judged_fits_best_and_fit_follows_relevance(
    make_hit: MakeHit, scores: list[tuple[float | None, float | None]]
) -> None:
    """With a judge the best has a fit of 1, and of two candidates the more relevant one fits no worse."""
    hits = [
        make_hit(
            n, semantic_score=s, similarity=s, keyword_score=k, word_score=(k or 0) / 30, word_coverage=(k or 0) / 30
        )
        for n, (s, k) in enumerate(scores, start=1)
    ]
    ranked = rank(hits, Mode.HYBRID, ONLY_FIT, NOW)
    assert ranked[0].parts.fit == 1.0
    by_relevance = sorted(ranked, key=lambda entry: (-entry.parts.relevance, -entry.parts.fit))
    fits = [entry.parts.fit for entry in by_relevance]
    assert all(one >= next_one - 1e-6 for one, next_one in pairwise(fits))


def test_evidence_of_a_replaced_fact_comes_behind_its_replacement(make_hit: MakeHit) -> None:
    """However well the old text matches, the current fact comes first; what is not replaced keeps its place."""
    fact = make_hit(1, semantic_score=0.3, similarity=0.3)
    episode = {"type": MemoryType.EPISODE, "since_changed": True}
    old = make_hit(2, semantic_score=0.9, similarity=0.9, replaced_by=fact.id, **episode)
    gone = make_hit(3, semantic_score=0.8, similarity=0.8, replaced_by=make_hit(9).id, **episode)
    ranked = rank([fact, old, gone], Mode.HYBRID, ONLY_FIT, NOW)
    assert [entry.hit.id for entry in ranked] == [gone.id, fact.id, old.id]
    assert ranking.most_relevant(ranked) == ranked[1].parts.relevance
