"""Parts of a backup that could make PostgreSQL run a command, load a library or leave its folder.

A backup may come from anywhere. Its configuration is replaced by that of a new store, files that a backup of Memory
Butler never has are refused, and settings and triggers that the database would apply to each new connection are removed
before the first one.
"""

import re
import secrets
import shutil
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from memory_butler.store.embedded.account import Programs, unavailable
from memory_butler.store.embedded.upgrade import DATABASE, SUPERUSER

if TYPE_CHECKING:
    from memory_butler.store.embedded.server import Cluster

# Commands, libraries and access rules: archive_command, session_preload_libraries, trust for everybody …
CONFIGURATION: Final = ("postgresql.conf", "postgresql.auto.conf", "pg_hba.conf", "pg_ident.conf")
_FILES: Final = frozenset(
    [*CONFIGURATION, "PG_VERSION", "backup_label", "backup_label.old", "backup_manifest", "current_logfiles"]
)
_FOLDERS: Final = frozenset(
    [
        *("base", "global", "pg_commit_ts", "pg_logical", "pg_multixact", "pg_notify", "pg_serial", "pg_snapshots"),
        *("pg_stat", "pg_stat_tmp", "pg_subtrans", "pg_twophase", "pg_wal", "pg_xact"),
    ]
)
# Tablespaces are outside the folder, and replication slots name a library.
_EMPTY: Final = frozenset(["pg_tblspc", "pg_replslot", "pg_dynshmem"])
# Links that a restore would create; PostgreSQL writes the file also if there are none.
_TABLESPACES: Final = ("tablespace_map", "tablespace_map.old")
# What PostgreSQL leaves in a restored store, and its next backup would contain.
_RESTORED: Final = ("backup_label.old", "tablespace_map.old")
_SOCKET_LOCK: Final = re.compile(r"\.s\.PGSQL\.\d+\.lock", re.ASCII)
_DATA_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}", re.ASCII)
_RESET: Final = b"DELETE FROM pg_db_role_setting;\nDELETE FROM pg_event_trigger;\n"
_RESET_SECONDS: Final = 600.0


def belongs_in_backup(name: PurePosixPath, size: int, *, is_folder: bool) -> bool:
    """True if a backup of the embedded store can contain this file or folder."""
    parts = [part for part in name.parts if part != "."]
    if name.is_absolute() or ".." in parts or not all(_DATA_NAME.fullmatch(part) for part in parts):
        return False
    if not parts:
        return is_folder
    if parts[0] in _TABLESPACES and len(parts) == 1:
        return size == 0 and not is_folder
    if len(parts) == 1:
        allowed = _FOLDERS | _EMPTY if is_folder else _FILES
        return parts[0] in allowed or (not is_folder and bool(_SOCKET_LOCK.fullmatch(parts[0])))
    return parts[0] in _FOLDERS


def replace_configuration(unpacked: "Cluster", programs: Programs) -> None:
    """Give an unpacked backup the configuration of a new store, and all its files to the server's account."""
    fresh = type(unpacked)(unpacked.home, f"database.new-{secrets.token_hex(3)}")
    try:
        fresh.initialise(programs, sync=False)
        for name in CONFIGURATION:
            target = unpacked.folder / name
            target.unlink(missing_ok=True)
            shutil.copyfile(fresh.folder / name, target)
            target.chmod(0o600)
    finally:
        fresh.discard(programs)
    unpacked.own(programs)


def remove_triggers(unpacked: "Cluster", programs: Programs) -> None:
    """Remove what would run when a program connects, after the log was replayed, which may hold more of it."""
    # In single-user mode PostgreSQL applies neither settings of roles nor event triggers.
    for database in (SUPERUSER, DATABASE):
        command = ["postgres", "--single", "-j", "-D", str(unpacked.folder), "-c", "exit_on_error=on", database]
        done = programs.run(command, timeout_seconds=_RESET_SECONDS, data=_RESET)
        if done.returncode != 0:
            raise unavailable("The backup did not start", done.stderr.decode(errors="replace"), unpacked.home.path)
    for name in _RESTORED:
        (unpacked.folder / name).unlink(missing_ok=True)
