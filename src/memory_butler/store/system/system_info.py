"""Versions, sizes and embedding versions of the store."""

from memory_butler.store.gate.database import Row, Transaction


async def versions(transaction: Transaction) -> Row:
    return await transaction.row("system_info.versions")


async def coverage(transaction: Transaction) -> list[Row]:
    """The number of memories per embedding version; without one for memories that are not indexed."""
    return await transaction.all("system_info.coverage")


async def sizes(transaction: Transaction) -> tuple[int, list[Row]]:
    """The bytes of the whole database, and its tables of ours, the largest first."""
    whole = await transaction.one("system_info.whole_size")
    assert whole
    return int(whole["bytes"]), await transaction.all("system_info.sizes")
