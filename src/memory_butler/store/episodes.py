"""Episodes and what is left of deleted ones, as they are stored."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from memory_butler.models import ConsolidationStatus, Episode, NewEpisode, Validity
from memory_butler.settings import EdenTier
from memory_butler.store.database import Row, Session
from memory_butler.store.recordsets import recordset

# What expires within a day is taken before it does.
NEAR_EXPIRY = timedelta(days=1)


def as_episode(row: Row) -> Episode:
    row.pop("content_hash")
    return Episode(
        **{
            **row,
            "validity": Validity(row["validity"]),
            "consolidation_status": ConsolidationStatus(row["consolidation_status"]),
        }
    )


def as_row(new: NewEpisode, **given: Any) -> Row:
    """A new episode with what else its row holds."""
    return {
        "butler": new.butler,
        "session_id": new.session_id,
        "content": new.content,
        "importance": new.importance,
        "tags": new.tags,
        "metadata": new.metadata,
        **given,
    }


async def insert(session: Session, rows: Sequence[Row]) -> None:
    await session.send("episodes.insert", episodes=recordset(rows))


async def set_validity(session: Session, episode_id: UUID, validity: Validity) -> None:
    await session.send("episodes.set_validity", id=episode_id, validity=validity)


async def renew(session: Session, episode_id: UUID, until: datetime) -> None:
    """Have an episode in use, and keep it at least until then."""
    await session.send("episodes.renew", id=episode_id, until=until)


async def set_pinned(session: Session, episode_id: UUID, pinned: bool) -> None:
    await session.send("episodes.set_pinned", id=episode_id, pinned=pinned)


async def get(session: Session, memory_id: UUID | None, ref: str | None) -> Episode | None:
    row = await session.one("episodes.get", id=memory_id, ref=ref)
    return as_episode(row) if row else None


async def find_tombstone(session: Session, memory_id: UUID | None, ref: str | None) -> Row | None:
    return await session.one("episodes.find_tombstone", id=memory_id, ref=ref)


class InLine(NamedTuple):
    """An episode that waits for consolidation: whether several sessions referred to it, and how many workers were lost
    with it."""

    episode: Episode
    first: bool
    losses: int = 0


async def next_in_line(session: Session, butler: str, eden: EdenTier, now: datetime, limit: int) -> list[InLine]:
    """What to consolidate next."""
    rows = await session.all(
        "episodes.next_in_line", butler=butler, limit=limit, now=now, soon=now + NEAR_EXPIRY, **first(eden, now)
    )
    return [in_line(row) for row in rows]


def in_line(row: Row) -> InLine:
    is_first, losses = row.pop("well_referenced"), row.pop("losses", 0)
    return InLine(as_episode(row), is_first, losses)


async def is_well_referenced(session: Session, episode: Episode, eden: EdenTier, now: datetime) -> bool:
    row = await session.one("episodes.is_well_referenced", id=episode.id, **first(eden, now))
    return bool(row and row["well_referenced"])


async def count_first_in_line(session: Session, butler: str, eden: EdenTier, now: datetime) -> int:
    """How many of a butler's waiting episodes come first, by its own thresholds."""
    row = await session.one("episodes.count_first_in_line", butler=butler, **first(eden, now))
    assert row
    return int(row["count"])


def first(eden: EdenTier, now: datetime) -> dict[str, Any]:
    return {"sessions": eden.first_after_sessions, "old_since": now - timedelta(hours=eden.first_after_hours)}
