"""The hash chain of a tenant's events: checking it, and sealing it.

Every event holds a hash of its predecessor's hash and of its own content without words, computed by the database when
the event is inserted. Changing, removing or inserting an event breaks the chain from there on.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory_butler.store.gate.database import Transaction
from memory_butler.store.history.replay import Pieces, Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainBreak:
    """The first break: the event where the chain does not hold, and what is wrong with it."""

    seq: int
    event_id: UUID | None
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainReport:
    """Result of a check. `unchained` events were written before there was a chain; `head` is the last hash."""

    checked: int
    unchained: int
    seals: int
    head: str | None = None
    broken: ChainBreak | None = None


_PROBLEMS = {
    "unchained": "it has no hash",
    "missing": "an event before it is missing",
    "changed": "it was changed, or an event before it was",
}


async def check(transaction: Transaction, pieces: Pieces, progress: Progress) -> ChainReport:
    """Check the whole chain of the tenant and its seals."""
    start = int((await transaction.row("chain.start"))["seq"])
    ending = await transaction.one("chain.ending")
    seals = int((await transaction.row("chain.count_seals"))["seals"])
    broken: ChainBreak | None = None
    for piece in pieces.by_event():
        if broken is None and piece["upto"] > start:
            row = await transaction.one("chain.first_break", start=start, **piece)
            if row:
                broken = ChainBreak(seq=row["seq"], event_id=row["id"], problem=_PROBLEMS[row["kind"]])
        progress("Checking the hash chain", piece["upto"], pieces.events)
    if broken is None and (seal := await transaction.one("chain.broken_seal")):
        broken = ChainBreak(seq=seal["seq"], event_id=seal["id"], problem="it does not match its seal")
    if broken is None and ending and ending["last_seq"] != (ending["seq"] or 0):
        broken = ChainBreak(seq=(ending["seq"] or 0) + 1, event_id=None, problem="the end of the log is missing")
    return ChainReport(
        checked=max(0, pieces.events - start),
        unchained=min(start, pieces.events),
        seals=seals,
        head=ending["head"] if ending else None,
        broken=broken,
    )


async def seal(transaction: Transaction, now: datetime) -> None:
    """Seal the log at its last event."""
    await transaction.send("chain.seal", now=now)
