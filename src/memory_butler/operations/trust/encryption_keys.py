"""Encryption keys of a tenant: their state, rotation, and destruction."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from memory_butler.errors import MemoryButlerError
from memory_butler.models import Caller
from memory_butler.models.unreadable import Because
from memory_butler.operations.retrieval.indexing import catch_up
from memory_butler.operations.trust import purge_receipts
from memory_butler.operations.trust.residue import AT_ONCE_BYTES, CLEAN, EXTERNAL, PENDING
from memory_butler.operations.writing.idempotency import audit_trail
from memory_butler.resources import Resources
from memory_butler.store.encryption import sealing, tenant_keys
from memory_butler.store.encryption.vault import Encryption, KeyUnavailable, TenantKey
from memory_butler.store.retrieval import search_index
from memory_butler.store.system import call_log
from memory_butler.store.trust import residue

Progress = Callable[[str, int, int], None]
log = logging.getLogger(__name__)


def no_progress(_stage: str, _done: int, _total: int) -> None:
    """Default of `progress`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStatus:
    """Whether encryption is on, the keys of a tenant with their state, and the number of memories by form."""

    state: str
    problem: str | None
    policies: list[str]
    keys: list[tuple[TenantKey, str]]
    encrypted: int
    plain: int


async def key_status(resources: Resources, caller: Caller | None = None) -> KeyStatus:
    caller = resources.admin(caller, "see the state of encryption keys")
    encryption, tenant = resources.database.encryption, caller.principal.tenant
    async with resources.database.read(tenant) as transaction:
        keys = await tenant_keys.of_tenant(transaction)
        counts = await tenant_keys.counts(transaction)
    problem = encryption.masters.problem if encryption else None
    return KeyStatus(
        state="on" if encryption and not problem else "off" if not resources.settings.encryption.has_key else "blocked",
        problem=problem,
        policies=sorted(resources.settings.encryption.policies),
        keys=[(key, _state(encryption, tenant, key)) for key in keys],
        encrypted=counts["encrypted"],
        plain=counts["plain"],
    )


@dataclass(slots=True)
class Rotation:
    """Result of a rotation: memories encrypted for the first time and anew, and texts that no key opened. The old keys
    are destroyed unless there are such texts."""

    continued: bool = False
    encrypted: int = 0
    anew: int = 0
    unreadable: int = 0
    residue: str | None = None


@dataclass(slots=True)
class Shredding:
    """Result of a destruction: the keys, the memories that are unreadable from now on, those that were never
    encrypted, and the backups that still hold the keys, encrypted with the master key."""

    keys: list[str] = field(default_factory=list)
    unreadable: int = 0
    plain: int = 0
    residue: str | None = None
    backups: list[dict[str, Any]] = field(default_factory=list)


async def rotate(resources: Resources, caller: Caller | None = None, *, progress: Progress = no_progress) -> Rotation:
    """Make a new data key, encrypt all texts with it, also those from before encryption, and destroy the old keys.

    Pages are transactions of their own. An interrupted rotation continues with the next call.
    """
    caller = resources.admin(caller, "rotate encryption keys")
    encryption, tenant = resources.database.encryption, caller.principal.tenant
    if encryption is None or encryption.masters.current is None:
        problem = encryption.masters.problem if encryption else "No master key is configured."
        raise KeyUnavailable(f"Without a master key nothing can be encrypted. {problem}")
    now = resources.clock()
    async with resources.database.write(tenant, now) as transaction:
        stored = await tenant_keys.counts(transaction)
        done = Rotation(continued=not await tenant_keys.rotate(transaction, encryption, now))
        # Its prompts are plain or have the old key. Nothing depends on them.
        await call_log.clear(transaction)
    await _reseal(resources, tenant, done, lambda n: progress("Encrypting", n, stored["encrypted"] + stored["plain"]))
    trail = audit_trail(resources, caller, resources.clock())
    counts = {"encrypted": done.encrypted, "anew": done.anew, "unreadable": done.unreadable}
    async with resources.database.write(tenant, trail.now) as transaction:
        if not done.unreadable:
            await tenant_keys.destroy_retired(transaction, trail.now)
        await tenant_keys.record(transaction, trail, "rotated", {**counts, "continued": done.continued})
    if done.encrypted:
        await catch_up(resources, tenant, progress=lambda n: progress("Indexing", n, done.encrypted))
    done.residue = await _rewrite(resources)
    return done


async def rotate_if_due(resources: Resources, caller: Caller) -> Rotation | None:
    """Continue an interrupted rotation, or begin one if the key for texts is older than `encryption.rotate_days`.
    Returns None if neither is due."""
    encryption, days = resources.database.encryption, resources.settings.encryption.rotate_days
    if encryption is None or encryption.masters.current is None:
        return None
    async with resources.database.read(caller.principal.tenant) as transaction:
        keys = [key for key in await tenant_keys.of_tenant(transaction) if key.purpose == "data" and key.wrapped]
    goes_on = any(key.is_retired for key in keys)
    used = [datetime.fromisoformat(key.created_at) for key in keys if not key.is_retired]
    is_old = days is not None and any(made <= resources.clock() - timedelta(days=days) for made in used)
    return await rotate(resources, caller) if goes_on or is_old else None


async def _reseal(resources: Resources, tenant: str, done: Rotation, progress: Callable[[int], None]) -> None:
    last: UUID | None = UUID(int=0)
    seen = 0
    while last is not None:
        async with resources.database.write(tenant, resources.clock()) as transaction:
            page = await sealing.memories_after(transaction, last)
        last, seen = page.last, seen + sealing.PAGE
        done.encrypted += page.first
        done.anew += page.anew
        done.unreadable += page.unreadable
        progress(seen)
    place: tuple[UUID, int] | None = None
    while True:
        async with resources.database.write(tenant, resources.clock()) as transaction:
            place = await sealing.items_after(transaction, place)
        if place is None:
            return


async def shred(resources: Resources, caller: Caller | None = None) -> Shredding:
    """Destroy all keys of a tenant: its encrypted texts are unreadable from then on, in events and in exports too."""
    caller = resources.admin(caller, "destroy encryption keys")
    tenant, now = caller.principal.tenant, resources.clock()
    async with resources.database.write(tenant, now) as transaction:
        counts = await tenant_keys.counts(transaction)
        keys = await tenant_keys.destroy(transaction, now)
        await call_log.clear(transaction)
        if ids := await sealing.sealed_ids(transaction):
            await search_index.clear(transaction, ids)
        if keys:
            trail = audit_trail(resources, caller, now)
            await tenant_keys.record(transaction, trail, "destroyed", {"keys": len(keys), **counts})
        backups = await purge_receipts.backups_now(resources, transaction, now)
    if resources.database.encryption:
        resources.database.encryption.forget(tenant)
    return Shredding(
        keys=keys,
        unreadable=counts["encrypted"],
        plain=counts["plain"],
        residue=await _rewrite(resources) if keys else None,
        backups=[one for one in backups if one["exists"]],
    )


async def _rewrite(resources: Resources) -> str:
    """Remove the old forms of texts and keys from the data files."""
    if not resources.database.embedded:
        return EXTERNAL
    try:
        return CLEAN if await residue.rewrite(resources.database, AT_ONCE_BYTES) else PENDING
    except MemoryButlerError as problem:
        log.warning("The data files could not be rewritten after a change of keys: %s", problem.message)
        return PENDING


def _state(encryption: Encryption | None, tenant: str, key: TenantKey) -> str:
    if key.destroyed_at:
        return f"destroyed on {key.destroyed_at[:10]}"
    opened = encryption.unwrapped(tenant, key) if encryption else Because.NO_KEY
    if isinstance(opened, Because):
        return f"locked: {opened}"
    return "retired, until all texts are encrypted anew" if key.is_retired else "in use"
