"""Browse: lists for people, a page at a time. Looking through them counts as no reference."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput
from memory_butler.models import (
    EVERY_SCOPE,
    Caller,
    Episode,
    Maturity,
    MemoryType,
    Permanence,
    Reach,
    Relation,
    StoryLine,
    Tier,
    Validity,
)
from memory_butler.models.listings import Linked, Listed, Listing, Page, Sort
from memory_butler.operations.cursors import Cursors, cut
from memory_butler.operations.look import confidence_now, require, told, without_strange_sources
from memory_butler.policy import reach
from memory_butler.policy.admission import (
    LABEL_CHARACTERS,
    NAME_CHARACTERS,
    choose,
    clean_tags,
    clean_text,
    moment,
    normal_name,
    parse_handle,
    slug,
    whole_number,
)
from memory_butler.policy.roles import check_role
from memory_butler.policy.tiers import MEMBERS, tier_of, types_in
from memory_butler.store import links as joined
from memory_butler.store import listings, sweep, undo
from memory_butler.store.consolidation import Run

COUNTED = 10_000
MOST = 100
USUAL = 50
WORDS = 20
_FITTING: dict[MemoryType, tuple[str, ...]] = {
    MemoryType.FACT: ("learned_by", "subject", "predicate", "permanence", "importance_min", "importance_max"),
    MemoryType.RULE: ("learned_by", "maturity"),
    MemoryType.EPISODE: ("importance_min", "importance_max"),
}
_SPECIAL = tuple(dict.fromkeys(name for names in _FITTING.values() for name in names))
SORTS: dict[MemoryType, tuple[Sort, ...]] = {
    MemoryType.FACT: tuple(Sort),
    MemoryType.RULE: (Sort.CREATED, Sort.CONFIDENCE, Sort.LAST_REFERENCED),
    MemoryType.EPISODE: (Sort.CREATED, Sort.OBSERVED, Sort.IMPORTANCE, Sort.LAST_REFERENCED),
}


async def memories(
    butler: Butler, listing: Listing, caller: Caller | None = None, *, limit: int = USUAL, cursor: str | None = None
) -> Page[Listed]:
    """Memories of one type that the caller may see: all states, unless some are asked for.

    A page's `cursor` leads to the page after it and its `back` to the one before.
    """
    caller = caller or butler.local_caller()
    check_role(caller.principal, "list_memories")
    most = whole_number(limit, "limit", 1, MOST)
    wanted = _admitted(listing)
    seen = reach.readable(caller.principal, wanted.scope, wanted.butler)
    cursors = Cursors("memories", caller.principal.tenant, wanted)
    # The moment of the first page holds for all: what has faded since does not move.
    key = datetime.fromisoformat if wanted.sort is Sort.CREATED else float
    read = cursors.read(cursor, key, UUID, datetime.fromisoformat, int, int, bool)
    after, (now, total, number, back) = (read[:2], read[2:]) if read else (None, (butler.clock(), None, 0, False))
    order = listings.Order(sort=wanted.sort, descending=wanted.descending, now=now, back=back)
    filters = _filters(wanted, seen)
    async with butler.database.read(caller.principal.tenant) as session:
        found = await listings.memories(session, wanted.type, filters, order, after=after, limit=most + 1)
        shown, more = found[:most], len(found) > most
        if total is None:
            total = await listings.count(session, wanted.type, filters, COUNTED + 1) if more else len(shown)
        shown = shown[::-1] if back else shown
        kept = await without_strange_sources(session, caller, [one for one, _ in shown])
    # What was stored or deleted meanwhile moves the numbers a little; at the beginning they are right again.
    start = (max(1, number - len(shown)) if more else 0) if back else number

    def lead(place: listings.Place, number: int, *, back: bool) -> str:
        return cursors.write([place[0], str(place[1]), now.isoformat(), total, number, back])

    at = butler.clock()
    return Page(
        items=tuple(Listed(memory=one, tier=_tier(one), effective_confidence=confidence_now(one, at)) for one in kept),
        cursor=lead(shown[-1][1], start + len(shown), back=False) if shown and (more or back) else None,
        total=total if total <= COUNTED else None,
        total_at_least=COUNTED if total > COUNTED else None,
        start=start,
        back=lead(shown[0][1], start, back=True) if shown and (more if back else after) else None,
    )


async def history(
    butler: Butler,
    memory_type: str,
    handle: str,
    caller: Caller | None = None,
    *,
    limit: int = USUAL,
    cursor: str | None = None,
) -> Page[StoryLine]:
    """What happened to a memory, in words, the oldest first."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "history")
    most, wanted = whole_number(limit, "limit", 1, MOST), parse_handle(memory_type, handle)
    async with butler.database.read(caller.principal.tenant) as session:
        memory = await require(session, caller, wanted)
        cursors = Cursors(f"history of {memory.id}", caller.principal.tenant)
        place = cursors.read(cursor, int)
        last = place[0] if place else 0
        # The last event of the page before says how the first of this one found the memory.
        found = await listings.history(session, memory.id, last, most + 1 + bool(last))
        before = found[0].payload.get("state", {}) if last and found and found[0].seq == last else None
        shown = [event for event in found if event.seq > last]
        page = shown[:most]
        known = await undo.around(session, memory.id, len(page), page[-1].seq) if page else {}
    more = len(shown) > most
    return Page(items=told(page, known, before), cursor=cursors.write([page[-1].seq]) if more else None)


async def links(
    butler: Butler,
    memory_type: str,
    handle: str,
    caller: Caller | None = None,
    *,
    limit: int = USUAL,
    cursor: str | None = None,
) -> Linked:
    """The links of a memory in both directions, the oldest first. Of what belongs to another butler, an agent is told
    how many there are and no more."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "links")
    eyes = reach.eyes(caller.principal)
    most, wanted = whole_number(limit, "limit", 1, MOST), parse_handle(memory_type, handle)
    async with butler.database.read(caller.principal.tenant) as session:
        memory = await require(session, caller, wanted)
        cursors = Cursors(f"links of {memory.id}", caller.principal.tenant)
        found = await listings.links(
            session, memory.id, eyes, cursors.read(cursor, datetime.fromisoformat, Relation, UUID, UUID), most + 1
        )
        hidden = await joined.hidden(session, memory.id, eyes)
    page = cut(
        found,
        most,
        cursors,
        lambda one: [one.created_at.isoformat(), one.relation, str(one.source_id), str(one.target_id)],
    )
    return Linked(memory=memory.id, page=page, hidden=hidden)


async def runs(
    butler: Butler,
    caller: Caller | None = None,
    *,
    only_butler: str | None = None,
    state: str | None = None,
    limit: int = USUAL,
    cursor: str | None = None,
) -> Page[Run]:
    """Runs of consolidation, the newest first."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "runs")
    most, whose = whole_number(limit, "limit", 1, MOST), _slug(only_butler, "butler")
    cursors = Cursors(f"runs of {whose} in {state}", caller.principal.tenant)
    after = cursors.read(cursor, datetime.fromisoformat, UUID)
    async with butler.database.read(caller.principal.tenant) as session:
        found = await listings.runs(session, butler=whose, state=state, after=after, limit=most + 1)
    return cut(found, most, cursors, lambda run: [run.claimed_at.isoformat(), str(run.id)])


async def dead_letters(
    butler: Butler,
    caller: Caller | None = None,
    *,
    only_butler: str | None = None,
    limit: int = USUAL,
    cursor: str | None = None,
) -> Page[Episode]:
    """Episodes that consolidation gave up, the oldest first."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "dead_letters")
    most, whose = whole_number(limit, "limit", 1, MOST), _slug(only_butler, "butler")
    cursors = Cursors(f"dead letters of {whose}", caller.principal.tenant)
    after = cursors.read(cursor, datetime.fromisoformat, UUID)
    async with butler.database.read(caller.principal.tenant) as session:
        found = await listings.dead_letters(session, butler=whose, after=after, limit=most + 1)
    return cut(found, most, cursors, lambda episode: [episode.created_at.isoformat(), str(episode.id)])


async def butlers(butler: Butler, caller: Caller | None = None) -> tuple[str, ...]:
    """The butlers that a caller may ask as: all that have stored anything; itself alone if it is no administrator."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "list_memories")
    own = caller.principal.butler
    if not caller.principal.role.governs:
        return (own,)
    async with butler.database.read(caller.principal.tenant) as session:
        found = await sweep.butlers(session)
    return tuple(found) or (own,)


def _admitted(listing: Listing) -> Listing:
    """A listing that makes sense: filters of its own type, in their one form."""
    kind = listing.type
    foreign = [name for name in _SPECIAL if name not in _FITTING[kind] and getattr(listing, name) not in (None, ())]
    if foreign:
        raise InvalidInput(
            f"A {kind} has no {foreign[0].removesuffix('_min').removesuffix('_max')}.",
            recovery=f"Leave out {', '.join(foreign)}.",
        )
    if listing.sort not in SORTS[kind]:
        offered = ", ".join(SORTS[kind])
        raise InvalidInput(f"{kind}s cannot be sorted by {listing.sort}.", recovery=f"Sort by one of: {offered}.")
    if listing.tier:
        types_in(listing.tier, (kind,))
    time_from, time_to = moment(listing.time_from, "time_from"), moment(listing.time_to, "time_to")
    if time_from and time_to and time_from >= time_to:
        raise InvalidInput("time_from is not before time_to.", recovery="Swap them, or leave one out.")
    return replace(
        listing,
        scope=listing.scope if listing.scope in (None, EVERY_SCOPE) else slug(listing.scope, "scope"),
        butler=_slug(listing.butler, "butler"),
        learned_by=_slug(listing.learned_by, "learned_by"),
        subject=_name(listing.subject, "subject"),
        predicate=_name(listing.predicate, "predicate"),
        validity=tuple(choose(Validity, one, "validity") for one in listing.validity),
        permanence=tuple(choose(Permanence, one, "permanence") for one in listing.permanence),
        maturity=tuple(choose(Maturity, one, "maturity") for one in listing.maturity),
        tags=clean_tags(listing.tags),
        importance_min=_importance(listing.importance_min, "importance_min"),
        importance_max=_importance(listing.importance_max, "importance_max"),
        time_from=time_from,
        time_to=time_to,
        contains=_text(listing.contains, "contains"),
        words=_text(listing.words, "words"),
    )


def _filters(wanted: Listing, seen: Reach) -> dict[str, Any]:
    needles = [*([wanted.contains] if wanted.contains else []), *(wanted.words or "").split()[:WORDS]]
    members = MEMBERS[wanted.tier] if wanted.tier else None
    common = {
        "validity": _some(wanted.validity),
        "tags": _some(wanted.tags),
        "time_from": wanted.time_from,
        "time_to": wanted.time_to,
        "needles": _some(needles),
    }
    importance = {"importance_min": wanted.importance_min, "importance_max": wanted.importance_max}
    if wanted.type is MemoryType.EPISODE:
        return {**common, **importance, "butlers": None if seen.butlers is None else list(seen.butlers)}
    scopes = None if seen.scopes is None else list(seen.scopes)
    if wanted.type is MemoryType.RULE:
        maturities = _both(wanted.maturity, members.maturities if members else None)
        return {**common, "scopes": scopes, "learned_by": wanted.learned_by, "maturity": maturities}
    return {
        **common,
        **importance,
        "scopes": scopes,
        "learned_by": wanted.learned_by,
        "subject": wanted.subject,
        "predicate": wanted.predicate,
        "permanence": _both(wanted.permanence, members.permanences if members else None),
    }


def _some(values: Sequence[str]) -> list[str] | None:
    return [str(value) for value in values] or None


def _both(wanted: Sequence[str], held: Sequence[str] | None) -> list[str] | None:
    """What is asked for and what a tier holds, together; None if neither narrows it down."""
    if held is None:
        return _some(wanted)
    return [str(one) for one in held if not wanted or one in wanted]


def _tier(one: Any) -> Tier:
    return tier_of(one.type, permanence=getattr(one, "permanence", None), maturity=getattr(one, "maturity", None))


def _slug(value: str | None, name: str) -> str | None:
    return None if value is None else slug(value, name)


def _name(value: str | None, name: str) -> str | None:
    return None if value is None else normal_name(clean_text(value, name, NAME_CHARACTERS))


def _text(value: str | None, name: str) -> str | None:
    return None if value is None else clean_text(value, name, LABEL_CHARACTERS)


def _importance(value: int | None, name: str) -> int | None:
    return None if value is None else whole_number(value, name, 1, 10)
