"""A tenant on its way into a file and out of it: rows read in the order of their keys, and written many at a time."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Json

from memory_butler.store.database import Row, Session, translated
from memory_butler.store.recordsets import recordset

PAGE = 500
_READ = {
    "butler": "transfer.read_butler",
    "episode": "transfer.read_episode",
    "tombstone": "transfer.read_tombstone",
    "fact": "transfer.read_fact",
    "rule": "transfer.read_rule",
    "application": "transfer.read_application",
    "link": "transfer.read_link",
    "alias": "transfer.read_alias",
    "distilled": "transfer.read_distilled",
    "text": "transfer.read_text",
    "event": "transfer.read_event",
    "reference": "transfer.read_reference",
}
_WRITE = {
    "butler": "transfer.write_butler",
    "episode": "transfer.write_episode",
    "tombstone": "transfer.write_tombstone",
    "fact": "transfer.write_fact",
    "rule": "transfer.write_rule",
    "application": "transfer.write_application",
    "link": "transfer.write_link",
    "alias": "transfer.write_alias",
    "distilled": "transfer.write_distilled",
    "text": "transfer.write_text",
    "event": "transfer.write_event",
    "reference": "transfer.write_reference",
}
_PRESENT = {"fact": "transfer.present_facts", "application": "transfer.present_applications"}


async def counts(session: Session) -> Row | None:
    """How many records of each kind a tenant has, with its counters; None if there is no such tenant."""
    return await session.one("transfer.counts")


async def lines(session: Session, kind: str) -> AsyncIterator[list[str]]:
    """All rows of a kind as JSON texts, page by page."""
    after: list[str] | None = None
    while True:
        rows = await session.all(_READ[kind], after=after, limit=PAGE)
        if rows:
            yield [row["line"] for row in rows]
        if len(rows) < PAGE:
            return
        after = rows[-1]["key"]


async def standing(session: Session, file: str, *, new_ids: bool) -> Row:
    row = await session.one("transfer.standing", file=file, new_ids=new_ids)
    assert row
    return row


async def make_room(session: Session, last_seq: int, last_ref: int) -> int:
    """Let everybody else count on after what is about to come; returns the number after which its events begin."""
    row = await session.one("transfer.make_room", last_seq=last_seq, last_ref=last_ref)
    assert row
    return int(row["after_seq"])


async def present(session: Session, kind: str, ids: Sequence[str]) -> set[str]:
    rows = await session.all(_PRESENT[kind], ids=[UUID(one) for one in ids])
    return {str(row["id"]) for row in rows}


async def write(session: Session, kind: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows, and wait until the store has taken them: what it refuses is told of these."""
    with translated():
        await session.one(_WRITE[kind], rows=Json(list(rows)))


async def tell_of_tombstones(session: Session, changes: Sequence[tuple[UUID, str]], actor: str, now: datetime) -> None:
    rows = [{"n": n, "event_id": event, "id": episode} for n, (event, episode) in enumerate(changes, start=1)]
    await session.send("transfer.tell_of_tombstones", changes=recordset(rows), actor=actor, now=now)


async def tell_of_import(session: Session, **given: Any) -> None:
    await session.send("transfer.tell_of_import", **given)
