"""Differences between Linux, macOS and Windows: user ids, file locks, programs. Nothing here fails at import."""

import os
import sys
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

NO_USER = -1


def user_id() -> int:
    """The effective user id; Windows has none."""
    return os.geteuid() if hasattr(os, "geteuid") else NO_USER


def is_root() -> bool:
    return user_id() == 0


def has_unix_permissions() -> bool:
    """True if the mode and the owner of a file say who may read it."""
    return user_id() != NO_USER


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process alone, until it is closed; False if another process has it."""
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 (only there)

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except (BlockingIOError, PermissionError):
        return False
    return True


def account_named(name: str) -> tuple[int, int] | None:
    """User and group id of an account, or None."""
    try:
        import pwd  # noqa: PLC0415 (not on Windows)

        entry = pwd.getpwnam(name)
    except (ImportError, KeyError):
        return None
    return entry.pw_uid, entry.pw_gid


def is_known_user(uid: int) -> bool:
    try:
        import pwd  # noqa: PLC0415 (not on Windows)

        pwd.getpwuid(uid)
    except ImportError:
        return True
    except KeyError:
        return False
    return True


def program(folder: Path, name: str) -> Path:
    """The path of a program in a folder."""
    return folder / (f"{name}.exe" if sys.platform == "win32" else name)


def clean_environment(path: str) -> dict[str, str]:
    """The environment of a program of ours: no variable of the user but those without which nothing starts."""
    kept = ("SYSTEMROOT", "SYSTEMDRIVE", "TEMP", "TMP") if sys.platform == "win32" else ()
    found = {name: os.environ[name] for name in kept if name in os.environ}
    return {"PATH": os.environ.get("PATH", path) if sys.platform == "win32" else path, **found}


def sync_folder(folder: Path) -> None:
    """Make a rename durable. Windows cannot open a folder, and does so itself."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
