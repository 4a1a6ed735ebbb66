"""Rows of a tenant for export and import: read in the order of their keys, written many at a time."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Json

from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.gate.driver_errors import translated
from memory_butler.store.gate.recordsets import recordset

PAGE = 500
# Kinds of records that need a statement of their own; the others share one.
_READ = {
    "butler": "tenant_rows.read_butler",
    "tombstone": "tenant_rows.read_tombstone",
    "link": "tenant_rows.read_link",
    "distilled": "tenant_rows.read_distilled",
    "text": "tenant_rows.read_text",
    "event": "tenant_rows.read_event",
    "reference": "tenant_rows.read_reference",
}
_WRITE = {"butler": "tenant_rows.write_butler", "episode": "tenant_rows.write_episode"}


async def counts(transaction: Transaction) -> Row | None:
    """The number of records of each kind and the counters of a tenant; None if it does not exist."""
    return await transaction.one("tenant_rows.counts")


async def lines(transaction: Transaction, kind: str) -> AsyncIterator[list[str]]:
    """All rows of a kind as JSON texts, page by page."""
    after: list[str] | None = None
    while True:
        rows = await transaction.all(_READ.get(kind, f"tenant_rows.read:{kind}"), after=after, limit=PAGE)
        if rows:
            yield [row["line"] for row in rows]
        if len(rows) < PAGE:
            return
        after = rows[-1]["key"]


async def import_status(transaction: Transaction, file: str, *, new_ids: bool) -> Row:
    return await transaction.row("tenant_rows.import_status", file=file, new_ids=new_ids)


async def make_room(transaction: Transaction, last_seq: int, last_ref: int) -> int:
    """Reserve sequence numbers and references for a file; returns the number before its first event."""
    return int((await transaction.row("tenant_rows.make_room", last_seq=last_seq, last_ref=last_ref))["after_seq"])


async def present(transaction: Transaction, kind: str, ids: Sequence[str]) -> set[str]:
    rows = await transaction.all(f"tenant_rows.present:{kind}", ids=[UUID(one) for one in ids])
    return {str(row["id"]) for row in rows}


async def write(transaction: Transaction, kind: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows and wait for the result, so that an error is about these rows."""
    with translated():
        await transaction.one(_WRITE.get(kind, f"tenant_rows.write:{kind}"), rows=Json(list(rows)))


async def record_tombstones(
    transaction: Transaction, changes: Sequence[tuple[UUID, str]], actor: str, now: datetime
) -> None:
    rows = [{"n": n, "event_id": event, "id": episode} for n, (event, episode) in enumerate(changes, start=1)]
    await transaction.send("tenant_rows.record_tombstones", changes=recordset(rows), actor=actor, now=now)
