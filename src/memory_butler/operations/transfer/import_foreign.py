"""Import memories of another product as new memories: validated, with supersession and events.

A memory is recognized by its content: importing it again stores nothing, whatever happened to it since.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memory_butler.english.text.normalize import normal_name
from memory_butler.errors import InvalidInput
from memory_butler.models import Caller, MemoryType, NewEpisode, NewFact, NewRule, Origin
from memory_butler.operations.access.cross_tenant_audit import audit_access
from memory_butler.operations.retrieval.indexing import Entry, index_entries
from memory_butler.operations.transfer.export_file import Progress, no_progress
from memory_butler.operations.trust.protection import note_name, owner_of
from memory_butler.operations.writing.admission import admit
from memory_butler.operations.writing.idempotency import audit_trail
from memory_butler.operations.writing.memory_writer import content_hash, open_writer
from memory_butler.operations.writing.remember import acting_as, decide, ttl_days
from memory_butler.policy.memories import supersession
from memory_butler.policy.memories.validation import validate_episode, validate_fact, validate_rule
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.retrieval.search_index import Indexed
from memory_butler.store.transfer import known_contents as store

New = NewEpisode | NewFact | NewRule

BATCH = 100
SHOWN = 20
TWICE, KNOWN = "comes twice", "there already"
KINDS = {NewEpisode: MemoryType.EPISODE, NewFact: MemoryType.FACT, NewRule: MemoryType.RULE}


@dataclass(slots=True)
class Parsed:
    """The items of another memory system's file, and the number left out for each reason."""

    source: str
    items: list[New] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True, kw_only=True)
class Adopted:
    """Counts of stored items by type (in a dry run: of those that would be), of superseded facts, and of items left out
    by reason."""

    source: str
    dry_run: bool
    stored: Counter[str] = field(default_factory=Counter)
    superseding: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    # Secrets that were replaced by markers, by kind.
    redacted: Counter[str] = field(default_factory=Counter)
    examples: list[New] = field(default_factory=list)


async def adopt(
    resources: Resources,
    parsed: Parsed,
    caller: Caller | None = None,
    *,
    dry_run: bool = False,
    progress: Progress = no_progress,
) -> Adopted:
    """Store the parsed memories, a batch at a time. An interrupted import continues when it is repeated."""
    caller = resources.allowed(caller, "import")
    await audit_access(resources, caller, "import")
    report = Adopted(source=parsed.source, dry_run=dry_run, left_out=Counter(parsed.left_out))
    items = [await _named(resources, caller, new) for new in _admitted(resources, caller, parsed.items, report)]
    for start in range(0, len(items), BATCH):
        batch = items[start : start + BATCH]
        async with resources.database.read(caller.principal.tenant) as transaction:
            known = await store.known(transaction, _rows(batch))
            report.left_out[KNOWN] += len(known)
            batch = [new for place, new in enumerate(batch) if place not in known]
            if dry_run:
                await _foresee(transaction, batch, report)
        if batch and not dry_run:
            await _store(resources, caller, batch, report)
        progress("Storing", min(start + BATCH, len(items)), len(items))
    report.left_out = +report.left_out
    return report


async def _named(resources: Resources, caller: Caller, new: New) -> New:
    """The predicate of an encrypted note says nothing about its content."""
    if not isinstance(new, NewFact):
        return new
    owner = owner_of(caller.principal.tenant, caller.principal.butler, new.scope)
    return replace(new, predicate=await note_name(resources, owner, new.predicate))


def _admitted(resources: Resources, caller: Caller, items: Sequence[New], report: Adopted) -> Iterator[New]:
    """The valid items, each once, with secrets redacted."""
    seen = set[tuple[object, ...]]()
    for given in items:
        try:
            new, found = admit(resources, given, caller)
            report.redacted.update(found.redacted)
            admitted = _admit(new)
        except InvalidInput as problem:
            report.left_out[f"not accepted: {problem.message}"[:100]] += 1
            continue
        key = tuple(_row(0, admitted).values())
        if key in seen:
            report.left_out[TWICE] += 1
            continue
        seen.add(key)
        yield admitted


def _admit(new: New) -> New:
    new = replace(new, source=new.source or Origin.IMPORT)
    if isinstance(new, NewEpisode):
        return validate_episode(new)
    return validate_fact(new) if isinstance(new, NewFact) else validate_rule(new)


def _row(n: int, new: New) -> Row:
    """The columns that identify a memory."""
    row: Row = {"n": n, "kind": KINDS[type(new)], "content_hash": content_hash(new.content)}
    if isinstance(new, NewEpisode):
        return {**row, "place": new.butler, "at": new.observed_at, "session": new.session_id}
    if isinstance(new, NewRule):
        return {**row, "place": new.scope}
    names = {"subject": normal_name(new.subject), "predicate": normal_name(new.predicate)}
    return {**row, "place": new.scope, **names, "at": new.valid_at}


def _rows(batch: Sequence[New]) -> list[Row]:
    return [_row(place, new) for place, new in enumerate(batch)]


async def _foresee(transaction: Transaction, batch: Sequence[New], report: Adopted) -> None:
    for new in batch:
        if isinstance(new, NewFact):
            report.superseding += isinstance(await decide(transaction, new), supersession.Replaces)
        _count(new, report)


def _count(new: New, report: Adopted) -> None:
    report.stored[KINDS[type(new)]] += 1
    if len(report.examples) < SHOWN:
        report.examples.append(new)


async def _store(resources: Resources, caller: Caller, batch: Sequence[New], report: Adopted) -> None:
    entries = await index_entries(resources, [_entry(new, caller) for new in batch])
    now = resources.clock()
    async with resources.database.write(caller.principal.tenant, now, refs=len(batch)) as transaction:
        known = await store.known(transaction, _rows(batch))
        shelves: dict[str, _Shelf] = {}
        for place, (new, entry) in enumerate(zip(batch, entries, strict=True)):
            if place in known:
                report.left_out[KNOWN] += 1
                continue
            name = new.butler if isinstance(new, NewEpisode) else caller.principal.butler
            if name not in shelves:
                shelves[name] = _Shelf(resources, transaction, acting_as(caller, name), now)
            report.superseding += await shelves[name].put(new, entry)
            _count(new, report)
        for shelf in shelves.values():
            await shelf.keeping.flush()


class _Shelf:
    """Where the memories of one butler are kept."""

    def __init__(self, resources: Resources, transaction: Transaction, caller: Caller, now: datetime) -> None:
        self._butler, self._session = resources, transaction
        self.keeping = open_writer(resources, transaction, audit_trail(resources, caller, now))
        self._places = set[tuple[str, str, str]]()

    async def put(self, new: New, entry: Indexed) -> bool:
        """Keep one; says whether it replaced a fact."""
        if isinstance(new, NewEpisode):
            await self.keeping.episode(new, entry, ttl_days=ttl_days(self._butler, new))
            return False
        if isinstance(new, NewRule):
            await self.keeping.rule(new, entry, ())
            return False
        place = (new.scope, normal_name(new.subject), normal_name(new.predicate))
        if place in self._places:
            # The one before has to be there for this one to take its place.
            await self.keeping.flush()
        self._places.add(place)
        decision = await decide(self._session, new)
        await self.keeping.fact(new, entry, decision=decision, sources=())
        return isinstance(decision, supersession.Replaces)


def _entry(new: New, caller: Caller) -> Entry:
    about = (new.subject, new.predicate) if isinstance(new, NewFact) else (None, None)
    butlers = (new.butler,) if isinstance(new, NewEpisode) else (caller.principal.butler, new.scope)
    subject, predicate = about
    owner = owner_of(caller.principal.tenant, *butlers)
    return Entry(KINDS[type(new)], new.content, new.tags, subject, predicate, owner)
