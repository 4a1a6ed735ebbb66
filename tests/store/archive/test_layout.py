"""The folder of an archive: what is kept, and what no restore needs any more."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory_butler.errors import InvalidInput
from memory_butler.store.archive.layout import Archive, Generation, lsn_number, stamp

DAY = datetime(2026, 3, 1, tzinfo=UTC)
SEGMENT = 2**20
SERVER = {"cluster": "7", "timeline": 1, "major": 18, "segment_bytes": SEGMENT, "embedded": True}


def _generation(archive: Archive, day: int, bases: int) -> Generation:
    """A generation from a day on, with a base backup and four segments for each day."""
    made = archive.begin(DAY + timedelta(days=day), SERVER)
    for number in range(bases):
        at = DAY + timedelta(days=day + number)
        name = stamp(at)
        (made.folder / "base" / f"{name}.tar.gz").write_bytes(b"x")
        start = f"0/{number * 4 * SEGMENT:X}"
        made.note_base(name, started_at=at.isoformat(), finished_at=at.isoformat(), start=start)
    for number in range(bases * 4):
        (made.wal / f"00000001{0:08X}{number:08X}").write_bytes(bytes(SEGMENT))
    return made


def test_what_no_restore_needs_is_deleted(tmp_path: Path) -> None:
    """The base backup before the moment stays, with the log from it on."""
    archive = Archive.create(tmp_path)
    made = _generation(archive, 0, 4)
    assert archive.drop_before(DAY + timedelta(days=2.5)) == 2 * 2 + 8
    assert [base.finished_at.day for base in made.bases()] == [3, 4]
    assert [segment.number for segment in made.segments()] == list(range(8, 16))
    (made.wal / f"00000001{0:08X}{2:08X}.partial").write_bytes(bytes(SEGMENT))
    assert archive.drop_before(DAY + timedelta(days=2.5)) == 0
    assert made.segments()[0].is_partial
    assert archive.drop_before(DAY - timedelta(days=1)) == 0
    archive.drop_before(DAY + timedelta(days=400))
    assert len(made.bases()) == 1


def test_an_old_generation_is_deleted_when_a_later_one_can_restore_the_moment(tmp_path: Path) -> None:
    """Not before, whatever it lacks itself."""
    archive = Archive.create(tmp_path)
    old, new = _generation(archive, 0, 2), _generation(archive, 5, 2)
    archive.drop_before(DAY + timedelta(days=4))
    assert archive.generations() == [old, new]
    assert archive.drop_before(DAY + timedelta(days=5)) > 0
    assert archive.generations() == [new]
    assert not old.folder.exists()


def test_only_complete_files_count(tmp_path: Path) -> None:
    """A base backup counts with its note; a complete segment hides its partial one; a torn one holds nothing yet."""
    made = _generation(Archive.create(tmp_path), 0, 1)
    (made.folder / "base" / f"{stamp(DAY + timedelta(days=1))}.tar.gz").write_bytes(b"x")
    (made.wal / f"00000001{0:08X}{3:08X}.partial").write_bytes(bytes(SEGMENT))
    (made.wal / f"00000001{0:08X}{4:08X}.partial").write_bytes(bytes(SEGMENT))
    (made.wal / f"00000001{0:08X}{5:08X}.partial").write_bytes(bytes(10))
    (made.wal / "notes.txt").write_text("mine")
    assert len(made.bases()) == 1
    assert [(one.number, one.is_partial) for one in made.segments()] == [
        *((number, False) for number in range(4)),
        (4, True),
    ]
    made.drop_torn()
    assert not (made.wal / f"00000001{0:08X}{5:08X}.partial").exists()
    assert (made.wal / "notes.txt").exists()


def test_a_folder_with_other_files_does_not_become_an_archive(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").touch()
    with pytest.raises(InvalidInput, match="is not empty"):
        Archive.create(tmp_path)
    assert Archive.create(tmp_path / "new").slot == Archive.open(tmp_path / "new").slot


@pytest.mark.parametrize(("text", "number"), [("0/0", 0), ("1/0", 2**32), ("A/1F", 10 * 2**32 + 31)])
def test_positions_are_read(text: str, number: int) -> None:
    assert lsn_number(text) == number
    with pytest.raises(ValueError, match="no position"):
        lsn_number(text + "x")
