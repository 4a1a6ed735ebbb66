"""Lookups by the hash of a text, which is stored plain or, if the text is encrypted, keyed."""

from collections.abc import Collection

from memory_butler.store.gate.database import Transaction


async def by_stored(transaction: Transaction, hashes: Collection[bytes], purpose: bytes) -> dict[bytes, bytes]:
    """The given hashes by each form in which they may be stored."""
    forms = {one: one for one in hashes}
    if transaction.vault:
        await transaction.vault.ready()
        if transaction.vault.has_index_key():
            forms |= {transaction.vault.keyed(one, purpose): one for one in hashes}
    return forms
