"""Reading ahead: the next batch is read while the last is stored, and nothing comes out differently for it."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.support.distillers import Answer, Connection, Scripted, facts_of, of_each, say, with_distiller

from memory_butler.errors import UnusableProposal
from memory_butler.models import Batch, Caller, DistillerResult, RunReport
from memory_butler.operations.consolidation import consolidate
from memory_butler.resources import Resources

NOTES = [f"Note number {number} is about tea." for number in range(7)]


class Reader(Scripted):
    """One that may be asked before it counts."""

    can_read_ahead = True

    def __init__(self, *answers: Answer) -> None:
        super().__init__(*answers)
        self.has_read_two = asyncio.Event()

    async def distil(self, batch: Batch) -> DistillerResult:
        if self.batches:
            self.has_read_two.set()
        return await super().distil(batch)

    def asked(self) -> list[list[str]]:
        return [[one.ref for one in batch.episodes] for batch in self.batches]


@pytest.fixture
def shard(resources: Resources) -> Caller:
    return resources.local_caller()


async def test_each_batch_is_read_once_and_in_order(resources: Resources, shard: Caller, owner: Connection) -> None:
    """As many batches as there would be, none read twice; the same facts as without reading ahead."""
    refs = await say(resources, *NOTES)
    told = Reader(of_each())
    reports = await consolidate.consolidate(with_distiller(resources, told, batch=2), shard)
    batches = [refs[0:2], refs[2:4], refs[4:6], refs[6:]]
    assert [list(report.episodes) for report in reports] == told.asked() == batches
    assert [report.state for report in reports] == ["applied"] * 4
    assert [content for _, _, content, *_ in await facts_of(resources, owner)] == NOTES


async def test_a_batch_that_turns_out_otherwise_is_read_again(
    resources: Resources, shard: Caller, owner: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is read before the first is stored; then an episode is about to expire, and comes before it."""
    refs = await say(resources, *NOTES[:5])
    told, store = Reader(of_each()), consolidate.finish_run

    async def finish_run(*given: Any, **more: Any) -> RunReport:
        if len(told.batches) < 3:
            await asyncio.wait_for(told.has_read_two.wait(), 60)
            owner.execute(
                "UPDATE memory.episodes SET expires_at = %s WHERE tenant_id = %s AND ref = %s",
                (resources.clock() + timedelta(minutes=1), resources.settings.tenant, refs[4]),
            )
        return await store(*given, **more)

    monkeypatch.setattr(consolidate, "finish_run", finish_run)
    reports = await consolidate.consolidate(with_distiller(resources, told, batch=2), shard)
    done = [list(report.episodes) for report in reports]
    assert done == [refs[0:2], [refs[4], refs[2]], [refs[3]]]
    assert told.asked() == [done[0], refs[2:4], *done[1:]]
    assert sorted(content for _, _, content, *_ in await facts_of(resources, owner)) == NOTES[:5]


async def test_nothing_is_read_beyond_the_limit(resources: Resources, shard: Caller) -> None:
    """Nor where nothing may follow."""
    refs = await say(resources, *NOTES[:5])
    told = Reader(of_each())
    await consolidate.consolidate(with_distiller(resources, told, batch=2), shard, limit=3)
    assert told.asked() == [refs[0:2], refs[2:3]]


async def test_what_fails_ahead_fails_when_it_counts(resources: Resources, shard: Caller) -> None:
    """The batch that was being stored is none the worse, and the other is set back as ever."""
    refs = await say(resources, *NOTES[:3])

    def answer(batch: Batch) -> object:
        return UnusableProposal("No.") if batch.episodes[0].ref == refs[2] else good(batch)

    good: Answer = of_each()
    told = Reader(answer)
    reports = await consolidate.consolidate(with_distiller(resources, told, batch=2), shard)
    assert [(report.state, list(report.episodes)) for report in reports] == [
        ("applied", refs[:2]),
        ("failed", refs[2:]),
    ]
    assert told.asked() == [refs[:2], refs[2:], refs[2:]]


async def test_who_stops_leaves_nobody_reading(resources: Resources, shard: Caller) -> None:
    """The batch that was claimed is free again, and what was read ahead is given up."""
    await say(resources, *NOTES[:5])
    hangs = asyncio.Event()

    class Slow(Reader):
        async def distil(self, batch: Batch) -> DistillerResult:
            if self.batches:
                hangs.set()
                await asyncio.Event().wait()
            return await super().distil(batch)

    before = asyncio.all_tasks()
    slow = with_distiller(resources, Slow(of_each()), batch=2)
    running = asyncio.create_task(consolidate.consolidate(slow, shard))
    await hangs.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert asyncio.all_tasks() == before
    rest = await consolidate.consolidate(replace(slow, distiller=Reader(of_each())), shard)
    assert sum(len(report.episodes) for report in rest) in (3, 5)
