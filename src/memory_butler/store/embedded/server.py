"""The embedded PostgreSQL: a server in the home folder, started by the first process that needs it and left running.

A folder named `database` is always complete: it is created or upgraded under another name and then renamed. So a crash
at any point leaves either the old store or the new one, never a partial one.
"""

import enum
import os
import secrets
import shutil
import socket
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

import psycopg

from memory_butler.errors import TargetUnavailable
from memory_butler.store.embedded import operating_system
from memory_butler.store.embedded.account import (
    Programs,
    discard_old_copies,
    is_postmaster,
    translated,
    unavailable,
    usable_programs,
)
from memory_butler.store.embedded.home_folder import LOG_LIMIT_BYTES, PORT, Home, private_opener
from memory_butler.store.embedded.upgrade import (
    SUPERUSER,
    UNFINISHED,
    copy_everything,
    finish_interrupted_swap,
    programs_of,
    provision,
    settings_text,
    swap_in,
)

TARGET_MAJOR: Final = 18

_LOCK_WAIT_SECONDS: Final = 300.0
_START_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 60.0
_INIT_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.02

# Access control is set on the command line, where no configuration file can override it.
_PRIVATE: Final = "-c listen_addresses='' -c unix_socket_directories=. -c unix_socket_permissions=0700"


class State(enum.Enum):
    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"


class Cluster:
    """One data folder and its server."""

    port: Final = PORT

    def __init__(self, home: Home, name: str) -> None:
        self.home = home
        self.name = name
        self.folder = home.path / name

    @property
    def major(self) -> int | None:
        try:
            return int((self.folder / "PG_VERSION").read_text().strip())
        except (FileNotFoundError, ValueError):
            return None

    def postmaster(self) -> tuple[int, int, bool] | None:
        """Process id, port and readiness, as the pid file claims."""
        try:
            lines = (self.folder / "postmaster.pid").read_text().splitlines()
            return int(lines[0]), int(lines[3]), len(lines) > 7 and lines[7].strip() == "ready"
        except FileNotFoundError:
            return None
        except (ValueError, IndexError):
            return None

    def state(self) -> State:
        claimed = self.postmaster()
        if claimed is None:
            return State.STOPPED
        pid, port, ready = claimed
        # In another container that shares the folder, the process is not visible; its socket is.
        if is_postmaster(pid, self.folder) or self._answers(port):
            return State.READY if ready else State.STARTING
        return State.STOPPED

    def _answers(self, port: int) -> bool:
        if not hasattr(socket, "AF_UNIX"):
            return False
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(1.0)
            try:
                client.connect(f"{self.home.socket_folder(self.name)}/.s.PGSQL.{port}")
            except (TimeoutError, BlockingIOError):
                return True
            except OSError:
                return False
            return True

    def initialise(self, programs: Programs, *, sync: bool = True) -> None:
        # The builtin provider sorts the same everywhere; the full-text parser still asks the C library, and
        # under plain "C" it would take typographic quotes for letters.
        for ctype in ("C.UTF-8", "en_US.UTF-8", "C"):
            self.folder.mkdir(mode=0o700, exist_ok=True)
            if programs.account:
                os.chown(self.folder, programs.account.uid, programs.account.gid)
            locale = ["--locale=C", f"--lc-ctype={ctype}", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
            access = [f"--username={SUPERUSER}", "--auth-local=trust", "--auth-host=reject"]
            command = ["initdb", "--encoding=UTF8", "--data-checksums", "--no-instructions", *locale, *access]
            command += [f"--pgdata={self.folder}"] if sync else [f"--pgdata={self.folder}", "--no-sync"]
            result = programs.run(command, timeout_seconds=_INIT_SECONDS)
            if result.returncode == 0:
                break
            said = (result.stdout + result.stderr).decode(errors="replace").strip()
            if "invalid locale" not in said or ctype == "C":
                raise unavailable("The database could not be created", said, self.home.path)
        with open(self.folder / "postgresql.conf", "a", opener=_unlinked_opener) as conf:
            conf.write("\ninclude '../database.conf'\n")

    def own(self, programs: Programs) -> None:
        """Give all files to the account that the server runs as."""
        if programs.account:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, programs.account.uid, programs.account.gid, follow_symlinks=False)

    def start(self, programs: Programs, port: int = PORT) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            self._clear_stale()
            offset = self.home.log_size()
            command = ["pg_ctl", "start", "-w", "-s", "-t", str(int(_START_SECONDS)), "-o", f"-p {port} {_PRIVATE}"]
            log = self.home.open_log()
            try:
                with programs.spawn(command, stdout=log, stderr=log, env={"PGDATA": str(self.folder)}) as process:
                    process.wait()
            finally:
                os.close(log)
            if self.state() is not State.STOPPED:
                self.wait_ready()
                return
            said = self.home.log_since(offset)
            # Children of a killed server need a moment to notice; until then its shared memory is in use.
            if "pre-existing shared memory block" not in said or time.monotonic() > deadline:
                raise unavailable("The database did not start", said, self.home.path)
            time.sleep(_POLL_SECONDS)

    def wait_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while (state := self.state()) is State.STARTING and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        if state is not State.READY:
            said = self.home.log_since(0)
            raise unavailable(f"The database is not ready after {_START_SECONDS:.0f} seconds", said, self.home.path)

    def stop(self, programs: Programs, mode: str = "fast") -> bool:
        if self.state() is State.STOPPED:
            return False
        command = ["pg_ctl", "stop", "-w", "-s", "-m", mode, "-t", str(int(_STOP_SECONDS)), "-D", str(self.folder)]
        result = programs.run(command, timeout_seconds=_STOP_SECONDS + 5)
        if result.returncode != 0 and self.state() is not State.STOPPED:
            raise unavailable("The database did not stop", result.stderr.decode(errors="replace"), self.home.path)
        return True

    def _clear_stale(self) -> None:
        # PostgreSQL takes any live process with the recorded id for a server; `state` checks more.
        if self.state() is State.STOPPED:
            for path in (self.folder / "postmaster.pid", *self.folder.glob(".s.PGSQL.*.lock")):
                path.unlink(missing_ok=True)

    def discard(self, programs: Programs) -> None:
        self.stop(programs, "immediate")
        # An orphaned initdb may still be writing here; the next start deletes the rest.
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self, database: str, port: int = PORT) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            host=self.home.socket_folder(self.name),
            port=port,
            user=SUPERUSER,
            dbname=database,
            autocommit=True,
            connect_timeout=10,
        )


class EmbeddedPostgres:
    """The store of one home folder. Synchronous: call it from a thread."""

    def __init__(
        self, home: Path, *, options: Mapping[str, str] | None = None, idle_seconds: float | None = None
    ) -> None:
        """`idle_seconds`: a server that this object starts stops after that time without a program."""
        self._home = Home(Path(home).expanduser().resolve())
        self._cluster = Cluster(self._home, "database")
        self._options = dict(options or {})
        self._idle_seconds = idle_seconds

    @property
    def home(self) -> Path:
        return self._home.path

    @property
    def data_dir(self) -> Path:
        return self._cluster.folder

    @property
    def log_file(self) -> Path:
        return self._home.log_file

    @property
    def pid(self) -> int | None:
        claimed = self._cluster.postmaster()
        return claimed[0] if claimed and self.is_running() else None

    @property
    def major(self) -> int | None:
        """PostgreSQL major version of the data; None before the first start."""
        return self._cluster.major

    @property
    def inherited_fds(self) -> tuple[int, ...]:
        """File descriptors that a child process needs to use the address of `dsn`."""
        return self._home.inherited_fds

    def dsn(self, user: str, database: str) -> str:
        """Return a libpq URI, valid in this process as long as this object exists."""
        host = quote(self._home.socket_folder(self._cluster.name), safe="")
        return f"postgresql://{quote(user, safe='')}@/{quote(database, safe='')}?host={host}&port={PORT}"

    def is_running(self) -> bool:
        with translated(self.home):
            claimed = self._cluster.postmaster()
            return claimed is not None and claimed[1] == PORT and self._cluster.state() is State.READY

    def ensure_running(self) -> None:
        with translated(self.home):
            if self.is_running() and self._home.log_size() <= LOG_LIMIT_BYTES:
                return
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._locked():
                self._home.trim_log()
                if not self.is_running():
                    self._start()

    def activity(self) -> tuple[list[str], int]:
        """The names of the programs that are connected now, empty if they give none, and the sessions so far."""
        with translated(self.home):
            if not self.is_running():
                return [], 0
            with self._cluster.connect(SUPERUSER) as connection:
                rows = connection.execute(
                    "SELECT application_name FROM pg_stat_activity"
                    " WHERE backend_type IN ('client backend', 'walsender') AND pid <> pg_backend_pid()"
                ).fetchall()
                found = connection.execute("SELECT sessions FROM pg_stat_database WHERE datname = 'memory'").fetchone()
        return sorted(str(row[0]) for row in rows), int(str(found[0])) if found else 0

    def stop_unused(self, pid: int) -> bool:
        """Stop the server with this process id, unless a program is connected or starting it."""
        with translated(self.home), self._locked():
            return self.pid == pid and not self.activity()[0] and self._cluster.stop(self._programs())

    def stop(self) -> bool:
        with translated(self.home):
            if self._cluster.state() is State.STOPPED:
                return False
            with self._locked():
                return self._cluster.stop(self._programs())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = os.open(self.home / "database.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            deadline = time.monotonic() + _LOCK_WAIT_SECONDS
            while True:
                if operating_system.try_lock(lock):
                    break
                if time.monotonic() > deadline:
                    raise TargetUnavailable(
                        f"Another process has been starting or upgrading the store in {self.home} "
                        f"for more than {_LOCK_WAIT_SECONDS:.0f} seconds."
                    )
                time.sleep(_POLL_SECONDS)
            yield
        finally:
            os.close(lock)

    def _programs(self, major: int = TARGET_MAJOR) -> Programs:
        return usable_programs(programs_of(major, self.data_dir), self.home, self.data_dir)

    def _start(self) -> None:
        if not operating_system.is_root() and self.home.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            self.home.chmod(0o700)
        finish_interrupted_swap(self.data_dir)
        programs = self._programs()
        self._write_settings(programs)
        for folder in self.home.glob(UNFINISHED):
            Cluster(self._home, folder.name).discard(programs)
        if self.data_dir.exists():
            self._upgrade_if_older(programs)
        else:
            self._create(programs)
        if self._cluster.state() is State.STOPPED:
            discard_old_copies(self.home)
        self._cluster.start(programs)
        provision(self._cluster)
        if self._idle_seconds and (pid := self.pid):
            from memory_butler.store.embedded import idle_stop  # noqa: PLC0415 (it imports this module)

            idle_stop.start(self.home, pid, self._idle_seconds)

    def _new_cluster(self, programs: Programs) -> Cluster:
        # A fresh name each time: an initdb orphaned by a crash may still be filling its own folder.
        new = Cluster(self._home, f"database.new-{secrets.token_hex(3)}")
        new.initialise(programs, sync=self._options.get("fsync") != "off")
        new.start(programs)
        return new

    def _create(self, programs: Programs) -> None:
        new = self._new_cluster(programs)
        provision(new)
        new.stop(programs)
        new.folder.rename(self.data_dir)
        operating_system.sync_folder(self.home)

    def _upgrade_if_older(self, programs: Programs) -> None:
        major = self._cluster.major
        if major is None or major > TARGET_MAJOR:
            found = "is not a PostgreSQL data folder" if major is None else f"was written by PostgreSQL {major}"
            raise TargetUnavailable(
                f"{self.data_dir} {found}; this version brings PostgreSQL {TARGET_MAJOR}.",
                recovery="Upgrade Memory Butler, or move that folder away to start with an empty store.",
            )
        if major < TARGET_MAJOR:
            old_programs = self._programs(major)
            new = self._new_cluster(programs)
            copy_everything(self._cluster, old_programs, new, programs)
            swap_in(new.folder, self.data_dir, major)

    def _write_settings(self, programs: Programs) -> None:
        partial = self.home / "database.conf.new"
        partial.unlink(missing_ok=True)
        with open(partial, "x", opener=private_opener) as conf:
            conf.write(settings_text(self._options))
        if programs.account:
            os.chown(partial, -1, programs.account.gid)
            partial.chmod(0o640)
        partial.rename(self.home / "database.conf")


def _unlinked_opener(path: str, flags: int) -> int:
    """Open without following symbolic links: the folder belongs to another account, and we may be root."""
    return os.open(path, flags & ~os.O_CREAT | getattr(os, "O_NOFOLLOW", 0))
