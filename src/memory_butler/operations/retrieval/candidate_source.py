"""The source of candidates: the live tables or, as of a past moment, tables rebuilt from the event log."""

from datetime import datetime

from memory_butler.errors import InvalidInput
from memory_butler.models import Caller
from memory_butler.policy.access.roles import require_admin
from memory_butler.resources import Resources
from memory_butler.store.retrieval import as_of as past
from memory_butler.store.retrieval import search
from memory_butler.store.retrieval.search import Candidates, SearchQuery


def check_as_of(resources: Resources, caller: Caller, as_of: datetime | None) -> None:
    """Only an admin may read as of a past moment; nobody may read the future."""
    if as_of is None:
        return
    require_admin(caller.principal, "read as of a past moment", recovery="Omit as_of to read the current state.")
    now = resources.clock()
    if as_of > now:
        raise InvalidInput(
            f"as_of is in the future: it is {now.isoformat(timespec='seconds')} now.",
            recovery="Pass a past moment, or omit as_of to read the current state.",
        )


async def fetch_candidates(
    resources: Resources, caller: Caller, query: SearchQuery, as_of: datetime | None
) -> tuple[Candidates, tuple[str, ...]]:
    """The candidates for a question, and notes on what could not be searched."""
    tenant = caller.principal.tenant
    if as_of is None:
        return await search.search(resources.database, tenant, query), ()
    candidates, deleted = await past.search(resources.database, tenant, query)
    return candidates, deleted_note(deleted)


def deleted_note(deleted: dict[str, int]) -> tuple[str, ...]:
    """A note on memories of that time that cannot be searched because they were deleted since."""
    if not deleted:
        return ()
    counts = [f"{count} {kind}{'s' * (count > 1)}" for kind, count in deleted.items()]
    verb = "have" if sum(deleted.values()) > 1 else "has"
    return (f"{' and '.join(counts)} of that time {verb} been deleted since; keyword scores may differ",)
