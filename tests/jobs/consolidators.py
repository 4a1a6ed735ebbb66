"""Workers that consolidate and die where they are told to; what they are given to work on, and what must come of it."""

import asyncio
import logging
import multiprocessing
import os
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from benchmarks.consolidation.episodes import NAMES, SURNAMES, THINGS
from psycopg.rows import dict_row

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.english.extraction import distil
from memory_butler.jobs.schedule import ScheduledJob
from memory_butler.jobs.worker import Worker
from memory_butler.models import Caller, NewEpisode
from memory_butler.operations.consolidation.consolidate import consolidate
from memory_butler.operations.consolidation.shard_job import summarize
from memory_butler.operations.history.replay import replay
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

STEPS = ("claimed", "gathered", "distilled", "checked", "embedded", "fenced", "applied", "committed")
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
# How much faster the clock of these workers runs. What waits for minutes after a failure waits for moments, then.
SPEED = 1000
LEASE_SECONDS = 1.0
TRADES = ("Metals", "Foods", "Tools", "Books", "Paper", "Glass", "Timber", "Boats")

Row = dict[str, Any]


@dataclass(frozen=True)
class QuickClock:
    """The same moment in every process, some way ahead of everybody else's."""

    origin: float = field(default_factory=time.time)

    def __call__(self) -> datetime:
        return START + timedelta(seconds=SPEED * (time.time() - self.origin))


def settings_for(server: EmbeddedPostgres, database: str, **consolidation: Any) -> dict[str, Any]:
    """Looked at often, given up soon, and with small batches: there are many steps to die at."""
    return {
        "home": str(server.home),
        "database_url": server.dsn("memory_app", database),
        "owner_url": server.dsn("memory_owner", database),
        "upkeep": {"tick_seconds": 0.1, "lost_after_seconds": 1},
        "lifecycle": {"eden": {"ttl_days": 3650}},
        "consolidation": {
            "distiller": "built-in",
            "early_from": 1,
            "lease_seconds": SPEED * LEASE_SECONDS,
            **consolidation,
        },
    }


def work(given: dict[str, Any], clock: QuickClock, orders: Path) -> None:
    """The whole life of a worker process: until it is asked to end, or an order to die at a step is carried out."""
    logging.getLogger().addHandler(logging.NullHandler())

    def obey(step: str) -> None:
        for order in orders.glob(f"{step}.*"):
            try:
                order.unlink()
            except FileNotFoundError:
                continue  # another worker was quicker
            os.kill(os.getpid(), signal.SIGKILL)

    async def run(resources: Resources, shard: Caller) -> dict[str, Any]:
        return summarize(await consolidate(resources, shard, step=obey))

    async def live() -> None:
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        async with open_resources(load_settings(**given), embedder=FakeEmbedder(), clock=clock) as resources:
            await Worker(resources, schedule=(ScheduledJob("consolidation", run),)).run(stop)

    asyncio.run(live())


class Crew:
    """Some worker processes; whoever dies is replaced. They are forked from one that has everything imported."""

    def __init__(self, given: dict[str, Any], clock: QuickClock, orders: Path, size: int) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.jobs.consolidators"])
        self._task = (given, clock, orders)
        self._orders = orders
        self._size = size
        self._workers: list[BaseProcess] = []
        self._ordered = 0
        self.killed = 0

    def muster(self) -> None:
        """See who has died, and have as many workers again as there should be."""
        for worker in [one for one in self._workers if not one.is_alive()]:
            worker.join()
            assert worker.exitcode == -signal.SIGKILL, "a worker ended by itself"
            self.killed += 1
            self._workers.remove(worker)
        while len(self._workers) < self._size:
            worker = self._context.Process(target=work, args=self._task)
            worker.start()
            self._workers.append(worker)

    def order(self, step: str) -> None:
        """Whoever comes to this step next dies there."""
        self._ordered += 1
        (self._orders / f"{step}.{self._ordered}").touch()

    @property
    def orders(self) -> int:
        """How many have not been carried out."""
        return len(list(self._orders.iterdir()))

    def kill_one(self, chance: random.Random) -> None:
        """SIGKILL to one of them, whatever it is doing."""
        chance.choice(self._workers).kill()

    def dismiss(self) -> None:
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            worker.join(20)
            worker.kill()
            worker.join()
        self._workers.clear()


def content(number: int) -> str:
    """The number-th thing that is said to a butler: never the same as another."""
    person = f"{NAMES[number % len(NAMES)]} {SURNAMES[number // len(NAMES) % len(SURNAMES)]}"
    match number % 4:
        case 0:
            # One property that each of these gives another value.
            return f"I work at {SURNAMES[number // 4 % len(SURNAMES)]} {TRADES[number // 4 // len(SURNAMES)]}."
        case 1:
            return f"Always ask {person} before you open the {THINGS[number % len(THINGS)]} folder."
    return f"My colleague {person} likes {THINGS[number % len(THINGS)]} tea."


@dataclass
class Story:
    """What was said in each shard, in its order, and what the store must hold when all of it is consolidated."""

    resources: Resources
    dsn: str
    told: dict[tuple[str, str], list[tuple[Any, str]]] = field(default_factory=lambda: defaultdict(list))

    async def tell(self, tenant: str, name: str) -> None:
        said = self.told[tenant, name]
        words = content(len(said))
        own = replace(self.resources, settings=self.resources.settings.model_copy(update={"tenant": tenant}))
        stored = await remember.episode(own, NewEpisode(content=words, butler=name), shard_of(tenant, name))
        said.append((stored.id, words))

    def rows(self, statement: str, *params: object) -> list[Row]:
        """What a statement finds, past row-level security."""
        with psycopg.connect(self.dsn, autocommit=True, row_factory=dict_row) as connection:
            return connection.execute(statement.encode(), params).fetchall()

    def count(self, *states: str) -> int:
        """How many episodes are in one of these states."""
        (row,) = self.rows(
            "SELECT count(*) AS n FROM memory.episodes WHERE consolidation_status = ANY(%s)", list(states)
        )
        return int(row["n"])

    async def check(self) -> None:
        """Every episode consolidated once, everything it says there once, in its order, and the log tells the same."""
        everything = {id for said in self.told.values() for id, _ in said}
        states = self.rows("SELECT id, consolidation_status AS state FROM memory.episodes")
        assert {row["id"]: row["state"] for row in states} == dict.fromkeys(everything, "consolidated")
        assert self.count_by(
            "SELECT entity_id AS id FROM memory.memory_events WHERE event_type = 'episode.consolidated'"
        ) == (Counter(everything))
        assert self.count_by(
            "SELECT h.episode_id AS id FROM memory.consolidation_episodes h"
            " JOIN memory.consolidation_runs r ON (r.tenant_id, r.id) = (h.tenant_id, h.run_id)"
            " WHERE r.state = 'applied'"
        ) == Counter(everything)
        assert self.rows("SELECT FROM memory.consolidation_runs WHERE state IN ('claimed', 'waiting')") == []
        # Alone with a lost worker, an episode waits a while, and others do not wait for it.
        set_back = set(
            self.count_by(
                "SELECT entity_id AS id FROM memory.memory_events"
                " WHERE event_type IN ('episode.set_back', 'episode.dead_lettered', 'episode.requeued')"
            )
        )
        for shard, said in self.told.items():
            self._check_shard(*shard, said, set_back)
        for tenant in {tenant for tenant, _ in self.told}:
            found = await replay(self.resources, shard_of(tenant, "main"))
            assert found.equal, found

    def count_by(self, statement: str) -> Counter[Any]:
        return Counter(row["id"] for row in self.rows(statement))

    def _check_shard(self, tenant: str, name: str, said: Sequence[tuple[Any, str]], set_back: set[Any]) -> None:
        expected = [
            (found.kind, found.subject, found.predicate, found.content, number)
            for number, (_, words) in enumerate(said)
            for found in distil(words, START)
        ]
        assert {number for *_, number in expected} == set(range(len(said))), (
            "an episode that says nothing proves nothing"
        )
        places = {id: number for number, (id, _) in enumerate(said)}
        stored = self.rows(
            "SELECT 'fact' AS kind, id, subject_label, predicate_label, content, validity FROM memory.facts"
            " WHERE tenant_id = %s AND source_butler = %s"
            " UNION ALL SELECT 'rule', id, '', '', content, validity FROM memory.rules"
            " WHERE tenant_id = %s AND source_butler = %s",
            *(tenant, name) * 2,
        )
        sources: defaultdict[Any, list[Any]] = defaultdict(list)
        for row in self.rows(
            "SELECT source_id, target_id FROM memory.memory_links WHERE tenant_id = %s AND relation = 'derived_from'",
            tenant,
        ):
            sources[row["source_id"]].append(places.get(row["target_id"]))
        found = [
            (row["kind"], row["subject_label"], row["predicate_label"], row["content"], *sources[row["id"]])
            for row in stored
        ]
        # What was set back and came too late for a newer value is on record as refused.
        late = self._came_late(tenant, name, places)
        assert {said[number][0] for _, number in late} <= set_back
        expected = [one for one in expected if one[3:] not in late]
        missing, surplus = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
        assert not missing and not surplus, (missing, surplus)
        created = self.rows(
            "SELECT entity_id AS id, entity_type AS kind FROM memory.memory_events WHERE tenant_id = %s"
            " AND event_type IN ('fact.created', 'rule.created') ORDER BY seq",
            tenant,
        )
        own = {row["id"] for row in stored}
        for kind in ("fact", "rule"):
            order = [sources[row["id"]][0] for row in created if row["id"] in own and row["kind"] == kind]
            kept = [place for place in order if said[place][0] not in set_back]
            assert kept == sorted(kept), f"{kind}s of {tenant}/{name} were not made in the order of their episodes"
        self._check_superseded(stored, {id: numbers[0] for id, numbers in sources.items() if id in own})

    def _came_late(self, tenant: str, name: str, places: dict[Any, int]) -> set[tuple[str, int]]:
        """What was refused because something newer was known: its words, and the place of its episode."""
        refused = self.rows(
            "SELECT i.proposed FROM memory.consolidation_items i"
            " JOIN memory.consolidation_runs r ON (r.tenant_id, r.id) = (i.tenant_id, i.run_id)"
            " WHERE r.tenant_id = %s AND r.butler = %s AND i.reason = 'newer_known'",
            tenant,
            name,
        )
        shown = [row["proposed"] for row in refused]
        return {(one["content"], places[UUID(cited)]) for one in shown for cited in one["evidence"]}

    def _check_superseded(self, stored: Sequence[Row], told: dict[Any, int]) -> None:
        """Of a property, the value that was told last is the one in use; everything else is in use."""
        last: dict[tuple[str, str], Any] = {}
        for row in sorted(stored, key=lambda row: told[row["id"]]):
            if row["kind"] == "fact":
                last[row["subject_label"], row["predicate_label"]] = row["id"]
        for row in stored:
            is_last = row["kind"] == "rule" or last[row["subject_label"], row["predicate_label"]] == row["id"]
            assert row["validity"] == ("active" if is_last else "superseded")
