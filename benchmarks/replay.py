"""How long it takes to rebuild a store from its log, and in how much memory: `python -m benchmarks.replay`.

The log is of the kind that use leaves behind: of every ten events four store something (mostly facts, a quarter of them
linked to the episode they came from, some in place of an older one), four renew a fact, and two are reads that returned
five memories each. Rows are copied in, events are written by the statements that the program itself uses.
"""

import argparse
import asyncio
import hashlib
import random
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import psycopg
from rich.progress import Progress

from benchmarks.support import machine
from benchmarks.support.load_store import BUTLER, EPISODE_COLUMNS, FACT_COLUMNS, RULE_COLUMNS
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.models import Lineage, MemoryType, Relation
from memory_butler.operations.history import replay
from memory_butler.policy.memories.references import short_reference
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.history import events
from memory_butler.store.history.events import AuditTrail, Change

SEED = 20_260_101
MILLION = 1_000_000
TENANT = "log"
AT_ONCE = 1_000
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
MB = 2**20
LINK_COLUMNS = "tenant_id, source_type, source_id, target_type, target_id, relation, created_at"


@dataclass(frozen=True, slots=True)
class Plan:
    """How many events of which kind."""

    events: int

    @property
    def episodes(self) -> int:
        return self.events * 6 // 100

    @property
    def rules(self) -> int:
        return self.events * 2 // 100

    @property
    def facts(self) -> int:
        return self.events * 32 // 100

    @property
    def renewals(self) -> int:
        return self.events * 40 // 100

    @property
    def reads(self) -> int:
        return self.events - self.episodes - self.rules - self.facts - self.renewals


@dataclass(slots=True)
class _Rows:
    episodes: list[tuple[Any, ...]] = field(default_factory=list)
    rules: list[tuple[Any, ...]] = field(default_factory=list)
    facts: list[tuple[Any, ...]] = field(default_factory=list)
    links: list[tuple[Any, ...]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


def of_tenant(resources: Resources) -> Resources:
    """The same store, for a tenant nobody has written to."""
    return replace(resources, settings=resources.settings.model_copy(update={"tenant": TENANT}))


async def load_log(resources: Resources, plan: Plan, progress: Progress) -> None:
    """Fill the butler's tenant, which must be new."""
    tenant, source = resources.settings.tenant, random.Random(SEED)
    assert resources.database.embedded, "the loader needs the embedded server, where it can be superuser"
    task = progress.add_task("Writing the log", total=plan.events)
    rows = _rows(resources, plan)
    facts = [row[1] for row in rows.facts]
    with psycopg.connect(resources.database.embedded.dsn("postgres", "memory"), autocommit=True) as superuser:
        _copy(superuser, tenant, rows)
        trail = AuditTrail(now=BEGIN, actor=BUTLER, lineage=Lineage(), make_id=resources.make_id)
        for start in range(0, len(rows.changes), AT_ONCE):
            await _record(resources, trail, rows.changes[start : start + AT_ONCE])
            progress.advance(task, min(AT_ONCE, len(rows.changes) - start))
        left = plan.renewals
        while left:
            now = BEGIN + timedelta(days=1, seconds=plan.renewals - left)
            some = source.sample(facts, min(AT_ONCE, left, len(facts)))
            superuser.execute(
                "UPDATE memory.facts SET last_confirmed_at = %s WHERE tenant_id = %s AND id = ANY(%s)",
                (now, tenant, some),
            )
            trail = AuditTrail(now=now, actor=BUTLER, lineage=Lineage(), make_id=resources.make_id)
            await _record(resources, trail, [Change(MemoryType.FACT, one, "confirmed") for one in some])
            left -= len(some)
            progress.advance(task, len(some))
        for start in range(0, plan.reads, AT_ONCE):
            count = min(AT_ONCE, plan.reads - start)
            now = BEGIN + timedelta(days=9, seconds=start)
            trail = AuditTrail(
                now=now, actor=BUTLER, lineage=Lineage(session_id=f"s{start}"), make_id=resources.make_id
            )
            async with resources.database.write(tenant, now, relaxed=True) as transaction:
                for _ in range(count):
                    await events.bump(transaction, trail, source.sample(facts, min(5, len(facts))), "search")
            progress.advance(task, count)
        superuser.execute("VACUUM (ANALYZE)")


async def _record(resources: Resources, trail: AuditTrail, changes: Sequence[Change]) -> None:
    async with resources.database.write(resources.settings.tenant, trail.now, relaxed=True) as transaction:
        await events.record(transaction, trail, changes)


def _rows(resources: Resources, plan: Plan) -> _Rows:
    rows, tenant = _Rows(), resources.settings.tenant
    number = 0

    def begun(text: str) -> tuple[datetime, tuple[Any, ...], tuple[str, bytes]]:
        nonlocal number
        number += 1
        at = BEGIN + timedelta(milliseconds=number)
        body = f"{text}, number {number}: {hashlib.sha256(text.encode()).hexdigest()}"
        return (
            at,
            (tenant, resources.make_id(at), short_reference(number)),
            (body, hashlib.sha256(body.encode()).digest()),
        )

    for _ in range(plan.episodes):
        at, start, words = begun("We talked about what to do next and why")
        middle: tuple[Any, ...] = (BUTLER, f"s{number // 10}", *words, 5, [], "active", "pending", 0)
        rows.episodes.append((*start, *middle, at, at, at + timedelta(days=90), 0, "{}"))
        rows.changes.append(Change(MemoryType.EPISODE, start[1], "created"))
    for _ in range(plan.rules):
        at, start, words = begun("When this comes up, do that")
        middle = ("global", [], "active", "candidate", 0.5, 0.008, 0, 0, 0, [])
        rows.rules.append((*start, *words, *middle, BUTLER, at, 0, "{}"))
        rows.changes.append(Change(MemoryType.RULE, start[1], "created"))
    for place in range(plan.facts):
        at, start, words = begun("This is how it is")
        replaces = place % 50 == 49
        name = f"said_{place - replaces}"
        state = "superseded" if place % 50 == 48 and place + 1 < plan.facts else "active"
        episode = rows.episodes[place % len(rows.episodes)][1] if place % 4 == 0 else None
        old = rows.facts[-1][1] if replaces else None
        names = (f"subject_{place // 50}", "Subject", name, name)
        tail = (5, [], state, 1.0, "standard", 0.008, BUTLER, at, 0, "{}", episode, old)
        rows.facts.append((*start, *names, *words, "global", *tail))
        links = [_link(start[1], *end, at) for end in (("episode", episode), ("fact", old)) if end[1]]
        rows.links += [(tenant, *link.values()) for link in links]
        extra = {"links": [{key: str(value) for key, value in link.items()} for link in links]} if links else {}
        rows.changes.append(Change(MemoryType.FACT, start[1], "created", extra))
    return rows


def _link(source: UUID, kind: str, target: UUID | None, at: datetime) -> dict[str, Any]:
    relation = Relation.SUPERSEDES if kind == "fact" else Relation.DERIVED_FROM
    return {
        "source_type": "fact",
        "source_id": source,
        "target_type": kind,
        "target_id": target,
        "relation": relation.value,
        "created_at": at,
    }


def _copy(superuser: psycopg.Connection[Any], tenant: str, rows: _Rows) -> None:
    known = len(rows.episodes) + len(rows.rules) + len(rows.facts)
    for table, columns, values in (
        ("tenants", "tenant_id, created_at, last_ref", [(tenant, BEGIN, known)]),
        ("episodes", EPISODE_COLUMNS, rows.episodes),
        ("rules", RULE_COLUMNS, rows.rules),
        ("facts", f"{FACT_COLUMNS}, source_episode_id, supersedes_id", rows.facts),
        ("memory_links", LINK_COLUMNS, rows.links),
    ):
        with superuser.cursor().copy(f"COPY memory.{table} ({columns}) FROM STDIN".encode()) as copy:
            for row in values:
                copy.write_row(row)


class Memory(threading.Thread):
    """Watches the most memory that this process and the database's busiest one have for themselves."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        super().__init__(daemon=True)
        assert server.pid
        self._postmaster = psutil.Process(server.pid)
        self._over = threading.Event()
        self.client_mb = self.server_mb = 0.0

    def run(self) -> None:
        self._look()
        while not self._over.wait(0.2):
            self._look()

    def _look(self) -> None:
        self.client_mb = max(self.client_mb, own_mb(psutil.Process()))
        workers = [own_mb(process) for process in self._postmaster.children()]
        self.server_mb = max([self.server_mb, *workers])

    def stop(self) -> None:
        self._over.set()
        self.join()


def own_mb(process: psutil.Process) -> float:
    """What a process holds beside the memory it shares with others, such as the database's buffers."""
    try:
        used = process.memory_info()
    except psutil.Error:
        return 0.0
    return (used.rss - used.shared) / MB


async def measure(resources: Resources, server: EmbeddedPostgres, plan: Plan) -> dict[str, Any]:
    with Progress() as progress:
        started = time.perf_counter()
        await load_log(resources, plan, progress)
        loaded = time.perf_counter() - started
    return {"load_seconds": round(loaded, 1), **await replayed(resources, server)}


async def replayed(resources: Resources, server: EmbeddedPostgres) -> dict[str, Any]:
    """One replay, watched."""
    watch = Memory(server)
    before = own_mb(psutil.Process())
    watch.start()
    started = time.perf_counter()
    report = await replay.replay(resources)
    seconds = time.perf_counter() - started
    watch.stop()
    return {
        "seconds": round(seconds, 3),
        "equal": report.equal,
        "client_mb_before": round(before, 1),
        "client_mb": round(watch.client_mb, 1),
        "server_process_mb": round(watch.server_mb, 1),
        "rows": {name: table.live for name, table in report.tables.items()},
    }


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay", description=__doc__)
    parser.add_argument("--events", type=int, default=MILLION, help="length of the log")
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "replay.json", help="where the result goes")
    arguments = parser.parse_args(given)
    with machine.scratch_store() as server:
        settings = load_settings(home=server.home)

        async def inside() -> dict[str, Any]:
            async with open_resources(settings, embedder=FakeEmbedder()) as resources:
                return await measure(of_tenant(resources), server, Plan(arguments.events))

        found = asyncio.run(inside())
        result = {**machine.header(server, settings, SEED), "events": arguments.events, **found}
    machine.wide_console().print_json(data=found)
    machine.write_json(arguments.json, result)
    return 0 if result["equal"] else 1


if __name__ == "__main__":
    sys.exit(main())
