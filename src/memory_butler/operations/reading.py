"""Reading: from a batch of episodes to items that are checked and embedded, and only need to be stored.

To read takes the processor, to store takes the database; one after the other, each would wait for the other's turn. So
the next batch is read while the last is being stored. What is read ahead is claimed by nobody and changes nothing. When
its turn comes it counts only if the batch that was claimed has the same episodes with the same words; otherwise it is
read again.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, Self

from memory_butler.ai.distillers import Distiller, charged
from memory_butler.butler import Butler
from memory_butler.errors import MemoryButlerError, UnusableProposal
from memory_butler.models import Batch, Caller, Checked, Episode, Usage
from memory_butler.operations.applying import Work, prepared
from memory_butler.operations.claims import first_batch
from memory_butler.operations.gathering import gather
from memory_butler.policy.proposals import check, why_unusable
from memory_butler.store.episodes import InLine

Step = Callable[[str], None]


def unseen(_: object) -> None:
    """Nobody watches."""


class Read(NamedTuple):
    """A batch, what was made of it, and what that cost. What `waits` for a person's decision is not embedded yet."""

    batch: Batch
    checked: Checked
    work: Work
    usage: Usage
    waits: bool


async def read_batch(butler: Butler, distiller: Distiller, batch: Batch, step: Step) -> Read:
    """Have a batch distilled, and do with the proposal all that is slow."""
    distilled = await distiller.distil(batch)
    step("distilled")
    try:
        return await read_proposal(butler, distilled.proposal, batch, usage=distilled.usage, step=step)
    except UnusableProposal as problem:
        raise charged(problem, distilled.usage) from None


async def read_proposal(butler: Butler, proposal: object, batch: Batch, *, usage: Usage, step: Step = unseen) -> Read:
    """Check a proposal, and embed what may be stored of it."""
    checked = await checked_beside(proposal, batch)
    step("checked")
    waits = butler.settings.reviews(batch.butler) and bool(checked.items)
    work = await prepared(butler, batch, () if waits else checked.items)
    step("embedded")
    return Read(batch, checked, work, usage, waits)


async def checked_beside(proposal: object, batch: Batch) -> Checked:
    """Check a proposal off the event loop: long episodes take a while. One of which nothing fits is no proposal."""
    checked = await asyncio.to_thread(check, proposal, batch)
    if problem := why_unusable(checked):
        raise UnusableProposal(problem)
    return checked


class Ahead:
    """What one shard's next batch comes to, if there is one and it can be known before its turn."""

    def __init__(self, butler: Butler, shard: Caller, distiller: Distiller, step: Step) -> None:
        self._butler = butler
        self._shard = shard
        self._distiller = distiller
        self._step = step
        self._reading: asyncio.Task[Read | None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._reading:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    def begin(self, line: Sequence[InLine]) -> None:
        """Read what will be the first batch of those in line, if nothing comes between."""
        lines = first_batch(line[: self._butler.settings.consolidation.most])
        if lines and self._distiller.can_read_ahead:
            self._reading = asyncio.create_task(self._read([one.episode for one in lines]))

    async def of(self, batch: Batch) -> Read | None:
        """What was read of just this batch."""
        reading, self._reading = self._reading, None
        read = await reading if reading else None
        if read and (read.batch.episodes, read.batch.texts) == (batch.episodes, batch.texts):
            return read
        return None

    async def _read(self, episodes: Sequence[Episode]) -> Read | None:
        # Whatever goes wrong here goes wrong again when it counts.
        with suppress(MemoryButlerError):
            batch = await gather(self._butler, self._shard, episodes, with_known=False)
            return await read_batch(self._butler, self._distiller, batch, self._step)
        return None
