"""The load of the failover campaign: writers, each with one episode at a time, and readers; and their ledger."""

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpx

WRITERS, READERS = 5, 3
PAUSE_SECONDS = 0.1
# Writes of one tenant before a writer goes on to the next, so that new tenants come all along.
WRITES_PER_TENANT = 20
# A server answers within its deadline of 5 s.
PATIENCE_SECONDS = 9.0
READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search", {"query": "what did the writer note", "min_relevance": 0}),
    ("context", {"trigger_prompt": "what did the writer note", "butler": "main"}),
)


@dataclass
class Ledger:
    """What the callers were told, and when."""

    # Content of each acknowledged episode with its tenant.
    acknowledged: dict[str, str] = field(default_factory=dict)
    # Episodes that were sent; those without an acknowledgement may or may not be stored.
    sent: set[str] = field(default_factory=set)
    write_times: list[float] = field(default_factory=list)
    read_times: list[float] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    stale_reads: int = 0

    def refused(self, kind: str, what: str) -> None:
        self.refusals[kind] += 1
        self.examples.setdefault(kind, what[:300])

    def first_write_after(self, moment: float) -> float:
        """When the outage ended: the end of the longest gap of writes that reaches beyond a moment."""
        times = [moment, *(at for at in self.write_times if at > moment)]
        return max(itertools.pairwise(times), key=lambda pair: pair[1] - pair[0])[1]

    @staticmethod
    def longest_gap(times: Sequence[float], began: float, ended: float) -> float:
        inside = [began, *(at for at in times if began < at < ended), ended]
        return max(later - earlier for earlier, later in itertools.pairwise(inside))


class Load:
    """Callers at several addresses; they try again with the same key until they are acknowledged."""

    def __init__(self, addresses: Sequence[str], tokens: dict[str, str]) -> None:
        self._addresses = addresses
        self._tokens = list(tokens.items())
        self._stopping = False
        self._tasks: list[asyncio.Task[None]] = []
        self.ledger = Ledger()

    async def __aenter__(self) -> Self:
        self._http = httpx.AsyncClient(timeout=PATIENCE_SECONDS, trust_env=False)
        self._tasks = [asyncio.create_task(self._write(number)) for number in range(WRITERS)]
        self._tasks += [asyncio.create_task(self._read(number)) for number in range(READERS)]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping = True
        await asyncio.wait(self._tasks, timeout=60)
        await self._http.aclose()
        for task in self._tasks:
            task.result()

    async def progress(self, *, seconds: float, settled: bool = False) -> None:
        """Wait until every writer was acknowledged again, some times over; `settled`: for three seconds in a row."""
        wanted = 3 * WRITERS
        ends = time.monotonic() + seconds
        began = time.monotonic()
        while True:
            assert time.monotonic() < ends, f"nothing is stored any more: {self.ledger.refusals} {self.ledger.examples}"
            recent = [at for at in self.ledger.write_times if at > max(began, time.monotonic() - 3)]
            gap = Ledger.longest_gap(recent, time.monotonic() - 3, time.monotonic())
            if len(recent) >= wanted and (not settled or (gap < 1.5 and time.monotonic() > began + 4)):
                return
            for task in self._tasks:
                if task.done():
                    task.result()
            await asyncio.sleep(0.1)

    async def _post(self, number: int, verb: str, body: dict[str, Any], token: str) -> dict[str, Any] | None:
        """The answer, or None if the caller was refused."""
        address = self._addresses[number % len(self._addresses)]
        try:
            answer = await self._http.post(
                f"{address}/api/v1/{verb}", json=body, headers={"authorization": f"Bearer {token}"}
            )
        except httpx.HTTPError as problem:
            self.ledger.refused(type(problem).__name__, f"{verb} at {address}: {problem}")
            return None
        if answer.status_code == 200:
            return dict(answer.json())
        try:
            said = answer.json()
            self.ledger.refused(said["error"], f"{verb} at {address}: {said['message']}")
        except (ValueError, KeyError):
            self.ledger.refused(f"status {answer.status_code}", f"{verb} at {address}: {answer.text}")
        return None

    async def _write(self, number: int) -> None:
        for told in itertools.count():
            tenant, token = self._tokens[(number + told // WRITES_PER_TENANT) % len(self._tokens)]
            content = f"Writer {number} noted thing number {told}"
            body = {"content": content, "butler": "main", "idempotency_key": f"w{number}-{told}"}
            self.ledger.sent.add(content)
            while await self._post(number, "store_episode", body, token) is None:
                if self._stopping:
                    return
                await asyncio.sleep(PAUSE_SECONDS)
            self.ledger.acknowledged[content] = tenant
            self.ledger.write_times.append(time.monotonic())
            if self._stopping:
                return
            await asyncio.sleep(PAUSE_SECONDS)

    async def _read(self, number: int) -> None:
        bodies = itertools.cycle(READS)
        while not self._stopping:
            _, token = self._tokens[number % WRITERS]
            verb, body = next(bodies)
            answer = await self._post(number, verb, body, token)
            if answer is not None:
                self.ledger.read_times.append(time.monotonic())
                self.ledger.stale_reads += any("stale" in str(note) for note in answer.get("degraded") or ())
            await asyncio.sleep(PAUSE_SECONDS)
