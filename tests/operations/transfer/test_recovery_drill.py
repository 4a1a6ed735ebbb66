"""The recovery drill in short, and the trial restore of an archive."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.archives import archived_store, quiet

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.models import NewFact
from memory_butler.operations.transfer import recovery_drill
from memory_butler.operations.writing import remember
from memory_butler.resources import open_resources


@pytest.fixture
def place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="mb-drill-"))
    yield folder
    shutil.rmtree(folder)


async def test_acknowledged_writes_survive_the_loss_of_the_store(place: Path) -> None:
    """What the writers were told is there, apart from what was on its way to the archive; and nothing else is."""
    report = await recovery_drill.drill(place, 0.5, quiet)
    assert report.passed
    assert report.acknowledged >= recovery_drill.LEAST_WRITES
    assert report.lost <= recovery_drill.WRITERS
    assert report.lost or not report.rpo_seconds
    assert report.rto_seconds > 0
    events = sum(one.events for one in report.tenants)
    # A write may be stored and archived although its writer never heard of it.
    assert 0 <= events - (report.acknowledged - report.lost) <= recovery_drill.WRITERS
    assert {one.tenant for one in report.tenants} >= set(recovery_drill.TENANTS)


async def test_an_archive_is_tried_elsewhere(new_home: Callable[[], Path], place: Path) -> None:
    """It says what the running store has that the archive lacks, and leaves both as they are."""
    with archived_store(new_home) as store:
        store.archive_all()
        async with open_resources(store.settings, embedder=FakeEmbedder()) as resources:
            await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="Anna likes green."))
            await asyncio.to_thread(store.archive_all)
            await remember.fact(resources, NewFact(subject="Anna", predicate="size", content="Anna is tall."))
        before = sorted(path.name for path in store.folder.rglob("*"))
        report = await recovery_drill.try_archive(store.settings, store.folder, place, quiet)
        assert report.passed
        assert report.lacking == {"default": 1}
        assert [(one.tenant, one.events) for one in report.tenants] == [("default", 1)]
        assert report.last_commit
        assert store.server.is_running()
        assert sorted(path.name for path in store.folder.rglob("*")) == before
