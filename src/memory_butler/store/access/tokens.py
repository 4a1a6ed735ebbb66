"""API tokens. Only their hashes are stored."""

from datetime import datetime, timedelta
from uuid import UUID

from memory_butler.models import Role, Token
from memory_butler.store.gate.database import Database, Row, Transaction


async def add(transaction: Transaction, token: Token, digest: bytes) -> None:
    await transaction.send(
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


async def revoke(transaction: Transaction, token_id: UUID, now: datetime) -> Token | None:
    row = await transaction.one("tokens.revoke", id=token_id, now=now)
    return as_token(row) if row else None


async def shown(database: Database, digest: bytes) -> Token | None:
    """The token with this hash, of any tenant. Only the holder of the token knows the hash."""
    async with database.read("") as transaction:
        await transaction.send("tokens.show", hash=digest.hex())
        cursor = await transaction.send("tokens.shown", hash=digest)
    row = await cursor.fetchone()
    return as_token(row) if row else None


async def used(transaction: Transaction, token_id: UUID, now: datetime, every: timedelta) -> None:
    """Record the use of a token, unless one was recorded a moment ago."""
    await transaction.send("tokens.used", id=token_id, now=now, noted_before=now - every)


def as_token(row: Row) -> Token:
    return Token(**{**row, "role": Role(row["role"])})
