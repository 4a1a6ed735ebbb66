"""The keys of tenants in the database."""

from collections.abc import Sequence
from datetime import datetime

from memory_butler.store.encryption.vault import Encryption, TenantKey, parse_keys
from memory_butler.store.gate.database import Row, Transaction

PURPOSES = ("data", "index")


async def of_tenant(transaction: Transaction) -> tuple[TenantKey, ...]:
    return parse_keys((await transaction.row("tenant_keys.load"))["keys"])


async def counts(transaction: Transaction) -> Row:
    """The number of memories that are `encrypted`, and of those that are `plain`."""
    return await transaction.row("tenant_keys.counts")


def lacking(keys: Sequence[TenantKey]) -> list[str]:
    """The purposes for which a tenant has no key in use."""
    used = {key.purpose for key in keys if key.wrapped is not None and not key.is_retired}
    return [purpose for purpose in PURPOSES if purpose not in used]


async def add(transaction: Transaction, encryption: Encryption, now: datetime) -> None:
    """Give the tenant the keys that it lacks. Raises KeyUnavailable without a master key."""
    for purpose in lacking(await of_tenant(transaction)):
        await transaction.send("tenant_keys.insert", now=now, **encryption.new_key(transaction.tenant, purpose))
