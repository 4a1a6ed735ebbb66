"""Uninstalling: lists exactly what will be removed and what stays, then removes it.

Only files that Memory Butler creates are listed, and a symbolic link is removed as a link: nothing outside the home
folder is touched.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memory_butler.adapters.connect.clients import CLIENTS, Scope
from memory_butler.adapters.connect.files import standing
from memory_butler.ai.optional_models.catalog import catalog
from memory_butler.errors import Conflict, InvalidInput
from memory_butler.settings import Settings
from memory_butler.store.embedded.account import ACCOUNT, RIGHTS_FILE, give_back_rights
from memory_butler.store.embedded.operating_system import account_named, is_root
from memory_butler.store.embedded.server import EmbeddedPostgres

# Patterns of everything that Memory Butler writes into its home folder.
OWN_FILES = (
    "database",
    "database.*",
    "postgres",
    "models/all-MiniLM-L6-v2",
    "models/minilm-*.onnx",
    "models/.minilm-*",
    "models/cross-encoder",
    "models/cross-encoder-*.onnx",
    "models/.download-*",
    *(f"models/{name}" for name in catalog()),
    "logs/memory-butler.log*",
    "logs/postgres.log*",
    "models/domains-*.npy",
    "config.toml",
    RIGHTS_FILE,
    "token",
    "token.*",
    "server.sock",
    "hooks.lock",
)
MARKERS = ("database/PG_VERSION", "database.lock", "logs/memory-butler.log")
FOLDERS = ("models", "logs")


@dataclass(frozen=True, slots=True)
class Removal:
    path: Path
    size_bytes: int

    def in_words(self) -> str:
        if self.path.is_symlink():
            return f"{self.path} (a link; its target stays)"
        return f"{self.path}{'/' if self.path.is_dir() else ''} ({_size(self.size_bytes)})"


@dataclass(frozen=True, slots=True)
class Plan:
    home: Path
    removals: tuple[Removal, ...]
    foreign: tuple[Path, ...]
    stays: tuple[str, ...]

    def in_words(self) -> str:
        total = _size(sum(entry.size_bytes for entry in self.removals))
        lines = [f"This permanently removes {total}, including every memory:"]
        lines += [f"  {entry.in_words()}" for entry in self.removals]
        lines += [f"  {self.home}/ itself"] if not self.foreign else []
        lines += ["This stays:", *(f"  {line}" for line in self.stays)]
        return "\n".join(lines)


def plan(settings: Settings) -> Plan:
    """Return what uninstalling would remove; refuses a folder that Memory Butler never used."""
    home = settings.home.resolve()
    if not home.is_dir():
        raise InvalidInput(f"There is nothing to remove: {home} does not exist.", recovery="Check --home.")
    removals = {path for pattern in OWN_FILES for path in home.glob(pattern)}
    if not any((home / marker).exists() for marker in MARKERS):
        raise InvalidInput(
            f"{home} is not a home folder of Memory Butler: it has no store and no log.",
            recovery="Check --home and MEMORY_BUTLER_HOME, or delete the folder by hand.",
        )
    # A folder that is a link leads out of the home; its content is not removed.
    outside = [home / name for name in FOLDERS if (home / name).is_symlink()]
    removals = {path for path in removals if path.parent not in outside} | set(outside)
    foreign = _foreign(home, removals)
    stays = [f"{path} (not created by Memory Butler)" for path in foreign]
    return Plan(
        home,
        tuple(Removal(path, _bytes_in(path)) for path in sorted(removals)),
        tuple(foreign),
        (*stays, *_elsewhere(settings)),
    )


def refuse_if_used(planned: Plan) -> None:
    """Refuse to remove a store that programs use: they would create an empty one again."""
    if users := EmbeddedPostgres(planned.home).activity()[0]:
        names = ", ".join(dict.fromkeys(user for user in users if user)) or "unnamed"
        count = "1 connection" if len(users) == 1 else f"{len(users)} connections"
        raise Conflict(
            f"The store in {planned.home} is in use: {count} ({names}).",
            recovery="Stop `memory-butler serve` and close the agents that use this memory, then run it again.",
        )


def remove(settings: Settings, planned: Plan) -> None:
    """Stop the embedded database and remove what the plan lists. Refuses while programs use the store."""
    refuse_if_used(planned)
    EmbeddedPostgres(planned.home).stop()
    give_back_rights(planned.home)
    for entry in planned.removals:
        if entry.path.is_dir() and not entry.path.is_symlink():
            shutil.rmtree(entry.path)
        else:
            entry.path.unlink(missing_ok=True)
    for folder in (*(planned.home / name for name in FOLDERS), planned.home):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    if settings.home.is_symlink() and not planned.home.exists():
        settings.home.unlink()


def _foreign(home: Path, removals: set[Path]) -> list[Path]:
    found = []
    for path in sorted(home.iterdir()):
        if path in removals:
            continue
        inside = sorted(path.iterdir()) if path.name in FOLDERS and path.is_dir() else None
        found += [path] if inside is None else [entry for entry in inside if entry not in removals]
    return found


def _elsewhere(settings: Settings) -> list[str]:
    """Return what is outside the home folder, each with the way to remove it."""
    lines = ["the program itself: remove its venv, or run `pip uninstall memory-butler`"]
    lines += _registrations()
    if settings.database_url:
        lines.append(f"your own database: as its owner, DROP SCHEMA {settings.db_schema} CASCADE removes the memories")
    if is_root() and account_named(ACCOUNT):
        lines.append(f"the system account {ACCOUNT}: `userdel {ACCOUNT}`, if no other home folder needs it")
    return lines


def _registrations() -> Iterator[str]:
    """Return the clients of this user that start the program, each with the way to end that."""
    for client in CLIENTS.values():
        for found in standing(client, Scope.USER, Path.cwd()):
            if found.server or found.hooks:
                undo = f"`memory-butler disconnect {client.name}`, before you remove the program"
                yield f"the entries for {client.title} in {found.path}: {undo}"
            if found.by_hand:
                yield f"entries made by hand in {found.path}: {', '.join(found.by_hand)}"


def _bytes_in(path: Path) -> int:
    if path.is_symlink() or not path.is_dir():
        return path.lstat().st_size
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(Path(folder, name)).st_size
            except FileNotFoundError:  # a running database deletes files meanwhile
                continue
    return total


def _size(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
