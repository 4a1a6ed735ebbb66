"""Reading and writing export files. A file is written under a temporary name until it is complete."""

import hashlib
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from memory_butler.errors import InvalidInput
from memory_butler.policy.transfer import export_format
from memory_butler.policy.transfer.export_format import Header, Record, damaged

Progress = Callable[[str, int, int], None]


def no_progress(stage: str, done: int, total: int) -> None:
    """Discard progress."""


@contextmanager
def atomic_file(path: Path, *, replace: bool) -> Iterator[BinaryIO]:
    """Open a private file for writing that gets its name only when it is complete."""
    _check_free(path, replace=replace)
    if not path.parent.is_dir():
        raise InvalidInput(f"There is no folder {path.parent}.", recovery="Create it, or choose another folder.")
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(partial, "xb", opener=_private) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # Writing may have taken hours: check again that no file was created meanwhile.
        _check_free(path, replace=replace)
        partial.rename(path)
    except OSError as problem:
        raise InvalidInput(
            f"{path} cannot be written: {problem.strerror or problem}.",
            recovery="Choose a writable folder with enough free space.",
        ) from problem
    finally:
        partial.unlink(missing_ok=True)


def _check_free(path: Path, *, replace: bool) -> None:
    if path.exists() and not replace:
        raise InvalidInput(
            f"{path} exists already.", recovery="Choose another name, or pass --replace to overwrite it."
        )


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Writer:
    """Writes lines and, at the end, the checksum of all of them."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._lines = 0

    def add(self, line: bytes) -> None:
        self._file.write(line)
        self._digest.update(line)
        self._lines += 1

    def end(self) -> str:
        digest = self._digest.hexdigest()
        self._file.write(export_format.end_line(self._lines, digest))
        return digest


@dataclass(frozen=True, slots=True)
class Checked:
    """A verified file: its header, its checksum, and notes about ignored fields."""

    header: Header
    digest: str
    notes: tuple[str, ...] = ()


class Reader:
    """Reads an open export file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size

    def check(self, progress: Progress = no_progress) -> Checked:
        """Verify the whole file: every line, the order and number of lines, and the checksum of all."""
        header: Header | None = None
        order, counts, last_seq = list(export_format.KINDS), dict.fromkeys(export_format.KINDS, 0), 0
        place, ignored = 0, Counter[tuple[str, str]]()
        for number, kind, row in self._records(progress):
            if header is None:
                header = export_format.read_header(number, row)
                continue
            if kind == export_format.END:
                self._end(number, header, counts)
                return Checked(header, row["sha256"], _notes(ignored))
            found, unknown = export_format.check(number, row)
            ignored.update((found, name) for name in unknown)
            if order.index(found) < place:
                raise damaged(number, f"a record {found!r} is not expected after {order[place]!r}.")
            place = order.index(found)
            counts[found] += 1
            if found == "event":
                if not last_seq < row["seq"] <= header.last_seq:
                    raise damaged(number, f"the event's number {row['seq']} is out of order.")
                last_seq = row["seq"]
        raise damaged(1, "the file is empty or has no end.")

    def rows(self, checked: Checked) -> Iterator[tuple[int, str, Record]]:
        """The records again, each with its line number. Raises an error if the file was changed meanwhile."""
        for number, kind, row in self._records(no_progress):
            if kind == export_format.END and row["sha256"] != checked.digest:
                raise damaged(number, "the file was changed while it was read.")
            if number > 1 and kind != export_format.END:
                yield number, export_format.check(number, row)[0], row

    def _records(self, progress: Progress) -> Iterator[tuple[int, str, Record]]:
        """Every line with its number and kind; the last one has the checksum of all lines before it."""
        self._file.seek(0)
        digest, number, done = hashlib.sha256(), 0, 0
        while line := self._file.readline(export_format.LINE_BYTES):
            number, done = number + 1, done + len(line)
            if number == 1 and not line.startswith(b'{"record": "header"'):
                raise damaged(number, "this is not an export of Memory Butler.")
            row = export_format.parse_line(number, line)
            kind = str(row.get("record"))
            if kind == export_format.END:
                if row.get("sha256") != digest.hexdigest() or row.get("lines") != number - 1:
                    raise damaged(number, "lines above it are missing, repeated or moved.")
                if self._file.readline(1):
                    raise damaged(number + 1, "there is something after the end.")
                yield number, kind, row
                return
            digest.update(line)
            yield number, kind, row
            if number % 1000 == 0:
                progress("Checking the file", done, self._size)
        raise damaged(number + 1, "the file ends before its end.")

    def _end(self, number: int, header: Header, counts: dict[str, int]) -> None:
        for kind, count in counts.items():
            if header.counts.get(kind, 0) != count:
                raise damaged(
                    number, f"there are {count} records {kind!r}; the header says {header.counts.get(kind, 0)}."
                )


def _notes(ignored: Counter[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(
        f"The field {name!r} of {count} {kind} record{'s' * (count > 1)} is not known to this version and was ignored."
        for (kind, name), count in sorted(ignored.items())
    )


@contextmanager
def open_export(path: Path) -> Iterator[Reader]:
    with open_file(path) as file:
        yield Reader(file)


def open_file(path: Path) -> BinaryIO:
    """Open a file of the user for reading."""
    try:
        return path.open("rb")
    except OSError as problem:
        raise InvalidInput(
            f"{path} cannot be read: {problem.strerror or problem}.", recovery="Check its name and permissions."
        ) from problem
