"""The hash chain: every change of the log behind the program's back shows, and no ordinary work breaks it."""

from typing import Any

import psycopg
import pytest

from memory_butler.models import NewFact, NewRule, Outcome
from memory_butler.operations.history.replay import Report, replay
from memory_butler.operations.lifecycle.sweep import sweep
from memory_butler.operations.retrieval.get import get
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.resources import Resources

Connection = psycopg.Connection[Any]

# All hashes computed anew, from an event on.
RECOMPUTED = """WITH RECURSIVE linked AS (
    SELECT e.seq, sha256(memory.chained_content(e)) AS chain FROM memory.memory_events e
    WHERE e.tenant_id = %(tenant)s AND e.seq = {first}
    UNION ALL
    SELECT e.seq, sha256(l.chain || memory.chained_content(e)) FROM linked l
    JOIN memory.memory_events e ON e.tenant_id = %(tenant)s AND e.seq = l.seq + 1
) UPDATE memory.memory_events e SET chain = l.chain FROM linked l
WHERE e.tenant_id = %(tenant)s AND e.seq = l.seq"""


async def busy(resources: Resources) -> None:
    """Some events of every kind: several in one statement, references, reasons."""
    first = await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="blue", aliases=("Ann",)))
    await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="green"))
    rule = await remember.rule(resources, NewRule(content="Knock twice."))
    await feedback.mark(resources, rule.ref, Outcome.HARMFUL, reason="It was late.")
    await get(resources, "rule", rule.ref)
    await forget.forget(resources, "rule", rule.ref, reason="Wrong.")
    assert first.ref


def tampered(owner: Connection, tenant: str, statement: str) -> None:
    """Run a statement as the superuser with the triggers of the log switched off."""
    with owner.transaction():
        owner.execute("ALTER TABLE memory.memory_events DISABLE TRIGGER USER")
        owner.execute(statement, {"tenant": tenant})
        owner.execute("ALTER TABLE memory.memory_events ENABLE TRIGGER USER")


async def test_ordinary_work_keeps_it(resources: Resources) -> None:
    await busy(resources)
    await sweep(resources)
    await sweep(resources)
    report = await replay(resources)
    assert report.intact
    assert (report.chain.checked, report.chain.unchained, report.chain.seals) == (report.events, 0, 1)
    assert report.chain.head and len(report.chain.head) == 64


@pytest.mark.parametrize(
    ("statement", "seq", "problem"),
    [
        ("UPDATE memory.memory_events SET actor = 'eve' WHERE tenant_id = %(tenant)s AND seq = 3", 3, "changed"),
        (
            "UPDATE memory.memory_events SET payload = payload || '{\"more\": 1}'"
            " WHERE tenant_id = %(tenant)s AND seq = 2",
            2,
            "changed",
        ),
        (
            "UPDATE memory.memory_events SET text_hash = sha256('x') WHERE tenant_id = %(tenant)s AND seq = 4",
            4,
            "changed",
        ),
        ("DELETE FROM memory.memory_events WHERE tenant_id = %(tenant)s AND seq = 4", 5, "is missing"),
        ("DELETE FROM memory.memory_events WHERE tenant_id = %(tenant)s AND seq = 1", 2, "is missing"),
        ("DELETE FROM memory.memory_events WHERE tenant_id = %(tenant)s AND seq > 5", 6, "end of the log is missing"),
        ("UPDATE memory.memory_events SET chain = NULL WHERE tenant_id = %(tenant)s AND seq < 3", 1, "no hash"),
    ],
)
async def test_the_first_break_is_named(
    resources: Resources, owner: Connection, statement: str, seq: int, problem: str
) -> None:
    await busy(resources)
    tampered(owner, resources.settings.tenant, statement)
    broken = (await replay(resources)).chain.broken
    assert broken and broken.seq == seq and problem in broken.problem


async def test_a_rewritten_chain_does_not_match_its_seal(resources: Resources, owner: Connection, tenant: str) -> None:
    """Whoever computes all hashes anew is caught by a seal."""
    await busy(resources)
    await sweep(resources)
    tampered(owner, tenant, "UPDATE memory.memory_events SET actor = 'eve' WHERE tenant_id = %(tenant)s AND seq = 1")
    tampered(owner, tenant, RECOMPUTED.format(first=1))
    broken = (await replay(resources)).chain.broken
    assert broken and "seal" in broken.problem


async def test_events_from_before_the_chain_are_counted(resources: Resources, owner: Connection, tenant: str) -> None:
    """A store of an earlier version: its events have no chain, a seal says up to where, and the rest is checked."""
    await busy(resources)
    tampered(owner, tenant, "UPDATE memory.memory_events SET chain = NULL WHERE tenant_id = %(tenant)s AND seq <= 3")
    owner.execute(
        "INSERT INTO memory.event_seals (tenant_id, seq, chain, sealed_at) VALUES (%s, 3, '', now())", [tenant]
    )
    tampered(owner, tenant, RECOMPUTED.format(first=4))
    report: Report = await replay(resources)
    assert report.intact
    assert (report.chain.unchained, report.chain.checked) == (3, report.events - 3)
