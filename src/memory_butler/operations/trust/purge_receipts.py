"""Receipts of purges: made, listed and verified. They name memories by type, id and reference, never in words."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.errors import InvalidInput, NotFound
from memory_butler.models import Caller
from memory_butler.models.wire.purge_answers import PurgeReceipt, ReceiptCheck
from memory_butler.resources import Resources, on_replica
from memory_butler.store.embedded.backup_log import known_backups
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.history.events import AuditTrail
from memory_butler.store.trust import purging

LISTED = 200
_SIGNED = ("id", "purged_at", "actor", "reason", "matched_by", "counts", "items", "backups")


def make(
    trail: AuditTrail,
    *,
    receipt: UUID,
    items: Sequence[tuple[str, UUID, str]],
    counts: dict[str, int],
    matched_by: str,
    reason: str | None,
    backups: list[dict[str, Any]],
) -> Row:
    """The row of a new receipt, with its digest."""
    row: Row = {
        "id": receipt,
        "purged_at": trail.now,
        "actor": trail.actor,
        "reason": reason,
        "matched_by": matched_by,
        "counts": counts,
        "items": [{"type": kind, "id": str(id), **({"ref": ref} if ref else {})} for kind, id, ref in items],
        "backups": backups,
    }
    return {**row, "digest": _digest(row)}


async def backups_now(resources: Resources, transaction: Transaction, now: datetime) -> list[dict[str, Any]]:
    """The backups that still hold what is erased now, as far as this home folder and the database know of them."""
    return known_backups(resources.settings.home, now, await purging.archive_slots(transaction))


def event(trail: AuditTrail, receipt: Row) -> Row:
    """The event of a purge: the digest of its receipt, without words."""
    return {
        "event_id": trail.make_id(trail.now),
        "event_type": "store.purged",
        "entity_type": "access",
        "id": None,
        "payload": {
            "digest": receipt["digest"].hex(),
            "matched_by": receipt["matched_by"],
            "items": len(receipt["items"]),
            "counts": receipt["counts"],
        },
    }


@on_replica
async def receipts(resources: Resources, caller: Caller | None = None, *, limit: int = LISTED) -> list[PurgeReceipt]:
    """The newest receipts of the caller's tenant."""
    caller = resources.admin(caller, "list receipts of purges")
    async with resources.database.read(caller.principal.tenant) as transaction:
        return [_receipt(row) for row in await purging.receipts(transaction, max(1, min(limit, LISTED)))]


async def verify(resources: Resources, receipt: UUID | Mapping[str, Any], caller: Caller | None = None) -> ReceiptCheck:
    """Check that a receipt, by id or as it was saved, matches the log and that nothing it names came back."""
    caller = resources.admin(caller, "verify receipts of purges")
    id = receipt if isinstance(receipt, UUID) else _id_of(receipt)
    async with resources.database.read(caller.principal.tenant) as transaction:
        row = await purging.find_receipt(transaction, id)
        logged = await purging.recorded(transaction, id)
        stored = _receipt(row) if row else None
        named = stored.items if stored else tuple(receipt.get("items", ())) if isinstance(receipt, Mapping) else ()
        rows = await purging.rows_of(transaction, [UUID(item["id"]) for item in named])
    if stored is None and not logged:
        raise NotFound(f"There is no receipt {id}.", recovery="List receipts: memory-butler purge receipts.")
    problems = list(_compare(stored, receipt if isinstance(receipt, Mapping) else None, logged))
    problems += [f"{count} rows of {table} belong to purged memories again" for table, count in rows.items() if count]
    return ReceiptCheck(receipt=id, items=len(named), problems=tuple(problems))


def _compare(stored: PurgeReceipt | None, given: Mapping[str, Any] | None, logged: Sequence[Row]) -> list[str]:
    problems = []
    summary = next((row["payload"] for row in logged if row["event_type"] == "store.purged"), None)
    if summary is None:
        problems.append("the log has no event of this purge")
    if stored is None:
        problems.append("the store has no receipt with this id")
    else:
        digest = _digest({name: getattr(stored, name) for name in _SIGNED}).hex()
        if digest != stored.digest:
            problems.append("the stored receipt was changed: its digest does not match")
        if summary and summary.get("digest") != stored.digest:
            problems.append("the stored receipt does not match the log")
        in_log = {(row["event_type"].partition(".")[0], str(row["entity_id"])) for row in logged if row["entity_id"]}
        if in_log != {(item["type"], item["id"]) for item in stored.items}:
            problems.append("the log does not name the same memories as the receipt")
    if given is not None and summary and _digest_of_saved(given) != summary.get("digest"):
        problems.append("the given receipt does not match the log")
    return problems


def _receipt(row: Row) -> PurgeReceipt:
    fields = {name: row[name] for name in _SIGNED}
    lists = {"items": tuple(row["items"]), "backups": tuple(row["backups"])}
    return PurgeReceipt(**fields | lists, digest=bytes(row["digest"]).hex(), residue=row["residue"])


def _digest(fields: Mapping[str, Any]) -> bytes:
    plain = {name: fields[name] for name in _SIGNED}
    plain |= {"id": str(plain["id"]), "items": list(plain["items"]), "backups": list(plain["backups"])}
    plain["purged_at"] = datetime.isoformat(plain["purged_at"])
    return hashlib.sha256(json.dumps(plain, sort_keys=True, ensure_ascii=False).encode()).digest()


def _digest_of_saved(given: Mapping[str, Any]) -> str | None:
    try:
        moment = datetime.fromisoformat(str(given["purged_at"]).replace("Z", "+00:00"))
        return _digest({**given, "purged_at": moment}).hex()
    except (KeyError, TypeError, ValueError):
        return None


def _id_of(receipt: Mapping[str, Any]) -> UUID:
    try:
        return UUID(str(receipt["id"]))
    except (KeyError, ValueError):
        raise InvalidInput(
            "The file is not a receipt of a purge.", recovery="Pass the JSON that `memory-butler purge receipts` shows."
        ) from None
