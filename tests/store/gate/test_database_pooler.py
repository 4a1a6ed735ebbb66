"""Behind a transaction pooler: nothing that the program needs lives longer than a transaction."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from psycopg import AsyncConnection

from memory_butler.models import BriefRequest, NewEpisode, NewFact, NewRule, NewToken, Outcome, Question
from memory_butler.operations.access import tokens
from memory_butler.operations.briefing import brief
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.system import stats
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Database
from memory_butler.store.gate.queries import load_queries

# These are for a connection of the owner's, which leads to the database itself.
OWNERS = {
    "moves.bind",
    "moves.take_turn",
    "moves.end_turn",
    "moves.wait_briefly",
    "residue.wait_briefly",
    "vector_index.take_turn",
    "vector_index.end_turn",
    "replay.take_turn",
    "replay.release_turn",
}
LASTING = re.compile(
    rb"\bLISTEN\b|\bUNLISTEN\b|\bPREPARE\b|\bDEALLOCATE\b|WITH HOLD|\bSET SESSION\b|"
    rb"pg_advisory_lock\(|pg_try_advisory_lock\(|pg_advisory_unlock",
    re.IGNORECASE,
)
LEFT_BEHIND = """
    SELECT current_setting('role') AS role, coalesce(current_setting('memory_butler.tenant', true), '') AS tenant,
        coalesce(current_setting('memory_butler.token_hash', true), '') AS hash,
        (SELECT count(*) FROM pg_prepared_statements) AS prepared, (SELECT count(*) FROM pg_cursors) AS cursors,
        (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory') AS locks,
        (SELECT count(*) FROM pg_listening_channels()) AS channels,
        ARRAY(SELECT name FROM pg_settings WHERE source = 'session' ORDER BY name) AS settings
"""


def test_every_setting_of_the_gate_is_for_one_transaction(resources: Resources) -> None:
    """Each set_config says so, and no query listens, prepares, or takes a lock that outlives its transaction."""
    queries = load_queries(resources.database.names)
    calls = {
        name: re.findall(rb"set_config\((.*?),\s*(true|false|[^,()]*)\)(?=[,;\s]|$)", query, re.DOTALL)
        for name, query in queries.items()
        if b"set_config" in query
    }
    assert {"database.bind_read", "database.bind_write", "tokens.show"} <= set(calls)
    for name, found in calls.items():
        assert len(found) == queries[name].count(b"set_config(")
        assert {last for _, last in found} == {b"true"} or name in OWNERS, name
    assert {name for name, query in queries.items() if LASTING.search(query)} == OWNERS - {
        "moves.bind",
        "moves.wait_briefly",
        "residue.wait_briefly",
    }


@pytest.fixture
async def behind_a_pooler(resources: Resources) -> AsyncIterator[Resources]:
    """A store whose server connections forget everything between two transactions."""
    service = resources.settings.service.model_copy(update={"pooler": True})
    settings = resources.settings.model_copy(update={"service": service, "pool_size": 1})
    opened = Database.from_settings(settings)
    await opened.open()
    assert opened._pool
    opened._pool._reset = _forget_everything
    yield replace(resources, database=opened, settings=settings)
    await opened.close()


async def _forget_everything(connection: AsyncConnection[Any]) -> None:
    await connection.execute("DISCARD ALL")


async def _work(resources: Resources) -> None:
    """A bit of everything, often enough that a driver would prepare it."""
    tenant = resources.settings.tenant
    for number in range(7):
        seen = await remember.episode(resources, NewEpisode(content=f"Met Anna, {number}", butler="main"))
        fact = await remember.fact(resources, NewFact(subject="Anna", predicate="color", content=f"green {number}"))
        rule = await remember.rule(resources, NewRule(content=f"Ask {number} times.", source_episode=seen.ref))
        await feedback.mark(resources, rule.ref, Outcome.HELPFUL)
        answer = await search.search(resources, Question(query="which color does Anna like", min_relevance=0, expand=1))
        assert fact.id in {entry.hit.id for entry in answer.results}
        assert (await get.get(resources, "fact", fact.ref)).memory.id == fact.id
        await forget.forget(resources, "rule", rule.ref)
        briefing = await brief.brief(resources, BriefRequest(trigger_prompt="Anna's color", butler="main"))
        assert f"green {number}" in briefing.text
        _, secret = await tokens.create(resources, NewToken(tenant=tenant, butler="main"))
        assert (await tokens.authenticate(resources, secret))[0].tenant == tenant
    assert (await stats.stats(resources))["memories"]["facts"] == {"active": 1, "superseded": 6}


async def test_reads_and_writes_need_nothing_of_the_transaction_before(behind_a_pooler: Resources) -> None:
    """With all state of a connection discarded after each transaction, everything works."""
    await _work(behind_a_pooler)


@pytest.mark.parametrize("pooler", [True, False])
async def test_a_connection_goes_back_as_it_came(resources: Resources, pooler: bool) -> None:
    """No role, tenant, setting, cursor, lock or channel is left on it; nothing is prepared if there is a pooler."""
    service = resources.settings.service.model_copy(update={"pooler": pooler})
    settings = resources.settings.model_copy(update={"service": service, "pool_size": 1})
    opened = Database.from_settings(settings)
    await opened.open()
    try:
        await _work(replace(resources, database=opened, settings=settings))
        assert opened._pool
        async with opened._pool.connection() as connection:
            left = await (await connection.execute(LEFT_BEHIND, prepare=False)).fetchone()
    finally:
        await opened.close()
    assert left
    assert (left.pop("prepared") == 0) is pooler
    nothing = {"role": "none", "tenant": "", "hash": "", "cursors": 0, "locks": 0, "channels": 0, "settings": []}
    assert left == nothing
