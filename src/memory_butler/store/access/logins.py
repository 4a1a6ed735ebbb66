"""Logins of the dashboard. Only the hash of a login's key is stored."""

from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from memory_butler.models import Login, Role
from memory_butler.store.gate.database import Transaction


async def open_one(transaction: Transaction, login: Login) -> None:
    row = {key: value for key, value in asdict(login).items() if key not in ("tenant", "seen_at")}
    await transaction.send("logins.open", **row)


async def find(transaction: Transaction, digest: bytes) -> Login | None:
    """The login with this hash, of any tenant. Only the holder of the key knows the hash."""
    await transaction.send("tokens.show", hash=digest.hex())
    row = await transaction.one("logins.find", hash=digest)
    return Login(**{**row, "role": Role(row["role"])}) if row else None


async def token_is_good(transaction: Transaction, token_id: UUID, now: datetime) -> bool:
    row = await transaction.one("logins.token_is_good", id=token_id, now=now)
    return bool(row and row["good"])


async def touch(transaction: Transaction, digest: bytes, now: datetime) -> None:
    await transaction.send("logins.touch", hash=digest, now=now)


async def close(transaction: Transaction, digest: bytes) -> None:
    await transaction.send("logins.close", hash=digest)
