"""Doing a write once: a repeat with the same key gets the first answer and changes nothing."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import Conflict
from memory_butler.models import Caller, MemoryType, Stored
from memory_butler.policy.admission import admit_lineage
from memory_butler.store import events, keys
from memory_butler.store.database import Session


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
            return _from_json(first)
        stored = await work(session, now)
        await keep_answer(session, butler, caller, key=key, digest=digest, response=_to_json(stored), now=now)
        return stored


async def first_answer(
    session: Session, caller: Caller, key: str | None, digest: bytes, now: datetime
) -> dict[str, Any] | None:
    """What was answered when the key was first used; None if it was not. Another request under it is refused."""
    first = None if key is None else await keys.find(session, caller.principal.butler, key, now)
    if first and bytes(first["request_hash"]) != digest:
        raise Conflict(f"The idempotency key {key!r} was used before for another request.")
    return first["response"] if first else None


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
    await keys.keep(
        session,
        butler=caller.principal.butler,
        key=key,
        request_hash=digest,
        response=response,
        now=now,
        expires_at=now + timedelta(days=butler.settings.idempotency_days),
    )


def _to_json(stored: Stored) -> dict[str, Any]:
    return {**asdict(stored), "id": str(stored.id)}


def _from_json(kept: dict[str, Any]) -> Stored:
    return Stored(**{**kept, "type": MemoryType(kept["type"]), "id": UUID(kept["id"])})
