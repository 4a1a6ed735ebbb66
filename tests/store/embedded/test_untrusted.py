"""A crafted backup runs nothing: no command, no library, no trigger, and nothing outside its folder."""

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import psycopg
import pytest

from memory_butler.errors import InvalidInput
from memory_butler.operations.transfer.backup import backup, restore
from memory_butler.settings import Settings, load_settings
from memory_butler.store.embedded.backup import MANIFEST, CopiedPostgres
from memory_butler.store.embedded.untrusted import CONFIGURATION, belongs_in_backup

QUICK = {"fsync": "off", "full_page_writes": "off"}
Change = Callable[[dict[str, bytes]], None]


@pytest.fixture(scope="module")
def base(home: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="mb-crafted-"))
    folder.chmod(0o755)
    yield folder
    for one in folder.iterdir():
        if (one / "database").is_dir():
            CopiedPostgres(one).stop()
    shutil.rmtree(folder)


def settings_of(base: Path, home: Path, name: str) -> Settings:
    (base / name).mkdir(mode=0o700, exist_ok=True)
    if (home / "postgres").is_dir() and not (base / name / "postgres").exists():
        subprocess.run(["cp", "-a", "--link", str(home / "postgres"), str(base / name)], check=True)
    return load_settings(home=base / name)


@pytest.fixture(scope="module")
def honest(base: Path, home: Path) -> dict[str, bytes]:
    """The files of a backup whose database has a login trigger and settings of its own."""
    settings = settings_of(base, home, "source")
    store = CopiedPostgres(settings.home, options=QUICK)
    store.ensure_running()
    run = base / "ran-by-trigger"
    with psycopg.connect(store.dsn("memory_owner", "memory")) as connection:
        connection.execute("CREATE TABLE note (words text)")
        connection.execute("INSERT INTO note VALUES ('kept')")
    with psycopg.connect(store.dsn("postgres", "memory"), autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION public.greet() RETURNS event_trigger LANGUAGE plpgsql AS $$"
            f"BEGIN IF current_setting('is_superuser')::bool THEN COPY (SELECT 1) TO '{run}'; END IF; END $$"
        )
        connection.execute("CREATE EVENT TRIGGER greet ON login EXECUTE FUNCTION public.greet()")
        connection.execute("ALTER ROLE postgres SET work_mem = '7MB'")
    file = base / "honest.tar.gz"
    backup(settings, file)
    run.unlink(missing_ok=True)
    with tarfile.open(file) as archive:
        return {
            member.name + ("/" if member.isdir() else ""): content.read() if content else b""
            for member in archive
            for content in [archive.extractfile(member)]
        }


def crafted(files: dict[str, bytes], change: Change, special: tarfile.TarInfo | None = None) -> bytes:
    """A backup with changed files, and a manifest that fits them."""
    files = dict(files)
    change(files)
    listed = json.loads(files[MANIFEST])
    known = [entry["Path"] for entry in listed["Files"]]
    listed["Files"] = [
        {"Path": name, "Size": len(content), "Checksum": hashlib.sha256(content).hexdigest()}
        for name, content in files.items()
        if not name.endswith("/") and (name in known or not name.startswith(("pg_wal/", MANIFEST)))
    ]
    del listed["Manifest-Checksum"]
    head = json.dumps(listed)[:-1].encode() + b",\n"
    files[MANIFEST] = head + b'"Manifest-Checksum": "' + hashlib.sha256(head).hexdigest().encode() + b'"}'
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name.removesuffix("/"))
            member.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            member.size, member.mode = len(content), 0o4777
            archive.addfile(member, io.BytesIO(content))
        if special:
            archive.addfile(special)
    return gzip.compress(out.getvalue(), 1)


def test_a_backup_runs_no_command_and_no_trigger(honest: dict[str, bytes], base: Path, home: Path) -> None:
    ran = base / "ran"
    command = f"touch {ran}"
    settings = settings_of(base, home, "victim")

    def change(files: dict[str, bytes]) -> None:
        more = (
            f"\narchive_mode = on\narchive_command = '{command}'\nrestore_command = '{command}'\n"
            f"archive_cleanup_command = '{command}'\nrecovery_end_command = '{command}'\n"
            f"ssl_passphrase_command = '{command}'\nlisten_addresses = '*'\n"
        ).encode()
        files["postgresql.conf"] += more
        files["postgresql.auto.conf"] += more
        files["pg_hba.conf"] = b"local all all trust\nhost all all 0.0.0.0/0 trust\n"

    file = base / "crafted.tar.gz"
    file.write_bytes(crafted(honest, change))
    restore(settings, file)
    store = CopiedPostgres(settings.home, options=QUICK)
    with psycopg.connect(store.dsn("postgres", "memory"), autocommit=True) as connection:
        assert connection.execute("SELECT words FROM note").fetchall() == [("kept",)]
        connection.execute("SELECT pg_switch_wal()")
        connection.execute("CHECKPOINT")
        assert connection.execute("SHOW archive_mode").fetchone() == ("off",)
        assert connection.execute("SHOW archive_command").fetchone() == ("(disabled)",)
        assert connection.execute("SELECT * FROM pg_event_trigger").fetchall() == []
        assert connection.execute("SELECT * FROM pg_db_role_setting").fetchall() == []
    store.stop()
    for name in CONFIGURATION:
        assert command not in (settings.home / "database" / name).read_text()
    assert "0.0.0.0/0" not in (settings.home / "database" / "pg_hba.conf").read_text()
    assert not ran.exists() and not (base / "ran-by-trigger").exists()
    modes = {path.stat().st_mode & 0o7077 for path in (settings.home / "database").rglob("*") if path.is_file()}
    assert modes == {0}


def linked(name: str, kind: bytes, target: str = "/etc/passwd") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


@pytest.mark.parametrize(
    "name",
    [
        *("recovery.signal", "standby.signal", "tablespace_map", "recovery.conf", "evil.so", "lib/evil.so"),
        *("/tmp/absolute", "base/../../x", "pg_tblspc/16400/x", "pg_replslot/a/state", "base/5/a b", "base/5/\x1b[0m"),
    ],
)
def test_a_file_that_no_backup_has_is_refused(honest: dict[str, bytes], base: Path, home: Path, name: str) -> None:
    file = base / "more.tar.gz"
    file.write_bytes(crafted({MANIFEST: honest[MANIFEST]}, lambda files: files.update({name: b"x"})))
    with pytest.raises(InvalidInput, match="does not belong there"):
        restore(settings_of(base, home, "refused"), file)
    assert not (base / "refused" / "database").exists()


@pytest.mark.parametrize(
    "special",
    [
        linked("base/5/1", tarfile.SYMTYPE),
        linked("base/5/1", tarfile.LNKTYPE),
        linked("base", tarfile.SYMTYPE, "/tmp"),
        linked("base/5/1", tarfile.FIFOTYPE),
        linked("base/5/1", tarfile.CHRTYPE),
        linked("base/5/1", tarfile.BLKTYPE),
    ],
    ids=lambda member: f"{member.name}-{member.type.decode()}",
)
def test_links_and_devices_are_refused(
    honest: dict[str, bytes], base: Path, home: Path, special: tarfile.TarInfo
) -> None:
    file = base / "special.tar.gz"
    file.write_bytes(crafted({MANIFEST: honest[MANIFEST]}, lambda files: None, special))
    with pytest.raises(InvalidInput, match="does not belong there"):
        restore(settings_of(base, home, "refused"), file)
    assert not (base / "refused" / "database").exists()


def test_all_files_of_a_backup_belong_there(honest: dict[str, bytes]) -> None:
    strange = [
        name
        for name, content in honest.items()
        if not belongs_in_backup(PurePosixPath(name), len(content), is_folder=name.endswith("/"))
    ]
    assert strange == []
