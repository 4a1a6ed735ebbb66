"""The log: numbered in the order of commits, one event a change, words apart."""

import asyncio
import json
import re
import subprocess
import sys
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import IntegrityViolation
from memory_butler.models import Caller, Lineage, MemoryType, NewEpisode, NewFact, NewRule, Outcome, Question
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.operations.writing.ingest import IncomingEpisode, ingest
from memory_butler.resources import Resources, open_resources
from memory_butler.store.gate.queries import load_queries
from memory_butler.store.history import events

Connection = psycopg.Connection[Any]
NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
WRITERS = 20

# Another process with its own connections and a clock of its own, years behind.
CHILD = """
import asyncio, sys
from dataclasses import replace
from datetime import datetime, UTC
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.resources import open_resources
from memory_butler.models import NewFact
from memory_butler.operations.writing import remember

async def main(home, tenant, count):
    behind = datetime(2019, 1, 1, tzinfo=UTC)
    async with open_resources(home=home, tenant=tenant, embedder=FakeEmbedder(), clock=lambda: behind) as resources:
        print("ready", flush=True)
        sys.stdin.readline()
        facts = [NewFact(subject="child", predicate=f"p{n}", content="c") for n in range(count)]
        await asyncio.gather(*(remember.fact(resources, fact) for fact in facts))

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


def _log(owner: Connection, resources: Resources) -> list[dict[str, Any]]:
    with owner.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        return cursor.execute(
            "SELECT * FROM memory.memory_events WHERE tenant_id = %s ORDER BY seq", (resources.settings.tenant,)
        ).fetchall()


async def test_concurrent_writers_in_two_processes_leave_no_gap(resources: Resources, owner: Connection) -> None:
    """Forty writers of one tenant, in two processes with clocks years apart: seq runs 1..40."""
    arguments = [str(resources.settings.home), resources.settings.tenant, str(WRITERS)]
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin and child.stdout
    assert await child.stdout.readline() == b"ready\n"
    child.stdin.write(b"go\n")
    facts = [NewFact(subject="parent", predicate=f"p{n}", content="c") for n in range(WRITERS)]
    await asyncio.gather(*(remember.fact(resources, fact) for fact in facts))
    await child.communicate()
    assert child.returncode == 0
    rows = owner.execute(
        "SELECT seq, xmin::text, occurred_at FROM memory.memory_events WHERE tenant_id = %s ORDER BY seq",
        (resources.settings.tenant,),
    ).fetchall()
    assert [row[0] for row in rows] == list(range(1, 2 * WRITERS + 1))
    assert len({row[1] for row in rows}) == 2 * WRITERS
    assert len({row[2] for row in rows}) == 2


async def test_a_reader_never_sees_a_number_before_the_ones_below_it(resources: Resources, owner: Connection) -> None:
    """While writers commit, every snapshot of the log is 1..n without a hole."""
    done = asyncio.Event()

    async def watch() -> int:
        seen = 0
        while not done.is_set():
            async with resources.database.read(resources.settings.tenant) as transaction:
                log = await transaction.one("stats.log")
            count, highest = owner.execute(
                "SELECT count(*), coalesce(max(seq), 0) FROM memory.memory_events WHERE tenant_id = %s",
                (resources.settings.tenant,),
            ).fetchone() or (0, 0)
            assert count == highest >= (log["events"] if log else 0)
            seen = max(seen, count)
        return seen

    watcher = asyncio.create_task(watch())
    facts = [NewFact(subject="user", predicate=f"p{n}", content="c") for n in range(WRITERS)]
    await asyncio.gather(*(remember.fact(resources, fact) for fact in facts))
    done.set()
    assert await watcher > 0


async def test_supersession_is_one_event_for_each_memory_under_one_group(
    resources: Resources, owner: Connection, agent: Callable[..., Caller]
) -> None:
    """The old fact's event comes first, the new one's holds the link, and both carry group and request."""
    caller = agent("health", request_id="r1", subrequest_id="r1.2", segment_id="g3", session_id="s4")
    await remember.fact(resources, NewFact(subject="user", predicate="color", content="blue"), caller)
    await remember.fact(resources, NewFact(subject="user", predicate="color", content="green"), caller)
    created, superseded, renewed = _log(owner, resources)
    assert [event["event_type"] for event in (created, superseded, renewed)] == [
        "fact.created",
        "fact.superseded",
        "fact.created",
    ]
    assert created["group_id"] is None
    assert superseded["group_id"] == renewed["group_id"] is not None
    assert superseded["payload"]["state"]["validity"] == "superseded"
    assert renewed["payload"]["state"]["supersedes_id"] == str(created["entity_id"])
    [link] = renewed["payload"]["links"]
    assert (link["relation"], link["target_id"]) == ("supersedes", str(created["entity_id"]))
    for event in (created, superseded, renewed):
        lineage = [event[name] for name in ("actor", "request_id", "subrequest_id", "segment_id", "session_id")]
        assert lineage == ["health", "r1", "r1.2", "g3", "s4"]
        assert event["payload_version"] == 1


async def test_a_read_is_one_event_however_much_it_returned(resources: Resources, owner: Connection) -> None:
    """A reference bump names all ids in one event and belongs to no single memory."""
    for n in range(3):
        await remember.fact(resources, NewFact(subject="user", predicate=f"color {n}", content="blue"))
    answer = await search.search(resources, Question(query="blue"))
    bump = _log(owner, resources)[-1]
    assert (bump["event_type"], bump["entity_type"], bump["entity_id"]) == ("memory.referenced", "reference", None)
    assert set(bump["payload"]["ids"]) == {str(entry.hit.id) for entry in answer.results}
    assert len(answer.results) == 3


async def test_no_word_of_a_memory_is_in_an_event(resources: Resources, owner: Connection) -> None:
    """Content, subject, tags, metadata and reasons are kept apart, so that removing them never changes an event."""
    secret = "xylophone"
    fact = NewFact(
        subject=secret, predicate=secret, content=secret, tags=(secret,), metadata={secret: secret}, permanence="stable"
    )
    stored = await remember.fact(resources, fact)
    rule = await remember.rule(resources, NewRule(content=f"Play the {secret}", tags=(secret,)))
    await feedback.mark(resources, rule.ref, Outcome.HARMFUL, reason=f"the {secret} was loud")
    await forget.forget(resources, "fact", stored.ref, reason=f"no {secret}")
    log = _log(owner, resources)
    assert len(log) == 4
    assert secret not in json.dumps([event["payload"] for event in log])
    texts = owner.execute(
        "SELECT body, hash = sha256(convert_to(body, 'UTF8')) FROM memory.texts WHERE tenant_id = %s",
        (resources.settings.tenant,),
    ).fetchall()
    assert len(texts) == 5
    assert all(secret in body and intact for body, intact in texts)


async def test_memories_that_say_the_same_share_no_text(resources: Resources, owner: Connection) -> None:
    """Each memory owns its words: removing those of one leaves the other's. Nothing shows that they are the same."""
    first = await remember.rule(resources, NewRule(content="Be kind", scope="global"))
    second = await remember.rule(resources, NewRule(content="Be kind", scope="main"))
    owners = owner.execute(
        "SELECT memory_id, hash FROM memory.texts WHERE tenant_id = %s", (resources.settings.tenant,)
    ).fetchall()
    assert {row[0] for row in owners} == {first.id, second.id}
    assert len({row[1] for row in owners}) == 2


async def test_a_change_to_nothing_cannot_be_recorded(resources: Resources, owner: Connection) -> None:
    """An event of a memory that does not exist is refused, and leaves no gap in the log."""
    fact = (await remember.fact(resources, NewFact(subject="user", predicate="color", content="blue"))).id
    marks = events.AuditTrail(now=NOW, actor="main", lineage=Lineage(), make_id=resources.make_id)
    missing = events.Change(MemoryType.FACT, uuid.uuid4(), "confirmed")
    with pytest.raises(IntegrityViolation):
        async with resources.database.write(resources.settings.tenant, NOW) as transaction:
            await events.record(transaction, marks, [missing, events.Change(MemoryType.FACT, fact, "confirmed")])
    assert [event["seq"] for event in _log(owner, resources)] == [1]


async def test_an_event_does_not_read_the_log_before_it(new_home: Callable[[], Path]) -> None:
    """Also in a store whose tables were never counted, on a connection that was open when they were empty."""
    async with open_resources(home=new_home(), embedder=FakeEmbedder()) as resources:
        for first in range(0, 600, 100):
            some = [IncomingEpisode(NewEpisode(content=f"Day {n}.", butler="a")) for n in range(first, first + 100)]
            await ingest(resources, some)
        tenant, record = resources.settings.tenant, load_queries(resources.database.names)["events.record"]
        async with resources.database.rollback_only(tenant, 60) as transaction:
            rows = await (await transaction.run("SELECT id FROM memory.episodes LIMIT 20", {})).fetchall()
            change = {"entity_type": "episode", "event_type": "episode.read", "extra": {}}
            changes = [
                {**change, "n": n, "id": str(row["id"]), "event_id": str(uuid.uuid4())} for n, row in enumerate(rows, 1)
            ]
            none = dict.fromkeys(("request_id", "subrequest_id", "segment_id", "session_id", "group_id"))
            given = {"tenant": tenant, "changes": json.dumps(changes), "now": NOW, "actor": "a", **none}
            plan = await (
                await transaction._connection.execute(b"EXPLAIN (ANALYZE, BUFFERS) " + record, given)
            ).fetchall()
    lines = [line for row in plan for line in row.values()]
    pages = next(int(found[1]) for line in lines if (found := re.search(r"shared hit=(\d+)", line)))
    assert pages < 20 * 60
