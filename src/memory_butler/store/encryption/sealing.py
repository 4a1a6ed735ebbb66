"""Encrypt what is stored: texts from before encryption, and texts of a retired key."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from memory_butler.models.unreadable import Unreadable
from memory_butler.store.encryption.codec import is_sealed, key_of
from memory_butler.store.encryption.texts import opened_item, sealed_item
from memory_butler.store.encryption.vault import BOXED, CONTENT, CONTENT_HASH, METADATA, REASON, Vault
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.gate.recordsets import recordset
from memory_butler.store.retrieval import search_index

PAGE = 200
# Columns of the texts of events. The salt would let a reader test guesses against the hash of a text that was plain.
_COLUMNS = {"content": CONTENT, "harmful_reasons": REASON, "reason": REASON, "salt": "salt", "salt_of_reason": "salt"}


@dataclass(slots=True)
class Resealed:
    """Result of a page: its last id, the memories that were encrypted for the first time or anew, and the texts that
    could not be read."""

    last: UUID | None = None
    first: int = 0
    anew: int = 0
    unreadable: int = 0


class Form:
    """The new form of the texts of one memory."""

    def __init__(self, vault: Vault, memory_id: UUID, result: Resealed) -> None:
        self._vault, self._id, self._result = vault, memory_id, result
        self._current = vault.current("data")[0]

    def text(self, column: str, value: str) -> str:
        if is_sealed(value):
            if key_of(value) == self._current:
                return value
            opened = self._vault.unseal(self._id, column, value)
            if isinstance(opened, Unreadable):
                self._result.unreadable += 1
                return value
            value = opened
        return self._vault.seal(self._id, column, value)

    def metadata(self, value: dict[str, Any]) -> dict[str, Any]:
        if not value:
            return value
        boxed = value.get(BOXED)
        if len(value) == 1 and is_sealed(boxed):
            return {BOXED: self.text(METADATA, str(boxed))}
        return self._vault.sealed_metadata(self._id, value)

    def body(self, stored: str, new_hash: str | None) -> str:
        words = json.loads(stored)
        for name, value in words.items():
            if name == METADATA:
                words[name] = self.metadata(value)
            elif name == "content_hash" and new_hash:
                words[name] = new_hash
            elif name in _COLUMNS and isinstance(value, list):
                words[name] = [self.text(_COLUMNS[name], one) for one in value]
            elif name in _COLUMNS and isinstance(value, str):
                words[name] = self.text(_COLUMNS[name], value)
        return json.dumps(words, ensure_ascii=False)


async def memories_after(transaction: Transaction, after: UUID) -> Resealed:
    """Encrypt the next memories by id that should be, with the current key. The search index of a memory that was
    plain is deleted: it has to be built again."""
    vault, result = transaction.vault, Resealed()
    assert vault
    await transaction.send("sealing.begin")
    rows = await transaction.all("sealing.page", after=after, limit=PAGE)
    current = vault.current("data")[0]
    changed: list[Row] = []
    for row in rows:
        was_sealed = is_sealed(row["stored_content"])
        if was_sealed and key_of(row["stored_content"]) == current:
            continue
        if not was_sealed and vault.search_of(_about(row)) is None:
            continue
        changed.append(row)
    await _write(transaction, vault, changed, result)
    result.last = rows[-1]["id"] if rows else None
    return result


def _about(row: Row) -> Row:
    butlers = [*row["butlers"], None]
    return {"butler": butlers[0], "scope": butlers[1], "predicate": row["predicate"]}


async def _write(transaction: Transaction, vault: Vault, rows: Sequence[Row], result: Resealed) -> None:
    if not rows:
        return
    forms = {row["id"]: Form(vault, row["id"], result) for row in rows}
    plain = [row["id"] for row in rows if not is_sealed(row["stored_content"])]
    hashes = {
        row["id"]: vault.keyed(bytes(row["content_hash"]), CONTENT_HASH)
        if row["id"] in plain
        else bytes(row["content_hash"])
        for row in rows
    }
    for kind in ("fact", "rule", "episode"):
        own = [
            {
                "id": row["id"],
                "content": forms[row["id"]].text(CONTENT, row["stored_content"]),
                "content_hash": hashes[row["id"]],
                "metadata": forms[row["id"]].metadata(row["stored_metadata"]),
            }
            for row in rows
            if row["type"] == kind
        ]
        if own:
            await transaction.send(f"sealing.update:{kind}", rows=recordset(own))
    for row in rows:
        if row["stored_reasons"]:
            reasons = [forms[row["id"]].text(REASON, one) for one in row["stored_reasons"]]
            await transaction.send("sealing.update_reasons", id=row["id"], reasons=reasons)
    ids = list(forms)
    for row in await transaction.all("sealing.reports", ids=ids):
        reason = forms[row["rule_id"]].text(REASON, row["stored_reason"])
        await transaction.send("sealing.update_report", id=row["id"], reason=reason)
    bodies = [
        {
            "memory_id": row["memory_id"],
            "hash": bytes(row["hash"]),
            "body": forms[row["memory_id"]].body(
                row["stored_body"], f"\\x{hashes[row['memory_id']].hex()}" if row["memory_id"] in plain else None
            ),
        }
        for row in await transaction.all("sealing.texts", ids=ids)
    ]
    if bodies:
        await transaction.send("sealing.update_texts", rows=recordset(bodies))
    if plain:
        await search_index.clear(transaction, plain)
    result.first, result.anew = len(plain), len(rows) - len(plain)


async def items_after(transaction: Transaction, after: tuple[UUID, int] | None) -> tuple[UUID, int] | None:
    """Encrypt the next proposals of consolidation runs; returns the last one, None at the end."""
    run, place = after or (None, None)
    rows = await transaction.all("sealing.items", after_run=run, after_place=place, limit=PAGE)
    for row in rows:
        opened = opened_item(transaction, row)
        if isinstance(opened["proposed"].get("content"), Unreadable):
            continue
        sealed = await sealed_item(transaction, row["run_id"], opened, row["butler"])
        if (sealed["proposed"], sealed["said"]) != (row["proposed"], row["said"]):
            form = {"proposed": Jsonb(sealed["proposed"]), "said": sealed["said"]}
            await transaction.send("sealing.update_item", run=row["run_id"], place=row["place"], **form)
    return (rows[-1]["run_id"], rows[-1]["place"]) if len(rows) == PAGE else None


async def sealed_ids(transaction: Transaction) -> list[UUID]:
    """The memories with an encrypted text."""
    return await transaction.column("sealing.sealed_ids")
