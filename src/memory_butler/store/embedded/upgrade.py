"""Creation of a data folder, and upgrade of one from an older PostgreSQL.

The old folder stays unchanged until its copy is complete. Then two renames swap them; the copy's name between the two
renames tells the next start that it is complete.
"""

import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memory_butler.errors import TargetUnavailable
from memory_butler.store.embedded.account import WHEEL, Programs, bundled_programs, unavailable
from memory_butler.store.embedded.operating_system import sync_folder

if TYPE_CHECKING:
    from memory_butler.store.embedded.server import Cluster

DATABASE: Final = "memory"
OWNER: Final = "memory_owner"
APP: Final = "memory_app"
SUPERUSER: Final = "postgres"
UNFINISHED: Final = "database.new-*"

_COMPLETE: Final = "database.new-complete"
# Clients connect to the default port's socket, so none can write to a store that is being copied.
_QUIET_PORT: Final = 5433
_COPY_SECONDS: Final = 3600.0

_SETTINGS: Final[Mapping[str, str]] = {
    "shared_buffers": "128MB",
    "max_connections": "100",
    "effective_cache_size": "1GB",
    "maintenance_work_mem": "64MB",
    "max_wal_size": "512MB",
    # A quiet store keeps two segments of its log.
    "min_wal_size": "32MB",
    # An archive that was away for longer begins anew; the disk of the store is not filled with log.
    "max_slot_wal_keep_size": "4GB",
    "random_page_cost": "1.1",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",
    "log_checkpoints": "off",
    # No text of a memory reaches the server's log: errors go to the program, and their messages, details and
    # statements may hold values.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
    # Memory for parallel queries stays in the data folder: /dev/shm is small in containers, and systemd empties
    # it when the user logs out.
    "dynamic_shared_memory_type": "mmap",
    "min_dynamic_shared_memory": "16MB",
    # After a kill, the server syncs all files before recovery; file by file that takes seconds.
    **({"recovery_init_sync_method": "syncfs"} if sys.platform == "linux" else {}),
}

logger = logging.getLogger(__name__)


def settings_text(options: Mapping[str, str]) -> str:
    lines = ["# Written at every start. Settings of your own: ALTER SYSTEM SET ... as postgres; they win."]
    for name, value in {**_SETTINGS, **options}.items():
        quoted = value.replace("\\", "\\\\").replace("'", "''")
        lines.append(f"{name} = '{quoted}'")
    return "\n".join(lines) + "\n"


def provision(cluster: "Cluster") -> None:
    """Create roles, database and pgvector where they are missing."""
    with cluster.connect(SUPERUSER) as connection:
        roles = {row[0] for row in connection.execute("SELECT rolname FROM pg_roles")}
        if OWNER not in roles:
            connection.execute("CREATE ROLE memory_owner LOGIN")
        if APP not in roles:
            connection.execute("CREATE ROLE memory_app LOGIN NOSUPERUSER NOBYPASSRLS")
        member = connection.execute("SELECT pg_has_role('memory_owner', 'memory_app', 'SET')").fetchone()
        if member != (True,):
            connection.execute("GRANT memory_app TO memory_owner")
        if not connection.execute("SELECT FROM pg_database WHERE datname = 'memory'").fetchall():
            connection.execute("CREATE DATABASE memory OWNER memory_owner")
    with cluster.connect(DATABASE) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        outdated = connection.execute(
            "SELECT FROM pg_extension JOIN pg_available_extensions ON name = extname"
            " WHERE extname = 'vector' AND extversion <> default_version"
        ).fetchall()
        if outdated:
            connection.execute("ALTER EXTENSION vector UPDATE")


def programs_of(major: int, data_dir: Path) -> Programs:
    programs = bundled_programs(major)
    if programs is None:
        raise TargetUnavailable(
            f"{data_dir} needs the programs of PostgreSQL {major}, which the installed {WHEEL} does not contain.",
            recovery=f"Nothing was changed. Install a version of {WHEEL} that contains PostgreSQL {major}, "
            "or restore a backup into an empty home folder.",
        )
    return programs


def copy_everything(old: "Cluster", old_programs: Programs, new: "Cluster", programs: Programs) -> None:
    """Copy roles and databases from the old server to the new one, then stop both."""
    logger.info("upgrading %s from PostgreSQL %s to %s", old.folder, old.major, new.major)
    try:
        old.stop(old_programs)
        old.start(old_programs, _QUIET_PORT)
        _copy_roles(old, new, programs)
        with old.connect(SUPERUSER, _QUIET_PORT) as connection:
            found = connection.execute(
                "SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate AND datname <> 'postgres'"
            )
            names = [str(row[0]) for row in found]
        for name in names:
            _copy_database(name, old, new, programs)
            with new.connect(name) as connection:
                connection.execute("ANALYZE")
    finally:
        old.stop(old_programs)
        new.stop(programs)


def _address(cluster: "Cluster", port: int) -> list[str]:
    return ["-h", cluster.home.socket_folder(cluster.name), "-p", str(port), "-U", SUPERUSER, "-w"]


def _copy_roles(old: "Cluster", new: "Cluster", programs: Programs) -> None:
    source, target = _address(old, _QUIET_PORT), _address(new, new.port)
    fds = old.home.inherited_fds
    dump = ["pg_dumpall", "--globals-only", *source]
    dumped = programs.run(dump, timeout_seconds=_COPY_SECONDS, pass_fds=fds)
    if dumped.returncode != 0:
        raise _failed(dumped.stderr, old)
    # The new server has its superuser already, and a failing statement must stop the copy.
    creation = f"CREATE ROLE {SUPERUSER};".encode()
    script = b"\n".join(line for line in dumped.stdout.split(b"\n") if line != creation)
    load = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", SUPERUSER, *target]
    loaded = programs.run(load, timeout_seconds=_COPY_SECONDS, data=script, pass_fds=fds)
    if loaded.returncode != 0:
        raise _failed(loaded.stderr, old)


def _copy_database(name: str, old: "Cluster", new: "Cluster", programs: Programs) -> None:
    offset = old.home.log_size()
    log = old.home.open_log()
    fds = old.home.inherited_fds
    source = ["pg_dump", "-Fc", "-Z0", "--create", *_address(old, _QUIET_PORT), "-d", name]
    target = ["pg_restore", "--create", "--exit-on-error", *_address(new, new.port), "-d", SUPERUSER]
    try:
        with (
            programs.spawn(source, stdout=subprocess.PIPE, stderr=log, pass_fds=fds) as dump,
            programs.spawn(target, stdin=dump.stdout, stderr=log, pass_fds=fds) as load,
        ):
            try:
                if dump.stdout is not None:
                    dump.stdout.close()
                codes = load.wait(_COPY_SECONDS), dump.wait(_COPY_SECONDS)
            finally:
                for process in (load, dump):
                    if process.poll() is None:
                        process.kill()
    finally:
        os.close(log)
    if codes != (0, 0):
        raise _failed(old.home.log_since(offset).encode(), old)


def _failed(said: bytes, old: "Cluster") -> TargetUnavailable:
    problem = f"The store could not be upgraded from PostgreSQL {old.major}; {old.folder} is as it was"
    return unavailable(problem, said.decode(errors="replace").strip(), old.home.path)


def swap_in(new: Path, data_dir: Path, old_major: int) -> None:
    kept = put_aside(new, data_dir, f"database.old-{old_major}")
    logger.warning(
        "the store was upgraded; the one of PostgreSQL %s is kept in %s until you remove it", old_major, kept
    )


def put_aside(new: Path, data_dir: Path, name: str) -> Path | None:
    """Replace the data folder by a complete one; returns where the old one was moved, if there was one."""
    new.rename(data_dir.with_name(_COMPLETE))
    sync_folder(data_dir.parent)
    kept = data_dir.with_name(name)
    number = 1
    while kept.exists():
        number += 1
        kept = data_dir.with_name(f"{name}-{number}")
    there = data_dir.exists()
    if there:
        data_dir.rename(kept)
        sync_folder(data_dir.parent)
    finish_interrupted_swap(data_dir)
    return kept if there else None


def finish_interrupted_swap(data_dir: Path) -> None:
    """Finish a swap that was interrupted between its two renames, when there is no data folder.

    An existing data folder always wins: a leftover copy may be outdated.
    """
    complete = data_dir.with_name(_COMPLETE)
    if complete.is_dir() and not data_dir.exists():
        complete.rename(data_dir)
        sync_folder(data_dir.parent)
