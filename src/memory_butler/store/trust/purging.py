"""Purges: the rows that belong to memories, their deletion, and receipts."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from memory_butler.store.encryption.texts import opened_item
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.gate.recordsets import recordset
from memory_butler.store.retrieval import search_index
from memory_butler.store.trust.forgetting import sieve


@dataclass(frozen=True, slots=True, kw_only=True)
class LooseWords:
    """Words outside of the purged memories: texts, proposals, reports, stored responses, names of sessions and logged
    calls."""

    texts: Sequence[tuple[UUID, bytes]] = ()
    items: Sequence[tuple[UUID, int]] = ()
    reports: Sequence[UUID] = ()
    keys: Sequence[tuple[str, str]] = ()
    sessions: Sequence[str] = ()
    calls: Sequence[UUID] = ()


async def memories(transaction: Transaction, ids: Collection[UUID]) -> list[Row]:
    return await transaction.all("purging.memories", ids=list(ids))


async def older_versions(transaction: Transaction, ids: Collection[UUID]) -> list[UUID]:
    return await transaction.column("purging.older_versions", ids=list(ids))


async def derived_only(transaction: Transaction, ids: Collection[UUID], besides: Collection[UUID] = ()) -> list[UUID]:
    """The facts and rules derived from these memories and from nothing else, not counting sources in `besides`."""
    return await transaction.column("purging.derived_only", ids=list(ids), besides=list(besides))


async def withdrawn_sources(transaction: Transaction, id: UUID) -> list[UUID]:
    return await transaction.column("purging.withdrawn_sources", id=id)


async def live(transaction: Transaction, ids: Collection[UUID]) -> list[Row]:
    """Those of some facts and rules that are in use, with their words."""
    return await transaction.all("purging.live", ids=list(ids))


async def sources(transaction: Transaction, ids: Collection[UUID]) -> list[str]:
    return await transaction.column("purging.sources", ids=list(ids))


async def orphaned_aliases(transaction: Transaction, ids: Collection[UUID]) -> list[UUID]:
    return await transaction.column("purging.orphaned_aliases", ids=list(ids))


async def alias_names(transaction: Transaction, ids: Collection[UUID]) -> list[Row]:
    return await transaction.all("purging.alias_names", ids=list(ids))


_THAT_MAY_NAME = {
    "texts": "purging.texts_that_may_name",
    "items": "purging.items_that_may_name",
    "errors": "purging.errors_that_may_name",
    "keys": "purging.keys_that_may_name",
    "calls": "purging.calls_that_may_name",
}


async def may_name(transaction: Transaction, what: str, prefilter: dict[str, Any], **given: Any) -> list[Row]:
    """Rows outside of memories that pass the sieve: `texts`, `items`, `errors`, `keys` or `calls`."""
    rows = await transaction.all(_THAT_MAY_NAME[what], **sieve(**prefilter), **given)
    return [opened_item(transaction, row) for row in rows] if what == "items" else rows


async def session_names(transaction: Transaction) -> list[str]:
    return await transaction.column("purging.session_names")


async def rows_of(transaction: Transaction, ids: Collection[UUID]) -> dict[str, int]:
    """The number of rows of each table that belong to these memories and aliases."""
    return await transaction.row("purging.rows_of", ids=list(ids))


async def insert_tombstones(transaction: Transaction, ids: Collection[UUID], now: datetime) -> dict[UUID, Any]:
    rows = await transaction.all("purging.insert_tombstones", ids=list(ids), now=now)
    return {row["episode_id"]: row["tombstone"] for row in rows}


async def cut_off(transaction: Transaction, ids: Collection[UUID]) -> list[UUID]:
    """Cut facts off from the purged facts that they replaced; returns them."""
    return await transaction.column("purging.cut_off", ids=list(ids))


async def scrub_events(transaction: Transaction, ids: Collection[UUID], sessions: Sequence[str] = ()) -> int:
    """Remove the words of memories from their events, and names of sessions from all events and references."""
    events = (await transaction.row("purging.scrub_events", ids=list(ids), sessions=list(sessions)))["events"]
    if sessions:
        await transaction.send("purging.forget_sessions", sessions=list(sessions))
    return int(events)


async def delete(
    transaction: Transaction, purged: Sequence[tuple[str, UUID, str]], loose: LooseWords, now: datetime
) -> dict[str, int]:
    """Delete memories and aliases (type, id, reference) with all their words; returns the deleted rows by table."""
    ids = [id for _, id, _ in purged]
    counts = await rows_of(transaction, ids)
    sessions = await transaction.column("purging.ended_sessions", ids=ids)
    await transaction.send("purging.close_runs", ids=ids, now=now)
    runs, places = [run for run, _ in loose.items], [place for _, place in loose.items]
    names = [str(id) for id in ids]
    items = await transaction.row("purging.drop_items", ids=ids, names=names, runs=runs, places=places)
    await transaction.send("purging.drop_emptied_runs", ids=ids, now=now)
    await transaction.send("purging.drop_reports", ids=list(loose.reports))
    keys = await transaction.row(
        "purging.drop_keys",
        butlers=[butler for butler, _ in loose.keys],
        keys=[key for _, key in loose.keys],
        names=names + [f"{kind}:{ref}" for kind, _, ref in purged if ref],
    )
    calls = await transaction.row("purging.drop_calls", ids=ids, calls=list(loose.calls))
    reasons = await _drop_texts(transaction, loose.texts)
    judged = [id for kind, id, _ in purged if kind in ("fact", "rule")]
    provenance = await transaction.row("purging.drop_provenance", ids=judged)
    await search_index.clear(transaction, ids)
    events = await scrub_events(transaction, ids, sorted({*sessions, *loose.sessions}))
    await transaction.send("purging.delete", ids=ids)
    found = {
        **counts,
        "memory_links": provenance["links"],
        "consolidation_items": items["items"],
        "idempotency_keys": keys["keys"],
        "call_log": calls["calls"],
        "texts": counts["texts"] + len(loose.texts),
        "reasons": reasons,
        "events_without_words": events,
    }
    return {table: count for table, count in found.items() if count}


async def _drop_texts(transaction: Transaction, texts: Sequence[tuple[UUID, bytes]]) -> int:
    """Delete texts of other memories; returns the number of reports on rules that lost their reason."""
    if not texts:
        return 0
    given = {"memories": [memory for memory, _ in texts], "hashes": [hash for _, hash in texts]}
    reports = await transaction.column("purging.applications_of", **given)
    await transaction.send("purging.drop_texts", **given)
    return int((await transaction.row("purging.drop_reasons", ids=reports))["reasons"]) if reports else 0


async def record(transaction: Transaction, items: Sequence[Row], *, receipt: UUID, actor: str, now: datetime) -> None:
    """Record the events of a purge: rows of event_id, event_type, entity_type, id and payload, in this order."""
    rows = [{"n": n, **item} for n, item in enumerate(items, start=1)]
    await transaction.send("purging.record", items=recordset(rows), receipt=receipt, actor=actor, now=now)


async def keep_receipt(transaction: Transaction, receipt: Row) -> None:
    plain = {name: Jsonb(receipt[name]) for name in ("counts", "items", "backups")}
    await transaction.send("purging.keep_receipt", **receipt | plain)


async def receipts(transaction: Transaction, limit: int) -> list[Row]:
    return await transaction.all("purging.receipts", limit=limit)


async def find_receipt(transaction: Transaction, receipt: UUID) -> Row | None:
    return await transaction.one("purging.receipt", id=receipt)


async def recorded(transaction: Transaction, receipt: UUID) -> list[Row]:
    """The events of a purge, in order."""
    return await transaction.all("purging.recorded", id=receipt)


async def archive_slots(transaction: Transaction) -> list[str]:
    """The replication slots of continuous backups of the server."""
    return await transaction.column("purging.archive_slots")


async def find_purged(transaction: Transaction, kind: str, id: UUID | None, ref: str | None) -> Row | None:
    """Time, receipt and owner of a purged memory."""
    return await transaction.one("purging.find_purged", type=kind, id=id, ref=ref)


async def unclean(transaction: Transaction) -> list[UUID]:
    """Receipts whose words may still be in the data files."""
    return await transaction.column("purging.unclean")


async def mark_clean(transaction: Transaction, ids: Sequence[UUID], residue: Row) -> None:
    await transaction.send("purging.mark_clean", ids=list(ids), residue=Jsonb(residue))
