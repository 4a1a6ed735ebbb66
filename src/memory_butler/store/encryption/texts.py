"""Encryption of texts that belong to a memory but not to its row: reasons, and proposals of consolidation runs."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from memory_butler.english.text.normalize import normal_name
from memory_butler.models.unreadable import Unreadable
from memory_butler.store.encryption.codec import is_sealed
from memory_butler.store.encryption.vault import BOXED, REASON, Vault
from memory_butler.store.gate.database import Row, Transaction

PROPOSED, SAID = "proposed", "said"
# Readable parts of a proposal: its kind, and the memories that it refers to.
SHOWN = ("kind", "evidence", "target", "target_type")


async def sealed_reason(
    transaction: Transaction, memory_id: UUID, reason: str | None, *, sealed: bool | None = None
) -> str | None:
    """A reason as it is stored: encrypted like the memory that it is about. `sealed` tells if that one is."""
    vault = transaction.vault
    if reason is None or vault is None:
        return reason
    if sealed is None:
        sealed = (await transaction.row("tenant_keys.is_sealed", id=memory_id))["is_sealed"]
    return vault.seal(memory_id, REASON, reason) if sealed else reason


async def sealed_item(transaction: Transaction, run: UUID, item: Row, butler: str) -> Row:
    """A proposal as it is stored: encrypted if the memory that it proposes would be, or if the one it changes is."""
    vault, proposed = transaction.vault, item[PROPOSED]
    if vault is None or not await _is_sensitive(transaction, vault, item, butler):
        return item
    place = f"{run}:{item['place']}"
    hidden = json.dumps(
        {name: value for name, value in proposed.items() if name not in SHOWN}, default=str, ensure_ascii=False
    )
    shown = {name: proposed[name] for name in SHOWN if name in proposed}
    said = None if item[SAID] is None else vault.seal(place, SAID, item[SAID])
    return {**item, PROPOSED: {**shown, BOXED: vault.seal(place, PROPOSED, hidden)}, SAID: said}


async def _is_sensitive(transaction: Transaction, vault: Vault, item: Row, butler: str) -> bool:
    predicate = item[PROPOSED].get("predicate")
    about = {"butler": butler, "predicate": normal_name(predicate) if isinstance(predicate, str) else None}
    if vault.search_of(about) is not None:
        return True
    for target in (item[PROPOSED].get("target"), item.get("memory_id")):
        with suppress(ValueError):
            if target and (await transaction.row("tenant_keys.is_sealed", id=UUID(str(target))))["is_sealed"]:
                return True
    return False


def opened_item(transaction: Transaction, row: Row) -> Row:
    """A stored proposal, decrypted."""
    vault, proposed = transaction.vault, row[PROPOSED]
    if vault is None or not is_sealed(proposed.get(BOXED)):
        return row
    place = f"{row['run_id']}:{row['place']}"
    text = vault.unseal(place, PROPOSED, proposed[BOXED])
    hidden: Mapping[str, Any] = {"content": text} if isinstance(text, Unreadable) else json.loads(text)
    shown = {name: value for name, value in proposed.items() if name != BOXED}
    return {**row, PROPOSED: {**shown, **hidden}, SAID: vault.opened(place, SAID, row[SAID])}
