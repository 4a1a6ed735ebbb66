"""The retention of references: the record of single reads is dropped after a time; the counts stay."""

from datetime import datetime
from typing import Final
from uuid import UUID

from memory_butler.store.gate.database import Transaction

# Events per transaction.
WINDOW: Final = 10_000


async def has_window(transaction: Transaction, before: datetime) -> bool:
    """True if single reads from before a time may not be dropped yet."""
    window = await transaction.row("references.window", before=_first_id(before), limit=WINDOW)
    return window["is_beyond"] or (window["upto"] is not None and window["upto"] > window["after"])


async def drop_window(
    transaction: Transaction, *, before: datetime, event_id: UUID, actor: str, now: datetime
) -> tuple[int, bool]:
    """Drop the single reads of the next part of the log before a time; returns their number, and whether it was the
    last part."""
    await transaction.send("references.repair")
    window = await transaction.row("references.window", before=_first_id(before), limit=WINDOW)
    if window["upto"] is None or window["upto"] <= window["after"]:
        return 0, True
    part = {"after": window["after"], "upto": window["upto"]}
    dropped = int((await transaction.row("references.drop", **part))["dropped"])
    await transaction.send("references.scrub", **part)
    await transaction.send("references.set_horizon", upto=part["upto"])
    if dropped:
        given = {"upto": part["upto"], "event_id": event_id, "actor": actor, "now": now, "dropped": dropped}
        await transaction.send("references.record", **given)
    return dropped, bool(window["is_last"])


def _first_id(moment: datetime) -> UUID:
    """An id that is smaller than those of this moment: ids are UUIDs of version 7, which begin with their time."""
    return UUID(int=(int(moment.timestamp() * 1000) & (1 << 48) - 1) << 80)
