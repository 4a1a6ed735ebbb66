"""Who remembers what: an agent is told of itself what an administrator is told of it."""

from collections.abc import Callable
from typing import Any

import psycopg

from memory_butler.models import Caller, NewEpisode, NewFact, NewRule
from memory_butler.operations.browse import butlers
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.store.gate.queries import load_queries, numbered


async def test_one_butler_is_one_line_of_all(resources: Resources, agent: Callable[..., Caller]) -> None:
    """Whether it has much, little or nothing of a kind."""
    for name, caller in ((name, agent(name)) for name in ("chef", "nurse")):
        await remember.episode(resources, NewEpisode(content=f"{name} came by", butler=name), caller)
        await remember.fact(resources, NewFact(subject=name, predicate="tea", content="green"), caller)
    await remember.rule(resources, NewRule(content="Wash your hands"), agent("nurse"))
    everybody = await butlers.butler_summaries(resources)
    assert [(one.butler, one.facts, one.rules, one.episodes) for one in everybody] == [
        ("chef", 1, 0, 1),
        ("nurse", 1, 1, 1),
    ]
    for one in everybody:
        assert await butlers.butler_summaries(resources, agent(one.butler)) == (one,)


def test_who_asks_for_one_butler_does_not_wait_for_the_others_to_be_counted(
    resources: Resources, owner: psycopg.Connection[Any]
) -> None:
    """Each table is narrowed down where it is read, also by the plan that serves everybody's question."""
    query, names = numbered(load_queries(resources.database.names)["butlers.standings"])
    only = f"${names.index('only') + 1}"
    lines = [line for (line,) in owner.execute(b"EXPLAIN (GENERIC_PLAN) " + query).fetchall()]
    for table, whose in (("facts", "source_butler"), ("rules", "source_butler"), ("episodes", "butler")):
        # Whatever way the plan takes to the table, which depends on what other tests have put there.
        (place,) = [number for number, line in enumerate(lines) if f" on {table} " in line]
        assert any(f"({whose} = {only})" in line for line in lines[place : place + 6]), "\n".join(lines)
