"""The call log of a tenant."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory_butler.models.calls import CallDay, CallFilter, CallingProgram, CallKind, LoggedCall, ReturnedMemory
from memory_butler.models.vocabulary import MemoryType
from memory_butler.store.encryption.vault import PROMPT
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.gate.recordsets import recordset

Place = tuple[datetime, UUID]
_START: Final = (None, None)


async def add(transaction: Transaction, calls: Sequence[LoggedCall]) -> None:
    """Add calls, each prompt encrypted if the tenant has a key."""
    vault, rows = transaction.vault, [asdict(call) for call in calls]
    if vault:
        await vault.ready()
    if vault and vault.keys:
        rows = [{**row, "prompt": vault.seal(row["id"], PROMPT, row["prompt"])} for row in rows]
    await transaction.send("call_log.add", rows=recordset(rows))


async def page(
    transaction: Transaction, wanted: CallFilter, *, viewer: str | None, before: Place | None, limit: int
) -> list[LoggedCall]:
    """The calls before a place, newest first. `viewer` sees only its own."""
    time, id = before or _START
    place = {"before_time": time, "before_id": id, "limit": limit}
    return [_call(row) for row in await transaction.all("call_log.page", **_filters(wanted, viewer), **place)]


async def one(transaction: Transaction, id: UUID, viewer: str | None) -> LoggedCall | None:
    row = await transaction.one("call_log.one", id=id, viewer=viewer)
    return None if row is None else _call(row)


async def days(transaction: Transaction, wanted: CallFilter, *, viewer: str | None, zone: str) -> list[CallDay]:
    """The calls of each day on which there were any."""
    return [CallDay(**row) for row in await transaction.all("call_log.days", **_filters(wanted, viewer), zone=zone)]


async def told(transaction: Transaction, ids: Collection[UUID], viewer: str | None) -> list[ReturnedMemory]:
    rows = await transaction.all("call_log.told", ids=list(ids), viewer=viewer)
    return [ReturnedMemory(**{**row, "type": MemoryType(row["type"])}) for row in rows]


async def clients(transaction: Transaction, viewer: str | None) -> list[CallingProgram]:
    return [CallingProgram(**row) for row in await transaction.all("call_log.clients", viewer=viewer)]


async def trim(transaction: Transaction, *, before: datetime, most: int) -> int:
    """Delete old calls and the oldest beyond a number; returns how many."""
    return int((await transaction.row("call_log.trim", before=before, most=most))["calls"])


async def clear(transaction: Transaction) -> None:
    await transaction.send("call_log.clear")


def _filters(wanted: CallFilter, viewer: str | None) -> dict[str, Any]:
    return asdict(wanted) | {"viewer": viewer}


def _call(row: Row) -> LoggedCall:
    lists = {name: tuple(row[name]) for name in ("memory_ids", "refs", "degraded")}
    return LoggedCall(**{**row, **lists, "kind": CallKind(row["kind"])})
