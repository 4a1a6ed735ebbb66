"""Timeline: the events of a tenant that the caller may see, newest first. A pure read."""

from collections.abc import Sequence
from uuid import UUID

from memory_butler.errors import InvalidInput
from memory_butler.models import EVERY_SCOPE, Caller
from memory_butler.models.history import Timeline, TimelineEntry, TimelineFilter, TimelineLine
from memory_butler.operations.browse.cursors import Cursors
from memory_butler.operations.history import activity
from memory_butler.operations.history.undo import KINDS
from memory_butler.operations.lifecycle.sweep_shard import ACTOR as UPKEEP
from memory_butler.policy.access import visibility
from memory_butler.policy.history.activity import butler_of, summarize
from memory_butler.policy.memories.references import is_reference
from memory_butler.policy.memories.sentence import fact_sentence
from memory_butler.policy.memories.validation import LABEL_CHARACTERS, clean_text, slug, utc_time, whole_number
from memory_butler.resources import Resources, on_replica
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history import timeline as log
from memory_butler.store.history.activity import View
from memory_butler.store.history.timeline import Choice, Found, Line

USUAL, MOST = 30, 100
# So many pieces of the log are looked through before somebody is asked whether to go on.
ROUNDS = 20
_FOR_GOOD = {"episode.deleted", *(f"{kind}.purged" for kind in KINDS), "fact.cut_off", "store.purged"}


@on_replica
async def timeline(
    resources: Resources,
    wanted: TimelineFilter,
    caller: Caller | None = None,
    *,
    limit: int = USUAL,
    cursor: str | None = None,
) -> Timeline:
    """The newest entries, or those before a cursor. Events of one group form one entry."""
    caller = caller or resources.local_caller()
    most = whole_number(limit, "limit", 1, MOST)
    view = _view(caller, wanted.scope)
    cursors = Cursors("timeline", caller.principal.tenant, wanted)
    place = cursors.decode(cursor, int)
    below = place[0] if place else log.END
    found: list[Found] = []
    async with resources.database.read(caller.principal.tenant) as transaction:
        choice = await _choice(transaction, wanted, view)
        for _ in range(ROUNDS):
            piece = await log.before(transaction, below, choice, resources.clock(), most + 1 - len(found))
            found += piece.found
            below = piece.down_to + 1
            if len(found) > most or piece.down_to == 0:
                break
    if len(found) > most:
        below = found[most - 1].place
    is_over = len(found) <= most and below <= 1
    return Timeline(
        entries=tuple(_entry(caller, one) for one in found[:most]),
        cursor=None if is_over else cursors.encode([below]),
    )


def _view(caller: Caller, scope: str | None) -> View:
    """Administrators see all scopes unless they ask for one."""
    governs = caller.principal.role.governs
    wanted = slug(scope, "scope") if scope else EVERY_SCOPE if governs else None
    return View(visibility.readable(caller.principal, wanted, None), governs=governs and scope is None)


async def _choice(transaction: Transaction, wanted: TimelineFilter, view: View) -> Choice:
    return Choice(
        view=view,
        actions=_labels(wanted.actions, "actions"),
        kinds=_labels(wanted.kinds, "kinds"),
        actor=clean_text(wanted.actor, "actor", LABEL_CHARACTERS) if wanted.actor else None,
        until=utc_time(wanted.until, "until"),
        memories=await _memories(transaction, wanted.ref) if wanted.ref else None,
        group=_group(wanted.group) if wanted.group else None,
    )


def _labels(values: Sequence[str], name: str) -> list[str] | None:
    return [clean_text(value, name, LABEL_CHARACTERS) for value in values] or None


async def _memories(transaction: Transaction, given: str) -> list[UUID]:
    """The memories that a reference or an id names; a reference without a type may name several."""
    text = clean_text(given, "ref", LABEL_CHARACTERS).strip("[]() ").casefold().rpartition(":")[2].strip()
    if is_reference(text):
        return await log.named(transaction, text)
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


def _entry(caller: Caller, found: Found) -> TimelineEntry:
    lines = tuple(
        TimelineLine(
            activity=activity.as_activity(caller.principal.tenant, one.noted), undone=one.undone, about=_about(one)
        )
        for one in found.events
    )
    last, is_group = lines[-1], found.together > 1
    can_be = bool(set(found.counts) - _FOR_GOOD) if is_group else _can_be_undone(last)
    undone = can_be and (found.all_undone if is_group else last.undone)
    name = last.activity.event.group_id if is_group else last.activity.event.id
    return TimelineEntry(
        place=found.place,
        lines=lines,
        together=found.together,
        words=summarize(found.counts) if is_group else "",
        butler=butler_of(last.activity.event) if last.activity.event.actor == UPKEEP else None,
        undone=undone,
        group_id=last.activity.event.group_id if is_group else None,
        undo_id=name if caller.principal.role.governs and can_be and not undone else None,
    )


def _about(line: Line) -> str | None:
    """The content of a memory; a fact as a sentence."""
    if line.subject is None or line.about is None:
        return line.about
    return fact_sentence(line.subject, line.predicate, line.about)


def _can_be_undone(told: TimelineLine) -> bool:
    """True if an entry can be undone: references and deletions cannot."""
    return told.activity.event.entity_type in KINDS and told.about is not None
