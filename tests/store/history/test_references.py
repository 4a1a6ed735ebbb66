"""The retention of references, on a real log."""

from pathlib import Path

import psycopg
import pytest
from tests.conftest import MovingClock

from memory_butler.models import Caller, Lineage, NewFact, Principal, Question, Role
from memory_butler.operations.history.replay import replay
from memory_butler.operations.lifecycle.cleanup import cleanup
from memory_butler.operations.retrieval import search
from memory_butler.operations.transfer.export import export
from memory_butler.operations.transfer.import_ import import_
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.store.history import references

ANNA = NewFact(subject="Anna", predicate="color", content="Anna likes green.", permanence="permanent")
Owner = psycopg.Connection[tuple[object, ...]]


def reads(owner: Owner, tenant: str) -> list[tuple[object, ...]]:
    return owner.execute(
        "SELECT seq, session_id FROM memory.memory_references WHERE tenant_id = %s ORDER BY seq", (tenant,)
    ).fetchall()


async def read(resources: Resources, session: str) -> None:
    lineage = Lineage(request_id=f"request of {session}", session_id=session)
    caller = Caller(resources.local_caller().principal, lineage)
    await search.search(resources, Question(query="Anna green", min_relevance=0), caller)


async def test_single_reads_are_dropped_and_counts_stay(
    resources: Resources, owner: Owner, clock: MovingClock, tenant: str, tmp_path: Path
) -> None:
    """After the retention, with the names of their sessions; the log replays, also where it was imported to."""
    stored = await remember.fact(resources, ANNA)
    for _ in range(3):
        await read(resources, "old")
        clock.move(days=1)
    clock.move(days=370)
    await read(resources, "new")
    shard = Caller(Principal(tenant, "main", Role.ADMIN))
    assert (await cleanup(resources, shard))["references"] == 3
    assert [session for _, session in reads(owner, tenant)] == ["new"]
    counts = owner.execute("SELECT reference_count FROM memory.facts WHERE id = %s", (stored.id,)).fetchone()
    assert counts == (4,)
    named = owner.execute(
        "SELECT session_id, request_id FROM memory.memory_events WHERE tenant_id = %s AND entity_type = 'reference'"
        " ORDER BY seq", (tenant,),
    ).fetchall()  # fmt: skip
    assert named == [(None, None)] * 3 + [("new", "request of new")]
    assert (await replay(resources)).intact
    assert (await cleanup(resources, shard))["references"] == 0
    file = tmp_path / "memory.jsonl"
    await export(resources, file)
    there = Caller(Principal(f"{tenant}x", "main", Role.OPERATOR))
    await import_(resources, file, there)
    assert (await replay(resources, there)).intact


async def test_a_long_log_is_worked_through_in_parts(
    resources: Resources, owner: Owner, clock: MovingClock, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each in a transaction of its own; reads on the retention's side of the border stay."""
    await remember.fact(resources, ANNA)
    for _ in range(5):
        await read(resources, "s")
        clock.move(days=100)
    monkeypatch.setattr(references, "WINDOW", 2)
    assert (await cleanup(resources, Caller(Principal(tenant, "main", Role.ADMIN))))["references"] == 2
    assert len(reads(owner, tenant)) == 3
    assert (await replay(resources)).intact


async def test_a_young_log_keeps_its_reads(resources: Resources, owner: Owner, clock: MovingClock, tenant: str) -> None:
    """Nothing is old enough: nothing is dropped, and no horizon is noted."""
    await remember.fact(resources, ANNA)
    await read(resources, "s")
    clock.move(days=30)
    for _ in range(2):
        assert (await cleanup(resources, Caller(Principal(tenant, "main", Role.ADMIN))))["references"] == 0
    assert len(reads(owner, tenant)) == 1
    assert owner.execute("SELECT FROM memory.reference_horizons WHERE tenant_id = %s", (tenant,)).fetchall() == []


async def test_a_horizon_beyond_the_log_is_repaired(
    resources: Resources, owner: Owner, clock: MovingClock, tenant: str
) -> None:
    """As version 0.11 left young logs: all reads dropped, and a horizon that lies behind the end of the log."""
    await remember.fact(resources, ANNA)
    await read(resources, "lost")
    now, shard = clock(), Caller(Principal(tenant, "main", Role.ADMIN))
    async with resources.database.write(tenant, now) as transaction:
        part = {"after": 0, "upto": 10_000}
        assert (await transaction.row("references.drop", **part))["dropped"] == 1
        await transaction.send("references.set_horizon", upto=10_000)
        event = {"upto": 10_000, "event_id": resources.make_id(now), "actor": "system", "now": now, "dropped": 1}
        await transaction.send("references.record", **event)
    await read(resources, "later")
    assert (await replay(resources)).intact
    assert (await cleanup(resources, shard))["references"] == 0
    assert [session for _, session in reads(owner, tenant)] == ["later"]
    (horizon,) = owner.execute(
        "SELECT h.seq <= t.last_seq FROM memory.reference_horizons h JOIN memory.tenants t USING (tenant_id)"
        " WHERE tenant_id = %s",
        (tenant,),
    ).fetchall()
    assert horizon == (True,)
    clock.move(days=370)
    assert (await cleanup(resources, shard))["references"] == 1
    assert (await replay(resources)).intact
