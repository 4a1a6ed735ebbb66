"""Physical residue: after a purge no byte of the purged words is in any file of the store."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from tests.support.archives import archived_store, quiet
from tests.support.leaks import files_with

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.models import NewEpisode, NewFact, NewRule
from memory_butler.operations.consolidation.run_now import consolidate_now
from memory_butler.operations.retrieval.get import get
from memory_butler.operations.transfer.backup import backup
from memory_butler.operations.transfer.continuous_backup import archive_once
from memory_butler.operations.trust import purge_receipts
from memory_butler.operations.trust.purge import PurgeRequest, purge
from memory_butler.operations.trust.residue import clean_up
from memory_butler.operations.writing import remember
from memory_butler.resources import open_resources
from memory_butler.store.embedded.server import EmbeddedPostgres

CANARY = "Quetzalcanary"
FACTS = 60


async def test_no_file_of_a_stopped_store_holds_the_words(new_home: Callable[[], Path], tmp_path: Path) -> None:
    """Not in the data files, the planner's statistics, the write-ahead log or the log of the server. The receipt names
    the backup that still holds them."""
    home = new_home()
    copy = tmp_path / "before.backup"
    async with open_resources(home=home, embedder=FakeEmbedder()) as resources:
        for number in range(FACTS):
            stored = await remember.fact(
                resources, NewFact(subject=f"{CANARY} {number}", predicate="note", content=f"{CANARY} {number} " * 40)
            )
            await get(resources, "fact", stored.ref)
        await remember.rule(resources, NewRule(content=f"Ask {CANARY} first.", tags=(CANARY,)))
        await remember.episode(resources, NewEpisode(content=f"{CANARY} lives in Oslo.", butler="main"))
        await consolidate_now(resources)
        kept = await remember.fact(resources, NewFact(subject="Ben", predicate="drink", content="tea"))
        await asyncio.to_thread(backup, resources.settings, copy)
        assert files_with(home, CANARY)
        done = await purge(resources, PurgeRequest(text=CANARY), dry_run=False)
        assert done.residue == "clean" and len(done.touched) >= FACTS + 2
        [receipt] = await purge_receipts.receipts(resources)
        assert [(one["path"], one["exists"]) for one in receipt.backups] == [(str(copy), True)]
        assert receipt.residue and receipt.residue["state"] == "clean"
        assert (await get(resources, "fact", kept.ref)).memory.content == "tea"
    EmbeddedPostgres(home).stop()
    assert files_with(home, CANARY) == []


async def test_an_archive_keeps_its_words_as_long_as_it_says(new_home: Callable[[], Path]) -> None:
    """The receipt names its base backups and its log with their retention. While it lacks some of the log, the store
    keeps old segments, so it is not called clean; it is once the archive has caught up."""
    with archived_store(new_home) as store:
        async with open_resources(store.settings, embedder=FakeEmbedder()) as resources:
            await asyncio.to_thread(archive_once, store.settings, store.folder)
            await remember.fact(resources, NewFact(subject=CANARY, predicate="note", content=f"{CANARY} sings."))
            done = await purge(resources, PurgeRequest(text=CANARY), dry_run=False)
            assert done.residue == "pending"
            (generation,) = store.archive().generations()
            (base,) = generation.bases()
            [receipt] = await purge_receipts.receipts(resources)
            assert [one["path"] for one in receipt.backups] == [str(base.file), str(generation.wal)]
            assert all("deleted by `memory-butler backup --continuous`" in one["retention"] for one in receipt.backups)
            archiver = store.archiver()
            try:
                archiver.step(quiet)
                archiver.catch_up(30)
                assert await clean_up(resources, resources.settings.tenant) == "clean"
            finally:
                archiver.close()
