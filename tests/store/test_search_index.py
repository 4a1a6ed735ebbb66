"""The derived index: what is counted agrees with what is there."""

from typing import Any

import psycopg
import pytest

from memory_butler.butler import Butler
from memory_butler.models import NewEpisode, NewFact, NewRule
from memory_butler.operations import index, remember
from memory_butler.store import search_index
from memory_butler.store.vectors import as_vector


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
    butler: Butler, owner: psycopg.Connection[Any], tenant: str
) -> None:
    """Storing adds, reindexing changes nothing, clearing takes away; a text without a word does not count."""
    stored = await remember.fact(butler, NewFact(subject="user", predicate="pet", content="a dog and another dog"))
    await remember.rule(butler, NewRule(content="Feed the dog twice a day"))
    await remember.episode(butler, NewEpisode(content="!!!", butler="main"))
    assert counted(owner, tenant) == present(owner, tenant)
    assert counted(owner, tenant)[0] == 2
    await index.reindex(butler)
    assert counted(owner, tenant) == present(owner, tenant)
    async with butler.database.write(tenant, butler.clock()) as session:
        await search_index.clear(session, [stored.id])
    assert counted(owner, tenant) == present(owner, tenant)
    assert counted(owner, tenant)[0] == 1


@pytest.mark.parametrize("values", [[0.0] * 384, [0.25, -1.5] * 192, [1e-7] * 384])
def test_a_vector_arrives_as_it_was_sent(owner: psycopg.Connection[Any], values: list[float]) -> None:
    """The binary form is what pgvector itself writes: nothing is lost on the way."""
    row = owner.execute("SELECT (%s::public.vector)::real[]", (as_vector(values),)).fetchone()
    assert row
    assert [round(value, 12) for value in row[0]] == [round(value, 12) for value in values]
