"""Idempotency keys: what was answered the first time."""

from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from memory_butler.store.database import Row, Session


async def find(session: Session, butler: str, key: str, now: datetime) -> Row | None:
    return await session.one("database.find_key", butler=butler, key=key, now=now)


async def keep(session: Session, *, response: dict[str, Any], **given: Any) -> None:
    await session.send("database.keep_key", response=Jsonb(response), **given)
