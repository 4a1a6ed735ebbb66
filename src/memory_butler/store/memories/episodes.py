"""Episodes and tombstones."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from memory_butler.models import ConsolidationStatus, Episode, Origin, Validity
from memory_butler.settings import EdenTier
from memory_butler.store.gate.database import Row, Transaction

# Episodes that expire within this time are consolidated first.
NEAR_EXPIRY = timedelta(days=1)


def as_episode(row: Row) -> Episode:
    row.pop("content_hash")
    return Episode(
        **{
            **row,
            "validity": Validity(row["validity"]),
            "consolidation_status": ConsolidationStatus(row["consolidation_status"]),
            "origin": Origin(row["origin"]),
        }
    )


async def renew(transaction: Transaction, episode_id: UUID, until: datetime) -> None:
    """Make an episode active, and keep it at least until a time."""
    await transaction.send("episodes.renew", id=episode_id, until=until)


async def find_tombstone(transaction: Transaction, memory_id: UUID | None, ref: str | None) -> Row | None:
    return await transaction.one("episodes.find_tombstone", id=memory_id, ref=ref)


class QueuedEpisode(NamedTuple):
    """A pending episode: whether several agent sessions referenced it, and the number of workers lost with it."""

    episode: Episode
    first: bool
    losses: int = 0


async def next_in_line(
    transaction: Transaction, butler: str, eden: EdenTier, now: datetime, limit: int
) -> list[QueuedEpisode]:
    """The next episodes to consolidate."""
    rows = await transaction.all(
        "episodes.next_in_line",
        butler=butler,
        limit=limit,
        now=now,
        soon=now + NEAR_EXPIRY,
        locked=await transaction.locked_keys(),
        **first(eden, now),
    )
    return [in_line(row) for row in rows]


def in_line(row: Row) -> QueuedEpisode:
    is_first, losses = row.pop("well_referenced"), row.pop("losses", 0)
    return QueuedEpisode(as_episode(row), is_first, losses)


async def is_well_referenced(transaction: Transaction, episode: Episode, eden: EdenTier, now: datetime) -> bool:
    row = await transaction.one("episodes.is_well_referenced", id=episode.id, **first(eden, now))
    return bool(row and row["well_referenced"])


async def count_first_in_line(transaction: Transaction, butler: str, eden: EdenTier, now: datetime) -> int:
    """The number of a butler's pending episodes with priority, by its own thresholds."""
    return int((await transaction.row("episodes.count_first_in_line", butler=butler, **first(eden, now)))["count"])


def first(eden: EdenTier, now: datetime) -> dict[str, Any]:
    return {"sessions": eden.first_after_sessions, "old_since": now - timedelta(hours=eden.first_after_hours)}
