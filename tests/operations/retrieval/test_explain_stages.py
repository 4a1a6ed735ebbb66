"""Explaining: what each stage of the ranking made of a memory, and at which of them it stayed behind."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from tests.ai.fake_cross_encoder import FakeCrossEncoder
from tests.support.explaining import (
    LONG_AGO,
    configured,
    know,
    returned,
    serve_tea,
    why,
)

from memory_butler.ai.reranking import RerankFailed
from memory_butler.models import NewRule
from memory_butler.models.explanation import Fate
from memory_butler.operations.retrieval import explain, ranked_candidates
from memory_butler.operations.retrieval.ranked_candidates import RankedCandidates
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources


@pytest.fixture
def resources(resources: Resources) -> Resources:
    """One that takes everything for relevant unless the question says otherwise: what the judge thinks may change."""
    return configured(resources, min_relevance=0.0)


# --- the two lists --------------------------------------------------------------------------------


async def test_what_is_on_neither_list_has_its_scores_compared_with_the_last(resources: Resources) -> None:
    """Its own nearness beside that of the last fact on the list, and that it has no word in common."""
    small = configured(resources, candidates=10)
    for n in range(10):
        await know(resources, f"green tea number {n}")
    other = await know(resources, "a wooden boat", subject="harbour")
    rule = await remember.rule(resources, NewRule(content="a wooden boat"))
    told = await why(small, other)
    assert told.fate is Fate.NOT_LISTED and not told.returned
    by_meaning, by_words = told.by_meaning, told.by_words
    assert by_meaning.rank is None and by_meaning.score is not None and by_meaning.last_score is not None
    assert by_meaning.score < by_meaning.last_score and by_meaning.listed == 11
    assert f"its {by_meaning.score:.3f} is not among the best 10 of its type" in told.verdict
    assert f"the last of which has {by_meaning.last_score:.3f}" in told.verdict
    assert told.verdict.endswith("by words, it has none of the words that are looked for.")
    assert (by_words.rank, by_words.score) == (None, None)
    assert (await why(small, rule, min_relevance=0)).by_meaning.rank == 11
    assert (await why(resources, other, min_relevance=0)).by_meaning.rank is not None


async def test_what_is_too_low_on_the_list_by_words_is_told_its_score(resources: Resources) -> None:
    """The score that it has, by the same measure as the scores of the list."""
    small = configured(resources, candidates=10)
    for n in range(10):
        await know(resources, f"green tea {n}")
    long = await know(resources, f"green {'and so on and on about boats ' * 20}", subject="harbour")
    told = await why(small, long, mode="keyword")
    listed = await why(resources, long, mode="keyword", min_relevance=0)
    assert (told.fate, told.by_words.rank, listed.by_words.rank) == (Fate.NOT_LISTED, None, 11)
    assert told.by_words.score == listed.by_words.score
    assert told.by_words.last_score and told.by_words.score and told.by_words.score < told.by_words.last_score
    assert "by meaning, the mode keyword compares no meanings" in told.verdict


async def test_each_mode_says_which_list_it_does_without(resources: Resources) -> None:
    """By meaning alone, a memory that only its words bring up is on no list; nor is a second look taken."""
    tea = await know(resources, "green tea")
    told = await why(resources, tea, mode="semantic")
    assert told.by_words.why == "the mode semantic looks for no words" and told.by_meaning.rank == 1
    assert told.second_look and told.second_look.why == "the mode semantic keeps the order of its list"
    assert told.second_look.method == "off"


async def test_what_no_question_can_be_compared_with_says_so(
    resources: Resources, owner: psycopg.Connection[Any], tenant: str
) -> None:
    """While its vectors are those of a model that is not here, words alone find it."""
    tea = await know(resources, "green tea")
    boat = await know(resources, "a wooden boat", subject="harbour")
    (gone,) = owner.execute(
        "INSERT INTO memory.embedding_versions"
        " (name, digest, dimensions, passage_policy, created_at, chosen_at, used_at)"
        " VALUES ('gone', %s, 384, 1, now(), now(), now()) RETURNING id",
        (tenant,),
    ).fetchone() or (0,)
    owner.execute("UPDATE memory.passages SET embedding_version = %s WHERE tenant_id = %s", (gone, tenant))
    owner.execute("UPDATE memory.embedding_counts SET embedding_version = %s WHERE tenant_id = %s", (gone, tenant))
    told = await why(resources, tea)
    assert told.by_meaning.why == "it has no vector that a question can be compared with here"
    assert told.by_words.rank == 1 and told.returned
    assert "2 of 2 memories were searched by words only: they are embedded with gone" in told.degraded[0]
    told = await why(resources, boat)
    assert told.fate is Fate.NOT_LISTED and "no vector that a question can be compared with here" in told.verdict


async def test_what_an_index_passed_over_says_so(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its score would have been enough for the list, and no filter hides it."""
    tea = await know(resources, "green tea")
    await know(resources, "green door")

    async def overlooked(*given: Any, **named: Any) -> RankedCandidates:
        found = await ranked_candidates.rank_candidates(*given, **named)
        hits = [hit for hit in found.candidates.hits if hit.id != tea.id]
        ranked = [entry for entry in found.ranked if entry.hit.id != tea.id]
        return replace(found, candidates=replace(found.candidates, hits=hits), ranked=ranked)

    monkeypatch.setattr(explain, "rank_candidates", overlooked)
    told = await why(resources, tea)
    assert told.fate is Fate.NOT_LISTED and "would do, but the index passed over it" in told.by_meaning.why


async def test_a_list_without_weight_brings_nothing_up(resources: Resources) -> None:
    """It has a place on that list and none in the answer."""
    tea = await know(resources, "green tea")
    told = await why(configured(resources, semantic_weight=0.0), tea, mode="semantic")
    assert (told.by_meaning.rank, told.fate) == (1, Fate.NOT_LISTED)
    assert told.verdict == "Not returned: the only list it is on has the weight 0."


# --- the second look ------------------------------------------------------------------------------


async def test_a_cross_encoder_gives_its_score(resources: Resources) -> None:
    """To what it looked at; what is behind stays behind and is told so."""
    tea = await know(resources, "green tea")
    door = await know(resources, "a door that is green", subject="house")
    rerank = resources.settings.retrieval.rerank.model_copy(update={"method": "cross_encoder", "candidates": 1})
    encoded = replace(configured(resources, rerank=rerank), reranker=FakeCrossEncoder())
    first, second = [await why(encoded, stored, min_relevance=0) for stored in (tea, door)]
    assert first.second_look and second.second_look
    assert (first.second_look.method, first.second_look.place) == ("cross_encoder", 1)
    assert first.second_look.cross_encoder_score is not None
    assert (second.second_look.cross_encoder_score, second.second_look.place) == (None, 2)
    assert "it is not among the best 1 of both lists" in second.second_look.why


async def test_a_second_look_that_failed_or_is_off_is_told(resources: Resources) -> None:
    """The order of both lists stands, with the reason."""
    tea = await know(resources, "green tea")
    rerank = resources.settings.retrieval.rerank

    class Broken(FakeCrossEncoder):
        async def score(self, query: str, texts: Sequence[str]) -> list[float]:
            raise RerankFailed("The model is gone.")

    encoded = configured(resources, rerank=rerank.model_copy(update={"method": "cross_encoder"}))
    told = await why(replace(encoded, reranker=Broken()), tea)
    assert told.second_look and told.second_look.method == "off"
    assert told.second_look.why == "not reranked: The model is gone." and told.returned
    assert told.degraded == ("not reranked: The model is gone.",)
    told = await why(configured(resources, rerank=rerank.model_copy(update={"method": "off"})), tea)
    assert told.second_look and "it is switched off" in told.second_look.why


# --- relevance, variety, limit --------------------------------------------------------------------


async def test_what_is_not_relevant_enough_is_told_its_relevance(resources: Resources) -> None:
    """Exactly at the limit it is returned, above its own it is not."""
    await know(resources, "green tea")
    boat = await know(resources, "a wooden boat", subject="harbour")
    gate = (await why(resources, boat, min_relevance=0)).gate
    assert gate and 0 < gate.relevance < 1
    least = round(gate.relevance + 0.000002, 6)
    told = await why(resources, boat, min_relevance=least)
    assert (told.fate, told.variety) == (Fate.IRRELEVANT, None)
    own = told.verdict.removeprefix("Not returned: its relevance ").split()[0]
    assert told.verdict == f"Not returned: its relevance {own} is below {least:g}."
    assert float(own) == pytest.approx(gate.relevance, rel=1e-3) and float(own) < least
    assert told.second_look and told.scoring
    assert (await why(resources, boat, min_relevance=gate.relevance)).returned


async def test_what_says_the_same_names_the_better_one(resources: Resources, clock: Any) -> None:
    """And the better one names it; also where neither is returned."""
    old = await serve_tea(resources)
    clock.move(hours=1)
    new = await serve_tea(resources)
    await know(resources, "green tea")
    told = await why(resources, old)
    assert (told.fate, told.verdict) == (
        Fate.REPEATED,
        f"Not returned: it says the same as episode:{new.ref}, which ranks higher.",
    )
    assert told.variety and told.variety.repeats == f"episode:{new.ref}"
    told = await why(resources, new)
    assert told.returned and told.variety and told.variety.also == (f"episode:{old.ref}",)
    assert (await why(resources, old, limit=1)).fate is Fate.REPEATED
    assert (await why(resources, new, limit=1)).fate is Fate.LIMIT


async def test_a_property_that_has_had_its_share_waits(resources: Resources) -> None:
    """Of an answer of three one property takes one place while another waits; with room for all it comes last."""
    drank = [
        await know(resources, f"green tea {n}", predicate="drank", importance=9, valid_at=LONG_AGO.replace(day=n))
        for n in range(1, 4)
    ]
    others = [await know(resources, f"a cup {word}", importance=1) for word in ("here", "there")]
    given: dict[str, Any] = {"limit": 3, "min_relevance": 0}
    told = [await why(resources, stored, **given) for stored in drank]
    assert sorted(one.fate for one in told) == [Fate.RETURNED, Fate.SHARE, Fate.SHARE]
    late = next(one for one in told if one.fate is Fate.SHARE)
    assert "other facts on 'tea · drank' took the share of an answer of 3" in late.verdict
    assert late.variety and late.variety.waited and late.place is not None and late.place <= 3
    assert all([(await why(resources, stored, **given)).returned for stored in others])
    given["limit"] = 4
    waited = [await why(resources, stored, **given) for stored in drank]
    assert [one.place for one in waited if one.variety and one.variety.waited and one.returned] == [4]


async def test_what_is_beyond_the_limit_is_told_its_place(resources: Resources) -> None:
    """The place it would have if more were asked for."""
    stored = [await know(resources, f"green tea {'leaf ' * n}{n}") for n in range(5)]
    given: dict[str, Any] = {"min_relevance": 0}
    order = await returned(resources, limit=5, **given)
    told = {one.ref: await why(resources, one, limit=2, **given) for one in stored}
    for place, ref in enumerate(order, start=1):
        assert told[ref].place == place
        assert told[ref].fate is (Fate.RETURNED if place <= 2 else Fate.LIMIT)
    assert told[order[4]].verdict == "Not returned: it is 5th, and 2 at most are returned."
