"""The keys of tenants in the database."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from psycopg.types.json import Jsonb

from memory_butler.models.unreadable import Because
from memory_butler.store.encryption.vault import (
    ITEM_HASH,
    REQUEST_HASH,
    Encryption,
    KeyUnavailable,
    TenantKey,
    Vault,
    parse_keys,
)
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.history.events import AuditTrail

PURPOSES = ("data", "index")


async def of_tenant(transaction: Transaction) -> tuple[TenantKey, ...]:
    return parse_keys((await transaction.row("tenant_keys.load"))["keys"])


async def locked(transaction: Transaction) -> list[str]:
    """The ids of keys whose texts cannot be read in this transaction but may be later."""
    if transaction.vault is None:
        return []
    await transaction.vault.ready()
    return transaction.vault.locked()


async def counts(transaction: Transaction) -> Row:
    """The number of memories that are `encrypted`, and of those that are `plain`."""
    return await transaction.row("tenant_keys.counts")


def lacking(keys: Sequence[TenantKey]) -> list[str]:
    """The purposes for which a tenant has no key in use."""
    used = {key.purpose for key in keys if key.wrapped is not None and not key.is_retired}
    return [purpose for purpose in PURPOSES if purpose not in used]


async def rotate(transaction: Transaction, encryption: Encryption, now: datetime) -> bool:
    """Retire the data key and make a new one, unless a rotation is unfinished. Keys of another master key are encrypted
    with the current one. Returns False if an unfinished rotation goes on."""
    keys = await of_tenant(transaction)
    for key in keys:
        if key.wrapped is not None and key.master_id != encryption.masters.current:
            opened = encryption.unwrapped(transaction.tenant, key)
            if isinstance(opened, Because):
                raise KeyUnavailable(f"The key {key.id} cannot be rotated: {opened}.")
            master_id, wrapped = encryption.wrapped(transaction.tenant, key.id, key.purpose, opened)
            await transaction.send("tenant_keys.rewrap", id=key.id, master_id=master_id, wrapped=wrapped)
    goes_on = any(key.is_retired and key.wrapped is not None for key in keys)
    if not goes_on:
        await transaction.send("tenant_keys.retire", now=now)
    await add(transaction, encryption, now)
    return not goes_on


async def destroy_retired(transaction: Transaction, now: datetime) -> None:
    await transaction.send("tenant_keys.destroy_retired", now=now)


async def destroy(transaction: Transaction, now: datetime) -> list[str]:
    """Destroy all keys of the tenant; returns their ids."""
    return await transaction.column("tenant_keys.destroy", now=now)


async def record(transaction: Transaction, trail: AuditTrail, event: str, counts: Mapping[str, int | bool]) -> None:
    """Record a change of keys in the log: `rotated` or `destroyed`."""
    await transaction.send(
        "tenant_keys.record",
        event_id=trail.make_id(trail.now),
        event_type=f"keys.{event}",
        now=trail.now,
        actor=trail.actor,
        request_id=trail.lineage.request_id,
        payload=Jsonb(dict(counts)),
    )


async def add(transaction: Transaction, encryption: Encryption, now: datetime) -> None:
    """Give the tenant the keys that it lacks. Raises KeyUnavailable without a master key."""
    missing = lacking(await of_tenant(transaction))
    for purpose in missing:
        await transaction.send("tenant_keys.insert", now=now, **encryption.new_key(transaction.tenant, purpose))
    if "index" in missing:
        await _key_hashes(transaction, encryption)


async def _key_hashes(transaction: Transaction, encryption: Encryption) -> None:
    """Replace the plain hashes of requests and distilled items from before encryption by keyed ones: with a plain hash
    anybody can test guesses of a text."""
    vault = Vault(encryption, transaction.tenant, None, await of_tenant(transaction))
    for column, purpose in (("request_hash", REQUEST_HASH), ("key", ITEM_HASH)):
        plain = [bytes(one) for one in await transaction.column(f"tenant_keys.hashes:{column}")]
        keyed = [vault.keyed(one, purpose) for one in plain]
        await transaction.send(f"tenant_keys.key_hashes:{column}", plain=plain, keyed=keyed)
