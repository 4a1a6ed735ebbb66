"""Purging: nothing of a memory is left in any table, the log keeps its order, and a receipt proves it."""

from typing import Any

import psycopg
import pytest
from psycopg import sql

from memory_butler.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from memory_butler.models import (
    Caller,
    Lineage,
    NewEpisode,
    NewFact,
    NewRule,
    Outcome,
    Principal,
    Question,
    Role,
    Stored,
)
from memory_butler.operations.consolidation import run_now
from memory_butler.operations.history.replay import replay
from memory_butler.operations.history.undo import undo
from memory_butler.operations.lifecycle.sweep import sweep
from memory_butler.operations.retrieval.get import get
from memory_butler.operations.trust import purge_receipts
from memory_butler.operations.trust.purge import PurgeReport, PurgeRequest, purge
from memory_butler.operations.writing import correct, feedback, forget, remember
from memory_butler.resources import Resources

CANARY = "zanzibarcanary"


def cells(owner: psycopg.Connection[Any]) -> list[tuple[str, str]]:
    """Every column of the store that can hold words, in all tables of the schema."""
    query = """SELECT c.table_name, c.column_name FROM information_schema.columns c
        JOIN information_schema.tables t USING (table_schema, table_name)
        WHERE c.table_schema = 'memory' AND t.table_type = 'BASE TABLE'
            AND (c.data_type IN ('text', 'character varying', 'json', 'jsonb', 'bytea', 'ARRAY', 'USER-DEFINED'))"""
    return [(row[0], row[1]) for row in owner.execute(query)]


def traces(owner: psycopg.Connection[Any], word: str) -> list[str]:
    """The columns of all tenants in which a word occurs, as text or as the bytes of a text."""
    found = []
    for table, column in cells(owner):
        query = sql.SQL("SELECT count(*) FROM memory.{} WHERE {}::text ILIKE %s OR {}::text ILIKE %s").format(
            sql.Identifier(table), sql.Identifier(column), sql.Identifier(column)
        )
        hits = owner.execute(query, [f"%{word}%", f"%{word.encode().hex()}%"]).fetchone()
        if hits and hits[0]:
            found.append(f"{table}.{column}")
    return sorted(found)


async def fact(resources: Resources, subject: str, content: str, predicate: str = "note", **given: Any) -> Stored:
    return await remember.fact(resources, NewFact(subject=subject, predicate=predicate, content=content, **given))


async def test_a_purged_fact_is_in_no_table(resources: Resources, owner: psycopg.Connection[Any]) -> None:
    """Its versions, tags, metadata, aliases and the response to its idempotency key go with it."""
    first = await fact(resources, CANARY, f"{CANARY} one", tags=(CANARY,), metadata={CANARY: CANARY},
                       aliases=(f"{CANARY}-alias",), idempotency_key=f"{CANARY}-key")  # fmt: skip
    second = await fact(resources, CANARY, f"{CANARY} two")
    kept = await fact(resources, "Ben", "likes tea")
    assert {"facts.content", "texts.body", "postings.lexeme", "aliases.alias"} <= set(traces(owner, CANARY))
    planned = await purge(resources, PurgeRequest(ref=f"fact:{second.ref}"))
    assert planned.dry_run and {one.ref for one in planned.touched} == {first.ref, second.ref}
    done = await purge(resources, PurgeRequest(ref=f"fact:{second.ref}"), dry_run=False, reason="asked for")
    assert traces(owner, CANARY) == []
    assert done.receipt and done.counts and done.counts["facts"] == 2
    assert (await replay(resources)).equal
    assert (await get(resources, "fact", kept.ref)).memory.content == "likes tea"
    with pytest.raises(NotFound, match="was purged on"):
        await get(resources, "fact", second.ref)
    check = await purge_receipts.verify(resources, done.receipt)
    assert check.holds, check.problems
    again = await purge(resources, PurgeRequest(ref=f"fact:{second.ref}"), dry_run=False)
    assert (again.touched, again.receipt) == ((), done.receipt)


async def test_an_older_version_goes_alone(resources: Resources, owner: psycopg.Connection[Any]) -> None:
    first = await fact(resources, "Anna", f"{CANARY} one")
    second = await fact(resources, "Anna", "green")
    await purge(resources, PurgeRequest(ref=f"fact:{first.ref}"), dry_run=False)
    assert traces(owner, CANARY) == []
    details = await get(resources, "fact", second.ref)
    assert details.memory.supersedes_id is None
    assert (await replay(resources)).equal
