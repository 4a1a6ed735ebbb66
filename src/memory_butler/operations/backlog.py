"""Backlog: the episodes that wait for consolidation, in the order in which they are to be taken."""

from typing import NamedTuple

from memory_butler.butler import Butler
from memory_butler.models import Caller, Episode
from memory_butler.policy import reach
from memory_butler.policy.admission import slug, whole_number
from memory_butler.store import episodes

MOST = 1_000


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
    return tuple(Waiting(*one) for one in found)
