"""An operator in another tenant: every look is written down there before it happens."""

from memory_butler.butler import Butler
from memory_butler.errors import NotFound
from memory_butler.models import Caller
from memory_butler.store import visits


async def note_visit(butler: Butler, caller: Caller, operation: str) -> None:
    """Write down what somebody from another tenant is about to do. Who is at home leaves no such trace."""
    principal = caller.principal
    if principal.home is None:
        return
    now = butler.clock()
    # Not as a write of the tenant's own, which would make a tenant of every misspelt name.
    async with butler.database.aside(principal.tenant) as session:
        is_there = await visits.add(session, butler.make_id(now), caller, operation, now)
    if not is_there:
        raise NotFound(
            f"There is no tenant {principal.tenant!r}.",
            recovery="Its first token makes it: `memory-butler token create`.",
        )
