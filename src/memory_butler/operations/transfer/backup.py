"""Backup and restore: the whole embedded store, every tenant of it, as one file."""

from datetime import UTC, datetime
from pathlib import Path

from memory_butler.errors import InvalidInput
from memory_butler.operations.transfer.export_file import Progress, atomic_file, no_progress, open_file
from memory_butler.settings import Settings
from memory_butler.store.embedded.backup import CopiedPostgres
from memory_butler.store.embedded.backup_log import note_backup


def backup(settings: Settings, path: Path, *, replace: bool = False, progress: Progress = no_progress) -> int:
    """Copy the store into a file while it is in use; returns the size of the file in bytes."""
    store = _store(settings)
    with atomic_file(path, replace=replace) as file:
        store.back_up(file, lambda done, total: progress("Backing up", done, total))
    note_backup(store.home, path, datetime.now(UTC))
    return path.stat().st_size


def restore(settings: Settings, path: Path, *, replace: bool = False, progress: Progress = no_progress) -> Path | None:
    """Make a backup the store of the home folder; returns where the store that was there is kept, if there was one."""
    store = _store(settings)
    with open_file(path) as file:
        return store.bring_back(file, lambda done, total: progress("Restoring", done, total), replace=replace)


def _store(settings: Settings) -> CopiedPostgres:
    if settings.database_url:
        raise InvalidInput(
            "The database is a PostgreSQL of your own, whose backups are yours to make.",
            recovery="Use pg_basebackup or pg_dump there; `memory-butler export` copies one tenant from any database.",
        )
    return CopiedPostgres(settings.home)
