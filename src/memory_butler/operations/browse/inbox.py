"""The inbox: everything that waits for a person's decision, with the words that it comes from."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memory_butler.models import EVERY_SCOPE, Caller, Episode, Fact, ItemResult, Memory, MemoryType
from memory_butler.models.listings import Listing
from memory_butler.operations.browse import listings
from memory_butler.operations.browse.duplicates import duplicates
from memory_butler.operations.consolidation import review
from memory_butler.operations.consolidation.diff import DiffLine, diff
from memory_butler.operations.trust import quarantine
from memory_butler.resources import Resources, on_replica
from memory_butler.store.consolidation import runs as runs_store
from memory_butler.store.trust import quarantine as quarantine_store

MAX_RUNS = 20
MAX_QUARANTINED = 50
MAX_DUPLICATES = 20


class EntryKind(StrEnum):
    PROPOSAL = "proposal"
    QUARANTINED = "quarantined"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The sources of an entry, in their own words."""

    ref: str
    text: str
    at: datetime
    butler: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One decision to make: `text` is stored, used or kept if it is approved, in the place of `old_text`.

    `run` and `place` name a proposed item, `ref` a memory, `other` the fact that a duplicate repeats. `said` are the
    words that a proposal cites.
    """

    kind: EntryKind
    type: str
    text: str
    why: str
    about: tuple[str, str] | None = None
    old_text: str | None = None
    other: str | None = None
    said: str | None = None
    sources: tuple[Source, ...] = ()
    run: str | None = None
    place: int | None = None
    ref: str | None = None
    butler: str = ""
    editable: bool = False

    @property
    def key(self) -> str:
        return f"{self.run}:{self.place}" if self.run else f"{self.kind}:{self.ref}"


@on_replica
async def waiting(resources: Resources, caller: Caller | None = None) -> int:
    """Returns the number of proposed items and quarantined memories that wait for a decision."""
    caller = resources.admin(caller, "see proposals and decide on them")
    async with resources.database.read(caller.principal.tenant) as transaction:
        _, quarantined = await quarantine_store.waiting(transaction, 1)
        return quarantined + await runs_store.undecided(transaction)


async def inbox(resources: Resources, caller: Caller | None = None) -> list[Entry]:
    """Returns what waits for a decision: proposals first, then quarantined memories and possible duplicates."""
    caller = resources.admin(caller, "see proposals and decide on them")
    entries = [*await _all_proposals(resources, caller), *await _all_quarantined(resources, caller, MAX_QUARANTINED)]
    for pair in await duplicates(resources, caller, limit=MAX_DUPLICATES):
        entries.append(
            Entry(
                kind=EntryKind.DUPLICATE,
                type="fact",
                text=pair.newer.content,
                why="Says the same as an older fact.",
                about=(pair.newer.subject_label, pair.newer.predicate_label),
                sources=(_fact_source(pair.older),),
                ref=pair.newer.ref,
                other=f"fact:{pair.older.ref}",
                butler=pair.newer.source_butler,
            )
        )
    return entries


async def first_entries(resources: Resources, caller: Caller | None = None, *, limit: int = 3) -> list[Entry]:
    """Returns the first entries of the inbox. Looks for no duplicates, which takes longer in large stores."""
    caller = resources.admin(caller, "see proposals and decide on them")
    entries = await _all_proposals(resources, caller, most=limit)
    if len(entries) < limit:
        entries += await _all_quarantined(resources, caller, limit - len(entries))
    return entries[:limit]


async def _all_proposals(resources: Resources, caller: Caller, most: int | None = None) -> list[Entry]:
    entries: list[Entry] = []
    for run in await review.runs(resources, caller, state="waiting", limit=MAX_RUNS):
        if most is not None and len(entries) >= most:
            break
        entries += await _proposals(resources, caller, str(run.id))
    return entries


async def _all_quarantined(resources: Resources, caller: Caller, limit: int) -> list[Entry]:
    held = await quarantine.inbox(resources, caller, limit=limit)
    origins = await _sources(resources, caller, [_source_id(one.memory) for one in held.items])
    sources = [origins.get(_source_id(one.memory)) for one in held.items]
    return [_quarantined(one, (source,) if source else ()) for one, source in zip(held.items, sources, strict=True)]


async def _proposals(resources: Resources, caller: Caller, run: str) -> list[Entry]:
    reviewed = await review.get_run(resources, run, caller)
    open_items = {line.place: line for line in reviewed.undecided}
    lines = await diff(resources, caller, reviewed.run.butler, reviewed.lines)
    wanted = {place: _evidence(item) for place, item in open_items.items()}
    sources = await _sources(resources, caller, [id for ids in wanted.values() for id in ids])
    return [
        _proposal(line, run, reviewed.run.butler, [sources[id] for id in wanted[line.place] if id in sources])
        for line in lines
        if line.place in open_items
    ]


def _proposal(line: DiffLine, run: str, butler: str, sources: Iterable[Source]) -> Entry:
    kind = "rule" if line.kind == "rule" else "fact"
    why = "Would replace what is known." if line.old_content and line.old_content != line.content else "New."
    return Entry(
        kind=EntryKind.PROPOSAL,
        type=kind,
        text=line.content or "",
        why="Would confirm what is known." if line.kind == "confirmation" else why,
        about=(line.subject, line.predicate or "") if line.subject else None,
        old_text=line.old_content if line.old_content != line.content else None,
        said=line.said,
        sources=tuple(sources),
        run=run,
        place=line.place,
        ref=line.ref,
        butler=butler,
        editable=line.kind in review.EDITABLE,
    )


def _quarantined(waiting: quarantine.Waiting, sources: tuple[Source, ...]) -> Entry:
    memory = waiting.memory
    return Entry(
        kind=EntryKind.QUARANTINED,
        type=str(memory.type),
        text=memory.content,
        why=waiting.why,
        about=(memory.subject_label, memory.predicate_label) if isinstance(memory, Fact) else None,
        old_text=waiting.current_content,
        other=f"fact:{waiting.current_ref}" if waiting.current_ref else None,
        sources=sources,
        ref=memory.ref,
        butler=memory.butler if isinstance(memory, Episode) else memory.source_butler,
        editable=isinstance(memory, Fact),
    )


def _source_id(memory: Memory) -> UUID | None:
    return None if isinstance(memory, Episode) else memory.source_episode_id


def _evidence(item: ItemResult) -> list[UUID]:
    found = []
    for one in item.shown.get("evidence") or ():
        try:
            found.append(UUID(str(one)))
        except ValueError:
            # A refused proposal can cite anything.
            continue
    return found


async def _sources(resources: Resources, caller: Caller, ids: Iterable[UUID | None]) -> dict[UUID | None, Source]:
    wanted = tuple(dict.fromkeys(id for id in ids if id))[: listings.MAX_LIMIT]
    if not wanted:
        return {}
    listing = Listing(type=MemoryType.EPISODE, ids=wanted, scope=EVERY_SCOPE)
    page = await listings.memories(resources, listing, caller, limit=listings.MAX_LIMIT)
    return {
        one.memory.id: Source(
            ref=f"episode:{one.memory.ref}",
            text=one.memory.content,
            at=one.memory.observed_at,
            butler=one.memory.butler,
        )
        for one in page.items
        if isinstance(one.memory, Episode)
    }


def _fact_source(fact: Fact) -> Source:
    about = f"{fact.subject_label} {fact.predicate_label}: "
    return Source(ref=f"fact:{fact.ref}", text=about + fact.content, at=fact.created_at, butler=fact.source_butler)
