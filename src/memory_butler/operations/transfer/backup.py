"""Backup and restore: the whole embedded store, every tenant of it, as one file or from a continuous backup."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from memory_butler.errors import InvalidInput
from memory_butler.operations.transfer.export_file import Progress, atomic_file, no_progress, open_file
from memory_butler.settings import Settings
from memory_butler.store.archive import recovery
from memory_butler.store.archive.layout import Archive
from memory_butler.store.archive.recovery import Recovered
from memory_butler.store.embedded.account import Programs
from memory_butler.store.embedded.backup import CopiedPostgres
from memory_butler.store.embedded.backup_log import note_backup
from memory_butler.store.embedded.server import Cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """Where the replaced store is kept, if there was one; of a continuous backup also where its replay ended."""

    kept: Path | None
    base: Path | None = None
    recovered: Recovered | None = None


def backup(settings: Settings, path: Path, *, replace: bool = False, progress: Progress = no_progress) -> int:
    """Copy the store into a file while it is in use; returns the size of the file in bytes."""
    store = _store(settings)
    with atomic_file(path, replace=replace) as file:
        store.back_up(file, lambda done, total: progress("Backing up", done, total))
    note_backup(store.home, path, datetime.now(UTC))
    return path.stat().st_size


def restore(
    settings: Settings,
    path: Path,
    *,
    moment: datetime | None = None,
    replace: bool = False,
    progress: Progress = no_progress,
) -> Restored:
    """Make a backup the store of the home folder: a file, or the archive of a continuous backup as of a moment."""
    store = _store(settings)
    if path.is_dir():
        return _restore_archive(store, Archive.open(path), moment, replace=replace, progress=progress)
    if moment:
        raise InvalidInput(
            f"{path} is a single backup and holds one moment only.",
            recovery="Leave --to out, or name the folder of a continuous backup.",
        )
    with open_file(path) as file:
        kept = store.bring_back(file, lambda done, total: progress("Restoring", done, total), replace=replace)
    return Restored(kept=kept)


def _restore_archive(
    store: CopiedPostgres, archive: Archive, moment: datetime | None, *, replace: bool, progress: Progress
) -> Restored:
    plan = recovery.plan(archive, moment)
    reached: list[Recovered] = []

    def replay(new: Cluster, programs: Programs) -> None:
        reached.append(recovery.replay(plan, new, programs, partial(progress, "Replaying the log")))

    with open_file(plan.base.file) as file:
        watch = partial(progress, "Restoring the base backup")
        kept = store.bring_back(file, watch, replace=replace, replay=replay)
    return Restored(kept=kept, base=plan.base.file, recovered=reached[0])


def _store(settings: Settings) -> CopiedPostgres:
    if settings.database_url:
        raise InvalidInput(
            "The database is your own PostgreSQL server; backups in one file, restores and drills with an archive are"
            " for the embedded one.",
            recovery="Use `memory-butler backup --continuous`, pg_basebackup or pg_dump there, and restore as"
            " docs/guides/backup.md says; `memory-butler export` copies one tenant from any database.",
        )
    return CopiedPostgres(settings.home)
