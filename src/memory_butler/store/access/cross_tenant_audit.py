"""Audit of access by operators of other tenants, in the log of the accessed tenant."""

from datetime import datetime
from uuid import UUID

from memory_butler.models import Caller
from memory_butler.store.gate.database import Transaction


async def add(transaction: Transaction, event_id: UUID, caller: Caller, operation: str, now: datetime) -> bool:
    """Record the access; returns False if the tenant does not exist."""
    lineage = caller.lineage
    added = await transaction.one(
        "cross_tenant_audit.add",
        event_id=event_id,
        now=now,
        actor=caller.principal.actor,
        home=caller.principal.home,
        operation=operation,
        request_id=lineage.request_id,
        subrequest_id=lineage.subrequest_id,
        segment_id=lineage.segment_id,
        session_id=lineage.session_id,
    )
    return added is not None
