"""A store with a table to write numbers into, an archive of it, and homes to restore into."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import psycopg

from memory_butler.settings import Settings, load_settings
from memory_butler.store.archive.archiver import Archiver, Rules
from memory_butler.store.archive.layout import Archive
from memory_butler.store.archive.source import Source
from memory_butler.store.embedded.server import EmbeddedPostgres

QUICK = {"fsync": "off", "full_page_writes": "off"}
RULES = Rules(base_every=timedelta(days=1), keep=timedelta(days=7))


def quiet(stage: str, done: int, total: int) -> None:
    """Discard progress."""


@dataclass
class ArchivedStore:
    settings: Settings
    server: EmbeddedPostgres
    folder: Path
    written: int = 0

    def archive(self) -> Archive:
        return Archive.create(self.folder)

    def archiver(self, rules: Rules = RULES) -> Archiver:
        return Archiver(self.archive(), Source.of(self.settings), rules)

    def write(self, count: int = 1) -> datetime:
        """Write so many more numbers; returns a moment after the last of them by the server's clock."""
        with psycopg.connect(self.server.dsn("memory_owner", "memory"), autocommit=True) as connection:
            for _ in range(count):
                self.written += 1
                connection.execute("INSERT INTO note VALUES (%s)", (self.written,))
            row = connection.execute("SELECT clock_timestamp()").fetchone()
        assert row
        return row[0]

    def end_segment(self) -> None:
        with psycopg.connect(self.server.dsn("postgres", "memory"), autocommit=True) as connection:
            connection.execute("SELECT pg_switch_wal()")

    def archive_all(self) -> str | None:
        """Bring the archive up to date; returns why a new generation began."""
        archiver = self.archiver()
        try:
            began = archiver.step(quiet).began
            archiver.catch_up(30)
            return began
        finally:
            archiver.close()


@contextmanager
def archived_store(new_home: Callable[[], Path]) -> Iterator[ArchivedStore]:
    """A running store of its own and an archive folder beside it; both are gone afterwards."""
    home = new_home()
    server = EmbeddedPostgres(home, options=QUICK)
    server.ensure_running()
    with psycopg.connect(server.dsn("memory_owner", "memory")) as connection:
        connection.execute("CREATE TABLE note (number int)")
    folder = Path(tempfile.mkdtemp(prefix="mb-archive-"))
    try:
        yield ArchivedStore(load_settings(home=home), server, folder)
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


def numbers_in(home: Path) -> list[int]:
    with psycopg.connect(EmbeddedPostgres(home).dsn("memory_owner", "memory")) as connection:
        return [row[0] for row in connection.execute("SELECT number FROM note ORDER BY number")]
