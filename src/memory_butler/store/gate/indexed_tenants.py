"""Cache of the tenants that have a vector index. A stale entry makes a search slower, never wrong."""

import time
from collections.abc import Iterable

from memory_butler.store.gate.ids import tenant_digest

REFRESH_SECONDS = 10.0


class IndexedTenants:
    """Digests of the tenants that had an index at the last lookup."""

    def __init__(self) -> None:
        self._digests: frozenset[str] | None = None
        self._read_at = float("-inf")

    def is_stale(self) -> bool:
        return time.monotonic() - self._read_at >= REFRESH_SECONDS

    def includes(self, tenant: str) -> bool:
        return self._digests is not None and tenant_digest(tenant) in self._digests

    def may_include(self, tenant: str) -> bool:
        """True also before the first lookup."""
        return self._digests is None or tenant_digest(tenant) in self._digests

    def refresh(self, digests: Iterable[str]) -> None:
        self._digests = frozenset(digests)
        self._read_at = time.monotonic()

    def clear(self) -> None:
        """Have the next search look up the indexes."""
        self._digests, self._read_at = None, float("-inf")
