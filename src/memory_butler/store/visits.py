"""Looks by operators of other tenants, in the log of the tenant that was looked at."""

from datetime import datetime
from uuid import UUID

from memory_butler.models import Caller
from memory_butler.store.database import Session


async def add(session: Session, event_id: UUID, caller: Caller, operation: str, now: datetime) -> bool:
    """Whether there is such a tenant, to write it down for."""
    lineage = caller.lineage
    added = await session.one(
        "visits.add",
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
