"""Distil a batch into checked and embedded items, ahead of its turn where possible.

Distilling needs the processor, storing needs the database. So the next batch is distilled while the last one is being
stored. A prefetched batch is not claimed and changes nothing. Its result is used only if the batch that is claimed
later has the same episodes with the same texts; otherwise that batch is distilled again.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple, Self

from memory_butler.ai.distillers import Distiller, charged
from memory_butler.errors import MemoryButlerError, UnusableProposal
from memory_butler.metrics import model_runs
from memory_butler.models import Batch, Caller, CheckedProposal, Episode, Usage
from memory_butler.operations.consolidation.apply import PreparedItems, prepare_items
from memory_butler.operations.consolidation.claims import first_batch
from memory_butler.operations.consolidation.distiller_input import build_batch
from memory_butler.operations.consolidation.notes import find_notes
from memory_butler.operations.trust.protection import ensure_keys_for, note_name, owner_of
from memory_butler.operations.writing.admission import policy_for
from memory_butler.policy.consolidation.proposals import check, unusable_reason
from memory_butler.policy.consolidation.redacted_proposal import redact_proposal
from memory_butler.resources import Resources
from memory_butler.store.memories.episodes import QueuedEpisode

Step = Callable[[str], None]


def ignore(_: object) -> None:
    """Default of the callbacks `progress` and `step`."""


class DistilledBatch(NamedTuple):
    """A batch with its checked proposal, embedded items and cost. Items that need review are not embedded yet."""

    batch: Batch
    checked: CheckedProposal
    work: PreparedItems
    usage: Usage
    needs_review: bool


async def distil_batch(resources: Resources, distiller: Distiller, batch: Batch, step: Step) -> DistilledBatch:
    """Distil a batch, check the proposal and embed its items."""
    with model_runs.DISTILLER_SECONDS.labels(distiller.name).time():
        distilled = await distiller.distil(batch)
    step("distilled")
    try:
        return await prepare_proposal(resources, distilled.proposal, batch, usage=distilled.usage, step=step)
    except UnusableProposal as problem:
        raise charged(problem, distilled.usage) from None


async def prepare_proposal(
    resources: Resources, proposal: object, batch: Batch, *, usage: Usage, step: Step = ignore
) -> DistilledBatch:
    """Check a proposal and embed its items."""
    checked, work = await check_and_embed(resources, proposal, batch, step=step)
    needs_review = resources.settings.reviews(batch.butler) and bool(checked.items)
    return DistilledBatch(batch, checked, work, usage, needs_review)


async def check_and_embed(
    resources: Resources, proposal: object, batch: Batch, *, step: Step = ignore
) -> tuple[CheckedProposal, PreparedItems]:
    """Check a proposal, add the notes for what it left out, and embed the items. Items that need review are not
    embedded yet."""
    checked = await check_in_thread(resources, proposal, batch)
    step("checked")
    notes = await find_notes(resources, batch, checked)
    told = [(place, item) for place, item in checked.items if any(item is one for one in notes.told)]
    places = [*(place for place, _ in checked.items), *(one.place for one in checked.refused)]
    first, owner = 1 + max(places, default=-1), owner_of(batch.tenant, batch.butler)
    kept = [replace(item, predicate=await note_name(resources, owner, item.predicate)) for item in notes.items]
    checked = replace(checked, items=(*told, *enumerate(kept, first)))
    await ensure_keys_for(resources, owner, [item.predicate for _, item in checked.items])
    if resources.settings.reviews(batch.butler) and checked.items:
        work = await prepare_items(resources, batch, ())
    else:
        work = await prepare_items(resources, batch, checked.items, dict(enumerate(notes.entries, len(told))))
    step("embedded")
    return checked, work


async def check_in_thread(resources: Resources, proposal: object, batch: Batch) -> CheckedProposal:
    """Redact and check a proposal in a thread, because long episodes take a while. Raises UnusableProposal if no item
    fits."""
    tenant = batch.episodes[0].tenant_id if batch.episodes else resources.settings.tenant
    policy = policy_for(resources, tenant, batch.butler)
    checked = await asyncio.to_thread(lambda: check(redact_proposal(proposal, policy), batch))
    if problem := unusable_reason(checked):
        raise UnusableProposal(problem)
    return checked


class Prefetch:
    """Distils the next batch of one shard in the background, if the distiller supports it."""

    def __init__(self, resources: Resources, shard: Caller, distiller: Distiller, step: Step) -> None:
        self._resources = resources
        self._shard = shard
        self._distiller = distiller
        self._step = step
        self._task: asyncio.Task[DistilledBatch | None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])

    def begin(self, queue: Sequence[QueuedEpisode]) -> None:
        """Start to distil the next batch of the queue."""
        lines = first_batch(queue[: self._resources.settings.consolidation.most])
        if lines and self._distiller.can_read_ahead:
            self._task = asyncio.create_task(self._distil([one.episode for one in lines]))

    async def of(self, batch: Batch) -> DistilledBatch | None:
        """Returns the prefetched result if it is of exactly this batch."""
        task, self._task = self._task, None
        distilled = await task if task else None
        if distilled and (distilled.batch.episodes, distilled.batch.texts) == (batch.episodes, batch.texts):
            return distilled
        return None

    async def _distil(self, episodes: Sequence[Episode]) -> DistilledBatch | None:
        # Errors are ignored: the batch is distilled again when it is claimed, and fails then.
        with suppress(MemoryButlerError):
            batch = await build_batch(self._resources, self._shard, episodes, with_known=False)
            return await distil_batch(self._resources, self._distiller, batch, self._step)
        return None
