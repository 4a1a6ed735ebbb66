"""How long the daily upkeep of a large store takes: `python -m benchmarks.sweep`.

One butler's million facts, of which one in twenty is due for a change, with their history: an event and a text each,
and the references that promotion looks at. The sweep is rehearsed, run while a client goes on writing to the same
tenant, and run once more when there is nothing left to do. Facts are inserted as the superuser and pass every
constraint; the search index, which a sweep of facts does not touch, is left empty.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.table import Table

from benchmarks.support import machine
from benchmarks.support.latency import Latency
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.operations.lifecycle.sweep import SweepReport, sweep
from memory_butler.operations.writing import feedback
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

SEED = 20_260_101
BUTLER = "main"
WITHIN_SECONDS = 60.0
CHANGING = 0.05
REFERENCES = 12
WRITES_A_SECOND = 20

# Ids sort by time, as those of stored facts do; the number of a fact decides everything about it.
LOAD_FACTS = b"""
INSERT INTO memory.facts (tenant_id, id, ref, subject, subject_label, predicate, predicate_label, content, content_hash,
    scope, importance, tags, validity, confidence, permanence, decay_rate, source_butler, created_at,
    last_referenced_at, reference_count, metadata)
SELECT %(tenant)s, (lpad(to_hex((extract(epoch FROM created_at) * 1000)::bigint), 12, '0') || '7'
        || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid,
    lpad(to_hex(n), 8, '0'), 'person_' || n %% 5000, 'Person ' || n %% 5000, 'said:' || n, 'said:' || n,
    'On day ' || n || ' we walked to the harbour and counted the ships.', sha256(n::text::bytea), 'global',
    1 + n %% 10, '{}', 'active', 1, permanence,
    CASE permanence WHEN 'stable' THEN 0.002 WHEN 'standard' THEN 0.008 ELSE 0.03 END, %(butler)s, created_at,
    CASE WHEN uses > 0 THEN %(now)s END, uses, '{}'
FROM (
    SELECT n, kind, CASE kind WHEN 'promote' THEN 'volatile' WHEN 'fade' THEN 'standard' WHEN 'expire' THEN 'standard'
            WHEN 'evict' THEN 'standard' ELSE CASE WHEN n %% 5 = 0 THEN 'stable' ELSE 'standard' END END AS permanence,
        %(now)s::timestamptz - interval '1 second' * (n %% 1000) - interval '1 day' * CASE kind
            WHEN 'promote' THEN 20 WHEN 'fade' THEN 210 + n %% 100 WHEN 'expire' THEN 380 + n %% 20
            WHEN 'evict' THEN 180 ELSE n %% 150 END AS created_at,
        CASE WHEN kind = 'promote' OR n %% 50 = 7 THEN %(references)s::int ELSE 0 END AS uses
    FROM (
        SELECT n, CASE WHEN n %% 1000 < %(promote)s THEN 'promote' WHEN n %% 1000 < %(fade)s THEN 'fade'
            WHEN n %% 1000 < %(expire)s THEN 'expire' WHEN n %% 1000 < %(evict)s THEN 'evict' ELSE 'stay' END AS kind
        FROM generate_series(1, %(facts)s::int) n
    ) numbered
) drawn
ORDER BY created_at
"""
# Those that move up were referred to over eleven days, the others all on one.
LOAD_REFERENCES = b"""
INSERT INTO memory.memory_references (tenant_id, memory_id, seq, referenced_at, session_id)
SELECT tenant_id, id, row_number() OVER (ORDER BY id), created_at + step * CASE permanence
    WHEN 'volatile' THEN interval '1 day' ELSE interval '1 hour' END, 's' || step
FROM memory.facts CROSS JOIN generate_series(1, reference_count) step
WHERE tenant_id = %(tenant)s AND reference_count > 0
"""
LOAD_TEXTS = b"""
INSERT INTO memory.texts (tenant_id, memory_id, hash, body)
SELECT tenant_id, id, sha256(convert_to(body, 'UTF8')), body
FROM memory.facts f CROSS JOIN LATERAL (SELECT jsonb_build_object('content', f.content, 'content_hash', f.content_hash,
    'subject', f.subject, 'subject_label', f.subject_label, 'predicate', f.predicate, 'predicate_label',
    f.predicate_label, 'tags', f.tags, 'metadata', f.metadata)::text AS body) t
WHERE tenant_id = %(tenant)s
"""
LOAD_EVENTS = b"""
INSERT INTO memory.memory_events (tenant_id, id, seq, event_type, entity_type, entity_id, occurred_at, actor,
    payload_version, payload, text_hash)
SELECT f.tenant_id, f.id, row_number() OVER (ORDER BY f.id), 'fact.created', 'fact', f.id, f.created_at, %(butler)s, 1,
    jsonb_build_object('state', to_jsonb(f) - '{content,content_hash,subject,subject_label,predicate,predicate_label,
        tags,metadata}'::text[] || '{"reference_count": 0, "last_referenced_at": null}'), t.hash
FROM memory.facts f JOIN memory.texts t ON t.tenant_id = f.tenant_id AND t.memory_id = f.id
WHERE f.tenant_id = %(tenant)s
"""
LOAD_TENANT = b"""
INSERT INTO memory.tenants (tenant_id, created_at, last_seq, last_ref)
VALUES (%(tenant)s, %(now)s, (%(references)s::bigint + 1) * %(facts)s, %(facts)s)
ON CONFLICT (tenant_id) DO UPDATE SET last_seq = excluded.last_seq, last_ref = excluded.last_ref
"""
LOAD_BUTLER = b"INSERT INTO memory.butlers (tenant_id, butler, created_at) VALUES (%(tenant)s, %(butler)s, %(now)s)"


@dataclass(frozen=True, slots=True)
class Plan:
    """How many facts there are, and how many in a thousand are due for what."""

    facts: int = 1_000_000
    promote: int = 5
    fade: int = 22
    expire: int = 18
    evict: int = 5

    @property
    def changing(self) -> int:
        return self.facts * (self.promote + self.fade + self.expire + self.evict) // 1000

    @property
    def mid(self) -> int:
        """How much of mid is left for as many to be evicted as the plan says."""
        staying = self.facts - self.facts * (self.promote + self.fade + self.expire + self.evict) // 1000
        return self.facts * (self.promote + self.fade) // 1000 + staying - staying // 5

    def shares(self) -> dict[str, int]:
        """Where each kind ends among the numbers up to a thousand."""
        found, end = {}, 0
        for kind in ("promote", "fade", "expire", "evict"):
            end += getattr(self, kind)
            found[kind] = end
        return found


QUICK = Plan(facts=20_000)


def load(server: EmbeddedPostgres, tenant: str, plan: Plan, now: datetime) -> None:
    """Fill a tenant with facts, as storing them over a year would have."""
    values: dict[str, Any] = {"tenant": tenant, "butler": BUTLER, "now": now, "references": REFERENCES}
    values |= {"facts": plan.facts, **plan.shares()}
    with psycopg.connect(server.dsn("postgres", "memory"), autocommit=True) as connection:
        for statement in (LOAD_TENANT, LOAD_BUTLER, LOAD_FACTS, LOAD_REFERENCES, LOAD_TEXTS, LOAD_EVENTS):
            connection.execute(statement, values)
            connection.execute("ANALYZE")
        connection.execute("VACUUM (ANALYZE)")
        connection.execute("CHECKPOINT")


async def write_meanwhile(resources: Resources, ref: str, found: list[float]) -> None:
    """What a caller notices who writes to the same tenant: how long a confirmation takes."""
    while True:
        began = time.perf_counter()
        await feedback.confirm(resources, "fact", ref)
        found.append(time.perf_counter() - began)
        await asyncio.sleep(1 / WRITES_A_SECOND)


async def swept(
    resources: Resources, writer: str | None, *, dry_run: bool = False
) -> tuple[SweepReport, float, list[float]]:
    """One sweep, its seconds, and how long writes took meanwhile."""
    waits: list[float] = []
    meanwhile = asyncio.create_task(write_meanwhile(resources, writer, waits)) if writer else None
    began = time.perf_counter()
    report = await sweep(resources, dry_run=dry_run)
    seconds = time.perf_counter() - began
    if meanwhile:
        meanwhile.cancel()
        with suppress(asyncio.CancelledError):
            await meanwhile
    return report, seconds, waits


async def run(resources: Resources, server: EmbeddedPostgres, plan: Plan, console: Console) -> dict[str, Any]:
    now = resources.clock()
    console.print(f"Loading {plan.facts:,} facts …")
    began = time.perf_counter()
    await asyncio.to_thread(load, server, resources.settings.tenant, plan, now)
    loaded = time.perf_counter() - began
    writer = f"{plan.facts // 1000 * 1000 - 1:08x}"
    console.print("Rehearsing …")
    rehearsed, rehearsal_seconds, _ = await swept(resources, None, dry_run=True)
    console.print("Sweeping …")
    first, seconds, waits = await swept(resources, writer)
    console.print("Sweeping once more …")
    second, again_seconds, _ = await swept(resources, None)
    duties = {
        str(duty.duty): {"scanned": duty.scanned, "changed": duty.changed, "seconds": duty.seconds}
        for duty in first.shards[0].duties
    }
    return {
        "plan": asdict(plan),
        "duties": duties,
        "seconds": {
            "sweep": round(seconds, 2),
            "sweep that finds nothing": round(again_seconds, 2),
            "dry run": round(rehearsal_seconds, 2),
            "loading": round(loaded, 1),
        },
        "changed": {"dry run": rehearsed.changed, "sweep": first.changed, "sweep that finds nothing": second.changed},
        "write_meanwhile_ms": {**Latency.of(waits).as_ms(), "longest": round(1000 * max(waits), 2)},
        "goals": goals(plan, seconds, first),
    }


def goals(plan: Plan, seconds: float, report: SweepReport) -> list[dict[str, Any]]:
    share = report.changed / plan.facts
    return [
        {
            "goal": f"{plan.facts:,} facts swept, {share:.1%} of them changing, in seconds",
            "measured": round(seconds, 1),
            "at_most": WITHIN_SECONDS,
            "holds": seconds <= WITHIN_SECONDS and share >= CHANGING,
        }
    ]


def measure(plan: Plan, console: Console) -> dict[str, Any]:
    with machine.scratch_store() as server:
        settings = load_settings(
            home=server.home, lifecycle={"mid": {"capacity": plan.mid}, "long": {"capacity": 10**9}}
        )

        async def inside() -> dict[str, Any]:
            async with open_resources(settings, embedder=FakeEmbedder()) as resources:
                return await run(resources, server, plan, console)

        result = asyncio.run(inside())
        return {**machine.header(server, settings, SEED), **result}


def show(result: dict[str, Any], console: Console) -> None:
    table = Table("duty", "looked at", "changed", "seconds", title="The sweep, duty by duty", title_justify="left")
    for name, duty in result["duties"].items():
        figures = (f"{duty['scanned']:,}", f"{duty['changed']:,}", f"{duty['seconds']:.2f}")
        table.add_row(name.replace("_", " "), *figures)
    console.print(table)
    table = Table("what", "seconds", "changed", title="In all", title_justify="left")
    for name, seconds in result["seconds"].items():
        changed = result["changed"].get(name)
        table.add_row(name, f"{seconds:.2f}", "" if changed is None else f"{changed:,}")
    console.print(table)
    waits = result["write_meanwhile_ms"]
    table = Table("what", "p50 ms", "p95 ms", "p99 ms", "longest", "calls", title_justify="left")
    milliseconds = [f"{waits[name]:.1f}" for name in ("p50", "p95", "p99", "longest")]
    table.add_row("a write to the same tenant meanwhile", *milliseconds, str(waits["calls"]))
    console.print(table)
    for goal in result["goals"]:
        verdict = "[green]pass[/]" if goal["holds"] else "[red]fail[/]"
        console.print(f"{goal['goal']}: {goal['measured']} (at most {goal['at_most']:g}) {verdict}")


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small store, to see that it works")
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "sweep.json", help="where the result goes")
    arguments = parser.parse_args(given)
    console = machine.wide_console()
    result = measure(QUICK if arguments.quick else Plan(), console)
    show(result, console)
    machine.write_json(arguments.json, result)
    console.print(f"Written to {arguments.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
