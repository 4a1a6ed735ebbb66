"""Tokens: who shows one, what became of it. Only its hash is ever here."""

from datetime import datetime, timedelta
from uuid import UUID

from memory_butler.models import Role, Token
from memory_butler.store.database import Database, Row, Session


async def add(session: Session, token: Token, digest: bytes) -> None:
    await session.send(
        "tokens.add",
        id=token.id,
        hash=digest,
        label=token.label,
        butler=token.butler,
        role=token.role,
        created_at=token.created_at,
        created_by=token.created_by,
        expires_at=token.expires_at,
    )


async def revoke(session: Session, token_id: UUID, now: datetime) -> Token | None:
    row = await session.one("tokens.revoke", id=token_id, now=now)
    return as_token(row) if row else None


async def shown(database: Database, digest: bytes) -> Token | None:
    """The token that has this hash, whichever tenant's it is. Only whoever has the token knows the hash."""
    async with database.read("") as session:
        await session.send("tokens.show", hash=digest.hex())
        cursor = await session.send("tokens.shown", hash=digest)
    row = await cursor.fetchone()
    return as_token(row) if row else None


async def used(session: Session, token_id: UUID, now: datetime, every: timedelta) -> None:
    """Note that a token was used, unless that was noted a moment ago."""
    await session.send("tokens.used", id=token_id, now=now, noted_before=now - every)


def as_token(row: Row) -> Token:
    return Token(**{**row, "role": Role(row["role"])})
