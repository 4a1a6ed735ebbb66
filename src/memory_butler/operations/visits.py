"""An operator in another tenant: every look is written down there before it happens."""

from memory_butler.butler import Butler
from memory_butler.models import Caller
from memory_butler.store import visits


async def note_visit(butler: Butler, caller: Caller, operation: str) -> None:
    """Write down what somebody from another tenant is about to do. Who is at home leaves no such trace."""
    principal = caller.principal
    if principal.home is None:
        return
    now = butler.clock()
    async with butler.database.write(principal.tenant, now) as session:
        await visits.add(session, butler.make_id(now), caller, operation, now)
