"""Restores from a continuous backup, with real servers: to the end, to a moment, of damaged and of crafted archives."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.archives import ArchivedStore, archived_store, numbers_in

from memory_butler.errors import InvalidInput
from memory_butler.operations.transfer.backup import Restored, restore
from memory_butler.settings import load_settings
from memory_butler.store.archive import recovery
from memory_butler.store.archive.layout import Archive
from memory_butler.store.embedded.server import EmbeddedPostgres

Bring = Callable[..., tuple[Path, Restored]]


@pytest.fixture(scope="module")
def story(new_home: Callable[[], Path]) -> Iterator[tuple[ArchivedStore, list[datetime]]]:
    """An archive with three moments, after one, two and three numbers; the last two are in segments of their own."""
    with archived_store(new_home) as store:
        store.archive_all()
        moments = []
        for _ in range(3):
            moments.append(store.write())
            store.end_segment()
            store.archive_all()
        yield store, moments


@pytest.fixture
def bring(home: Path) -> Iterator[Bring]:
    """Restore an archive into a new home; returns the home and what was said."""
    folder = Path(tempfile.mkdtemp(prefix="mb-restored-"))
    folder.chmod(0o755)

    def restored(archive: Path, moment: datetime | None = None) -> tuple[Path, Restored]:
        place = folder / "home"
        place.mkdir(mode=0o700, exist_ok=True)
        if (home / "postgres").is_dir() and not (place / "postgres").exists():
            subprocess.run(["cp", "-a", "--link", str(home / "postgres"), str(place)], check=True)
        return place, restore(load_settings(home=place), archive, moment=moment, replace=True)

    yield restored
    if (folder / "home" / "database").is_dir():
        EmbeddedPostgres(folder / "home").stop()
    shutil.rmtree(folder)


@pytest.fixture
def copied(story: tuple[ArchivedStore, list[datetime]], tmp_path: Path) -> Path:
    """A copy of the archive, to be damaged."""
    return Path(shutil.copytree(story[0].folder, tmp_path / "archive"))


def test_any_moment_can_be_restored(story: tuple[ArchivedStore, list[datetime]], bring: Bring) -> None:
    """A moment brings back what was committed by then; without one, everything; and each says where it ended."""
    store, moments = story
    place, restored = bring(store.folder, moments[1])
    assert numbers_in(place) == [1, 2]
    assert restored.recovered and restored.recovered.last_commit
    assert restored.recovered.stopped_at_moment
    assert restored.recovered.last_commit <= moments[1]
    assert not (place / "database" / "recovery.signal").exists()
    assert "restore_command" not in (place / "database" / "postgresql.auto.conf").read_text()
    # Nothing was committed after the last number: the state of a later moment is all that there is.
    place, restored = bring(store.folder, datetime.now(UTC))
    assert numbers_in(place) == [1, 2, 3]
    assert restored.recovered and not restored.recovered.stopped_at_moment


def test_a_moment_outside_of_the_archive_is_refused(
    story: tuple[ArchivedStore, list[datetime]], bring: Bring, tmp_path: Path
) -> None:
    """Before its beginning, in the future, without a time zone; and a folder that is no archive."""
    store, moments = story
    for moment, said in (
        (moments[0] - timedelta(days=1), "The archive begins at"),
        (datetime.now(UTC) + timedelta(hours=1), "is in the future"),
        (moments[0].replace(tzinfo=None), "has no time zone"),
    ):
        with pytest.raises(InvalidInput, match=said):
            bring(store.folder, moment)
    with pytest.raises(InvalidInput, match="is not an archive"):
        bring(tmp_path)
    Archive.create(tmp_path / "empty")
    with pytest.raises(InvalidInput, match="no base backup yet"):
        bring(tmp_path / "empty")


def test_damage_is_never_taken_for_the_end(
    story: tuple[ArchivedStore, list[datetime]], copied: Path, bring: Bring
) -> None:
    """A missing or changed segment is named; moments before it can still be restored, and nothing is replaced."""
    moments = story[1]
    (generation,) = Archive.open(copied).generations()
    segments = generation.segments()
    gone = segments[-3]
    content = gone.file.read_bytes()
    gone.file.unlink()
    with pytest.raises(InvalidInput, match=r"segments of the log after \w+ are missing"):
        bring(copied, moments[2])
    gone.file.write_bytes(content[:64] + bytes(len(content) - 64))
    with pytest.raises(InvalidInput, match=rf"cannot be read after segment {gone.name}"):
        bring(copied)
    gone.file.write_bytes(content[:-1])
    with pytest.raises(InvalidInput, match="does not have 16777216 bytes"):
        bring(copied)
    generation.bases()[0].file.write_bytes(b"")
    with pytest.raises(InvalidInput, match="backup cannot be used"):
        bring(copied, moments[0])


def test_nothing_in_a_crafted_archive_is_run(copied: Path, bring: Bring, tmp_path: Path) -> None:
    """Files that an archive never has are not copied; links are no segments; and notes cannot name another place."""
    ran = tmp_path / "ran"
    (generation,) = Archive.open(copied).generations()
    for name in ("recovery.signal", "standby.signal", "postgresql.auto.conf", "recovery.conf"):
        (generation.wal / name).write_text(f"restore_command = 'touch {ran}'\narchive_command = 'touch {ran}'\n")
    secret = tmp_path / "secret"
    secret.write_bytes(b"s" * generation.segment_bytes)
    last = generation.segments()[-1]
    (generation.wal / f"{last.name[:16]}{last.number + 1:08X}").symlink_to(secret)
    (generation.wal / "00000009.history").symlink_to(secret)
    (generation.wal / "../../outside").write_text("x")
    place, _ = bring(copied)
    assert numbers_in(place) == [1, 2, 3]
    assert not ran.exists()
    assert not (place / "database" / "standby.signal").exists()
    assert not list((place / "database" / "pg_wal").glob("00000009.history"))
    note = next((generation.folder / "base").glob("*.json"))
    note.unlink()
    note.symlink_to("/etc/hostname")
    with pytest.raises(InvalidInput, match="is a link"):
        bring(copied)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("archive.json", "{", "cannot be read"),
        ("archive.json", '{"format": "memory-butler-archive", "version": 2, "id": "01234567"}', "of format 2"),
        ("archive.json", '{"format": "memory-butler-archive", "version": 1, "id": "../../x"}', "cannot be read"),
        ("generation.json", '{"cluster": "1"}', "cannot be read"),
        ("generation.json", '{"cluster": "1", "timeline": 1, "major": 18, "segment_bytes": 3, "embedded": true,'
         ' "started_at": "2026-01-01T00:00:00+00:00"}', "segment size of 3 bytes"),
    ],
)  # fmt: skip
def test_damaged_notes_are_refused(copied: Path, bring: Bring, name: str, text: str, said: str) -> None:
    """With the name of the file."""
    file = next(copied.rglob(name))
    file.write_text(text)
    with pytest.raises(InvalidInput, match=said):
        bring(copied)


def test_a_restored_store_begins_a_new_part_of_the_archive(
    story: tuple[ArchivedStore, list[datetime]], copied: Path, bring: Bring
) -> None:
    """Moments before the restore come from the old part, later ones from the new: nothing is overwritten."""
    store, moments = story
    place, _ = bring(copied, moments[0])
    again = ArchivedStore(load_settings(home=place), EmbeddedPostgres(place), copied, written=10)
    assert again.archive_all() == "the database was restored or failed over"
    later = again.write()
    again.archive_all()
    old, new = Archive.open(copied).generations()
    assert [recovery.plan(Archive.open(copied), moment).generation for moment in (moments[2], later)] == [old, new]
    place, _ = bring(copied, later)
    assert numbers_in(place) == [1, 11]
    assert store.written == 3
