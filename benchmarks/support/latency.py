"""Timing calls, one client or several, and the floor that they are compared with."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from memory_butler.resources import Resources
from memory_butler.store.gate.vectors import as_vector

Call = Callable[[int, str], Awaitable[None]]

# The least that a read could do: the passages of the tenant nearest to the question, each with its memory's row,
# as many as the real read fetches; exact, under row-level security, without words, filters or ranking.
FLOOR = b"""
WITH asked AS MATERIALIZED (
    SELECT %(embedding)s::public.vector AS embedding
), nearest AS MATERIALIZED (
    SELECT p.memory_id, p.embedding OPERATOR(public.<=>) a.embedding AS distance
    FROM asked a CROSS JOIN memory.passages p
    WHERE p.tenant_id = %(tenant)s
    ORDER BY distance
    LIMIT %(rows)s
)
SELECT n.distance, f.id, f.ref, f.scope, f.source_butler, f.subject_label, f.predicate_label, f.content, f.importance,
    f.tags, f.validity, f.permanence, f.confidence, f.decay_rate, f.created_at, f.last_confirmed_at,
    f.last_referenced_at
FROM nearest n JOIN memory.facts f ON f.tenant_id = %(tenant)s AND f.id = n.memory_id
UNION ALL
SELECT n.distance, r.id, r.ref, r.scope, r.source_butler, NULL, NULL, r.content, NULL, r.tags, r.validity, r.maturity,
    r.confidence, r.decay_rate, r.created_at, r.last_confirmed_at, r.last_referenced_at
FROM nearest n JOIN memory.rules r ON r.tenant_id = %(tenant)s AND r.id = n.memory_id
UNION ALL
SELECT n.distance, e.id, e.ref, e.butler, e.butler, NULL, NULL, e.content, e.importance, e.tags, e.validity, NULL,
    1, 0, e.created_at, e.observed_at, e.last_referenced_at
FROM nearest n JOIN memory.episodes e ON e.tenant_id = %(tenant)s AND e.id = n.memory_id
"""


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds that most, nearly all and all but the worst calls took."""

    calls: int
    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Latency":
        ordered = sorted(seconds)
        return cls(len(ordered), *(percentile(ordered, share) for share in (0.50, 0.95, 0.99)))

    def as_ms(self) -> dict[str, float]:
        values = {name: round(1000 * getattr(self, name), 2) for name in ("p50", "p95", "p99")}
        return {**values, "calls": self.calls}


@dataclass(frozen=True, slots=True)
class Rate:
    count: int
    seconds: float

    @property
    def per_second(self) -> float:
        return self.count / self.seconds


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value that this share of the values does not exceed (nearest rank)."""
    place = max(1, min(len(ordered), -int(-share * len(ordered) // 1)))
    return ordered[place - 1]


async def timed(call: Call, texts: Sequence[str], clients: int) -> list[float]:
    """Seconds of each call; every client makes its next call as soon as it has the answer to its last."""
    waiting = iter(enumerate(texts))
    seconds: list[float] = []

    async def client() -> None:
        for number, text in waiting:
            started = time.perf_counter()
            await call(number, text)
            seconds.append(time.perf_counter() - started)

    await asyncio.gather(*(client() for _ in range(clients)))
    return seconds


async def rate(call: Call, texts: Sequence[str], clients: int) -> Rate:
    started = time.perf_counter()
    await timed(call, texts, clients)
    return Rate(len(texts), time.perf_counter() - started)


async def floor_read(resources: Resources, tenant: str, text: str, rows: int) -> None:
    """One embedding and one bare statement through the same gate."""
    vector = await resources.embedder.embed_query(text)
    async with resources.database.read(tenant) as transaction:
        values = {"embedding": as_vector(vector.tolist()), "tenant": tenant, "rows": rows}
        await (await transaction._connection.execute(FLOOR, values)).fetchall()
