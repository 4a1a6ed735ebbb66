"""Ingest: many episodes at once. Each has its own outcome, and is stored as it would be by itself."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memory_butler.butler import Butler
from memory_butler.errors import DeadlinePassed, IntegrityViolation, InternalError, InvalidInput, MemoryButlerError
from memory_butler.models import Caller, Lineage, MemoryType, NewEpisode, Stored
from memory_butler.operations.index import Entry, index_entries
from memory_butler.operations.keeping import Keeping
from memory_butler.operations.once import as_response, as_stored, fingerprint, keep_answers, same_answer, trail
from memory_butler.operations.remember import acting_as, ttl_days
from memory_butler.policy.admission import admit_episode, admit_lineage
from memory_butler.store import keys
from memory_butler.store.database import Row, Session
from memory_butler.store.search_index import Indexed

# As much as is embedded in one go: about a second's work, after which the clock is looked at.
EMBEDDED_CHARACTERS = 20_000
# What is not embedded by then is left for another call; the rest of the deadline is for writing.
EMBEDDING_SHARE = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of one episode: it was stored, had been stored before, or has a problem."""

    stored: Stored | None = None
    repeated: bool = False
    problem: MemoryButlerError | None = None


@dataclass(frozen=True, slots=True)
class Arrival:
    """An episode of a batch; its lineage counts instead of the call's, if it has one."""

    new: NewEpisode
    lineage: Lineage | None = None


@dataclass(frozen=True, slots=True)
class _Item:
    """An admitted episode: its place in the batch, for whom it is stored, and what it is found by."""

    place: int
    new: NewEpisode
    caller: Caller
    entry: Indexed | None = None


async def ingest(butler: Butler, arrivals: Sequence[Arrival], caller: Caller | None = None) -> list[Ingested]:
    """Store many episodes. The outcomes are in the order given; what is wrong with one is no matter to the others."""
    caller = caller or butler.local_caller()
    check_size(len(arrivals), butler.settings.service.limits.batch_items, "episodes")
    outcomes: dict[int, Ingested] = {}
    items = list(_admitted(arrivals, caller, outcomes))
    items = await _indexed(butler, items, outcomes)
    if items:
        outcomes |= await _stored(butler, items)
    return [outcomes[place] for place in range(len(arrivals))]


def check_size(given: int, most: int, name: str) -> None:
    """A batch has at least one item, and not more than are taken at once."""
    if not given:
        raise InvalidInput(f"{name} is empty.")
    if given > most:
        raise InvalidInput(
            f"{name} has {given} items; at most {most} are taken at once.",
            recovery=f"Split it into batches of at most {most}.",
        )


def _admitted(arrivals: Sequence[Arrival], caller: Caller, outcomes: dict[int, Ingested]) -> Iterator[_Item]:
    for place, arrival in enumerate(arrivals):
        try:
            new = admit_episode(arrival.new)
            acting = acting_as(caller, new.butler)
            if arrival.lineage is not None:
                acting = replace(acting, lineage=admit_lineage(arrival.lineage))
        except MemoryButlerError as problem:
            outcomes[place] = Ingested(problem=problem)
        else:
            yield _Item(place, new, acting)


async def _indexed(butler: Butler, items: Sequence[_Item], outcomes: dict[int, Ingested]) -> list[_Item]:
    """The items with what they are found by, embedded together; those for which the time does not suffice wait."""
    loop = asyncio.get_running_loop()
    until = loop.time() + butler.settings.deadline_seconds * EMBEDDING_SHARE
    found: list[_Item] = []
    for part in _parts(items):
        if found and loop.time() > until:
            late = DeadlinePassed(
                "There was no time left for this one; it was not stored.",
                recovery="Send it again, in a smaller batch.",
            )
            outcomes |= {item.place: Ingested(problem=late) for item in part}
            continue
        entries = await index_entries(
            butler, [Entry(MemoryType.EPISODE, item.new.content, item.new.tags) for item in part]
        )
        found += [replace(item, entry=entry) for item, entry in zip(part, entries, strict=True)]
    return found


def _parts(items: Sequence[_Item]) -> Iterator[list[_Item]]:
    part: list[_Item] = []
    characters = 0
    for item in items:
        if part and characters + len(item.new.content) > EMBEDDED_CHARACTERS:
            yield part
            part, characters = [], 0
        part.append(item)
        characters += len(item.new.content)
    if part:
        yield part


async def _stored(butler: Butler, items: Sequence[_Item]) -> dict[int, Ingested]:
    """All in one transaction. If the store refuses that because of one of them, each gets one of its own."""
    try:
        return await _write(butler, items)
    except (IntegrityViolation, InternalError) as refused:
        if len(items) == 1:
            return {items[0].place: Ingested(problem=refused)}
    outcomes: dict[int, Ingested] = {}
    for item in items:
        try:
            outcomes |= await _write(butler, [item])
        except MemoryButlerError as problem:
            outcomes[item.place] = Ingested(problem=problem)
    return outcomes


async def _write(butler: Butler, items: Sequence[_Item]) -> dict[int, Ingested]:
    now = butler.clock()
    async with butler.database.write(items[0].caller.principal.tenant, now, refs=len(items)) as session:
        writing = _Writing(butler, session, now)
        await writing.look_up([owned for item in items if (owned := _owned(item))])
        outcomes = {item.place: await writing.item(item) for item in items}
        await writing.finish()
    return outcomes


def _owned(item: _Item) -> keys.Owned | None:
    key = item.new.idempotency_key
    return None if key is None else (item.caller.principal.butler, key)


class _Writing:
    """The writes of a batch, which go to the database in a few statements."""

    def __init__(self, butler: Butler, session: Session, now: datetime) -> None:
        self._butler = butler
        self._session = session
        self._now = now
        # What was answered under each key, in the store or earlier in the batch.
        self._first: dict[keys.Owned, Row] = {}
        self._answers: list[Row] = []
        self._keeping: tuple[Caller, Keeping] | None = None

    async def look_up(self, wanted: Sequence[keys.Owned]) -> None:
        if wanted:
            self._first = await keys.find(self._session, wanted, self._now)

    async def item(self, item: _Item) -> Ingested:
        owned, digest = _owned(item), fingerprint("episode", item.new)
        if owned and owned in self._first:
            # Its reference is used up, as it is by a single call.
            self._session.take_ref()
            try:
                return Ingested(stored=as_stored(same_answer(owned[1], digest, self._first[owned])), repeated=True)
            except MemoryButlerError as problem:
                return Ingested(problem=problem)
        assert item.entry is not None
        keeping = await self._keeping_for(item.caller)
        stored = keeping.episode(item.new, item.entry, ttl_days=ttl_days(self._butler, item.new))
        if owned:
            row = {"butler": owned[0], "key": owned[1], "request_hash": digest, "response": as_response(stored)}
            self._first[owned] = row
            self._answers.append(row)
        return Ingested(stored=stored)

    async def _keeping_for(self, caller: Caller) -> Keeping:
        """Neighbours of the same butler and request are written together; so the events are in the order given."""
        if self._keeping is None or self._keeping[0] != caller:
            if self._keeping:
                await self._keeping[1].flush()
            self._keeping = (caller, Keeping(self._session, trail(self._butler, caller, self._now)))
        return self._keeping[1]

    async def finish(self) -> None:
        if self._keeping:
            await self._keeping[1].flush()
        if self._answers:
            await keep_answers(self._session, self._butler, self._answers, self._now)
