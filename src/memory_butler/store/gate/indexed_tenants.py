"""Cache of the tenants that have a vector index, by embedding version. A stale entry makes a search slower, never
wrong."""

import time
from collections.abc import Iterable

from memory_butler.store.gate.ids import tenant_digest

REFRESH_SECONDS = 10.0


class IndexedTenants:
    """Digests of the tenants that had an index at the last lookup, each with the embedding version of the index."""

    def __init__(self) -> None:
        self._found: frozenset[tuple[str, int]] | None = None
        self._read_at = float("-inf")

    def is_stale(self) -> bool:
        return time.monotonic() - self._read_at >= REFRESH_SECONDS

    def includes(self, tenant: str, version: int) -> bool:
        return self._found is not None and (tenant_digest(tenant), version) in self._found

    def may_include(self, tenant: str, version: int) -> bool:
        """True also before the first lookup."""
        return self._found is None or (tenant_digest(tenant), version) in self._found

    def refresh(self, found: Iterable[tuple[str, int]]) -> None:
        self._found = frozenset(found)
        self._read_at = time.monotonic()

    def clear(self) -> None:
        """Have the next search look up the indexes."""
        self._found, self._read_at = None, float("-inf")
