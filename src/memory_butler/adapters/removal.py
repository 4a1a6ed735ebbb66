"""Uninstalling: a list of exactly what will go and what stays, then its removal.

Only what Memory Butler makes is on the list, and a link is removed as a link: nothing outside the home is touched.
"""

import os
import pwd
import shutil
from dataclasses import dataclass
from pathlib import Path

from memory_butler.errors import InvalidInput
from memory_butler.settings import Settings
from memory_butler.store.embedded import EmbeddedPostgres
from memory_butler.store.postgres_account import ACCOUNT

# Everything that Memory Butler writes into its home, as patterns.
OURS = (
    "database",
    "database.*",
    "postgres",
    "models/all-MiniLM-L6-v2",
    "models/minilm-*.onnx",
    "models/.minilm-*",
    "logs/memory-butler.log*",
    "logs/postgres.log*",
    "config.toml",
)
MARKERS = ("database/PG_VERSION", "database.lock", "logs/memory-butler.log")
FOLDERS = ("models", "logs")


@dataclass(frozen=True, slots=True)
class Doomed:
    path: Path
    size_bytes: int

    def in_words(self) -> str:
        if self.path.is_symlink():
            return f"{self.path} (a link; what it points to stays)"
        return f"{self.path}{'/' if self.path.is_dir() else ''} ({_size(self.size_bytes)})"


@dataclass(frozen=True, slots=True)
class Plan:
    home: Path
    doomed: tuple[Doomed, ...]
    foreign: tuple[Path, ...]
    stays: tuple[str, ...]

    def in_words(self) -> str:
        total = _size(sum(entry.size_bytes for entry in self.doomed))
        lines = [f"This removes, for good, {total} and every memory in it:"]
        lines += [f"  {entry.in_words()}" for entry in self.doomed]
        lines += [f"  {self.home}/ itself"] if not self.foreign else []
        lines += ["This stays:", *(f"  {said}" for said in self.stays)]
        return "\n".join(lines)


def plan(settings: Settings) -> Plan:
    """What uninstalling would remove; refuses a folder that Memory Butler never used."""
    home = settings.home.resolve()
    if not home.is_dir():
        raise InvalidInput(f"There is nothing to remove: {home} is not there.", recovery="Check --home.")
    doomed = {path for pattern in OURS for path in home.glob(pattern)}
    if not any((home / marker).exists() for marker in MARKERS):
        raise InvalidInput(
            f"{home} does not look like a home of Memory Butler: it has no store and no log of it.",
            recovery="Check --home and MEMORY_BUTLER_HOME; remove the folder by hand if you are sure.",
        )
    # A folder that is a link leads out of the home: what is behind it is not ours to remove.
    outside = [home / name for name in FOLDERS if (home / name).is_symlink()]
    doomed = {path for path in doomed if path.parent not in outside} | set(outside)
    foreign = _foreign(home, doomed)
    stays = [f"{path} (not of Memory Butler's making)" for path in foreign]
    return Plan(
        home,
        tuple(Doomed(path, _bytes_in(path)) for path in sorted(doomed)),
        tuple(foreign),
        (*stays, *_elsewhere(settings)),
    )


def remove(settings: Settings, planned: Plan) -> None:
    """Stop the embedded database and remove what the plan lists, nothing else."""
    EmbeddedPostgres(planned.home).stop()
    for entry in planned.doomed:
        if entry.path.is_dir() and not entry.path.is_symlink():
            shutil.rmtree(entry.path)
        else:
            entry.path.unlink(missing_ok=True)
    for folder in (*(planned.home / name for name in FOLDERS), planned.home):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    if settings.home.is_symlink() and not planned.home.exists():
        settings.home.unlink()


def _foreign(home: Path, doomed: set[Path]) -> list[Path]:
    found = []
    for path in sorted(home.iterdir()):
        if path in doomed:
            continue
        inside = sorted(path.iterdir()) if path.name in FOLDERS and path.is_dir() else None
        found += [path] if inside is None else [entry for entry in inside if entry not in doomed]
    return found


def _elsewhere(settings: Settings) -> list[str]:
    """What is not in the home and therefore not removed, each with how to remove it."""
    said = ["the program itself: remove its venv, or run `pip uninstall memory-butler`"]
    said.append("its registration in MCP clients: for Claude Code, `claude mcp remove memory-butler`")
    said.append("servers that still run: stop them first, or they make an empty store again")
    if settings.database_url:
        said.append(f"your own database: as its owner, DROP SCHEMA {settings.db_schema} CASCADE removes the memories")
    try:
        pwd.getpwnam(ACCOUNT)
    except KeyError:
        return said
    if os.geteuid() == 0:
        said.append(f"the system account {ACCOUNT}: `userdel {ACCOUNT}`, if no other home needs it")
    return said


def _bytes_in(path: Path) -> int:
    if path.is_symlink() or not path.is_dir():
        return path.lstat().st_size
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(Path(folder, name)).st_size
            except FileNotFoundError:  # a running database removes files of its own
                continue
    return total


def _size(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
