"""The file of an export on the disk: written under another name until it is whole, and read line by line."""

import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from memory_butler.errors import InvalidInput
from memory_butler.policy import transfer
from memory_butler.policy.transfer import Header, Record, damaged

Progress = Callable[[str, int, int], None]


def unseen(stage: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


@contextmanager
def written_whole(path: Path, *, replace: bool) -> Iterator[BinaryIO]:
    """A file that nobody else can read and that has its name only once it is complete."""
    _check_free(path, replace=replace)
    if not path.parent.is_dir():
        raise InvalidInput(f"There is no folder {path.parent}.", recovery="Create it, or choose another place.")
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(partial, "xb", opener=_private) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # Writing may have taken hours: somebody else's file may stand there by now.
        _check_free(path, replace=replace)
        partial.rename(path)
    except OSError as problem:
        raise InvalidInput(
            f"{path} cannot be written: {problem.strerror or problem}.",
            recovery="Choose a folder that you may write to and that has room.",
        ) from problem
    finally:
        partial.unlink(missing_ok=True)


def _check_free(path: Path, *, replace: bool) -> None:
    if path.exists() and not replace:
        raise InvalidInput(
            f"{path} is there already.", recovery="Choose another name, or say --replace to write over it."
        )


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Writer:
    """Lines into a file, with the checksum of all of them at the end."""

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
        self._file.write(transfer.end_line(self._lines, digest))
        return digest


@dataclass(frozen=True, slots=True)
class Checked:
    """A file that was read to its end and found whole."""

    header: Header
    digest: str


class Reader:
    """A file of an export, open for as long as it is worked with."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size

    def check(self, progress: Progress = unseen) -> Checked:
        """Read all of it and believe nothing: every line, their order, their number and the checksum of all."""
        header: Header | None = None
        order, counts, last_seq = list(transfer.KINDS), dict.fromkeys(transfer.KINDS, 0), 0
        place = 0
        for number, kind, row in self._records(progress):
            if header is None:
                header = transfer.read_header(number, row)
                continue
            if kind == transfer.END:
                self._end(number, header, counts)
                return Checked(header, row["sha256"])
            found = transfer.check(number, row)
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
        """Its records once more, each with the number of its line. A file that was changed meanwhile is noticed."""
        for number, kind, row in self._records(unseen):
            if kind == transfer.END and row["sha256"] != checked.digest:
                raise damaged(number, "the file was changed while it was read.")
            if number > 1 and kind != transfer.END:
                yield number, transfer.check(number, row), row

    def _records(self, progress: Progress) -> Iterator[tuple[int, str, Record]]:
        """Every line by number and kind; the last one is the end, and says the checksum of what came before it."""
        self._file.seek(0)
        digest, number, done = hashlib.sha256(), 0, 0
        while line := self._file.readline(transfer.LINE_BYTES):
            number, done = number + 1, done + len(line)
            if number == 1 and not line.startswith(b'{"record": "header"'):
                raise damaged(number, "this is not an export of Memory Butler.")
            row = transfer.unsealed(number, line)
            kind = str(row.get("record"))
            if kind == transfer.END:
                if row.get("sha256") != digest.hexdigest() or row.get("lines") != number - 1:
                    raise damaged(number, "lines above it are missing, doubled or moved.")
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


@contextmanager
def opened(path: Path) -> Iterator[Reader]:
    with opened_bytes(path) as file:
        yield Reader(file)


def opened_bytes(path: Path) -> BinaryIO:
    """A file of the user's, open for reading."""
    try:
        return path.open("rb")
    except OSError as problem:
        raise InvalidInput(
            f"{path} cannot be read: {problem.strerror or problem}.", recovery="Check the name and who may read it."
        ) from problem
