"""Backlog: the episodes that wait for consolidation, in the order in which they are to be taken."""

from datetime import timedelta
from typing import NamedTuple

from memory_butler.butler import Butler
from memory_butler.errors import NotFound, PermissionDenied
from memory_butler.models import Caller, Episode
from memory_butler.policy import reach
from memory_butler.policy.admission import slug, whole_number
from memory_butler.store import consolidation, episodes, sweep

MOST = 1_000
# By then everything that waits for another try is due.
LATER = timedelta(days=365)


class Waiting(NamedTuple):
    """An episode in line, and whether it was put first because several sessions referred to it."""

    episode: Episode
    first: bool


async def next_in_line(butler: Butler, caller: Caller | None, shard_butler: str, limit: int) -> tuple[Waiting, ...]:
    """What to consolidate next for a butler. A pure read: being in line is not being used."""
    caller = caller or butler.local_caller()
    name = reach.acting_butler(caller.principal, slug(shard_butler, "butler"))
    most = whole_number(limit, "limit", 1, MOST)
    async with butler.database.read(caller.principal.tenant) as session:
        found = await episodes.next_in_line(
            session, name, butler.settings.lifecycle_of(name).eden, butler.clock(), most
        )
    return tuple(Waiting(one.episode, one.first) for one in found)


async def backlogs(
    butler: Butler, caller: Caller | None = None, *, only_butler: str | None = None, later: bool = False
) -> dict[str, int]:
    """The butlers of a tenant with episodes that can be distilled now, and how many; or one that is named."""
    caller = caller or butler.local_caller()
    if not caller.principal.role.governs:
        raise PermissionDenied("Only an administrator may look at everybody's backlog.")
    wanted = None if only_butler is None else slug(only_butler, "butler")
    async with butler.database.read(caller.principal.tenant) as session:
        names = await sweep.butlers(session)
        rows = await consolidation.waiting_shards(session, butler.clock() + (LATER if later else timedelta()), wanted)
    if wanted is not None and wanted not in names:
        raise NotFound(
            f"There is no butler {wanted!r} that has stored anything.",
            recovery=f"Name one of: {', '.join(names)}." if names else "Nothing is stored yet, so nothing waits.",
        )
    found = {row["butler"]: int(row["backlog"]) for row in rows}
    return found if wanted is None else {wanted: found.get(wanted, 0)}
