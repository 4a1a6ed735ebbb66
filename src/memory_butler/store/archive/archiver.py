"""The continuous backup of a server: receives its log, makes base backups, deletes what is older than needed.

`step` does what is due and returns; the loop around it is `operations/transfer/continuous_backup.py`. It can be killed
at any point: the log continues where it ended, and a base backup counts only once it is complete.
"""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from gzip import GzipFile
from pathlib import Path
from typing import Final

from memory_butler.errors import Conflict, MemoryButlerError, TargetUnavailable
from memory_butler.store.archive.layout import Archive, BaseBackup, Generation, private, stamp
from memory_butler.store.archive.receiver import Receiver
from memory_butler.store.archive.source import Slot, Source
from memory_butler.store.embedded.operating_system import sync_folder, try_lock

CHUNK_BYTES: Final = 1 << 20
PART: Final = ".part"
_END_SECONDS: Final = 10.0
_SLOT_POLL_SECONDS: Final = 0.1

Progress = Callable[[str, int, int], None]


class ArchiveFull(TargetUnavailable):
    """The disk of the archive is full. Nothing is lost: the database keeps the log that the archive does not have."""

    default_recovery = "Free space on that disk; the archive continues by itself."


@dataclass(frozen=True, slots=True)
class Rules:
    """How often base backups are made, and how far back any moment can be restored."""

    base_every: timedelta
    keep: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step did and found. `behind_bytes` is the part of the log that the archive does not have yet."""

    behind_bytes: int
    began: str | None = None
    base: BaseBackup | None = None
    deleted: int = 0


class Archiver:
    """Archives one server into one folder. Close it to stop receiving."""

    def __init__(self, archive: Archive, source: Source, rules: Rules) -> None:
        self.archive = archive
        self._source = source
        self._rules = rules
        self._receiver: Receiver | None = None
        self._generation: Generation | None = None

    def step(self, progress: Progress) -> Step:
        """Receive the log, make a base backup if one is due, delete what is not needed any more."""
        now = self._source.state()["now"]
        began = self._keep_receiving(now)
        assert self._generation
        bases = self._generation.bases()
        base = None
        if not bases or now - bases[-1].started_at >= self._rules.base_every:
            base = self._copy(self._generation, progress)
        deleted = self.archive.drop_before(now - self._rules.keep) if base or began else 0
        self._check()
        return Step(behind_bytes=self.behind(), began=began, base=base, deleted=deleted)

    def behind(self) -> int:
        """The bytes of the log that the archive does not have on disk yet."""
        state, slot = self._source.state(), self._source.slot(self.archive.slot)
        return int(state["written"] - slot.received) if slot else 0

    def wait(self, seconds: float) -> bool:
        """Wait; returns early, with True, if the log is not received any more."""
        return self._receiver is not None and self._receiver.wait(seconds)

    def catch_up(self, seconds: float) -> None:
        """Wait until everything that is written now is in the archive."""
        written, ends = self._source.state()["written"], datetime.now(UTC) + timedelta(seconds=seconds)
        while (slot := self._source.slot(self.archive.slot)) is None or slot.received < written:
            self._check()
            if datetime.now(UTC) > ends:
                raise TargetUnavailable(f"The archive did not catch up with the log within {seconds:.0f} seconds.")
            self.wait(_SLOT_POLL_SECONDS)

    def close(self) -> None:
        if self._receiver:
            self._receiver.stop()
            self._receiver = None

    def kill(self) -> None:
        """End at once, as a machine that is lost."""
        if self._receiver:
            self._receiver.kill()

    def end(self) -> None:
        """Stop for good: the server no longer keeps its log for this archive. What the archive has stays."""
        self.close()
        self._free_slot()
        self._source.drop_slot(self.archive.slot)

    def _keep_receiving(self, now: datetime) -> str | None:
        """Receive the log into the newest generation, or into a new one; returns why it is new."""
        if self._receiver and self._receiver.runs:
            return None
        gap = bool(self._receiver and self._receiver.found_gap)
        self._check()
        self.close()
        why = "the server no longer has the log that the archive lacks" if gap else self._why_anew()
        self._free_slot()
        if why:
            self._source.drop_slot(self.archive.slot)
            self._source.make_slot(self.archive.slot)
            said = asdict(self._source.server()) | {"embedded": self._source.embedded is not None}
            with _room_wanted(self.archive.folder):
                self._generation = self.archive.begin(now, said)
        assert self._generation
        self._generation.drop_torn()
        self._receiver = Receiver(self._source, self.archive.slot, self._generation.wal)
        return why

    def _why_anew(self) -> str | None:
        """Why the log cannot continue in the newest generation; None: it can."""
        generations = self.archive.generations()
        if not generations:
            return "it is the first"
        self._generation = newest = generations[-1]
        server, slot = self._source.server(), self._source.slot(self.archive.slot)
        if (newest.cluster, newest.major) != (server.cluster, server.major):
            return "it is another database server"
        if newest.timeline != server.timeline:
            return "the database was restored or failed over"
        return _gap(newest, slot)

    def _free_slot(self) -> None:
        """End a receiver that outlived a killed process."""
        slot, ends = self._source.slot(self.archive.slot), datetime.now(UTC) + timedelta(seconds=_END_SECONDS)
        while slot and slot.active:
            if datetime.now(UTC) > ends:
                raise Conflict(f"Another program receives the log through the slot {self.archive.slot}.")
            self._source.end_receiver(self.archive.slot)
            slot = self._source.slot(self.archive.slot)

    def _check(self) -> None:
        """Raise the reason why the log is not received any more."""
        receiver = self._receiver
        if receiver is None or receiver.runs or receiver.found_gap:
            return
        said, is_full = receiver.said, receiver.found_disk_full
        self.close()
        if is_full:
            raise ArchiveFull(f"The disk of the archive {self.archive.folder} is full: {said}")
        raise TargetUnavailable(
            f"The log of the database is not received: {said or 'no reason was given'}",
            recovery="Check that the database runs; the archive continues by itself.",
        )

    def _copy(self, generation: Generation, progress: Progress) -> BaseBackup:
        """Make a base backup. Its log is in the archive: pg_basebackup need not wait for it or copy it."""
        for left in (generation.folder / "base").glob(f"*{PART}"):
            left.unlink()
        state = self._source.state()
        name = stamp(state["now"])
        file = generation.folder / "base" / f"{name}.tar.gz"
        partial = file.with_name(f"{file.name}{PART}")
        command = ["pg_basebackup", "-D", "-", "-F", "tar", "-X", "none", "-c", "fast", "--manifest-checksums=SHA256"]
        done = 0
        with _room_wanted(self.archive.folder), _removed_on_error(partial):
            with (
                open(partial, "xb", opener=private) as out,
                GzipFile(fileobj=out, mode="wb", compresslevel=1, mtime=0) as packed,
            ):

                def take(chunk: bytes) -> None:
                    nonlocal done
                    packed.write(chunk)
                    done += len(chunk)
                    progress("Base backup", done, 0)

                self._source.receive(command, take, CHUNK_BYTES)
            _sync(partial)
            partial.rename(file)
            sync_folder(file.parent)
            ended = self._source.state()["now"]
            start = f"{state['written'] >> 32:X}/{state['written'] & 0xFFFFFFFF:X}"
            generation.note_base(name, started_at=state["now"].isoformat(), finished_at=ended.isoformat(), start=start)
        return generation.bases()[-1]


def _gap(generation: Generation, slot: Slot | None) -> str | None:
    """Why the log of a generation has, or would get, a gap."""
    if slot is None:
        return "the database does not know the archive"
    if slot.lost:
        return "the archive was away for too long, and the server dropped the log that it lacks"
    numbers = [segment.number for segment in generation.segments()]
    bases = generation.bases()
    first = bases[0].start // generation.segment_bytes if bases else None
    have = [number for number in numbers if first is None or number >= first]
    expected = have[0] if have and first is None else first
    if expected is not None and have != list(range(expected, expected + len(have))):
        return "segments of the log are missing in the archive"
    end = (have[-1] + 1 if have else (expected or 0)) * generation.segment_bytes
    if (have or bases) and slot.received > end:
        return "the archive lacks log that the server no longer keeps"
    return None


@contextmanager
def locked(archive: Archive) -> Iterator[None]:
    """Let only one process archive into a folder."""
    lock = os.open(archive.folder / "lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    if not try_lock(lock):
        os.close(lock)
        raise Conflict(
            f"Another process archives into {archive.folder}.",
            recovery="Stop it first, or choose another folder: a database can have several archives.",
        )
    try:
        yield
    finally:
        os.close(lock)


@contextmanager
def _room_wanted(folder: Path) -> Iterator[None]:
    """Report a full disk as such."""
    try:
        yield
    except OSError as problem:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            raise ArchiveFull(f"The disk of the archive {folder} is full.") from problem
        raise TargetUnavailable(
            f"The archive {folder} cannot be written: {problem.strerror or problem}.",
            recovery="Make the folder available and writable; the archive continues by itself.",
        ) from problem


@contextmanager
def _removed_on_error(partial: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, MemoryButlerError):
        partial.unlink(missing_ok=True)
        raise


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
