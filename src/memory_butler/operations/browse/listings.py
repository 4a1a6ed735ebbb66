"""Paged lists of memories, history, links, runs and dead letters. Listing counts no references."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.english.text.normalize import normal_name
from memory_butler.errors import InvalidInput
from memory_butler.models import (
    EVERY_SCOPE,
    Caller,
    Episode,
    HistoryLine,
    Maturity,
    MemoryType,
    Permanence,
    Reach,
    Relation,
    Tier,
    Validity,
)
from memory_butler.models.listings import LinkPage, ListedMemory, Listing, Page, Sort
from memory_butler.operations.browse.cursors import Cursors, cut_page
from memory_butler.operations.retrieval.get import confidence_now, hide_foreign_sources, narrate
from memory_butler.operations.retrieval.named_memory import require
from memory_butler.policy.access import visibility
from memory_butler.policy.lifecycle.tiers import MEMBERS, tier_of, types_in
from memory_butler.policy.memories.validation import (
    LABEL_CHARACTERS,
    NAME_CHARACTERS,
    clean_tags,
    clean_text,
    parse_choice,
    parse_handle,
    slug,
    utc_time,
    whole_number,
)
from memory_butler.resources import Resources, on_replica
from memory_butler.store.browse import listings
from memory_butler.store.consolidation.runs import Run
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history import undo
from memory_butler.store.lifecycle import sweep
from memory_butler.store.memories import links as joined

MAX_COUNT = 10_000
MAX_LIMIT = 100
DEFAULT_LIMIT = 50
MAX_WORDS = 20
_TYPE_FILTERS: dict[MemoryType, tuple[str, ...]] = {
    MemoryType.FACT: ("learned_by", "subject", "predicate", "permanence", "importance_min", "importance_max"),
    MemoryType.RULE: ("learned_by", "maturity"),
    MemoryType.EPISODE: ("importance_min", "importance_max"),
}
_TYPED_FILTERS = tuple(dict.fromkeys(name for names in _TYPE_FILTERS.values() for name in names))
SORTS: dict[MemoryType, tuple[Sort, ...]] = {
    MemoryType.FACT: tuple(Sort),
    MemoryType.RULE: (Sort.CREATED, Sort.CONFIDENCE, Sort.LAST_REFERENCED),
    MemoryType.EPISODE: (Sort.CREATED, Sort.OBSERVED, Sort.IMPORTANCE, Sort.LAST_REFERENCED),
}
# Sort orders that memories of all types have.
SORTS_OF_ALL = (Sort.CREATED, Sort.LAST_REFERENCED)


@on_replica
async def memories(
    resources: Resources,
    listing: Listing,
    caller: Caller | None = None,
    *,
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Page[ListedMemory]:
    """Returns a page of the memories of one type, or of all types, that the caller may see, in all states unless
    filtered.

    `cursor` of the page leads to the next page, `back` to the previous one.
    """
    caller = resources.allowed(caller, "list_memories")
    limit = whole_number(limit, "limit", 1, MAX_LIMIT)
    wanted = _validated(listing)
    reach = visibility.readable(caller.principal, wanted.scope, wanted.butler)
    kinds = kinds_of(wanted)
    cursors = Cursors("memories", caller.principal.tenant, wanted)
    # All pages use the time of the first one, so that decay in between does not reorder the list.
    key = datetime.fromisoformat if wanted.sort is Sort.CREATED else float
    position = cursors.decode(cursor, key, UUID, datetime.fromisoformat, int, int, bool)
    after, (now, total, number, back) = (
        (position[:2], position[2:]) if position else (None, (resources.clock(), None, 0, False))
    )
    order = listings.Order(sort=wanted.sort, descending=wanted.descending, now=now, back=back)
    filters = {kind: _filters(replace(wanted, type=kind), reach) for kind in kinds}
    async with resources.database.read(caller.principal.tenant) as transaction:
        found = await listings.of_types(transaction, filters, order, after=after, limit=limit + 1)
        shown, more = found[:limit], len(found) > limit
        if total is None:
            total = await _count(transaction, filters) if more else len(shown)
        shown = shown[::-1] if back else shown
        memories = await hide_foreign_sources(transaction, caller, [one for one, _ in shown])
    # Memories stored or deleted meanwhile shift the row numbers slightly; the first page is exact again.
    start = (max(1, number - len(shown)) if more else 0) if back else number

    def encode(place: listings.Place, number: int, *, back: bool) -> str:
        return cursors.encode([place[0], str(place[1]), now.isoformat(), total, number, back])

    at = resources.clock()
    return Page(
        items=tuple(
            ListedMemory(memory=one, tier=_tier(one), effective_confidence=confidence_now(one, at)) for one in memories
        ),
        cursor=encode(shown[-1][1], start + len(shown), back=False) if shown and (more or back) else None,
        total=total if total <= MAX_COUNT else None,
        total_at_least=MAX_COUNT if total > MAX_COUNT else None,
        start=start,
        back=encode(shown[0][1], start, back=True) if shown and (more if back else after) else None,
    )


@on_replica
async def history(
    resources: Resources,
    memory_type: str,
    handle: str,
    caller: Caller | None = None,
    *,
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Page[HistoryLine]:
    """Returns the events of a memory in words, oldest first."""
    caller = resources.allowed(caller, "history")
    limit, wanted = whole_number(limit, "limit", 1, MAX_LIMIT), parse_handle(memory_type, handle)
    async with resources.database.read(caller.principal.tenant) as transaction:
        memory = await require(transaction, caller, wanted)
        cursors = Cursors(f"history of {memory.id}", caller.principal.tenant)
        place = cursors.decode(cursor, int)
        last = place[0] if place else 0
        # The last event of the previous page holds the state before the first event of this page.
        found = await listings.history(transaction, memory.id, last, limit + 1 + bool(last))
        before = found[0].payload.get("state", {}) if last and found and found[0].seq == last else None
        shown = [event for event in found if event.seq > last]
        page = shown[:limit]
        known = await undo.around(transaction, memory.id, len(page), page[-1].seq) if page else {}
    more = len(shown) > limit
    return Page(items=narrate(page, known, before), cursor=cursors.encode([page[-1].seq]) if more else None)


@on_replica
async def links(
    resources: Resources,
    memory_type: str,
    handle: str,
    caller: Caller | None = None,
    *,
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> LinkPage:
    """Returns the links of a memory in both directions, oldest first. Links to another butler's memories are only
    counted for an agent."""
    caller = resources.allowed(caller, "links")
    viewer = visibility.viewer(caller.principal)
    limit, wanted = whole_number(limit, "limit", 1, MAX_LIMIT), parse_handle(memory_type, handle)
    async with resources.database.read(caller.principal.tenant) as transaction:
        memory = await require(transaction, caller, wanted)
        cursors = Cursors(f"links of {memory.id}", caller.principal.tenant)
        found = await listings.links(
            transaction,
            memory.id,
            viewer,
            cursors.decode(cursor, datetime.fromisoformat, Relation, UUID, UUID),
            limit + 1,
        )
        hidden = await joined.hidden(transaction, memory.id, viewer)
    page = cut_page(
        found,
        limit,
        cursors,
        lambda one: [one.created_at.isoformat(), one.relation, str(one.source_id), str(one.target_id)],
    )
    return LinkPage(memory=memory.id, page=page, hidden=hidden)


@on_replica
async def runs(
    resources: Resources,
    caller: Caller | None = None,
    *,
    only_butler: str | None = None,
    state: str | None = None,
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Page[Run]:
    """Returns consolidation runs, newest first."""
    caller = resources.allowed(caller, "runs")
    limit, butler = whole_number(limit, "limit", 1, MAX_LIMIT), _slug(only_butler, "butler")
    cursors = Cursors(f"runs of {butler} in {state}", caller.principal.tenant)
    after = cursors.decode(cursor, datetime.fromisoformat, UUID)
    async with resources.database.read(caller.principal.tenant) as transaction:
        found = await listings.runs(transaction, butler=butler, state=state, after=after, limit=limit + 1)
    return cut_page(found, limit, cursors, lambda run: [run.claimed_at.isoformat(), str(run.id)])


@on_replica
async def dead_letters(
    resources: Resources,
    caller: Caller | None = None,
    *,
    only_butler: str | None = None,
    limit: int = DEFAULT_LIMIT,
    cursor: str | None = None,
) -> Page[Episode]:
    """Returns the dead letters of consolidation, oldest first."""
    caller = resources.allowed(caller, "dead_letters")
    limit, butler = whole_number(limit, "limit", 1, MAX_LIMIT), _slug(only_butler, "butler")
    cursors = Cursors(f"dead letters of {butler}", caller.principal.tenant)
    after = cursors.decode(cursor, datetime.fromisoformat, UUID)
    async with resources.database.read(caller.principal.tenant) as transaction:
        found = await listings.dead_letters(transaction, butler=butler, after=after, limit=limit + 1)
    return cut_page(found, limit, cursors, lambda episode: [episode.created_at.isoformat(), str(episode.id)])


@on_replica
async def butlers(resources: Resources, caller: Caller | None = None) -> tuple[str, ...]:
    """Returns the butlers that a caller may act for: all that have stored anything, or itself if no administrator."""
    caller = resources.allowed(caller, "list_memories")
    own = caller.principal.butler
    if not caller.principal.role.governs:
        return (own,)
    async with resources.database.read(caller.principal.tenant) as transaction:
        found = await sweep.butlers(transaction)
    return tuple(found) or (own,)


def _validated(listing: Listing) -> Listing:
    """Validate and normalize the filters; refuse those that the type does not have."""
    kind = listing.type
    foreign = _foreign(listing, kind) if kind else []
    if foreign:
        raise InvalidInput(
            f"A {kind} has no {foreign[0].removesuffix('_min').removesuffix('_max')}.",
            recovery=f"Leave out {', '.join(foreign)}.",
        )
    sorts = SORTS[kind] if kind else SORTS_OF_ALL
    if listing.sort not in sorts:
        raise InvalidInput(
            f"{kind or 'memorie'}s cannot be sorted by {listing.sort}.", recovery=f"Sort by one of: {', '.join(sorts)}."
        )
    if listing.tier and kind:
        types_in(listing.tier, (kind,))
    time_from, time_to = utc_time(listing.time_from, "time_from"), utc_time(listing.time_to, "time_to")
    if time_from and time_to and time_from >= time_to:
        raise InvalidInput("time_from is not before time_to.", recovery="Swap them, or leave one out.")
    return replace(
        listing,
        scope=listing.scope if listing.scope in (None, EVERY_SCOPE) else slug(listing.scope, "scope"),
        butler=_slug(listing.butler, "butler"),
        learned_by=_slug(listing.learned_by, "learned_by"),
        subject=_name(listing.subject, "subject"),
        predicate=_name(listing.predicate, "predicate"),
        validity=tuple(parse_choice(Validity, one, "validity") for one in listing.validity),
        permanence=tuple(parse_choice(Permanence, one, "permanence") for one in listing.permanence),
        maturity=tuple(parse_choice(Maturity, one, "maturity") for one in listing.maturity),
        tags=clean_tags(listing.tags),
        importance_min=_importance(listing.importance_min, "importance_min"),
        importance_max=_importance(listing.importance_max, "importance_max"),
        time_from=time_from,
        time_to=time_to,
        contains=_text(listing.contains, "contains"),
        words=_text(listing.words, "words"),
    )


def kinds_of(listing: Listing) -> tuple[MemoryType, ...]:
    """The types of a list: its own, or all that have its filters."""
    if listing.type:
        return (listing.type,)
    members = MEMBERS[listing.tier].types if listing.tier else tuple(MemoryType)
    return tuple(kind for kind in MemoryType if kind in members and not _foreign(listing, kind))


def _foreign(listing: Listing, kind: MemoryType) -> list[str]:
    """The filters that a type does not have."""
    return [
        name for name in _TYPED_FILTERS if name not in _TYPE_FILTERS[kind] and getattr(listing, name) not in (None, ())
    ]


async def _count(transaction: Transaction, filters: Mapping[MemoryType, Mapping[str, Any]]) -> int:
    counts = [await listings.count(transaction, kind, wanted, MAX_COUNT + 1) for kind, wanted in filters.items()]
    return min(sum(counts), MAX_COUNT + 1)


@on_replica
async def counts(resources: Resources, listing: Listing, caller: Caller | None = None) -> dict[MemoryType, int]:
    """Returns the number of memories of each type that has the filters, up to MAX_COUNT + 1."""
    caller = resources.allowed(caller, "list_memories")
    wanted = _validated(replace(listing, type=None, sort=Sort.CREATED))
    reach = visibility.readable(caller.principal, wanted.scope, wanted.butler)
    async with resources.database.read(caller.principal.tenant) as transaction:
        return {
            kind: await listings.count(transaction, kind, _filters(replace(wanted, type=kind), reach), MAX_COUNT + 1)
            for kind in kinds_of(wanted)
        }


def _filters(wanted: Listing, reach: Reach) -> dict[str, Any]:
    needles = [*([wanted.contains] if wanted.contains else []), *(wanted.words or "").split()[:MAX_WORDS]]
    members = MEMBERS[wanted.tier] if wanted.tier else None
    common = {
        "validity": _some(wanted.validity),
        "tags": _some(wanted.tags),
        "time_from": wanted.time_from,
        "time_to": wanted.time_to,
        "needles": _some(needles),
        "quarantined": wanted.quarantined,
        "pinned": wanted.pinned,
        "unused": wanted.unused,
        "ids": list(wanted.ids) or None,
    }
    importance = {"importance_min": wanted.importance_min, "importance_max": wanted.importance_max}
    if wanted.type is MemoryType.EPISODE:
        return {**common, **importance, "butlers": reach.butlers}
    if wanted.type is MemoryType.RULE:
        maturities = _both(wanted.maturity, members.maturities if members else None)
        return {**common, "scopes": reach.scopes, "learned_by": wanted.learned_by, "maturity": maturities}
    return {
        **common,
        **importance,
        "scopes": reach.scopes,
        "learned_by": wanted.learned_by,
        "subject": wanted.subject,
        "predicate": wanted.predicate,
        "permanence": _both(wanted.permanence, members.permanences if members else None),
    }


def _some(values: Sequence[str]) -> list[str] | None:
    return [str(value) for value in values] or None


def _both(wanted: Sequence[str], held: Sequence[str] | None) -> list[str] | None:
    """Returns the values that are both wanted and part of the tier; None means no filter."""
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
