"""Doing a write once: a repeat with the same key gets the first answer and changes nothing."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import Conflict
from memory_butler.models import Caller, MemoryType, Stored
from memory_butler.policy.admission import admit_lineage
from memory_butler.store import events, keys
from memory_butler.store.database import Row, Session


def fingerprint(operation: str, request: object) -> bytes:
    """What makes two requests the same; the key itself has no part in it."""
    values: dict[str, Any] = asdict(request) if not isinstance(request, dict) else dict(request)  # type: ignore[call-overload]
    values.pop("idempotency_key", None)
    return hashlib.sha256(json.dumps([operation, values], sort_keys=True, default=str).encode()).digest()


def trail(butler: Butler, caller: Caller, now: datetime, *, grouped: bool = False) -> events.Trail:
    return events.Trail(
        now=now,
        actor=caller.principal.actor,
        lineage=admit_lineage(caller.lineage),
        make_id=butler.make_id,
        group_id=butler.make_id(now) if grouped else None,
        butler=caller.principal.butler,
    )


async def write_once(
    butler: Butler,
    caller: Caller,
    key: str | None,
    digest: bytes,
    work: Callable[[Session, datetime], Awaitable[Stored]],
    *,
    refs: int = 0,
) -> Stored:
    """Run `work` in one transaction that holds the tenant's lock, unless its key was used before."""
    now = butler.clock()
    async with butler.database.write(caller.principal.tenant, now, refs=refs) as session:
        first = await first_answer(session, caller, key, digest, now)
        if first:
            return as_stored(first)
        stored = await work(session, now)
        await keep_answer(session, butler, caller, key=key, digest=digest, response=as_response(stored), now=now)
        return stored


async def first_answer(
    session: Session, caller: Caller, key: str | None, digest: bytes, now: datetime
) -> dict[str, Any] | None:
    """What was answered when the key was first used; None if it was not. Another request under it is refused."""
    if key is None:
        return None
    owned = (caller.principal.butler, key)
    first = (await keys.find(session, [owned], now)).get(owned)
    return None if first is None else same_answer(key, digest, first)


def same_answer(key: str, digest: bytes, first: Row) -> dict[str, Any]:
    """The first answer under a key, if the request is the same."""
    if bytes(first["request_hash"]) != digest:
        raise Conflict(f"The idempotency key {key!r} was used before for another request.")
    response: dict[str, Any] = first["response"]
    return response


async def keep_answer(
    session: Session,
    butler: Butler,
    caller: Caller,
    *,
    key: str | None,
    digest: bytes,
    response: dict[str, Any],
    now: datetime,
) -> None:
    """Keep an answer for a repeat of the request; without a key there is nothing to repeat."""
    if key is None:
        return
    row = {"butler": caller.principal.butler, "key": key, "request_hash": digest, "response": response}
    await keep_answers(session, butler, [row], now)


async def keep_answers(session: Session, butler: Butler, rows: Sequence[Row], now: datetime) -> None:
    """The same for many: whose key it is, the key, the request and its answer."""
    await keys.keep(session, rows, now=now, expires_at=now + timedelta(days=butler.settings.idempotency_days))


def as_response(stored: Stored) -> dict[str, Any]:
    return {**asdict(stored), "id": str(stored.id)}


def as_stored(kept: dict[str, Any]) -> Stored:
    return Stored(**{**kept, "type": MemoryType(kept["type"]), "id": UUID(kept["id"])})
