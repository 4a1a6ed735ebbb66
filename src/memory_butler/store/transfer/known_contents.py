"""Imported memories that exist already."""

from collections.abc import Sequence

from memory_butler.store.encryption.hashes import by_stored
from memory_butler.store.encryption.vault import CONTENT_HASH
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.gate.recordsets import recordset


async def known(transaction: Transaction, items: Sequence[Row]) -> set[int]:
    """The numbers of those that are there in the same words."""
    forms = await by_stored(transaction, {item["content_hash"] for item in items}, CONTENT_HASH)
    stored: dict[bytes, list[bytes]] = {}
    for form, given in forms.items():
        stored.setdefault(given, []).append(form)
    items = [{**item, "content_hashes": stored[item["content_hash"]]} for item in items]
    return set(await transaction.column("known_contents.known", items=recordset(items)))
