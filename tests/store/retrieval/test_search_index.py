"""The derived index: what is counted agrees with what is there."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import psycopg
import pytest

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.models import NewEpisode, NewFact, NewRule
from memory_butler.operations.retrieval import indexing, reembedding
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.store.gate.vectors import as_vector
from memory_butler.store.retrieval import embedding_versions, search_index


def counted(owner: psycopg.Connection[Any], tenant: str) -> tuple[Any, ...]:
    row = owner.execute(
        "SELECT documents, document_words FROM memory.tenants WHERE tenant_id = %s", (tenant,)
    ).fetchone()
    assert row
    return row


def present(owner: psycopg.Connection[Any], tenant: str) -> tuple[Any, ...]:
    row = owner.execute(
        "SELECT count(*), coalesce(sum(words), 0) FROM"
        " (SELECT DISTINCT memory_id, words FROM memory.postings WHERE tenant_id = %s) memories",
        (tenant,),
    ).fetchone()
    assert row
    return row


async def test_the_tenants_word_counts_follow_its_postings(
    resources: Resources, owner: psycopg.Connection[Any], tenant: str
) -> None:
    """Storing adds, reindexing changes nothing, clearing takes away; a text without a word does not count."""
    stored = await remember.fact(resources, NewFact(subject="user", predicate="pet", content="a dog and another dog"))
    await remember.rule(resources, NewRule(content="Feed the dog twice a day"))
    await remember.episode(resources, NewEpisode(content="!!!", butler="main"))
    assert counted(owner, tenant) == present(owner, tenant)
    assert counted(owner, tenant)[0] == 2
    await indexing.reindex(resources)
    assert counted(owner, tenant) == present(owner, tenant)
    async with resources.database.write(tenant, resources.clock()) as transaction:
        await search_index.clear(transaction, [stored.id])
    assert counted(owner, tenant) == present(owner, tenant)
    assert counted(owner, tenant)[0] == 1


async def test_vectors_are_replaced_and_words_stay(
    resources: Resources, owner: psycopg.Connection[Any], tenant: str
) -> None:
    """Only what is behind, and once."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="pet", content="a dog called Rex"))
    newer = await embedding_versions.ensure(
        resources.database, tenant, resources.embedder.version, 1000, resources.clock()
    )
    upgraded = replace(resources, embedding_version=newer)
    await remember.rule(upgraded, NewRule(content="Feed the dog twice a day"))

    def versions() -> list[Any]:
        found = owner.execute("SELECT embedding_version FROM memory.passages WHERE tenant_id = %s", (tenant,))
        return sorted(version for (version,) in found)

    assert versions() == [resources.embedding_version, newer]
    before = counted(owner, tenant)
    assert await indexing.catch_up(upgraded, tenant) == 0
    assert [await reembedding.reembed(upgraded, tenant) for _ in range(2)] == [1, 0]
    assert (versions(), counted(owner, tenant)) == ([newer, newer], before)


async def test_what_is_deleted_while_it_is_embedded_is_not_indexed(
    resources: Resources, owner: psycopg.Connection[Any], tenant: str
) -> None:
    """Nothing is left in the index of what is no longer there."""
    stored = await remember.episode(resources, NewEpisode(content="a dog called Rex", butler="main"))

    class Slow(FakeEmbedder):
        async def embed(self, texts: Sequence[str]) -> Any:
            owner.execute("DELETE FROM memory.episodes WHERE id = %s", (stored.id,))
            return await super().embed(texts)

    await indexing.reindex(replace(resources, embedder=Slow()))
    assert lexemes(owner, tenant, stored.id) == {}
    assert counted(owner, tenant) == present(owner, tenant) == (0, 0)


def lexemes(owner: psycopg.Connection[Any], tenant: str, memory_id: UUID) -> dict[str, tuple[int, int]]:
    found = owner.execute(
        "SELECT lexeme, frequency, words FROM memory.postings WHERE tenant_id = %s AND memory_id = %s",
        (tenant, memory_id),
    )
    return {lexeme: (frequency, words) for lexeme, frequency, words in found}


async def test_names_are_indexed_beside_the_words(
    resources: Resources, owner: psycopg.Connection[Any], tenant: str
) -> None:
    """What a memory stands under and answers to is found; it does not make it longer, and reindexing keeps it."""
    known = await remember.fact(resources, NewFact(subject="Anna Schmidt", predicate="pet", content="It is a dog"))
    said = await remember.episode(resources, NewEpisode(content="Bob: my dog is ill", butler="main"))
    rule = await remember.rule(resources, NewRule(content="Carl: feed the dog"))
    mute = await remember.episode(resources, NewEpisode(content="!!!", butler="main"))
    before = counted(owner, tenant)
    for _ in range(2):
        assert lexemes(owner, tenant, known.id) == dict.fromkeys(
            ["anna", "schmidt", "pet", "dog", "@anna_schmidt", "#anna_schmidt", "#anna", "#schmidt"], (1, 4)
        )
        assert lexemes(owner, tenant, said.id) == dict.fromkeys(["bob", "dog", "ill", "@bob"], (1, 3))
        assert lexemes(owner, tenant, rule.id) == dict.fromkeys(["carl", "feed", "dog"], (1, 3))
        assert lexemes(owner, tenant, mute.id) == {}
        assert counted(owner, tenant) == before == (3, 10)
        await indexing.reindex(resources)


async def test_a_text_in_another_language_is_indexed_by_its_grams(
    resources: Resources, owner: psycopg.Connection[Any], tenant: str
) -> None:
    """They are beside its words and do not make it longer."""
    rule = await remember.rule(resources, NewRule(content="Die Tür ist zu"))
    assert lexemes(owner, tenant, rule.id) == dict.fromkeys(
        ["die", "tür", "ist", "zu", "~_die", "~_tur", "~_ist", "~_zu"], (1, 4)
    )
    assert counted(owner, tenant) == (1, 4)


@pytest.mark.parametrize("values", [[0.0] * 384, [0.25, -1.5] * 192, [1e-7] * 384])
def test_a_vector_arrives_as_it_was_sent(owner: psycopg.Connection[Any], values: list[float]) -> None:
    """The binary form is what pgvector itself writes: nothing is lost on the way."""
    row = owner.execute("SELECT (%s::public.vector)::real[]", (as_vector(values),)).fetchone()
    assert row
    assert [round(value, 12) for value in row[0]] == [round(value, 12) for value in values]
