"""Positions in the write-ahead log: how far a caller has written, and how far a replica must be to serve it."""

from collections import OrderedDict
from contextvars import ContextVar
from dataclasses import dataclass

# Tenants whose last write is remembered. A forgotten one may read a replica that is a moment behind.
LIMIT = 10_000


@dataclass(slots=True)
class CallPosition:
    """One call: the position that its reads need, the one after its last write, and why its answer is stale."""

    needed: int = 0
    written: int = 0
    stale: str | None = None


# The position of the current call, set at the boundary of the call.
current: ContextVar[CallPosition | None] = ContextVar("current_position", default=None)


def stale_note() -> tuple[str, ...]:
    """Why the answer of the current call is stale; empty: it is not."""
    call = current.get()
    return (call.stale,) if call and call.stale else ()


class TenantPositions:
    """The position after the last write of each tenant through this process."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._positions: OrderedDict[str, int] = OrderedDict()

    def record(self, tenant: str, position: int) -> None:
        self._positions[tenant] = max(position, self._positions.pop(tenant, 0))
        if len(self._positions) > self._limit:
            self._positions.popitem(last=False)

    def of(self, tenant: str) -> int:
        return self._positions.get(tenant, 0)

    def clear(self) -> None:
        """Forget all: after a failover, a position may lie in a part of the log that is lost."""
        self._positions.clear()
