"""Measurements of the service's objectives in buckets of time."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from memory_butler.store.gate.database import Transaction


async def add(transaction: Transaction, started_at: datetime, counts: Mapping[str, Sequence[int]]) -> None:
    """Add counts per step to the bucket that starts at a time."""
    # An array of arrays would need equal lengths.
    texts = [",".join(map(str, given)) for given in counts.values()]
    await transaction.send("objectives.add", started_at=started_at, objectives=list(counts), counts=texts)


async def since(transaction: Transaction, moment: datetime) -> dict[str, list[int]]:
    """The counts of each objective since a time."""
    return {row["objective"]: row["counts"] for row in await transaction.all("objectives.since", since=moment)}


async def drop_old(transaction: Transaction, before: datetime) -> int:
    return len(await transaction.all("objectives.drop_old", before=before))
