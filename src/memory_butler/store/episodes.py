"""Episodes and what is left of deleted ones, as they are stored."""

from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from memory_butler.models import ConsolidationStatus, Episode, NewEpisode, Validity
from memory_butler.store.database import Row, Session


def as_episode(row: Row) -> Episode:
    row.pop("content_hash")
    return Episode(
        **{
            **row,
            "validity": Validity(row["validity"]),
            "consolidation_status": ConsolidationStatus(row["consolidation_status"]),
        }
    )


async def insert(session: Session, new: NewEpisode, **given: Any) -> None:
    await session.send(
        "episodes.insert",
        butler=new.butler,
        session_id=new.session_id,
        content=new.content,
        importance=new.importance,
        tags=list(new.tags),
        metadata=Jsonb(new.metadata),
        **given,
    )


async def set_validity(session: Session, episode_id: UUID, validity: Validity) -> None:
    await session.send("episodes.set_validity", id=episode_id, validity=validity)


async def get(session: Session, memory_id: UUID | None, ref: str | None) -> Episode | None:
    row = await session.one("episodes.get", id=memory_id, ref=ref)
    return as_episode(row) if row else None


async def find_tombstone(session: Session, memory_id: UUID | None, ref: str | None) -> Row | None:
    return await session.one("episodes.find_tombstone", id=memory_id, ref=ref)
