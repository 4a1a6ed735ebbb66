"""The folder of an archive: base backups, and the write-ahead log from the first of them on.

    archive.json                    format, and the id that names the replication slot
    lock                            held by the process that archives
    20260301T090000.123456Z/        a generation: one server on one timeline without a gap
        generation.json
        base/20260301T090001Z.tar.gz, base/20260301T090001Z.json
        wal/000000010000000000000002, …, wal/000000010000000000000007.partial

A restored or promoted server, and one whose slot was lost, begins a new generation. What is read here may come from
anywhere: names are checked, links are refused, and nothing in it is ever run.
"""

import json
import os
import re
import secrets
import stat
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self

from memory_butler.errors import InvalidInput
from memory_butler.store.embedded.operating_system import sync_folder

FORMAT: Final = "memory-butler-archive"
VERSION: Final = 1
PARTIAL: Final = ".partial"

_ARCHIVE, _GENERATION = "archive.json", "generation.json"
_ID: Final = re.compile(r"[0-9a-f]{8}", re.ASCII)
_GENERATION_NAME: Final = re.compile(r"\d{8}T\d{6}\.\d{6}Z", re.ASCII)
_BASE_NAME: Final = re.compile(r"\d{8}T\d{6}\.\d{6}Z", re.ASCII)
_SEGMENT: Final = re.compile(r"[0-9A-F]{24}", re.ASCII)
_HISTORY: Final = re.compile(r"[0-9A-F]{8}\.history", re.ASCII)
_LSN: Final = re.compile(r"([0-9A-F]{1,8})/([0-9A-F]{1,8})", re.ASCII)
_JSON_BYTES: Final = 10_000


def lsn_number(text: str) -> int:
    """A position of the log as a number of bytes."""
    found = _LSN.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is no position of the log")
    return (int(found[1], 16) << 32) + int(found[2], 16)


@dataclass(frozen=True, slots=True)
class BaseBackup:
    """A base backup. It needs the log from `start` on, and can restore any moment from `finished_at` on."""

    file: Path
    started_at: datetime
    finished_at: datetime
    start: int
    bytes: int

    @property
    def note(self) -> Path:
        return self.file.with_name(self.file.name.removesuffix(".tar.gz") + ".json")


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of the log. The number counts segments from the beginning of the log, whatever the timeline."""

    file: Path
    name: str
    number: int
    is_partial: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One server on one timeline: its base backups, and its log without a gap."""

    folder: Path
    cluster: str
    timeline: int
    major: int
    segment_bytes: int
    embedded: bool
    started_at: datetime

    @property
    def wal(self) -> Path:
        return self.folder / "wal"

    def bases(self) -> list[BaseBackup]:
        """The complete base backups, oldest first."""
        found = []
        folder = self.folder / "base"
        for note in sorted(folder.glob("*.json")) if folder.is_dir() else ():
            name = note.name.removesuffix(".json")
            file = note.with_name(f"{name}.tar.gz")
            if not _BASE_NAME.fullmatch(name) or not _is_file(file):
                continue
            said = _read_json(note)
            try:
                found.append(
                    BaseBackup(
                        file=file,
                        started_at=_moment(said["started_at"]),
                        finished_at=_moment(said["finished_at"]),
                        start=lsn_number(said["start"]),
                        bytes=file.stat().st_size,
                    )
                )
            except (KeyError, TypeError, ValueError):
                raise damaged(f"{note} cannot be read") from None
        return sorted(found, key=lambda base: base.finished_at)

    def segments(self) -> list[Segment]:
        """The files of the log in their order; a complete segment hides its partial one."""
        found: dict[str, Segment] = {}
        for file in sorted(self.wal.iterdir(), reverse=True) if self.wal.is_dir() else ():
            name = file.name.removesuffix(PARTIAL)
            if _SEGMENT.fullmatch(name) and _is_file(file) and not self._is_torn(file):
                number = int(name[8:16], 16) * (2**32 // self.segment_bytes) + int(name[16:], 16)
                found[name] = Segment(file, name, number, file.name.endswith(PARTIAL))
        return sorted(found.values(), key=lambda segment: (segment.number, segment.name))

    def drop_torn(self) -> None:
        """Delete partial segments that pg_receivewal was killed over while it filled them with zeros: they hold nothing
        yet, and it does not continue them."""
        for file in list(self.wal.iterdir()):
            if _SEGMENT.fullmatch(file.name.removesuffix(PARTIAL)) and self._is_torn(file):
                file.unlink()

    def _is_torn(self, file: Path) -> bool:
        return file.name.endswith(PARTIAL) and _is_file(file) and file.lstat().st_size != self.segment_bytes

    def histories(self) -> list[Path]:
        """The files that tell where a timeline branched off."""
        wal = sorted(self.wal.iterdir()) if self.wal.is_dir() else []
        return [file for file in wal if _HISTORY.fullmatch(file.name) and _is_file(file)]

    def note_base(self, name: str, **said: Any) -> None:
        """Make a base backup known: its file is complete and on disk."""
        _write_json(self.folder / "base" / f"{name}.json", said)

    def drop_before(self, moment: datetime) -> int:
        """Delete what no restore to `moment` or later needs; returns the number of deleted files. The newest base
        backup always stays."""
        bases = self.bases()
        kept = max((n for n, base in enumerate(bases) if base.finished_at <= moment), default=0)
        gone = [path for base in bases[:kept] for path in (base.note, base.file)]
        if bases:
            first = bases[kept].start // self.segment_bytes
            # A partial segment may be written to at this moment.
            gone += [one.file for one in self.segments() if one.number < first and not one.is_partial]
        for path in gone:
            path.unlink(missing_ok=True)
        return len(gone)


class Archive:
    """An archive folder."""

    def __init__(self, folder: Path, id: str) -> None:
        self.folder = folder
        self.id = id

    @property
    def slot(self) -> str:
        """The replication slot that keeps what the archive does not have yet."""
        return f"memory_butler_{self.id}"

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open an archive; raises InvalidInput if the folder is none."""
        try:
            said = _read_json(folder / _ARCHIVE)
        except FileNotFoundError:
            raise InvalidInput(
                f"{folder} is not an archive of a continuous backup.",
                recovery=f"Create one with `memory-butler backup --continuous {folder}`, or check the name.",
            ) from None
        except OSError as problem:
            raise InvalidInput(f"{folder} cannot be read: {problem.strerror or problem}.") from problem
        if said.get("format") != FORMAT or not _ID.fullmatch(str(said.get("id"))):
            raise damaged(f"{folder / _ARCHIVE} cannot be read")
        if said.get("version") != VERSION:
            raise InvalidInput(
                f"The archive is of format {said.get('version')}; this version reads format {VERSION}.",
                recovery="Use the version of Memory Butler that wrote it.",
            )
        return cls(folder, said["id"])

    @classmethod
    def create(cls, folder: Path) -> Self:
        """Open an archive, or make an empty or missing folder one."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (folder / _ARCHIVE).exists():
            if any(path.name not in ("lock", "lost+found") for path in folder.iterdir()):
                raise InvalidInput(
                    f"{folder} is not empty and not an archive.", recovery="Name an empty folder, or an archive."
                )
            _write_json(folder / _ARCHIVE, {"format": FORMAT, "version": VERSION, "id": secrets.token_hex(4)})
        return cls.open(folder)

    def generations(self) -> list[Generation]:
        """All generations, oldest first."""
        folders = sorted(path for path in self.folder.iterdir() if _GENERATION_NAME.fullmatch(path.name))
        return [_generation(folder) for folder in folders if _is_file(folder / _GENERATION)]

    def begin(self, now: datetime, said: dict[str, Any]) -> Generation:
        """Begin a new generation: `said` is what a Generation says about its server."""
        folder = self.folder / stamp(now)
        for part in (folder, folder / "base", folder / "wal"):
            part.mkdir(mode=0o700)
        _write_json(folder / _GENERATION, {**said, "started_at": now.isoformat()})
        return _generation(folder)

    def drop_before(self, moment: datetime) -> int:
        """Delete what no restore to `moment` or later needs; returns the number of deleted files."""
        generations = self.generations()
        first = [min((base.finished_at for base in one.bases()), default=None) for one in generations]
        dropped = 0
        for number, generation in enumerate(generations):
            # Once a later generation can restore the moment, this one is not needed.
            if any(begun is not None and begun <= moment for begun in first[number + 1 :]):
                dropped += _remove(generation.folder)
            else:
                dropped += generation.drop_before(moment)
        return dropped


def stamp(moment: datetime) -> str:
    """A moment as a name that sorts by time."""
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%fZ")


def damaged(what: str) -> InvalidInput:
    return InvalidInput(
        f"The archive cannot be used: {what}. Nothing was changed.",
        recovery="Copy it again from its source, or use another backup.",
    )


def _generation(folder: Path) -> Generation:
    said = _read_json(folder / _GENERATION)
    try:
        found = Generation(
            folder=folder,
            cluster=str(said["cluster"]),
            timeline=int(said["timeline"]),
            major=int(said["major"]),
            segment_bytes=int(said["segment_bytes"]),
            embedded=bool(said["embedded"]),
            started_at=_moment(said["started_at"]),
        )
    except (KeyError, TypeError, ValueError):
        raise damaged(f"{folder / _GENERATION} cannot be read") from None
    if found.segment_bytes not in (2**power for power in range(20, 31)):
        raise damaged(f"{folder / _GENERATION} names a segment size of {found.segment_bytes} bytes")
    return found


def _moment(said: Any) -> datetime:
    moment = datetime.fromisoformat(str(said))
    if moment.tzinfo is None or not timedelta(0) <= moment - datetime(2000, 1, 1, tzinfo=UTC):
        raise ValueError(f"{said} is no moment")
    return moment


def _is_file(path: Path) -> bool:
    """True for a file that is not a link to somewhere else."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _read_json(path: Path) -> dict[str, Any]:
    if path.is_symlink():
        raise damaged(f"{path} is a link")
    with path.open("rb") as file:
        content = file.read(_JSON_BYTES)
    try:
        said = json.loads(content)
    except ValueError:
        raise damaged(f"{path} cannot be read") from None
    if not isinstance(said, dict):
        raise damaged(f"{path} cannot be read")
    return said


def _write_json(path: Path, said: dict[str, Any]) -> None:
    """Write a file that is there whole or not at all."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(partial, "x", opener=private, encoding="utf-8") as file:
            json.dump(said, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)
    sync_folder(path.parent)


def private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _remove(folder: Path) -> int:
    """Delete a generation. Notes of base backups go first and its own note last, so an interrupted deletion leaves
    nothing that looks complete, and is finished the next time."""
    paths = [path for part in ("base", "wal", ".") for path in sorted((folder / part).iterdir()) if not path.is_dir()]
    files = sorted(paths, key=lambda path: (path.name == _GENERATION, path.suffix != ".json"))
    for path in files:
        path.unlink(missing_ok=True)
    for name in ("base", "wal", "."):
        (folder / name).rmdir()
    return len(files)
