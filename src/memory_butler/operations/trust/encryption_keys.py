"""Encryption keys of a tenant: their state."""

from dataclasses import dataclass

from memory_butler.models import Caller
from memory_butler.models.unreadable import Because
from memory_butler.resources import Resources
from memory_butler.store.encryption import tenant_keys
from memory_butler.store.encryption.vault import Encryption, TenantKey


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


def _state(encryption: Encryption | None, tenant: str, key: TenantKey) -> str:
    if key.destroyed_at:
        return f"destroyed on {key.destroyed_at[:10]}"
    opened = encryption.unwrapped(tenant, key) if encryption else Because.NO_KEY
    if isinstance(opened, Because):
        return f"locked: {opened}"
    return "retired, until all texts are encrypted anew" if key.is_retired else "in use"
