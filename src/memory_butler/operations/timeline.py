"""Timeline: what happened in a tenant as a story, from its end, as far as the caller may see it. A pure read."""

from collections.abc import Sequence
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput
from memory_butler.models import EVERY_SCOPE, Caller
from memory_butler.models.history import Entry, Timeline, TimelineFilter, Told
from memory_butler.operations import activity
from memory_butler.operations.cursors import Cursors
from memory_butler.operations.shard import ACTOR as UPKEEP
from memory_butler.operations.undo import KINDS
from memory_butler.policy import reach
from memory_butler.policy.activity import butler_of, sum_up
from memory_butler.policy.admission import LABEL_CHARACTERS, clean_text, moment, slug, whole_number
from memory_butler.policy.references import is_reference
from memory_butler.policy.wording import about_of
from memory_butler.store import timeline as log
from memory_butler.store.activity import View
from memory_butler.store.database import Session
from memory_butler.store.timeline import Choice, Found, Line

USUAL, MOST = 30, 100
# So many pieces of the log are looked through before somebody is asked whether to go on.
ROUNDS = 20
_FOR_GOOD = "episode.deleted"


async def timeline(
    butler: Butler,
    wanted: TimelineFilter,
    caller: Caller | None = None,
    *,
    limit: int = USUAL,
    cursor: str | None = None,
) -> Timeline:
    """The newest entries, or those before a cursor. What was changed together is one entry."""
    caller = caller or butler.local_caller()
    most = whole_number(limit, "limit", 1, MOST)
    view = _view(caller, wanted.scope)
    cursors = Cursors("timeline", caller.principal.tenant, wanted)
    place = cursors.read(cursor, int)
    below = place[0] if place else log.END
    found: list[Found] = []
    async with butler.database.read(caller.principal.tenant) as session:
        choice = await _choice(session, wanted, view)
        for _ in range(ROUNDS):
            piece = await log.before(session, below, choice, butler.clock(), most + 1 - len(found))
            found += piece.found
            below = piece.down_to + 1
            if len(found) > most or piece.down_to == 0:
                break
    if len(found) > most:
        below = found[most - 1].place
    is_over = len(found) <= most and below <= 1
    return Timeline(
        entries=tuple(_entry(caller, one) for one in found[:most]),
        cursor=None if is_over else cursors.write([below]),
    )


def _view(caller: Caller, scope: str | None) -> View:
    """Those who govern see all of it, unless they ask for a part."""
    governs = caller.principal.role.governs
    wanted = slug(scope, "scope") if scope else EVERY_SCOPE if governs else None
    return View(reach.readable(caller.principal, wanted, None), governs=governs and scope is None)


async def _choice(session: Session, wanted: TimelineFilter, view: View) -> Choice:
    return Choice(
        view=view,
        actions=_labels(wanted.actions, "actions"),
        kinds=_labels(wanted.kinds, "kinds"),
        actor=clean_text(wanted.actor, "actor", LABEL_CHARACTERS) if wanted.actor else None,
        until=moment(wanted.until, "until"),
        memories=await _memories(session, wanted.ref) if wanted.ref else None,
        group=_group(wanted.group) if wanted.group else None,
    )


def _labels(values: Sequence[str], name: str) -> list[str] | None:
    return [clean_text(value, name, LABEL_CHARACTERS) for value in values] or None


async def _memories(session: Session, given: str) -> list[UUID]:
    """The memories that a reference or an id names; without its type it may be that of several."""
    text = clean_text(given, "ref", LABEL_CHARACTERS).strip("[]() ").casefold().rpartition(":")[2].strip()
    if is_reference(text):
        return await log.named(session, text)
    try:
        return [UUID(text)]
    except ValueError as problem:
        raise InvalidInput(
            f"{given[:60]!r} names no memory.", recovery="Write the reference shown with it, for example fact:k3f7."
        ) from problem


def _group(given: str) -> UUID:
    try:
        return UUID(given)
    except ValueError as problem:
        raise InvalidInput(f"{given[:60]!r} is not the id of a group.") from problem


def _entry(caller: Caller, found: Found) -> Entry:
    lines = tuple(
        Told(activity=activity.as_activity(caller.principal.tenant, one.noted), undone=one.undone, about=_about(one))
        for one in found.events
    )
    last, is_group = lines[-1], found.together > 1
    can_be = set(found.counts) != {_FOR_GOOD} if is_group else _can_be_undone(last)
    undone = can_be and (found.all_undone if is_group else last.undone)
    name = last.activity.event.group_id if is_group else last.activity.event.id
    return Entry(
        place=found.place,
        lines=lines,
        together=found.together,
        words=sum_up(found.counts) if is_group else "",
        butler=butler_of(last.activity.event) if last.activity.event.actor == UPKEEP else None,
        undone=undone,
        group_id=last.activity.event.group_id if is_group else None,
        undo_id=name if caller.principal.role.governs and can_be and not undone else None,
    )


def _about(line: Line) -> str | None:
    """What a memory says; of a fact also what it is about, as words."""
    if line.subject is None or line.about is None:
        return line.about
    return f"{about_of(line.subject, line.predicate)}: {line.about}"


def _can_be_undone(told: Told) -> bool:
    """Reads change nothing, and what was deleted is gone, whatever had happened to it before."""
    return told.activity.event.entity_type in KINDS and told.about is not None
