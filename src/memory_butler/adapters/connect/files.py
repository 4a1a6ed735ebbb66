"""Changes of client files: preview, apply with a backup beside each file, exact undo.

The backup is written before our first entry and stays as long as our entries do. If the file has not been changed
since, undo restores the backup byte for byte; otherwise it removes only our own entries.
"""

import contextlib
import difflib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memory_butler.adapters.connect.clients import Client, Place, Scope, Wish
from memory_butler.adapters.connect.entries import Entries
from memory_butler.errors import Conflict, InvalidInput, MemoryButlerError

BACKUP = ".before-memory-butler"
LONGEST_BYTES = 50_000_000
MODE = {Scope.USER: 0o600, Scope.PROJECT: 0o644}


@dataclass(frozen=True, slots=True)
class Change:
    """Content of one file before and after; None means no file."""

    path: Path
    before: str | None
    after: str | None
    mode: int
    is_removal: bool
    had_us: bool

    @property
    def is_needed(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        old = (self.before or "").splitlines(keepends=True)
        new = (self.after or "").splitlines(keepends=True)
        names = (str(self.path) if self.before is not None else "/dev/null",
                 str(self.path) if self.after is not None else "/dev/null")  # fmt: skip
        lines = difflib.unified_diff(old, new, *names)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n" for line in lines)


@dataclass(frozen=True, slots=True)
class Standing:
    """Registration of Memory Butler in one file of a client."""

    path: Path
    server: bool
    hooks: tuple[str, ...]
    problem: str | None = None
    by_hand: tuple[str, ...] = ()


def connecting(client: Client, scope: Scope, project: Path, wish: Wish) -> list[Change]:
    """The changes that register us; none of them is needed where we are registered already."""
    changes = []
    for place in client.places(scope, project):
        path, before = _read(place)
        with _explained(path):
            after = place.format.with_entries(before or "", client.entries(place, scope, wish))
            had_us = _has_us(place.format.found(before or "", place.section))
        changes.append(Change(path, before, after, MODE[scope], is_removal=False, had_us=had_us))
    return changes


def disconnecting(client: Client, scope: Scope, project: Path) -> list[Change]:
    """The changes that undo it."""
    changes = []
    for place in client.places(scope, project):
        path, before = _read(place)
        if before is None:
            continue
        with _explained(path):
            after = _undone(place, before, _backup_of(path))
        changes.append(Change(path, before, after, MODE[scope], is_removal=True, had_us=True))
    return changes


def standing(client: Client, scope: Scope, project: Path) -> list[Standing]:
    found = []
    for place in client.places(scope, project):
        try:
            path, text = _read(place)
            with _explained(path):
                entries = place.format.found(text or "", place.section)
            found.append(Standing(path, bool(entries.server), tuple(entries.hooks), by_hand=entries.by_hand))
        except MemoryButlerError as problem:
            found.append(Standing(place.path, False, (), problem.message))
    return found


def apply(change: Change) -> None:
    """Make one change, unless the file says something else by now."""
    path, backup = change.path, _backup_path(change.path)
    try:
        if _text(path) != change.before:
            raise Conflict(f"{path} was changed meanwhile; nothing was written.", recovery="Try again.")
        if not change.is_removal:
            _keep_backup(change)
        if change.after is None:
            path.unlink()
            with contextlib.suppress(OSError):
                path.parent.rmdir()  # only if there is nothing else in it
        else:
            _write(path, change.after.encode(), change.mode)
        if change.is_removal and backup.exists() and (change.after or "") == _text(backup):
            backup.unlink()
    except OSError as problem:
        raise InvalidInput(
            f"{path} cannot be written: {problem.strerror or problem}.",
            recovery="Check the owner of the file and of its folder, and the free disk space.",
        ) from problem


def _keep_backup(change: Change) -> None:
    backup = _backup_path(change.path)
    if change.before is None:
        backup.unlink(missing_ok=True)
    elif not backup.exists() or not change.had_us:
        _write(backup, change.before.encode(), 0o600)


def _has_us(found: Entries) -> bool:
    return bool(found.server or found.hooks)


def _undone(place: Place, text: str, original: str | None) -> str | None:
    entries = place.format.found(text, place.section)
    if not _has_us(entries):
        return text
    if original is not None and _is_untouched(place, text, original, entries):
        return original
    after = place.format.without(text, place.section, original)
    is_empty = after.strip() == "" or (not place.format.value_of(after) and after.split() in (["{}"], ["{", "}"]))
    return None if is_empty and original is None else after


def _is_untouched(place: Place, text: str, original: str, entries: Entries) -> bool:
    """Return True if the file is byte for byte what connecting made of the original."""
    try:
        was = place.format.found(original, place.section)
        return not _has_us(was) and place.format.with_entries(original, entries) == text
    except MemoryButlerError:
        return False


def text_of(path: Path) -> str | None:
    """The text of a file of ours; None if there is none."""
    return _text(path)


def _read(place: Place) -> tuple[Path, str | None]:
    """Return the resolved path and the text of the file."""
    path = Path(os.path.realpath(place.path))
    try:
        return path, _text(path)
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
        raise InvalidInput(
            f"{path} cannot be read: {reason}. Nothing was changed.", recovery="Make it readable, then try again."
        ) from problem


def _text(path: Path) -> str | None:
    try:
        if path.stat().st_size > LONGEST_BYTES:
            raise InvalidInput(f"{path} is larger than {LONGEST_BYTES:,} bytes, so it is not a configuration file.")
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Add the path to errors about a file that cannot be parsed; such a file is never overwritten."""
    try:
        yield
    except Conflict as problem:
        raise Conflict(f"{path}: {problem.message}", recovery=problem.recovery) from None
    except InvalidInput as problem:
        raise InvalidInput(
            f"{path} cannot be parsed: {problem.message}. Nothing was changed.",
            recovery="Correct the file (the client cannot read it like this either), then try again.",
        ) from None


def _backup_path(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def _backup_of(path: Path) -> str | None:
    try:
        return _text(_backup_path(path))
    except (OSError, UnicodeDecodeError):
        return None


def _write(path: Path, content: bytes, mode: int) -> None:
    """Write atomically: a client that reads meanwhile sees the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    kept = path.stat().st_mode & 0o777 if path.exists() else mode
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(kept)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
