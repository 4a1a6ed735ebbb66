"""After a change of the model, a question is compared with every memory in the version of its own vectors."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.operations.retrieval.conftest import OpenTiny

from memory_butler.models import Answer, BriefRequest, NewEpisode, NewFact, NewRule, Question
from memory_butler.models.answers import Reembedding
from memory_butler.operations.briefing import brief
from memory_butler.operations.retrieval import candidate_source, explain, ranked_candidates, search
from memory_butler.operations.retrieval.ranked_candidates import rank_candidates
from memory_butler.operations.trust import purge
from memory_butler.operations.trust.purge import PurgeRequest
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.store.retrieval import embedding_versions

TEA, TRAIN = "tea in the morning", "train at eight"


async def know(resources: Resources, content: str) -> None:
    await remember.fact(resources, NewFact(subject="user", predicate=f"note:{content}", content=content))


async def by_meaning(resources: Resources, query: str) -> Answer:
    return await search.search(resources, Question(query=query, mode="semantic"), bump=False)


def contents(answer: Answer) -> list[str]:
    return [one.hit.content for one in answer.results]


async def test_models_of_different_sizes_answer_together(opened: OpenTiny) -> None:
    """What the model before embedded is found by its own vector of the question, also by the model before, which learns
    of the new one while it runs; both say how much is behind."""
    async with opened(48) as before:
        await know(before, TEA)
        assert (await by_meaning(before, TEA)).reembedding is None
        async with opened(96) as after:
            await know(after, TRAIN)
            for resources in (before, after):
                for asked in (TEA, TRAIN):
                    answer = await by_meaning(resources, asked)
                    assert contents(answer)[0] == asked
                    assert answer.results[0].hit.similarity == answer.results[0].hit.semantic_score
                    assert answer.reembedding == Reembedding(memories=2, earlier=1)
                    assert answer.degraded == ()


async def test_all_types_and_a_briefing_are_found_in_the_earlier_version(opened: OpenTiny) -> None:
    """Rules and episodes, too; the receipt of a briefing says how much is behind."""
    async with opened(48) as before:
        await remember.rule(before, NewRule(content=TEA))
        await remember.episode(before, NewEpisode(content=TRAIN, butler="main"))
    async with opened(96) as after:
        for asked in (TEA, TRAIN):
            assert contents(await by_meaning(after, asked))[0] == asked
        briefing = await brief.brief(after, BriefRequest(trigger_prompt=TEA, butler="main"))
        assert TEA in briefing.text
        assert briefing.receipt.reembedding == Reembedding(memories=2, earlier=2)


async def test_a_question_is_embedded_once_for_each_version(opened: OpenTiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second search knows which versions there are; it asks the database once."""
    async with opened(48) as before:
        await know(before, TEA)
    async with opened(96) as after:
        asked: list[str] = []
        fetch = candidate_source.fetch_candidates

        async def counted(*given: Any) -> Any:
            asked.append(",".join(str(len(one.embedding)) for one in given[2].earlier))
            return await fetch(*given)

        monkeypatch.setattr(ranked_candidates, "fetch_candidates", counted)
        for _ in range(2):
            await rank_candidates(after, after.local_caller(), Question(query=TEA))
        assert asked == ["", "48", "48"]


async def test_without_the_earlier_model_words_find_the_rest_and_the_answer_says_so(
    opened: OpenTiny, tmp_path: Path
) -> None:
    """Its folder is gone. Once it is back and named in the settings, its memories are found by meaning again."""
    async with opened(48, query_prefix="the ") as before:
        await know(before, TEA)
    note = before.settings.home / "models" / "opened" / f"{before.embedder.version.digest}.json"
    note.unlink()
    moved = shutil.move(tmp_path / "tiny-48", tmp_path / "elsewhere" / "tiny-48")
    async with opened(96) as after:
        await know(after, TRAIN)
        answer = await search.search(after, Question(query=TEA, min_relevance=0))
        assert contents(answer)[0] == TEA
        assert answer.reembedding == Reembedding(memories=2, earlier=1, by_words_only=1)
        (note_of_it,) = answer.degraded
        assert note_of_it.startswith("1 of 2 memories were searched by words only: they are embedded with tiny-48")
        assert contents(await by_meaning(after, TEA)) == [TRAIN]
    earlier = {"model": str(moved), "query_prefix": "the "}
    async with opened(96, earlier=[earlier]) as again:
        answer = await by_meaning(again, TEA)
        assert (contents(answer)[0], answer.degraded) == (TEA, ())


async def test_another_way_of_cutting_passages_needs_no_other_model(resources: Resources, tenant: str) -> None:
    """The model is the same, and so is the vector of the question."""
    await know(resources, TEA)
    newer = await embedding_versions.ensure(
        resources.database, tenant, resources.embedder.version, 1004, resources.clock()
    )
    upgraded = replace(resources, embedding_version=newer)
    answer = await by_meaning(upgraded, TEA)
    assert (contents(answer), answer.reembedding) == ([TEA], Reembedding(memories=1, earlier=1))
    (fact,) = [one.hit for one in answer.results]
    told = await explain.explain(upgraded, Question(query=TEA), f"fact:{fact.ref}")
    assert told.returned and told.by_meaning.rank == 1


async def test_the_past_is_searched_in_the_version_of_its_vectors(opened: OpenTiny) -> None:
    """A search as of an earlier time reads the same vectors."""
    async with opened(48) as before:
        await know(before, TEA)
    async with opened(96) as after:
        question = Question(query=TEA, mode="semantic", as_of=after.clock())
        assert contents(await search.search(after, question)) == [TEA]


@pytest.mark.parametrize("delete", [True, False])
async def test_the_counts_follow_the_passages(
    opened: OpenTiny, owner: psycopg.Connection[Any], tenant: str, delete: bool
) -> None:
    """They are what a search goes by: storing adds, forgetting for good takes away."""

    def counted() -> Any:
        query = "SELECT embedding_version, sum(memories), sum(passages) FROM memory.embedding_counts"
        return owner.execute(f"{query} WHERE tenant_id = %s AND memories > 0 GROUP BY 1", (tenant,)).fetchall()

    def there() -> Any:
        query = "SELECT embedding_version, count(*) FILTER (WHERE ordinal = 0), count(*) FROM memory.passages"
        return owner.execute(f"{query} WHERE tenant_id = %s GROUP BY 1", (tenant,)).fetchall()

    async with opened(48) as resources:
        await know(resources, TEA)
        long = await remember.episode(resources, NewEpisode(content=f"{TEA}. {TRAIN}. " * 40, butler="main"))
        if delete:
            await purge.purge(resources, PurgeRequest(ref=f"episode:{long.ref}"), dry_run=False, clean_up=False)
        assert counted() == there() != []
