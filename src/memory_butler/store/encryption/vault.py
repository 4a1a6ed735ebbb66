"""Encryption of one database: its master keys, and for each transaction the keys of its tenant.

Texts are encrypted where their rows are written, and decrypted here when a row is read, by the names of its columns. A
column whose row cannot be identified is not decrypted.
"""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.rows import dict_row

from memory_butler.errors import TargetUnavailable
from memory_butler.models import GLOBAL_SCOPE
from memory_butler.models.unreadable import LATER, Because, Unreadable
from memory_butler.settings import EncryptionSettings, Searchable
from memory_butler.store.encryption import codec
from memory_butler.store.encryption.codec import KEY_BYTES, MARK, NONCE_BYTES, Damaged
from memory_butler.store.encryption.master_keys import MasterKeys, load

Made = TypeVar("Made")
Row = dict[str, Any]

CONTENT, METADATA, REASON, PROMPT = "content", "metadata", "reason", "prompt"
# A text of an event: a JSON object with encrypted values.
BODY = "body"
# Encrypted columns of a result: the column that they were encrypted as, and the columns that may have the id of their
# memory.
SEALED_COLUMNS = {
    "content": (CONTENT, ("id", "memory_id")),
    "metadata": (METADATA, ("id", "memory_id")),
    "harmful_reasons": (REASON, ("id",)),
    "reasons": (REASON, ("id",)),
    "reason": (REASON, ("rule_id", "entity_id")),
    "about": (CONTENT, ("entity_id",)),
    "other_content": (CONTENT, ("other_id",)),
    "old_content": (CONTENT, ("old_id",)),
    "body": (BODY, ("memory_id",)),
    "words": (BODY, ("memory_id",)),
    "prompt": (PROMPT, ("id",)),
}
_COLUMN_OF = {"harmful_reasons": REASON}
# Purposes of keyed hashes.
CONTENT_HASH, REQUEST_HASH, ITEM_HASH, NOTE_HASH, WORD_HASH = b"content", b"request", b"item", b"note", b"word"
# Metadata is an object in the database: its encrypted form is the value of this key.
BOXED = "encrypted"
# False in a call whose caller may not read encrypted text.
may_read: ContextVar[bool] = ContextVar("may_read_encrypted_text", default=True)


class KeyUnavailable(TargetUnavailable):
    """The key that encrypts this kind of memory is not available; nothing was stored."""

    retryable = False
    default_recovery = "Configure encryption.key_file, encryption.key or encryption.key_command and restart."


class TenantKey(NamedTuple):
    """A key of a tenant. Without `wrapped`, it was destroyed."""

    id: str
    purpose: str
    master_id: str
    wrapped: bytes | None
    is_retired: bool
    created_at: str
    destroyed_at: str | None


def keys_as_json(keys: Sequence[TenantKey]) -> list[Row]:
    """The rows of keys, for the header of an export file."""
    return [
        {**key._asdict(), "wrapped": None if key.wrapped is None else key.wrapped.hex(), "retired": key.is_retired}
        for key in keys
    ]


def parse_keys(text: str | bytes) -> tuple[TenantKey, ...]:
    return tuple(
        TenantKey(
            row["id"],
            row["purpose"],
            row["master_id"],
            None if row["wrapped"] is None else bytes.fromhex(row["wrapped"]),
            row["retired"],
            row["created_at"],
            row["destroyed_at"],
        )
        for row in json.loads(text)
    )


@dataclass(slots=True)
class Encryption:
    """The settings and master keys of a process, and the keys of tenants that it has decrypted."""

    settings: EncryptionSettings
    masters: MasterKeys
    # By tenant and id: a destroyed key is looked up by its row first, which no longer holds it.
    _opened: dict[tuple[str, str, bytes], bytes] = field(default_factory=dict, repr=False)

    def unwrapped(self, tenant: str, key: TenantKey) -> bytes | Because:
        """The key of a tenant, or why it is not available."""
        if key.wrapped is None:
            return Because.DESTROYED
        known = self._opened.get((tenant, key.id, key.wrapped))
        if known:
            return known
        if self.masters.current is None:
            return Because.NO_KEY
        master = self.masters.by_id.get(key.master_id)
        if master is None:
            return Because.WRONG_KEY
        try:
            opened = codec.unwrap(master, key.wrapped, _about(tenant, key.id, key.purpose))
        except Damaged:
            return Because.DAMAGED
        self._opened[tenant, key.id, key.wrapped] = opened
        return opened

    def forget(self, tenant: str) -> None:
        """Forget the keys of a tenant that were destroyed."""
        self._opened = {place: key for place, key in self._opened.items() if place[0] != tenant}

    def wrapped(self, tenant: str, key_id: str, purpose: str, key: bytes) -> tuple[str, bytes]:
        """A key encrypted with the current master key, and the name of that one."""
        if self.masters.current is None:
            raise KeyUnavailable(f"{KeyUnavailable.__doc__} {self.masters.problem}")
        master = self.masters.by_id[self.masters.current]
        nonce = secrets.token_bytes(NONCE_BYTES)
        return self.masters.current, codec.wrap(master, key, nonce, _about(tenant, key_id, purpose))

    def new_key(self, tenant: str, purpose: str) -> Row:
        """The row of a new random key."""
        key_id = secrets.token_hex(4)
        master_id, wrapped = self.wrapped(tenant, key_id, purpose, secrets.token_bytes(KEY_BYTES))
        return {"id": key_id, "purpose": purpose, "master_id": master_id, "wrapped": wrapped}


def open_encryption(settings: EncryptionSettings, has_keys: bool) -> Encryption | None:
    """Read the master key, if there is one or if the store has keys; None if nothing is encrypted."""
    return Encryption(settings, load(settings)) if has_keys or settings.has_key else None


def _about(tenant: str, key_id: str, purpose: str) -> bytes:
    return codec.place_of(tenant, key_id, f"key:{purpose}")


class Vault:
    """The keys of the tenant of one transaction. They are sent for with its first statement and read when needed."""

    def __init__(
        self,
        encryption: Encryption,
        tenant: str,
        loading: AsyncCursor[Any] | None,
        keys: tuple[TenantKey, ...] | None = None,
    ) -> None:
        self._encryption = encryption
        self._tenant = tenant
        self._loading = loading
        self._keys = keys

    @property
    def keys(self) -> tuple[TenantKey, ...]:
        """Results come in order: with the rows of any later statement, the keys have come."""
        if self._keys is None:
            result = self._loading.pgresult if self._loading else None
            value = result.get_value(0, 0) if result else None
            assert value is not None, "keys are read before any result was awaited"
            self._keys = parse_keys(bytes(value))
        return self._keys

    async def ready(self) -> None:
        """Wait for the keys, if no result of the transaction was awaited yet."""
        if self._keys is None and self._loading and self._loading.pgresult is None:
            await self._loading.fetchone()

    def locked(self) -> list[str]:
        """The ids of data keys whose texts cannot be read now but may be later. Destroyed keys are not among them."""
        opened = {
            key.id: self._encryption.unwrapped(self._tenant, key) if may_read.get() else Because.NOT_ALLOWED
            for key in self.keys
            if key.purpose == "data" and key.wrapped is not None
        }
        return [id for id, result in opened.items() if result in LATER]

    def search_of(self, row: Mapping[str, Any]) -> Searchable | None:
        """How a new memory can be found if it is encrypted; None if it is not. If no key is configured, a tenant that
        has keys still needs one."""
        if not self._encryption.settings.has_key and not self.keys:
            return None
        names = (row.get(column) for column in ("butler", "source_butler", "scope"))
        butlers = tuple(str(name) for name in names if name not in (None, GLOBAL_SCOPE))
        return self._encryption.settings.search_of(self._tenant, butlers, row.get("predicate"))

    def sealed(self, row: Row) -> Row:
        """The row of a new memory as it is stored. Its hash is keyed, so that nobody can test guesses of the text."""
        if self.search_of(row) is None:
            return row
        content, memory_id = row["content"], row["id"]
        return {
            **row,
            "content": self.seal(memory_id, CONTENT, content),
            "content_hash": self.keyed(row["content_hash"], CONTENT_HASH),
            "metadata": self.sealed_metadata(memory_id, row["metadata"]),
        }

    def has_index_key(self) -> bool:
        """True if keyed hashes can be computed."""
        return any(
            key.purpose == "index" and isinstance(self._encryption.unwrapped(self._tenant, key), bytes)
            for key in self.keys
        )

    def keyed(self, data: bytes, purpose: bytes) -> bytes:
        """A keyed hash. Raises KeyUnavailable."""
        return codec.keyed_hash(self.current("index")[1], purpose, data)

    def current(self, purpose: str) -> tuple[str, bytes]:
        """The id and the key in use. Raises KeyUnavailable."""
        for key in self.keys:
            if key.purpose == purpose and not key.is_retired and key.wrapped is not None:
                opened = self._encryption.unwrapped(self._tenant, key)
                if isinstance(opened, Because):
                    raise KeyUnavailable(f"{KeyUnavailable.__doc__} Reason: {opened}.")
                return key.id, opened
        raise KeyUnavailable(f"{KeyUnavailable.__doc__} Reason: the tenant has no key any more.")

    def seal(self, memory_id: UUID | str, column: str, text: str) -> str:
        """Encrypt a text of a memory. Raises KeyUnavailable."""
        key_id, key = self.current("data")
        return codec.seal(key_id, key, text, codec.place_of(self._tenant, memory_id, column))

    def sealed_metadata(self, memory_id: UUID | str, metadata: Mapping[str, Any]) -> dict[str, Any]:
        if not metadata:
            return {}
        return {BOXED: self.seal(memory_id, METADATA, json.dumps(metadata, ensure_ascii=False, sort_keys=True))}

    def unseal(self, memory_id: UUID | str | None, column: str, sealed: str) -> str:
        """The text, or words that say why it cannot be shown."""
        if not may_read.get():
            return Unreadable(Because.NOT_ALLOWED)
        opened = self._opened(memory_id, column, sealed)
        return Unreadable(opened) if isinstance(opened, Because) else opened

    def _opened(self, memory_id: UUID | str | None, column: str, sealed: str) -> str | Because:
        try:
            wanted = codec.key_of(sealed)
            key = next((one for one in self.keys if one.id == wanted and one.purpose == "data"), None)
            if key is None or memory_id is None:
                return Because.DAMAGED
            data_key = self._encryption.unwrapped(self._tenant, key)
            if isinstance(data_key, Because):
                return data_key
            return codec.unseal(data_key, sealed, codec.place_of(self._tenant, memory_id, column))
        except Damaged:
            return Because.DAMAGED

    def opened(self, memory_id: UUID | str | None, column: str, value: Any) -> Any:
        """A value of an encrypted column in the form that it had before."""
        match value:
            case str() if column == BODY:
                return self._opened_body(memory_id, value)
            case str() if value.startswith(MARK):
                return self.unseal(memory_id, column, value)
            case [*texts] if any(map(codec.is_sealed, texts)):
                return [self.opened(memory_id, column, text) for text in texts]
            case {"encrypted": str(sealed)} if len(value) == 1 and sealed.startswith(MARK):
                text = self.unseal(memory_id, column, sealed)
                return {BOXED: text} if isinstance(text, Unreadable) else json.loads(text)
        return value

    def _opened_body(self, memory_id: UUID | str | None, body: str) -> str:
        if MARK not in body:
            return body
        words = json.loads(body)
        return json.dumps(
            {name: self.opened(memory_id, _COLUMN_OF.get(name, name), value) for name, value in words.items()},
            ensure_ascii=False,
        )

    def rows(self, cursor: AsyncCursor[Any]) -> Callable[[Sequence[Any]], Row]:
        """Row factory: rows by column name, decrypted."""
        return self._decrypting(cursor, dict_row(cursor))

    def values(self, make: Callable[[Sequence[Any]], Made]) -> Callable[[Any], Callable[[Sequence[Any]], Made]]:
        """Row factory: `make` called on the decrypted values of each row."""
        return lambda cursor: self._decrypting(cursor, make)

    def _decrypting(
        self, cursor: AsyncCursor[Any], make: Callable[[Sequence[Any]], Made]
    ) -> Callable[[Sequence[Any]], Made]:
        names = [column.name for column in cursor.description or ()]
        places = [
            (place, column, next((names.index(one) for one in owners if one in names), None))
            for place, name in enumerate(names)
            if name in SEALED_COLUMNS
            for column, owners in [SEALED_COLUMNS[name]]
        ]
        if not places:
            return make

        def opened(values: Sequence[Any]) -> Made:
            changed = list(values)
            for place, column, identity in places:
                if changed[place] is not None:
                    owner = None if identity is None else changed[identity]
                    changed[place] = self.opened(owner, column, changed[place])
            return make(changed)

        return opened
