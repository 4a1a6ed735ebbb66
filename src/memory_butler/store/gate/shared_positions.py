"""Positions after the last writes, for the server processes behind one port: a caller whose next call reaches another
process sees its own writes."""

import mmap
from array import array
from pathlib import Path
from zlib import crc32

# Tenants that share a slot wait for each other's writes, at most as long as for their own.
SLOTS = 4096
_BYTES = array("Q").itemsize


class SharedPositions:
    """One row of slots for each process in a common file. A process writes its own row only, so that no two writes
    meet, and reads all."""

    def __init__(self, file: Path, process: int, processes: int) -> None:
        size = processes * SLOTS * _BYTES
        with file.open("r+b" if file.exists() else "x+b") as opened:
            opened.truncate(size)
            self._map = mmap.mmap(opened.fileno(), size)
        self._slots = memoryview(self._map).cast("Q")
        self._own = process * SLOTS
        self.clear()

    def record(self, tenant: str, position: int) -> None:
        at = self._own + _slot(tenant)
        self._slots[at] = max(position, self._slots[at])

    def of(self, tenant: str) -> int:
        return max(self._slots[_slot(tenant) :: SLOTS])

    def clear(self) -> None:
        """Forget those of this process: after a failover, a position may lie in a part of the log that is lost. The
        other processes notice it themselves."""
        self._slots[self._own : self._own + SLOTS] = memoryview(array("Q", bytes(SLOTS * _BYTES)))


def _slot(tenant: str) -> int:
    return crc32(tenant.encode()) % SLOTS
