"""Consolidation's books: claims, runs, what they proposed, and what was distilled from which episode."""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from memory_butler.models import ConsolidationStatus, Usage
from memory_butler.settings import EdenTier
from memory_butler.store.database import Row, Session
from memory_butler.store.episodes import InLine, first, in_line

LOST = "The worker was lost before it had finished."
MOST_ALIKE = 5_000
MOST_RULES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One pass over a batch, as it is on record."""

    id: UUID
    tenant_id: str
    butler: str
    distiller: str
    state: str
    claimed_at: datetime
    lease_until: datetime
    finished_at: datetime | None
    error: str | None
    episodes: int
    input_tokens: int
    output_tokens: int
    cost_microdollars: int
    request_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """How much of what a run changed was taken back, by whom and when last."""

    changes: int
    undone: int
    undone_at: datetime
    undone_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What consolidation makes of an episode."""

    id: UUID
    status: ConsolidationStatus
    attempts: int
    error: str | None = None
    retry_at: datetime | None = None


class KnownFact(NamedTuple):
    """A live fact, as far as it matters to what may say the same or take its place."""

    id: UUID
    ref: str
    scope: str
    subject: str
    predicate: str
    valid_at: datetime | None
    content: str


class KnownRule(NamedTuple):
    """A live rule, as far as it matters to what may say the same."""

    id: UUID
    ref: str
    content: str
    maturity: str


async def close_lost(session: Session, butler: str, now: datetime) -> list[UUID]:
    """End the claims whose time is over; returns which."""
    return [row["id"] for row in await session.all("consolidation.close_lost", butler=butler, now=now, error=LOST)]


async def claimed(session: Session, butler: str) -> Row | None:
    return await session.one("consolidation.claimed", butler=butler)


async def claim(session: Session, **given: Any) -> None:
    await session.send("consolidation.claim", **given)


async def account(session: Session, usage: Usage, **given: Any) -> None:
    """Put on record what a dry run cost."""
    await session.send("consolidation.account", **asdict(usage), **given)


async def finish(
    session: Session,
    run: UUID,
    state: str,
    now: datetime,
    *,
    from_state: str = "claimed",
    error: str | None = None,
    usage: Usage = Usage(),  # noqa: B008 (frozen)
) -> bool:
    """End a run, or have it wait. False: it is not this worker's any more, and nothing of it may be written."""
    row = await session.one(
        "consolidation.finish",
        run=run,
        state=state,
        now=now,
        from_state=from_state,
        error=error,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_microdollars=usage.cost_microdollars,
    )
    return row is not None


async def get(session: Session, run: UUID) -> Run | None:
    row = await session.one("consolidation.get", run=run)
    return Run(**row) if row else None


async def undone(session: Session, run: UUID) -> Undone | None:
    """Whether a run was taken back; None if nothing of it is."""
    row = await session.one("consolidation.undone", run=run)
    return Undone(**row) if row and row["undone"] else None


async def runs(session: Session, *, butler: str | None, state: str | None, limit: int) -> list[Run]:
    rows = await session.all("consolidation.runs", butler=butler, state=state, limit=limit)
    return [Run(**row) for row in rows]


async def batch(session: Session, run: UUID, eden: EdenTier, now: datetime) -> list[InLine]:
    """The episodes of a run that are still there, in their order."""
    return [in_line(row) for row in await session.all("consolidation.batch", run=run, **first(eden, now))]


async def put_items(session: Session, run: UUID, items: Sequence[dict[str, Any]]) -> None:
    if items:
        await session.send("consolidation.put_items", run=run, items=Jsonb(items, dumps=_dumps))


async def decide_items(session: Session, run: UUID, places: Collection[int], state: str) -> None:
    await session.send("consolidation.decide_items", run=run, places=sorted(places), state=state)


async def items(session: Session, run: UUID) -> list[Row]:
    return await session.all("consolidation.items", run=run)


async def known_keys(session: Session, keys: Collection[tuple[UUID, bytes]]) -> set[tuple[UUID, bytes]]:
    rows = await session.all("consolidation.known_keys", **_pairs(keys))
    return {(row["episode_id"], bytes(row["key"])) for row in rows}


async def keep_keys(session: Session, run: UUID, keys: Collection[tuple[UUID, bytes]]) -> None:
    await session.send("consolidation.keep_keys", run=run, **_pairs(keys))


async def drop_keys(session: Session, episodes: Sequence[UUID]) -> None:
    await session.send("consolidation.drop_keys", episodes=list(episodes))


async def drop_losses(session: Session, episodes: Sequence[UUID]) -> None:
    """Forget which lost workers had these episodes."""
    await session.send("consolidation.drop_losses", episodes=list(episodes))


async def drop_needless_keys(session: Session, limit: int) -> int:
    """Forget what was distilled from episodes that are gone."""
    return len(await session.all("consolidation.drop_needless_keys", limit=limit))


async def set_status(session: Session, verdicts: Sequence[Verdict]) -> None:
    await session.send(
        "consolidation.set_status",
        ids=[one.id for one in verdicts],
        statuses=[one.status for one in verdicts],
        attempts=[one.attempts for one in verdicts],
        errors=[one.error for one in verdicts],
        retries=[one.retry_at for one in verdicts],
    )


async def stored_hashes(session: Session, hashes: Collection[bytes], scopes: Sequence[str]) -> set[bytes]:
    rows = await session.all("consolidation.stored_hashes", hashes=sorted(hashes), scopes=list(scopes))
    return {bytes(row["hash"]) for row in rows}


async def alike(
    session: Session, places: Collection[tuple[str, str]], predicates: Collection[str], scopes: Sequence[str]
) -> list[KnownFact]:
    """Live facts that may say what is to be stored: by subject and class of predicate; those of the same predicate are
    among them in any case."""
    pairs = sorted(places)
    cursor = await session.send_for_tuples(
        "consolidation.alike",
        subjects=[subject for subject, _ in pairs],
        classes=[kind for _, kind in pairs],
        predicates=sorted(predicates),
        scopes=list(scopes),
        limit=MOST_ALIKE,
    )
    return [KnownFact(*row) for row in await cursor.fetchall()]


async def told(session: Session, facts: Collection[UUID]) -> list[Row]:
    """When facts were stored, and when their episodes told them last."""
    return await session.all("consolidation.told", ids=sorted(facts)) if facts else []


async def rules_in(session: Session, scopes: Sequence[str], hashes: Collection[bytes]) -> list[KnownRule]:
    """Live rules that may say what is to be stored; those in the same words are among them in any case."""
    cursor = await session.send_for_tuples(
        "consolidation.rules_in", scopes=list(scopes), hashes=sorted(hashes), limit=MOST_RULES
    )
    return [KnownRule(*row) for row in await cursor.fetchall()]


async def named(session: Session, butler: str, ids: Sequence[UUID], refs: Sequence[str]) -> list[Row]:
    """Memories that a butler may see, by id or by reference."""
    return await session.all("consolidation.named", butler=butler, ids=list(ids), refs=list(refs))


async def spent(session: Session, since: datetime) -> Usage:
    row = await session.one("consolidation.spent", since=since)
    assert row
    return Usage(input_tokens=row["tokens"], cost_microdollars=row["cost_microdollars"])


async def waiting_shards(session: Session, now: datetime, butler: str | None = None) -> list[Row]:
    return await session.all("consolidation.waiting_shards", now=now, butler=butler)


async def states(session: Session, since: datetime, butler: str | None) -> list[Row]:
    return await session.all("consolidation.states", since=since, butler=butler)


async def outcomes(session: Session, since: datetime, butler: str | None) -> list[Row]:
    return await session.all("consolidation.outcomes", since=since, butler=butler)


async def backlog(session: Session, now: datetime) -> list[Row]:
    return await session.all("consolidation.backlog", now=now)


async def deciding(session: Session, episodes: Collection[UUID], eyes: str | None) -> dict[UUID, UUID]:
    found = await session.all("consolidation.deciding", episodes=list(episodes), eyes=eyes)
    return {row["episode"]: row["run"] for row in found}


async def under_way(session: Session) -> int:
    row = await session.one("consolidation.under_way")
    assert row
    return int(row["runs"])


async def spent_by_day(session: Session, since: datetime) -> list[Row]:
    return await session.all("consolidation.spent_by_day", since=since)


async def outcomes_of(session: Session, runs: Sequence[UUID]) -> list[Row]:
    return await session.all("consolidation.outcomes_of", runs=list(runs))


async def undone_of(session: Session, runs: Sequence[UUID]) -> set[UUID]:
    """Those of some runs of which something is undone."""
    return {row["run"] for row in await session.all("consolidation.undone_of", runs=list(runs))}


async def stuck(session: Session, butler: str | None, limit: int) -> list[Row]:
    return await session.all("consolidation.stuck", butler=butler, limit=limit)


async def drop_old_runs(session: Session, butler: str, before: datetime, limit: int) -> int:
    return len(await session.all("consolidation.drop_old_runs", butler=butler, before=before, limit=limit))


def _pairs(keys: Collection[tuple[UUID, bytes]]) -> dict[str, Any]:
    ordered = sorted(keys)
    return {"episodes": [episode for episode, _ in ordered], "keys": [key for _, key in ordered]}


def _dumps(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)
