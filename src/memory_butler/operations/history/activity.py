"""Activity: the events of a tenant in order, for callers that follow the log. A pure read.

Sequence numbers follow the order of commits without gaps: a reader that continues from a number misses nothing.
"""

from memory_butler.errors import InvalidInput
from memory_butler.models import EVERY_SCOPE, Activities, Activity, Caller
from memory_butler.policy.access import visibility
from memory_butler.policy.history import narrative
from memory_butler.policy.history.activity import START, decode_cursor, describe, encode_cursor, reference_of
from memory_butler.policy.memories.validation import slug, whole_number
from memory_butler.resources import Resources
from memory_butler.store.history import activity as log
from memory_butler.store.history.activity import Noted, View

USUAL, MOST = 50, 500


async def activity(
    resources: Resources,
    caller: Caller | None = None,
    *,
    since: str | None = None,
    scope: str | None = None,
    limit: int = USUAL,
) -> Activities:
    """The events after a cursor, in order; without a cursor the newest ones."""
    caller = caller or resources.local_caller()
    limit = whole_number(limit, "limit", 1, MOST)
    view, place = _view(caller, scope), _place(caller, since)
    async with resources.database.read(caller.principal.tenant) as transaction:
        now = resources.clock()
        piece = (
            await log.newest(transaction, view, now, limit)
            if place is None
            else await log.after(transaction, place, view, now, limit)
        )
    return _told(caller, place, piece, limit)


async def latest(resources: Resources, caller: Caller, *, scope: str | None = None) -> str:
    """The cursor at the end of the log."""
    async with resources.database.read(caller.principal.tenant) as transaction:
        piece = await log.newest(transaction, _view(caller, scope), resources.clock(), 0)
    return encode_cursor(caller.principal.tenant, piece.last_seq)


async def following(
    resources: Resources, caller: Caller, *, since: str, scope: str | None = None, limit: int = USUAL
) -> Activities:
    """The same as `activity` for polling: does not restart a stopped database."""
    view, place = _view(caller, scope), decode_cursor(caller.principal.tenant, since)
    async with resources.database.unlocked_write(caller.principal.tenant) as transaction:
        piece = await log.after(transaction, place, view, resources.clock(), limit)
    return _told(caller, place, piece, limit)


def _view(caller: Caller, scope: str | None) -> View:
    wanted = scope if scope in (None, EVERY_SCOPE) else slug(scope, "scope")
    found = visibility.readable(caller.principal, wanted, None)
    # Events that belong to no memory have no scope.
    return View(found, governs=caller.principal.role.governs and wanted in (None, EVERY_SCOPE))


def _place(caller: Caller, since: str | None) -> int | None:
    return None if since is None else decode_cursor(caller.principal.tenant, since)


def _told(caller: Caller, place: int | None, piece: log.Piece, limit: int) -> Activities:
    if place is not None and place > piece.length:
        raise InvalidInput(
            "since lies behind the end of the log: the store has been set back to an earlier state.",
            recovery=f"Pass {START!r} for the whole log, or leave out since.",
        )
    tenant, found = caller.principal.tenant, piece.found
    # A full page ends with its last event; else everything up to the end of the piece has been looked at.
    is_full = place is not None and len(found) == limit
    end = found[-1].event.seq if is_full else piece.upto
    return Activities(
        items=tuple(as_activity(tenant, noted) for noted in found),
        cursor=encode_cursor(tenant, end),
        more=end < piece.last_seq,
        unsafe=piece.last_seq < piece.length,
    )


def as_activity(tenant: str, noted: Noted) -> Activity:
    """An event with its words."""
    around = narrative.EventContext(before=noted.before, reason=noted.reason, other=noted.other)
    return Activity(
        event=noted.event,
        ref=reference_of(noted.event),
        words=describe(noted.event, around),
        lineage=noted.lineage,
        cursor=encode_cursor(tenant, noted.event.seq),
    )
