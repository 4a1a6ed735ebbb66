"""Encryption of new memories: which ones, and the keys that they need."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from memory_butler.english.text.normalize import normal_name
from memory_butler.english.text.stems import stem
from memory_butler.models import GLOBAL_SCOPE, Principal
from memory_butler.policy.memories.text import is_note, note_predicate
from memory_butler.resources import Resources
from memory_butler.settings import Searchable
from memory_butler.store.encryption import tenant_keys
from memory_butler.store.encryption.vault import NOTE_HASH, WORD_HASH, may_read

_WORD = re.compile(r"\w+")
MIN_WORD = 3


class Owner(NamedTuple):
    """The tenant of a memory, and the butlers that it belongs to: the one that stores it, and its scope."""

    tenant: str
    butlers: tuple[str, ...]


def owner_of(tenant: str, *butlers: str) -> Owner:
    return Owner(tenant, tuple(sorted({butler for butler in butlers if butler != GLOBAL_SCOPE})))


def search_of(resources: Resources, owner: Owner, predicate: str | None) -> Searchable | None:
    """How an encrypted memory can be found; None if it is not encrypted."""
    encryption = resources.database.encryption
    if encryption is None or not encryption.settings.has_key:
        return None
    return encryption.settings.search_of(*owner, None if predicate is None else normal_name(predicate))


async def note_name(resources: Resources, owner: Owner, predicate: str) -> str:
    """The predicate of a note. It is a hash of the content, which is keyed if the note is encrypted."""
    if not is_note(predicate) or search_of(resources, owner, predicate) is None:
        return predicate
    await ensure_keys(resources, [owner.tenant])
    async with resources.database.read(owner.tenant) as transaction:
        assert transaction.vault
        await transaction.vault.ready()
        return note_predicate(transaction.vault.keyed(predicate.encode(), NOTE_HASH))


def limit_reading(resources: Resources, principal: Principal) -> None:
    """Decrypt texts in the current call only if the caller's role may read them."""
    encryption = resources.database.encryption
    if encryption:
        may_read.set(str(principal.role) in encryption.settings.readers)


async def keyed_words(resources: Resources, tenant: str, texts: Sequence[str]) -> list[str]:
    """The words of texts as keyed hashes, under which encrypted texts are found; without the key, none."""
    async with resources.database.read(tenant) as transaction:
        vault = transaction.vault
        if vault is None:
            return ["" for _ in texts]
        await vault.ready()
        if not vault.has_index_key():
            return ["" for _ in texts]
    return [
        " ".join(
            f"x{vault.keyed(stem(word).encode(), WORD_HASH).hex()[:16]}"
            for word in _WORD.findall(text.casefold())
            if len(word) >= MIN_WORD
        )
        for text in texts
    ]


async def asked_words(resources: Resources, tenant: str, question: str) -> str:
    """The words of a question as keyed hashes, if a policy stores such."""
    encryption = resources.database.encryption
    if encryption is None or not encryption.settings.hashes_words:
        return ""
    [words] = await keyed_words(resources, tenant, [question])
    return words


async def ensure_keys_for(resources: Resources, owner: Owner, predicates: Sequence[str | None]) -> None:
    """Make the keys of a tenant if one of its new memories or proposals will be encrypted."""
    if any(search_of(resources, owner, predicate) for predicate in [None, *predicates]):
        await ensure_keys(resources, [owner.tenant])


async def ensure_keys_of(resources: Resources, tenant: str) -> None:
    """Make the keys of a tenant if encryption is on."""
    encryption = resources.database.encryption
    if encryption and encryption.masters.current:
        await ensure_keys(resources, [tenant])


async def ensure_keys(resources: Resources, tenants: Sequence[str]) -> None:
    """Make the keys of tenants that will store encrypted memories. Raises KeyUnavailable if they cannot be used."""
    encryption = resources.database.encryption
    assert encryption
    for tenant in sorted(set(tenants)):
        async with resources.database.read(tenant) as transaction:
            lacking = tenant_keys.lacking(await tenant_keys.of_tenant(transaction))
        if lacking:
            now = resources.clock()
            async with resources.database.write(tenant, now) as transaction:
                await tenant_keys.add(transaction, encryption, now)
