"""Audit of operators in other tenants: each access is recorded in that tenant before it happens."""

from dataclasses import replace

from memory_butler.errors import NotFound
from memory_butler.models import Caller
from memory_butler.policy.memories.validation import validate_lineage
from memory_butler.resources import Resources
from memory_butler.store.access import cross_tenant_audit


async def audit_access(resources: Resources, caller: Caller, operation: str) -> None:
    """Record an operation of a caller from another tenant. Callers of the tenant itself are not recorded here."""
    principal = caller.principal
    if principal.home is None:
        return
    caller = replace(caller, lineage=validate_lineage(caller.lineage))
    now = resources.clock()
    # Not an ordinary write of the tenant: that would create a tenant for every misspelt name.
    async with resources.database.unlocked_write(principal.tenant) as transaction:
        exists = await cross_tenant_audit.add(transaction, resources.make_id(now), caller, operation, now)
    if not exists:
        raise NotFound(
            f"There is no tenant {principal.tenant!r}.",
            recovery="Check the name. `memory-butler token create` with a new tenant creates it.",
        )
