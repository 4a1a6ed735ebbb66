"""The embedded PostgreSQL: a server in the home folder, started by the first process that needs it and left running.

A folder named `database` is always complete: it is created or upgraded under another name and then renamed. So a crash
at any point leaves either the old store or the new one, never a partial one.
"""

import enum
import fcntl
import os
import secrets
import shutil
import socket
import stat
import sys
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

import psycopg

from memory_butler.errors import TargetUnavailable
from memory_butler.store.embedded.account import (
    Programs,
    discard_old_copies,
    is_postmaster,
    translated,
    unavailable,
    usable_programs,
)
from memory_butler.store.embedded.upgrade import (
    SUPERUSER,
    UNFINISHED,
    copy_everything,
    finish_interrupted_swap,
    programs_of,
    provision,
    settings_text,
    swap_in,
    sync_folder,
)

TARGET_MAJOR: Final = 18
PORT: Final = 5432

_LOCK_WAIT_SECONDS: Final = 300.0
_START_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 60.0
_INIT_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.02
_LOG_LIMIT_BYTES: Final = 10_000_000
_LOG_TAIL_BYTES: Final = 1_500
_SOCKET_PATH_LIMIT_BYTES: Final = 103

# Access control is set on the command line, where no configuration file can override it.
_PRIVATE: Final = "-c listen_addresses='' -c unix_socket_directories=. -c unix_socket_permissions=0700"


class State(enum.Enum):
    STOPPED = "stopped"
    STARTING = "starting"
    READY = "ready"


class Home:
    """The home folder: paths, log, and socket folders, also below a very long path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log_file = path / "logs" / "postgres.log"
        self._descriptor: int | None = None

    def socket_folder(self, name: str) -> str:
        plain = self.path / name
        if len(os.fsencode(plain / f".s.PGSQL.{PORT}")) <= _SOCKET_PATH_LIMIT_BYTES:
            return str(plain)
        if not sys.platform.startswith("linux") or not Path("/proc/self/fd").is_dir():
            raise TargetUnavailable(
                f"The path of the home folder is too long for a socket: {self.path}",
                recovery="Set MEMORY_BUTLER_HOME to a shorter path.",
            )
        if self._descriptor is None:
            self._descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
            weakref.finalize(self, os.close, self._descriptor)
        return f"/proc/self/fd/{self._descriptor}/{name}"

    @property
    def inherited_fds(self) -> tuple[int, ...]:
        """File descriptors that a child process needs to use a socket folder below /proc/self/fd."""
        return () if self._descriptor is None else (self._descriptor,)

    def open_log(self) -> int:
        self.log_file.parent.mkdir(mode=0o700, exist_ok=True)
        return os.open(self.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def log_size(self) -> int:
        return self.log_file.stat().st_size if self.log_file.exists() else 0

    def log_since(self, offset: int) -> str:
        with self.log_file.open("rb") as log:
            log.seek(max(offset, self.log_size() - _LOG_TAIL_BYTES))
            return log.read().decode(errors="replace").strip()

    def trim_log(self) -> None:
        # The server appends through its own descriptor, so the file is emptied in place, not replaced.
        if self.log_size() > _LOG_LIMIT_BYTES:
            previous = self.log_file.with_name("postgres.log.1")
            previous.unlink(missing_ok=True)
            with self.log_file.open("rb") as log, open(previous, "xb", opener=_private_opener) as copy:
                shutil.copyfileobj(log, copy)
            os.truncate(self.log_file, 0)


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

    def __init__(self, home: Path, *, options: Mapping[str, str] | None = None) -> None:
        self._home = Home(Path(home).expanduser().resolve())
        self._cluster = Cluster(self._home, "database")
        self._options = dict(options or {})

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
            if self.is_running() and self._home.log_size() <= _LOG_LIMIT_BYTES:
                return
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._locked():
                self._home.trim_log()
                if not self.is_running():
                    self._start()

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
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise TargetUnavailable(
                            f"Another process has been starting or upgrading the store in {self.home} "
                            f"for more than {_LOCK_WAIT_SECONDS:.0f} seconds."
                        ) from None
                    time.sleep(_POLL_SECONDS)
            yield
        finally:
            os.close(lock)

    def _programs(self, major: int = TARGET_MAJOR) -> Programs:
        return usable_programs(programs_of(major, self.data_dir), self.home, self.data_dir)

    def _start(self) -> None:
        if os.geteuid() != 0 and self.home.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
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
        sync_folder(self.home)

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
        with open(partial, "x", opener=_private_opener) as conf:
            conf.write(settings_text(self._options))
        if programs.account:
            os.chown(partial, -1, programs.account.gid)
            partial.chmod(0o640)
        partial.rename(self.home / "database.conf")


def _private_opener(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _unlinked_opener(path: str, flags: int) -> int:
    """Open without following symbolic links: the folder belongs to another account, and we may be root."""
    return os.open(path, flags & ~os.O_CREAT | os.O_NOFOLLOW)
