"""The turn of answering hooks where no server runs: one process of a home folder has it, by a lock of the system.

The lock ends with its process, however that ends.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

TURN_FILE = "hooks.lock"


@contextmanager
def taken_turn(folder: str) -> Iterator[bool]:
    """Hold the turn. False if another process has it, or if the system has no such locks."""
    try:
        import fcntl  # noqa: PLC0415 (not on Windows)

        handle = os.open(os.path.join(folder, TURN_FILE), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)  # noqa: PTH118
    except (ImportError, OSError):
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
    finally:
        os.close(handle)
