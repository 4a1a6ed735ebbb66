"""Ingest many episodes in one call. Each has its own result, the same as if it were stored alone."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memory_butler.errors import DeadlinePassed, IntegrityViolation, InternalError, InvalidInput, MemoryButlerError
from memory_butler.models import Caller, Lineage, MemoryType, NewEpisode, Stored
from memory_butler.operations.retrieval.indexing import Entry, index_entries
from memory_butler.operations.trust.protection import owner_of
from memory_butler.operations.writing.admission import NOTHING, Admitted, admit
from memory_butler.operations.writing.idempotency import (
    Fingerprint,
    audit_trail,
    from_response,
    matching_response,
    store_responses,
    to_response,
)
from memory_butler.operations.writing.memory_writer import MemoryWriter, open_writer
from memory_butler.operations.writing.remember import acting_as, ttl_days
from memory_butler.policy.access import visibility
from memory_butler.policy.memories.validation import validate_episode, validate_lineage
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.memories import idempotency_keys
from memory_butler.store.retrieval.search_index import Indexed

# Characters embedded at once: about one second of work, after which the deadline is checked.
EMBEDDED_CHARACTERS = 20_000
# Share of the deadline for embedding; the rest is for writing. Episodes not embedded by then are refused.
EMBEDDING_SHARE = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestResult:
    """Result of one episode: stored now, stored before (`repeated`), or a problem."""

    stored: Stored | None = None
    repeated: bool = False
    problem: MemoryButlerError | None = None


@dataclass(frozen=True, slots=True)
class IncomingEpisode:
    """An episode to store. Its lineage, if any, replaces the lineage of the call."""

    new: NewEpisode
    lineage: Lineage | None = None


@dataclass(frozen=True, slots=True)
class _Item:
    """A validated episode: its position in the request, its caller, and its index entry."""

    place: int
    new: NewEpisode
    caller: Caller
    admitted: Admitted = NOTHING
    entry: Indexed | None = None


async def ingest(
    resources: Resources, incoming: Sequence[IncomingEpisode], caller: Caller | None = None
) -> list[IngestResult]:
    """Store many episodes. Results are in request order; a problem with one does not affect the others."""
    caller = caller or resources.local_caller()
    check_size(len(incoming), resources.settings.service.limits.batch_items, "episodes")
    outcomes: dict[int, IngestResult] = {}
    items = list(_validated(resources, incoming, caller, outcomes))
    items = await _indexed(resources, items, outcomes)
    if items:
        outcomes |= await _stored(resources, items)
    return [outcomes[place] for place in range(len(incoming))]


def check_size(size: int, limit: int, name: str) -> None:
    """Refuse an empty list and one with more than `limit` items."""
    if not size:
        raise InvalidInput(f"{name} is empty.", recovery="Pass at least one item.")
    if size > limit:
        raise InvalidInput(
            f"{name} has {size} items; the limit is {limit}.",
            recovery=f"Split it into calls of at most {limit} items.",
        )


def _validated(
    resources: Resources, incoming: Sequence[IncomingEpisode], caller: Caller, outcomes: dict[int, IngestResult]
) -> Iterator[_Item]:
    for place, one in enumerate(incoming):
        try:
            new, admitted = admit(resources, visibility.named(one.new, caller.principal), caller)
            new = validate_episode(new)
            acting = acting_as(caller, new.butler)
            if one.lineage is not None:
                acting = replace(acting, lineage=validate_lineage(one.lineage))
        except MemoryButlerError as problem:
            outcomes[place] = IngestResult(problem=problem)
        else:
            yield _Item(place, new, acting, admitted)


async def _indexed(resources: Resources, items: Sequence[_Item], outcomes: dict[int, IngestResult]) -> list[_Item]:
    """Embed the items together and add their index entries. Items beyond the deadline are refused."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + resources.settings.deadline_seconds * EMBEDDING_SHARE
    indexed: list[_Item] = []
    for part in _parts(items):
        if indexed and loop.time() > deadline:
            late = DeadlinePassed(
                "The deadline passed before this episode was embedded; it was not stored.",
                recovery="Send it again with fewer episodes per call.",
            )
            outcomes |= {item.place: IngestResult(problem=late) for item in part}
            continue
        entries = await index_entries(resources, [_entry(item) for item in part])
        indexed += [replace(item, entry=entry) for item, entry in zip(part, entries, strict=True)]
    return indexed


def _entry(item: _Item) -> Entry:
    owner = owner_of(item.caller.principal.tenant, item.new.butler)
    return Entry(MemoryType.EPISODE, item.new.content, item.new.tags, owner=owner)


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


async def _stored(resources: Resources, items: Sequence[_Item]) -> dict[int, IngestResult]:
    """Write all items in one transaction. If the database refuses it, write each in its own transaction."""
    try:
        return await _write(resources, items)
    except (IntegrityViolation, InternalError) as refused:
        if len(items) == 1:
            return {items[0].place: IngestResult(problem=refused)}
    outcomes: dict[int, IngestResult] = {}
    for item in items:
        try:
            outcomes |= await _write(resources, [item])
        except MemoryButlerError as problem:
            outcomes[item.place] = IngestResult(problem=problem)
    return outcomes


async def _write(resources: Resources, items: Sequence[_Item]) -> dict[int, IngestResult]:
    now = resources.clock()
    async with resources.database.write(items[0].caller.principal.tenant, now, refs=len(items)) as transaction:
        batch = _Writes(resources, transaction, now)
        await batch.load_responses([owned for item in items if (owned := _owned(item))])
        outcomes = {item.place: await batch.item(item) for item in items}
        await batch.finish()
    return outcomes


def _owned(item: _Item) -> idempotency_keys.Owned | None:
    key = item.new.idempotency_key
    return None if key is None else (item.caller.principal.butler, key)


class _Writes:
    """The writes of one transaction, sent to the database in a few statements."""

    def __init__(self, resources: Resources, transaction: Transaction, now: datetime) -> None:
        self._resources = resources
        self._transaction = transaction
        self._now = now
        # Responses by idempotency key, from the store or from earlier items of this call.
        self._responses_by_key: dict[idempotency_keys.Owned, Row] = {}
        self._new_responses: list[Row] = []
        self._writer: tuple[tuple[Caller, Admitted], MemoryWriter] | None = None

    async def load_responses(self, wanted: Sequence[idempotency_keys.Owned]) -> None:
        if wanted:
            self._responses_by_key = await idempotency_keys.find(self._transaction, wanted, self._now)

    async def item(self, item: _Item) -> IngestResult:
        owned, digest = _owned(item), Fingerprint("episode", item.new)
        if owned and owned in self._responses_by_key:
            # The reserved reference is used up, as in a single call.
            await self._transaction.refs.known()
            self._transaction.refs.take()
            try:
                return IngestResult(
                    stored=from_response(matching_response(owned[1], digest, self._responses_by_key[owned])),
                    repeated=True,
                )
            except MemoryButlerError as problem:
                return IngestResult(problem=problem)
        assert item.entry is not None
        writer = await self._writer_for(item)
        stored = await writer.episode(item.new, item.entry, ttl_days=ttl_days(self._resources, item.new))
        stored = item.admitted.on(stored)
        if owned:
            row = {"butler": owned[0], "key": owned[1], "request_hash": digest.digest, "response": to_response(stored)}
            self._responses_by_key[owned] = row
            self._new_responses.append(row)
        return IngestResult(stored=stored)

    async def _writer_for(self, item: _Item) -> MemoryWriter:
        """Consecutive items of the same butler and request share a writer, so that events are in request order.

        An item with redactions has its own writer, because its event records them.
        """
        shared = (item.caller, item.admitted)
        if self._writer is None or self._writer[0] != shared or item.admitted.redacted:
            if self._writer:
                await self._writer[1].flush()
            trail = audit_trail(self._resources, item.caller, self._now, admitted=item.admitted)
            self._writer = (shared, open_writer(self._resources, self._transaction, trail))
        return self._writer[1]

    async def finish(self) -> None:
        if self._writer:
            await self._writer[1].flush()
        if self._new_responses:
            await store_responses(self._transaction, self._resources, self._new_responses, self._now)
