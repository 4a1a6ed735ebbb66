"""Encrypted texts in export files: opened with the keys of the file, and encrypted again for the tenant."""

import hashlib
import json
import re
from typing import Any
from uuid import UUID

from memory_butler.models.unreadable import Unreadable
from memory_butler.store.encryption.codec import MARK
from memory_butler.store.encryption.sealing import Form, Resealed
from memory_butler.store.encryption.vault import BOXED, CONTENT, CONTENT_HASH, METADATA, REASON, KeyUnavailable, Vault

Record = dict[str, Any]
_HASH = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
MEMORIES = ("episode", "fact", "rule")


def opened_record(vault: Vault, kind: str, row: Record) -> Record:
    """A row of a file in plain text. Raises KeyUnavailable."""
    if kind in MEMORIES and str(row.get("content", "")).startswith(MARK):
        content = _text(vault.opened(row["id"], CONTENT, row["content"]))
        metadata = vault.opened(row["id"], METADATA, row["metadata"])
        _text(metadata.get(BOXED))
        plain = {**row, "content": content, "metadata": metadata, "content_hash": _hash(content)}
        if "harmful_reasons" in row:
            reasons = vault.opened(row["id"], REASON, row["harmful_reasons"])
            plain["harmful_reasons"] = [_text(reason) for reason in reasons]
        return plain
    if kind == "application" and row.get("reason"):
        return {**row, "reason": _text(vault.opened(row["rule_id"], REASON, row["reason"]))}
    if kind == "text" and MARK in row["body"]:
        return {**row, "body": _opened_body(vault, row["memory_id"], row["body"])}
    return row


def _opened_body(vault: Vault, memory_id: str, body: str) -> str:
    words = json.loads(vault.opened(memory_id, "body", body))
    for value in (words.get("content"), words.get("reason"), *words.get("harmful_reasons", ())):
        _text(vault.opened(memory_id, CONTENT, value) if value is not None else None)
        if str(value).startswith("[encrypted: "):
            raise _locked()
    if "content" in words:
        words["content_hash"] = _hash(words["content"])
    return json.dumps(words, ensure_ascii=False)


class RecordOpening:
    """Opens the rows of a file. A text in plain form has another hash, and the events after it refer to that one."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._hashes: dict[str, str] = {}

    def row(self, kind: str, row: Record) -> Record:
        if kind == "event" and self._hashes:
            renamed: Record = json.loads(
                _HASH.sub(lambda found: self._hashes.get(found[0], found[0]), json.dumps(row, ensure_ascii=False))
            )
            return renamed
        opened = opened_record(self._vault, kind, row)
        if kind == "text" and opened is not row:
            digest = hashlib.sha256(opened["body"].encode()).hexdigest()
            self._hashes[row["hash"].removeprefix("\\x")] = digest
            return {**opened, "hash": f"\\x{digest}"}
        return opened


class RecordSealing:
    """Encrypts the plain rows of a file for a tenant. Memories come before their texts."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._sealed: dict[str, str] = {}

    def row(self, kind: str, row: Record) -> Record:
        if kind in MEMORIES and self._vault.search_of(row) is not None:
            digest = self._vault.keyed(bytes.fromhex(row["content_hash"].removeprefix("\\x")), CONTENT_HASH)
            self._sealed[row["id"]] = f"\\x{digest.hex()}"
            form = Form(self._vault, UUID(row["id"]), Resealed())
            sealed = {**row, "content": form.text(CONTENT, row["content"]), "metadata": form.metadata(row["metadata"])}
            if row.get("harmful_reasons"):
                sealed["harmful_reasons"] = [form.text(REASON, one) for one in row["harmful_reasons"]]
            return sealed | {"content_hash": self._sealed[row["id"]]}
        owner = row.get("rule_id") if kind == "application" else row.get("memory_id") if kind == "text" else None
        if owner not in self._sealed:
            return row
        form = Form(self._vault, UUID(owner), Resealed())
        if kind == "application":
            return {**row, "reason": form.text(REASON, row["reason"])} if row.get("reason") else row
        return {**row, "body": form.body(row["body"], self._sealed[owner])}


def _hash(content: str) -> str:
    return f"\\x{hashlib.sha256(content.encode()).hexdigest()}"


def _text(value: Any) -> Any:
    if isinstance(value, Unreadable):
        raise _locked(value.because)
    return value


def _locked(because: str = "its key is not available") -> KeyUnavailable:
    return KeyUnavailable(
        f"The file holds an encrypted text that cannot be decrypted: {because}. Nothing was stored.",
        recovery="Configure the master key of the store that wrote the file, or export it with --decrypt.",
    )
