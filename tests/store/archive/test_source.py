"""Servers whose log is archived: an external one, and those that cannot be."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr
from tests.support.archives import ArchivedStore, archived_store
from tests.support.replication import StreamingReplica

from memory_butler.errors import InvalidInput, TargetUnavailable
from memory_butler.operations.transfer.backup import backup, restore
from memory_butler.operations.transfer.continuous_backup import archive_once
from memory_butler.settings import BackupSettings, Settings, load_settings
from memory_butler.store.archive.source import Source
from memory_butler.store.embedded.home_folder import Home
from memory_butler.store.embedded.server import Cluster, EmbeddedPostgres


@pytest.fixture(scope="module")
def store(new_home: Callable[[], Path]) -> Iterator[ArchivedStore]:
    with archived_store(new_home) as made:
        yield made


@pytest.fixture
def external(store: ArchivedStore, tmp_path: Path) -> Settings:
    """Settings of a program whose database is that server, reached by its address."""
    urls = {"database_url": store.server.dsn("memory_app", "memory")}
    with psycopg.connect(store.server.dsn("postgres", "postgres"), autocommit=True) as connection:
        if not connection.execute("SELECT FROM pg_roles WHERE rolname = 'backup'").fetchall():
            connection.execute("CREATE ROLE backup LOGIN REPLICATION")
    backup_url = SecretStr(store.server.dsn("backup", "memory"))
    return load_settings(home=tmp_path / "client", backup=BackupSettings(url=backup_url), **urls)


def test_an_external_database_is_archived_and_restored_by_the_documented_commands(
    store: ArchivedStore, external: Settings, tmp_path: Path
) -> None:
    """The same command archives it; its own server replays the log to a moment, as docs/guides/backup.md says."""
    external.home.mkdir()
    archive_once(external, store.folder)
    moment = store.write(2)
    store.write()
    archive_once(external, store.folder)
    (generation,) = store.archive().generations()
    assert not generation.embedded
    with pytest.raises(InvalidInput, match="external database") as refused:
        restore(load_settings(home=tmp_path / "new"), store.folder)
    assert "docs/guides/backup.md" in refused.value.recovery
    place = Path(tempfile.mkdtemp(prefix="mb-external-"))
    place.chmod(0o755)
    cluster = Cluster(Home(place), "database")
    cluster.folder.mkdir(mode=0o700)
    subprocess.run(["tar", "-xzf", str(generation.bases()[0].file), "-C", str(cluster.folder)], check=True)
    # The account of a server that root starts reads the log elsewhere.
    wal = shutil.copytree(generation.wal, place / "wal", copy_function=shutil.copyfile)
    for path in (wal, *wal.iterdir()):
        path.chmod(0o755)
    with (cluster.folder / "postgresql.auto.conf").open("a") as conf:
        conf.write(f'restore_command = \'cp {wal}/%f "%p" || cp {wal}/%f.partial "%p"\'\n')
        conf.write(f"recovery_target_time = '{moment}'\nrecovery_target_action = 'promote'\n")
    (cluster.folder / "recovery.signal").touch()
    shutil.copyfile(store.server.home / "database.conf", place / "database.conf")
    (place / "database.conf").chmod(0o644)
    programs = store.server._programs()
    cluster.own(programs)
    cluster.start(programs)
    try:
        with psycopg.connect(EmbeddedPostgres(place).dsn("memory_owner", "memory")) as connection:
            assert connection.execute("SELECT count(*) FROM note").fetchone() == (2,)
    finally:
        cluster.stop(programs, "immediate")
        shutil.rmtree(place)


def test_one_file_of_an_external_database_is_refused(external: Settings, tmp_path: Path) -> None:
    """It names what works instead."""
    with pytest.raises(InvalidInput, match="your own PostgreSQL server") as refused:
        backup(external, tmp_path / "x")
    assert "backup --continuous" in refused.value.recovery


def test_servers_that_cannot_be_archived_are_named(
    external: Settings, store: ArchivedStore, replica: StreamingReplica, tmp_path: Path
) -> None:
    """A replica, an account that may not replicate, and a server that does not run: each says what to do."""
    external.home.mkdir()
    for number, (url, kind, said, advice) in enumerate(
        (
            (replica.dsn("postgres"), InvalidInput, "is a replica", "Set backup.url to the primary"),
            (store.server.dsn("memory_app", "memory"), TargetUnavailable, "permission denied", "REPLICATION"),
            ("postgresql://x@127.0.0.1:9/y", TargetUnavailable, "cannot be backed up now", "Check that it runs"),
        )
    ):
        settings = external.model_copy(update={"backup": BackupSettings(url=SecretStr(url))})
        with pytest.raises(kind) as caught:
            archive_once(settings, tmp_path / f"archive-{number}")
        assert said in caught.value.message
        assert advice in caught.value.recovery


def test_a_password_is_on_no_command_line(store: ArchivedStore) -> None:
    """It travels in the environment of the program."""
    source = Source(lambda: "postgresql://somebody:s3cret@db.example.org/memory", store.server._programs())
    address, env = source._address()
    assert "s3cret" not in address
    assert env == {"PGPASSWORD": "s3cret"}
    assert "db.example.org" in address
