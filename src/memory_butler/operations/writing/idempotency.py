"""Idempotent writes: a repeat with the same key gets the stored response and changes nothing."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID

from memory_butler.errors import Conflict
from memory_butler.models import Caller, DerivedMemory, MemoryType, Stored
from memory_butler.operations.writing.admission import NOTHING, Admitted
from memory_butler.policy.memories.validation import validate_lineage
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.history import events
from memory_butler.store.memories import idempotency_keys

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


# The fields that version 0.6.3 hashed, by operation. It hashed all of them, also those with their default.
_FIELDS_OF_0_6_3: dict[str, str] = {
    "episode": "content butler session_id importance observed_at tags metadata",
    "fact": "subject predicate content importance permanence scope tags valid_at source_episode aliases metadata",
    "rule": "content scope tags source_episode metadata",
    "note": "content tier butler importance tags",
    "confirm": "type id",
    "mark": "id outcome reason",
    "forget": "type id reason",
    "forget_about": "subject text reach reason",
    "restore": "type id supersede reason",
    "reverse": "id reason",
    "pinned": "type id",
    "unpinned": "type id",
    "correct": "id content reason",
    "undo": "id skip_changed",
    "requeue": "handles run again",
    "decide": "run approve reject rest",
}


@dataclass(frozen=True)
class Fingerprint:
    """Hashes of a request without its key, made when they are first needed: most requests have no key. A key may be
    reused only for a request with the same hash."""

    operation: str
    request: "DataclassInstance | dict[str, Any]"

    @cached_property
    def digest(self) -> bytes:
        """The hash of the fields that the caller set, so that a new optional field does not change it."""
        values, request = self._values, self.request
        defaults = {} if isinstance(request, dict) else _defaults(request)
        chosen = {
            name: value
            for name, value in values.items()
            if not (value is None or value is False or value in ((), [], {}) or (name, value) in defaults.items())
        }
        return _digest(self.operation, chosen)

    @cached_property
    def legacy(self) -> bytes:
        """The hash that version 0.6.3 stored for the same request."""
        values = self._values
        fields_then = _FIELDS_OF_0_6_3.get(self.operation, "").split()
        legacy = {name: values[name] for name in fields_then if name in values}
        if not legacy.get("aliases"):
            legacy.pop("aliases", None)
        return _digest(self.operation, legacy)

    @cached_property
    def _values(self) -> dict[str, Any]:
        values = dict(self.request) if isinstance(self.request, dict) else asdict(self.request)
        values.pop("idempotency_key", None)
        return values

    def matches(self, stored: bytes, keyed: Callable[[bytes], bytes] | None = None) -> bool:
        """True if a stored hash is one of these, plain or made by `keyed`."""
        return stored in (self.digest, self.legacy) or (
            keyed is not None and stored in (keyed(self.digest), keyed(self.legacy))
        )


def _defaults(request: "DataclassInstance") -> dict[str, Any]:
    return {field.name: field.default for field in fields(request) if field.default is not MISSING}


def _digest(operation: str, values: dict[str, Any]) -> bytes:
    return hashlib.sha256(json.dumps([operation, values], sort_keys=True, default=str).encode()).digest()


def audit_trail(
    resources: Resources, caller: Caller, now: datetime, *, grouped: bool = False, admitted: Admitted = NOTHING
) -> events.AuditTrail:
    return events.AuditTrail(
        now=now,
        actor=caller.principal.actor,
        lineage=validate_lineage(caller.lineage),
        make_id=resources.make_id,
        group_id=caller.group_id or (resources.make_id(now) if grouped else None),
        butler=caller.principal.butler,
        redacted=admitted.redacted,
    )


async def run_idempotent(
    resources: Resources,
    caller: Caller,
    key: str | None,
    digest: Fingerprint,
    work: Callable[[Transaction, datetime], Awaitable[Stored]],
    *,
    refs: int = 0,
    admitted: Admitted = NOTHING,
) -> Stored:
    """Run `work` in one transaction that holds the tenant's lock, or return the stored response of its key."""
    now = resources.clock()
    async with resources.database.write(caller.principal.tenant, now, refs=refs) as transaction:
        response = await stored_response(transaction, caller, key, digest, now)
        if response:
            return from_response(response)
        stored = admitted.on(await work(transaction, now))
        if key is not None:
            response = to_response(stored)
            await store_response(transaction, resources, caller, key=key, digest=digest, response=response, now=now)
        return stored


async def stored_response(
    transaction: Transaction, caller: Caller, key: str | None, digest: Fingerprint, now: datetime
) -> dict[str, Any] | None:
    """Returns the response stored under the key, or None. Raises Conflict if the key belongs to another request."""
    if key is None:
        return None
    owned = (caller.principal.butler, key)
    row = (await idempotency_keys.find(transaction, [owned], now)).get(owned)
    return None if row is None else matching_response(key, digest, row)


def matching_response(key: str, digest: Fingerprint, row: Row) -> dict[str, Any]:
    """Returns the stored response if the request is the same as the first one under this key."""
    if not digest.matches(bytes(row["request_hash"]), row.get("keyed")):
        raise Conflict(
            f"The idempotency key {key!r} was used before for another request.",
            recovery="Use a new key for a new request.",
        )
    response: dict[str, Any] = row["response"]
    return response


async def store_response(
    transaction: Transaction,
    resources: Resources,
    caller: Caller,
    *,
    key: str | None,
    digest: Fingerprint,
    response: dict[str, Any],
    now: datetime,
) -> None:
    """Store a response for repeats of the request; does nothing without a key."""
    if key is None:
        return
    row = {"butler": caller.principal.butler, "key": key, "request_hash": digest.digest, "response": response}
    await store_responses(transaction, resources, [row], now)


async def store_responses(transaction: Transaction, resources: Resources, rows: Sequence[Row], now: datetime) -> None:
    """Store many responses; a row holds butler, key, request_hash and response."""
    await idempotency_keys.keep(
        transaction, rows, now=now, expires_at=now + timedelta(days=resources.settings.idempotency_days)
    )


def to_response(stored: Stored) -> dict[str, Any]:
    """A result as it is stored with a key: ids as text, and references in place of the words of other memories."""
    more = {
        "derived": [one.ref for one in stored.derived],
        "withdrawn": stored.withdrawn,
        "group_id": str(stored.group_id) if stored.group_id else None,
    }
    rest = {name: value for name, value in asdict(stored).items() if name not in more}
    return {**rest, "id": str(stored.id), **{name: value for name, value in more.items() if value}}


def from_response(response: dict[str, Any]) -> Stored:
    group_id = response.get("group_id")
    return Stored(
        **{
            **response,
            "type": MemoryType(response["type"]),
            "id": UUID(response["id"]),
            "derived": tuple(DerivedMemory(ref=ref) for ref in response.get("derived", ())),
            "group_id": UUID(group_id) if group_id else None,
        }
    )
