"""Imported memories that exist already."""

from collections.abc import Sequence

from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.gate.recordsets import recordset


async def known(transaction: Transaction, items: Sequence[Row]) -> set[int]:
    """The numbers of those that are there in the same words."""
    return set(await transaction.column("known_contents.known", items=recordset(items)))
