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
        actor=caller.principal.butler,
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
    name = caller.principal.butler
    async with butler.database.write(caller.principal.tenant, now, refs=refs) as session:
        if key is not None:
            first = await keys.find(session, name, key, now)
            if first and bytes(first["request_hash"]) != digest:
                raise Conflict(f"The idempotency key {key!r} was used before for another request.")
            if first:
                return _from_json(first["response"])
        stored = await work(session, now)
        if key is not None:
            await keys.keep(
                session,
                butler=name,
                key=key,
                request_hash=digest,
                response=_to_json(stored),
                now=now,
                expires_at=now + timedelta(days=butler.settings.idempotency_days),
            )
        return stored


def _to_json(stored: Stored) -> dict[str, Any]:
    return {**asdict(stored), "id": str(stored.id)}


def _from_json(kept: dict[str, Any]) -> Stored:
    return Stored(**{**kept, "type": MemoryType(kept["type"]), "id": UUID(kept["id"])})
