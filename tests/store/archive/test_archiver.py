"""Continuous backups of real servers: what is written is archived, whatever ends in between."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from tests.support.archives import ArchivedStore, archived_store, quiet

from memory_butler.errors import Conflict
from memory_butler.store.archive import archiver as archiver_module
from memory_butler.store.archive.archiver import ArchiveFull, Rules, locked
from memory_butler.store.archive.source import Source


@pytest.fixture(scope="module")
def store(new_home: Callable[[], Path]) -> Iterator[ArchivedStore]:
    with archived_store(new_home) as made:
        yield made


def test_the_archive_continues_where_a_killed_process_ended(store: ArchivedStore) -> None:
    """Also if its receiver outlived it: the slot is freed, no base backup is repeated, and no segment is missing."""
    first = store.archiver()
    step = first.step(quiet)
    assert step.began == "it is the first"
    assert step.base and step.base.bytes > 1_000_000
    store.write(3)
    first.kill()
    first.close()
    store.write(3)
    store.end_segment()
    outlived = store.archiver()
    outlived.step(quiet)
    assert store.archive_all() is None
    assert outlived.wait(10)
    outlived.close()
    (generation,) = store.archive().generations()
    assert len(generation.bases()) == 1
    numbers = [segment.number for segment in generation.segments()]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_a_full_disk_loses_nothing(store: ArchivedStore) -> None:
    """The error names the archive and says that nothing is lost; with room again, the log continues without a gap."""
    store.archive_all()
    (generation,) = store.archive().generations()
    newest = generation.segments()[-1]
    following = generation.wal / f"{newest.name[:16]}{int(newest.name[16:], 16) + 1:08X}.partial"
    following.symlink_to("/dev/full")
    store.end_segment()
    store.write()
    archiver = store.archiver()
    try:
        archiver.step(quiet)
        with pytest.raises(ArchiveFull, match=r"disk of the archive .* is full: .*No space left") as caught:
            archiver.catch_up(30)
    finally:
        archiver.close()
    assert "continues by itself" in caught.value.recovery
    following.unlink()
    store.write()
    assert store.archive_all() is None
    assert store.archive().generations() == [generation]
    assert generation.segments()[-1].number > newest.number


def test_a_base_backup_without_room_leaves_no_part(store: ArchivedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is received all the same, and the next base backup is made when there is room."""
    store.archive_all()
    archiver = store.archiver(Rules(base_every=timedelta(0), keep=timedelta(days=7)))
    before = len(store.archive().generations()[0].bases())
    try:
        with monkeypatch.context() as patch:
            patch.setattr(archiver_module, "open", _full_disk, raising=False)
            with pytest.raises(ArchiveFull, match="is full"):
                archiver.step(quiet)
        (generation,) = store.archive().generations()
        assert not list((generation.folder / "base").glob("*.part"))
        store.write()
        archiver.catch_up(30)
        assert archiver.step(quiet).base
    finally:
        archiver.close()
    assert len(generation.bases()) == before + 1


def _full_disk(path: Path, mode: str, **options: object) -> object:
    path.touch()
    return open("/dev/full", "wb", buffering=0)  # noqa: PTH123


def test_old_base_backups_and_their_log_are_deleted(store: ArchivedStore) -> None:
    """With the next base backup, as far as no restore to a kept moment needs them: the one before stays."""
    store.archive_all()
    archiver = store.archiver(Rules(base_every=timedelta(0), keep=timedelta(0)))
    try:
        bases = []
        for _ in range(3):
            store.write()
            store.end_segment()
            step = archiver.step(quiet)
            bases.append(step.base)
    finally:
        archiver.close()
    (generation,) = store.archive().generations()
    assert step.deleted >= 3
    assert generation.bases() == bases[1:]
    assert generation.segments()[0].number == generation.bases()[0].start // generation.segment_bytes


def test_lost_log_begins_a_new_part_of_the_archive(store: ArchivedStore) -> None:
    """If the server dropped the slot, or segments are missing, it says why and makes a base backup at once."""
    store.archive_all()
    with psycopg.connect(store.server.dsn("postgres", "memory"), autocommit=True) as connection:
        connection.execute("SELECT pg_drop_replication_slot(%s)", (store.archive().slot,))
    assert store.archive_all() == "the database does not know the archive"
    for _ in range(3):
        store.write()
        store.end_segment()
    store.archive_all()
    newest = store.archive().generations()[-1]
    newest.segments()[-3].file.unlink()
    assert store.archive_all() == "segments of the log are missing in the archive"
    assert len(store.archive().generations()[-1].bases()) == 1
    newest = store.archive().generations()[-1]
    for segment in newest.segments():
        segment.file.unlink()
    store.end_segment()
    assert store.archive_all() == "the archive lacks log that the server no longer keeps"


def test_one_process_archives_into_a_folder(store: ArchivedStore) -> None:
    """A second one is refused, also from another process."""
    with locked(store.archive()):
        script = (
            "import sys; from pathlib import Path; from memory_butler.store.archive.archiver import locked;"
            "from memory_butler.store.archive.layout import Archive\n"
            "with locked(Archive.open(Path(sys.argv[1]))): pass"
        )
        ran = subprocess.run([sys.executable, "-c", script, store.folder], capture_output=True, text=True, check=False)
        assert "Another process archives into" in ran.stderr
        with pytest.raises(Conflict, match="Another process"), locked(store.archive()):
            pass


def test_the_end_of_a_backup_frees_the_log(store: ArchivedStore) -> None:
    """The server keeps nothing for the archive any more, which stays."""
    store.archive_all()
    assert [slot["slot_name"] for slot in Source.of(store.settings).idle_slots()] == [store.archive().slot]
    store.archiver().end()
    assert Source.of(store.settings).idle_slots() == []
    assert store.archive().generations()
