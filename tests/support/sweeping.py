"""Shared by the tests of the sweep: a store with work for every duty, and copies of it."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from memory_butler.models import Caller, Lineage, NewEpisode, NewFact, NewRule, Outcome, Principal, Role, Stored
from memory_butler.operations.lifecycle.sweep import sweep
from memory_butler.operations.writing import feedback, forget, pin, remember
from memory_butler.operations.writing.idempotency import audit_trail
from memory_butler.resources import Resources
from memory_butler.settings import Lifecycle
from memory_butler.store.history import events
from memory_butler.store.history.events import Change

Connection = psycopg.Connection[Any]
Row = dict[str, Any]
# In an order in which everything a row refers to is there before it.
TABLES = ("tenants", "butlers", "episodes", "episode_tombstones", "facts", "rules", "rule_applications", "memory_links",
          "aliases", "texts", "memory_events", "memory_references", "idempotency_keys", "passages",
          "postings", "consolidation_runs", "consolidation_episodes", "consolidation_items", "distilled_keys",
          "recent_questions")  # fmt: skip


def with_lifecycle(resources: Resources, **tiers: Any) -> Resources:
    """Returns the resources with other tier settings."""
    settings = resources.settings.model_copy(update={"lifecycle": Lifecycle.model_validate(tiers)})
    return replace(resources, settings=settings)


@dataclass
class Life:
    """Short forms of agent operations. Memories are keyed by name."""

    resources: Resources
    clock: Any
    owner: Connection

    @property
    def tenant(self) -> str:
        return self.resources.settings.tenant

    def caller(self, name: str = "main", session: str | None = None) -> Caller:
        return Caller(Principal(self.tenant, name, Role.ADMIN), Lineage(session_id=session))

    async def fact(self, name: str, permanence: str = "standard", of: str = "main") -> Stored:
        new = NewFact(subject=name, predicate="is", content=f"this is {name}", permanence=permanence)
        return await remember.fact(self.resources, new, self.caller(of))

    async def rule(self, name: str, of: str = "main", *, helpful: int = 0, harmful: int = 0) -> Stored:
        stored = await remember.rule(self.resources, NewRule(content=f"always {name}"), self.caller(of))
        for _ in range(helpful):
            await feedback.mark(self.resources, stored.ref, Outcome.HELPFUL, self.caller(of))
        for _ in range(harmful):
            await feedback.mark(self.resources, stored.ref, Outcome.HARMFUL, self.caller(of), reason="it broke")
        return stored

    async def episode(self, name: str, of: str = "main") -> Stored:
        return await remember.episode(self.resources, NewEpisode(content=f"we saw {name}", butler=of), self.caller(of))

    async def refer(self, memories: Sequence[Stored], times: int = 1, session: str | None = None) -> None:
        """Reads that return these memories, and count as references."""
        now = self.clock()
        async with self.resources.database.write(self.tenant, now) as opened:
            for _ in range(times):
                marks = audit_trail(self.resources, self.caller(session=session), now)
                await events.bump(opened, marks, [memory.id for memory in memories], "search")

    async def consolidate(self, *memories: Stored) -> None:
        """Writes the result of consolidating episodes."""
        ids = [memory.id for memory in memories]
        self.owner.execute(
            "UPDATE memory.episodes SET consolidation_status = 'consolidated' WHERE tenant_id = %s AND id = ANY(%s)",
            (self.tenant, ids),
        )
        await self.log("consolidated", memories)

    async def log(self, event: str, memories: Sequence[Stored]) -> None:
        """Record changes made outside the operations, so that a replay includes them."""
        now = self.clock()
        async with self.resources.database.write(self.tenant, now) as opened:
            changes = [Change(memory.type, memory.id, event) for memory in memories]
            await events.record(opened, audit_trail(self.resources, self.caller(), now), changes)

    def row(self, memory: Stored) -> Row:
        table = sql.Identifier("memory", f"{memory.type}s")
        with self.owner.cursor(row_factory=dict_row) as cursor:
            query = sql.SQL("SELECT * FROM {} WHERE tenant_id = %s AND id = %s").format(table)
            found = cursor.execute(query, (self.tenant, memory.id)).fetchone()
        return found or {"validity": "deleted"}

    def validity(self, *memories: Stored) -> list[str]:
        return [self.row(memory)["validity"] for memory in memories]

    def history(self, memory: Stored) -> list[Row]:
        with self.owner.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(
                "SELECT * FROM memory.memory_events WHERE tenant_id = %s AND entity_id = %s ORDER BY seq",
                (self.tenant, memory.id),
            ).fetchall()

    def events(self, memory: Stored) -> list[str]:
        return [event["event_type"].partition(".")[2] for event in self.history(memory)]


SMALL_TIERS: dict[str, Any] = {
    "eden": {"capacity": 7},
    "mid": {"capacity": 14, "stale_after_days": 300},
    "long": {"capacity": 6},
    # Slower than the rate that `eventful` writes with, so that some fading facts become active again.
    "decay": {"standard_per_day": 0.0069},
}


async def eventful(life: Life, butlers: Sequence[str] = ("main", "health")) -> None:
    """Eight months under the default settings that leave these butlers something to do for every duty with SMALL_TIERS.
    One sweep on the way makes some memories fading."""
    configured = life.resources
    life.resources = with_lifecycle(configured)
    clock, butler = life.clock, life.resources
    for of in butlers:
        for number in range(4):
            await life.fact(f"{of} standard {number}", of=of)
            await life.fact(f"{of} long {number}", "stable", of=of)
            await life.rule(f"{of} rule {number}", of=of)
        await life.fact(f"{of} forever", "permanent", of=of)
        kept = await life.fact(f"{of} kept", "ephemeral", of=of)
        await pin.pin(butler, "fact", kept.ref)
        await life.rule(f"{of} warning", of=of, helpful=1, harmful=3)
    clock.move(days=195)
    used = [await life.fact(f"used {kind}", kind) for kind in ("volatile", "standard")]
    lifted = await life.fact("lifted", "ephemeral")
    for of in butlers:
        await life.rule(f"{of} trusted", of=of, helpful=16)
        for number in range(3):
            await life.fact(f"{of} passing {number}", "ephemeral", of=of)
    for _ in range(9):
        await life.refer([*used, lifted])
        clock.move(days=1)
    clock.move(days=10)
    await sweep(with_lifecycle(butler))
    await life.refer([*used, lifted], 2)
    for of in butlers:
        for number in range(6):
            await life.fact(f"{of} volatile {number}", "volatile" if number % 2 else "ephemeral", of=of)
    await _episodes(life)
    clock.move(days=17)
    for number in range(3):
        await life.fact(f"new {number}")
        await life.refer([await life.fact(f"recent {number}", "stable")])
    life.resources = configured


async def _episodes(life: Life) -> None:
    loved, done, gone, held = [await life.episode(name) for name in ("loved", "done", "gone", "held")]
    await life.refer([loved, done], 3, "s1")
    await life.consolidate(done)
    await forget.forget(life.resources, "episode", gone.ref)
    await pin.pin(life.resources, "episode", held.ref)
    source = NewFact(subject="held", predicate="seen", content="yes", source_episode=loved.ref, idempotency_key="k1")
    await remember.fact(life.resources, source, life.caller())
    life.clock.move(days=12)
    young = [await life.episode(f"young {number}") for number in range(9)]
    await life.consolidate(*young[3:])
    life.clock.move(days=-12)


@cache
def _copying(connection: Connection, table: str) -> sql.Composed:
    columns = connection.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = 'memory' AND table_name = %s"
        " AND is_generated = 'NEVER' ORDER BY ordinal_position",
        (table,),
    ).fetchall()
    return sql.SQL(
        "INSERT INTO {table} ({names}) SELECT {names} FROM (SELECT (jsonb_populate_record(NULL::{table},"
        " replace(to_jsonb(o)::text, %(old)s, %(new)s)::jsonb)).* FROM {table} o WHERE tenant_id = %(old)s) c"
    ).format(
        table=sql.Identifier("memory", table), names=sql.SQL(", ").join(sql.Identifier(name) for (name,) in columns)
    )


def copy_of(life: Life) -> Life:
    """Copies every row of every table to another tenant."""
    tenant = f"t{uuid.uuid4().hex[:16]}"
    with life.owner.transaction():
        for table in TABLES:
            life.owner.execute(_copying(life.owner, table), {"old": life.tenant, "new": tenant})
    settings = life.resources.settings.model_copy(update={"tenant": tenant})
    return Life(replace(life.resources, settings=settings), life.clock, life.owner)


def contents(life: Life) -> dict[str, list[str]]:
    """Every row of every table, without what two runs of the same work may have different: ids and numbers of events,
    and what groups them."""
    found = {}
    for table in TABLES:
        query = sql.SQL(
            "SELECT replace((to_jsonb(o) - %s::text[])::text, %s, 'tenant') FROM {} o WHERE tenant_id = %s ORDER BY 1"
        ).format(sql.Identifier("memory", table))
        hidden = ["seq", "group_id", *(["id", "chain"] if table == "memory_events" else [])]
        rows = life.owner.execute(query, (hidden, life.tenant, life.tenant)).fetchall()
        found[table] = [row for (row,) in rows]
    return found
