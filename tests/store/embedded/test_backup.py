"""Backups of the embedded store, with real servers: taken while it is written to, and brought back whole or not."""

import gzip
import io
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from memory_butler.errors import Conflict, InvalidInput, TargetUnavailable
from memory_butler.operations.transfer.backup import backup, restore
from memory_butler.settings import Settings, load_settings
from memory_butler.store.embedded import backup as backup_store
from memory_butler.store.embedded.backup import CopiedPostgres

QUICK = {"fsync": "off", "full_page_writes": "off"}
WRITER = """
import sys, psycopg
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    number = 0
    while True:
        number += 1
        connection.execute("INSERT INTO note VALUES (%s, repeat(md5(%s::text), 20))", (number, number))
        print(number, flush=True)
"""


@pytest.fixture(scope="module")
def base(home: Path) -> Iterator[Path]:
    """A folder for homes, with the programs at hand where they have to be copied."""
    folder = Path(tempfile.mkdtemp(prefix="mb-backup-"))
    yield folder
    for one in folder.iterdir():
        if (one / "database").is_dir():
            CopiedPostgres(one).stop()
    shutil.rmtree(folder)


def _settings(base: Path, home: Path, name: str) -> Settings:
    (base / name).mkdir(mode=0o700, exist_ok=True)
    if (home / "postgres").is_dir() and not (base / name / "postgres").exists():
        subprocess.run(["cp", "-a", "--link", str(home / "postgres"), str(base / name)], check=True)
    return load_settings(home=base / name)


@pytest.fixture(scope="module")
def source(base: Path, home: Path) -> Settings:
    settings = _settings(base, home, "source")
    store = CopiedPostgres(settings.home, options=QUICK)
    store.ensure_running()
    with psycopg.connect(store.dsn("memory_owner", "memory")) as connection:
        connection.execute("CREATE TABLE note (number int PRIMARY KEY, words text)")
    return settings


@pytest.fixture(scope="module")
def taken(source: Settings, base: Path) -> tuple[Path, int, int]:
    """A backup of a store that another process writes to; what that had been told to be stored before and after."""
    dsn = CopiedPostgres(source.home).dsn("memory_owner", "memory")
    file = base / "backup.tar.gz"
    with subprocess.Popen([sys.executable, "-c", WRITER, dsn], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        try:
            before = [int(writer.stdout.readline()) for _ in range(200)][-1]
            told: list[int] = []
            backup(source, file, progress=lambda stage, done, total: told.append(done))
            assert told == sorted(told) != []
            after = int(writer.stdout.readline())
        finally:
            writer.kill()
    return file, before, after


def _numbers(settings: Settings) -> list[int]:
    with psycopg.connect(CopiedPostgres(settings.home).dsn("memory_owner", "memory")) as connection:
        return [row[0] for row in connection.execute("SELECT number FROM note ORDER BY number")]


def _names(settings: Settings) -> set[str]:
    return {path.name for path in settings.home.iterdir() if path.name.startswith("database")}


def test_a_backup_holds_what_was_stored_while_it_was_taken(
    source: Settings, taken: tuple[Path, int, int], base: Path, home: Path
) -> None:
    """All that was acknowledged before is in it, nothing is missing in between, and its reader is its owner alone."""
    file, before, _ = taken
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    settings = _settings(base, home, "copy")
    assert restore(settings, file).kept is None
    numbers = _numbers(settings)
    assert numbers == list(range(1, len(numbers) + 1))
    assert before <= len(numbers) <= len(_numbers(source))
    with psycopg.connect(CopiedPostgres(settings.home).dsn("memory_owner", "memory")) as connection:
        wrong = connection.execute("SELECT count(*) FROM note WHERE words <> repeat(md5(number::text), 20)")
        assert wrong.fetchone() == (0,)


def test_a_store_is_put_aside_only_if_told_so(
    taken: tuple[Path, int, int], base: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a word it stays and goes on; with one it is kept beside; and it is back if the backup does not start."""
    file = taken[0]
    settings = _settings(base, home, "copy")
    if not (settings.home / "database").exists():
        restore(settings, file)
    with psycopg.connect(CopiedPostgres(settings.home).dsn("memory_owner", "memory")) as connection:
        connection.execute("INSERT INTO note VALUES (0, 'mine')")
    with pytest.raises(Conflict, match="already"):
        restore(settings, file)
    assert _numbers(settings)[0] == 0

    def fails(cluster: object) -> None:
        raise TargetUnavailable("it does not start")

    with monkeypatch.context() as patch:
        patch.setattr(backup_store, "provision", fails)
        with pytest.raises(TargetUnavailable):
            restore(settings, file, replace=True)
    CopiedPostgres(settings.home).ensure_running()
    assert _numbers(settings)[0] == 0
    kept = restore(settings, file, replace=True).kept
    assert kept == settings.home.resolve() / "database.before-restore"
    assert (kept / "PG_VERSION").is_file()
    assert _numbers(settings)[0] == 1
    assert _names(settings) == {"database", "database.before-restore", "database.conf", "database.lock"}


def test_a_restored_store_can_be_backed_up_and_restored_again(base: Path, home: Path) -> None:
    """Also if it was restored by a version that left PostgreSQL's old labels in it."""
    settings = _settings(base, home, "copy")
    CopiedPostgres(settings.home).ensure_running()
    assert not list((settings.home / "database").glob("*.old"))
    for name in ("backup_label.old", "tablespace_map.old"):
        (settings.home / "database" / name).touch()
        shutil.chown(settings.home / "database" / name, (settings.home / "database").owner())
    file = base / "again.tar.gz"
    backup(settings, file)
    restore(settings, file, replace=True)
    assert _numbers(settings)[0] in (0, 1)


def _packed(files: dict[str, bytes], *, link: str | None = None) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        if link:
            member = tarfile.TarInfo(link)
            member.type, member.linkname = tarfile.SYMTYPE, "/etc"
            archive.addfile(member)
    return out.getvalue()


def test_a_damaged_backup_changes_nothing(taken: tuple[Path, int, int], base: Path, home: Path) -> None:
    """Cut off, changed inside, of another kind or reaching out of its folder: refused before anything is replaced."""
    whole = taken[0].read_bytes()
    plain = bytearray(gzip.decompress(whole))
    at = plain.index(b"md5") if b"md5" in plain else len(plain) // 2
    plain[at] ^= 1
    settings = _settings(base, home, "damaged")
    file = base / "damaged.tar.gz"
    for content, said in (
        (whole[: len(whole) // 2], "cannot be used"),
        (gzip.compress(bytes(plain), 1), "missing or was changed"),
        (b"no backup at all", "cannot be used"),
        (_packed({"PG_VERSION": b"18\n"}), "is not a backup"),
        (_packed({"PG_VERSION": b"9\n", "backup_manifest": b"{}"}), "of PostgreSQL 9"),
        (_packed({"PG_VERSION": b"18\n", "backup_manifest": b"{}"}), "manifest cannot be read"),
        (_packed({"../outside": b"x"}), "does not belong there"),
        (_packed({}, link="base"), "does not belong there"),
    ):
        file.write_bytes(content)
        with pytest.raises(InvalidInput, match=said):
            restore(settings, file)
        assert _names(settings) == {"database.conf", "database.lock"}
    assert not (base / "outside").exists()


def test_wherever_a_backup_is_cut_off_that_is_what_is_said(base: Path, home: Path) -> None:
    """Also between two files, inside of a head or just before the end: it is damaged, and not something else."""
    whole = _packed({"PG_VERSION": b"18\n", "base/1": bytes(range(256)), "backup_manifest": b"{}"})
    settings, file = _settings(base, home, "cut"), base / "cut.tar.gz"
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(InvalidInput, match="cannot be used"):
            restore(settings, file)
    assert _names(settings) == {"database.conf", "database.lock"}


def test_only_the_embedded_store_is_backed_up(tmp_path: Path) -> None:
    """A database of somebody's own has backups of their own, and a file that is not there is an error that says so."""
    own = load_settings(home=tmp_path, database_url="postgresql://somebody@example.org/db")
    with pytest.raises(InvalidInput, match="your own PostgreSQL server"):
        backup(own, tmp_path / "x")
    with pytest.raises(InvalidInput, match="cannot be read"):
        restore(load_settings(home=tmp_path), tmp_path / "missing")


def test_files_that_come_and_go_are_no_trouble(tmp_path: Path) -> None:
    """A server makes files and removes them while their size is added up."""
    (tmp_path / "kept").write_bytes(b"x" * 1000)
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            for number in range(50):
                (tmp_path / f"temporary-{number}").touch()
            for number in range(50):
                (tmp_path / f"temporary-{number}").unlink()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        assert {backup_store.size_about(tmp_path) for _ in range(300)} == {1000}
    finally:
        over.set()
        worker.join()


def test_a_full_disk_is_no_fault_of_the_store(source: Settings) -> None:
    """Where the copy finds no room, the error is about the file; the store goes on."""
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(InvalidInput, match="No space left"):  # noqa: PTH123
        CopiedPostgres(source.home).back_up(full, lambda done, total: None)
    with psycopg.connect(CopiedPostgres(source.home).dsn("memory_owner", "memory")) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
