"""The continuous backup: the loop that archives a store until it is told to stop."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from memory_butler.errors import InvalidInput, TargetUnavailable
from memory_butler.operations.transfer.export_file import Progress, no_progress
from memory_butler.settings import Settings
from memory_butler.store.archive.archiver import Archiver, Rules, Step, locked
from memory_butler.store.archive.layout import Archive
from memory_butler.store.archive.source import Source
from memory_butler.store.embedded.backup_log import note_archive

STEP_SECONDS: Final = 10.0
RETRY_SECONDS: Final = 2.0
CATCH_UP_SECONDS: Final = 600.0

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """State of an archive after one run: its folder and base backups, and what the run did."""

    folder: Path
    bases: int
    step: Step


def folder_of(settings: Settings, folder: Path | None) -> Path:
    """The named folder, else the one of the settings."""
    chosen = folder or settings.backup.folder
    if chosen is None:
        raise InvalidInput(
            "The folder of the archive is missing.",
            recovery="Name it: memory-butler backup --continuous FOLDER, or set backup.folder.",
        )
    chosen = chosen.expanduser().absolute()
    if chosen.is_relative_to(settings.home):
        raise InvalidInput(
            f"{chosen} is in the home folder of the store.",
            recovery="Choose a folder on another disk: an archive has to survive the loss of the store's disk.",
        )
    return chosen


def archive_once(settings: Settings, folder: Path | None, progress: Progress = no_progress) -> Archived:
    """Bring the archive up to date: all that is written now is in it afterwards."""
    archive, archiver = _open(settings, folder)
    with locked(archive):
        try:
            step = archiver.step(progress)
            archiver.catch_up(CATCH_UP_SECONDS)
        finally:
            archiver.close()
    bases = sum(len(generation.bases()) for generation in archive.generations())
    return Archived(folder=archive.folder, bases=bases, step=step)


def archive_continuously(
    settings: Settings, folder: Path | None, tell: Tell, stop: threading.Event, progress: Progress = no_progress
) -> None:
    """Archive until `stop` is set. Problems are told once; then it is tried again until it works."""
    archive, archiver = _open(settings, folder)
    with locked(archive):
        trouble: str | None = None
        try:
            while not stop.is_set():
                try:
                    step = archiver.step(progress)
                except TargetUnavailable as problem:
                    if problem.message != trouble:
                        tell(f"{problem.message} {problem.recovery}")
                    trouble = problem.message
                    archiver.close()
                    stop.wait(RETRY_SECONDS)
                    continue
                if trouble:
                    tell("The archive continues.")
                trouble = None
                _tell_step(step, tell)
                _pause(archiver, stop)
        finally:
            archiver.close()


def end_archive(settings: Settings, folder: Path | None) -> Path:
    """End the backup into an archive: the database keeps no log for it any more. The archive itself stays."""
    archive = Archive.open(folder_of(settings, folder))
    with locked(archive):
        Archiver(archive, Source.of(settings), _rules(settings)).end()
    return archive.folder


def _open(settings: Settings, folder: Path | None) -> tuple[Archive, Archiver]:
    archive = Archive.create(folder_of(settings, folder))
    source = Source.of(settings)
    if source.embedded:
        source.embedded.ensure_running()
    note_archive(settings.home, archive.folder, keep=settings.backup.keep, base_every=settings.backup.base_every)
    return archive, Archiver(archive, source, _rules(settings))


def _rules(settings: Settings) -> Rules:
    return Rules(base_every=settings.backup.base_every, keep=settings.backup.keep)


def _tell_step(step: Step, tell: Tell) -> None:
    if step.began:
        tell(f"A new part of the archive begins: {step.began}.")
    if step.base:
        tell(f"Base backup {step.base.file.name}: {step.base.bytes / 1e6:,.1f} MB.")
    if step.deleted:
        tell(f"Deleted {step.deleted:,} files that no restore needs any more.")


def _pause(archiver: Archiver, stop: threading.Event) -> None:
    """Wait for the next step; a receiver that ended, or `stop`, ends the pause."""
    for _ in range(round(STEP_SECONDS)):
        if stop.is_set() or archiver.wait(1.0):
            return
