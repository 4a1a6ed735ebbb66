"""The short references that a transaction reserves when it takes the tenant's write lock."""

from typing import Any

from psycopg import AsyncCursor


class References:
    """References for the memories that a transaction stores.

    Such a transaction reads first, and its statements wait for the lock in the database. So the answer to the lock is
    awaited with theirs, which saves a round trip.
    """

    def __init__(self) -> None:
        self._locking: AsyncCursor[dict[str, Any]] | None = None
        self._last = 0
        self._left = 0

    async def reserve(self, locking: AsyncCursor[dict[str, Any]], count: int, *, wait: bool = True) -> None:
        """`locking` is the statement that takes the lock; without references its answer is awaited at once, unless
        `wait` is off."""
        self._locking, self._left = locking, count
        if wait and not count:
            await self.known()

    async def known(self) -> None:
        """Wait until the lock is taken and the references are known."""
        if self._locking:
            cursor, self._locking = self._locking, None
            row = await cursor.fetchone()
            assert row
            self._last = row["last_ref"]

    def take(self) -> int:
        """Return the next reserved reference; after `known`."""
        assert self._left > 0, "more references are taken than were reserved"
        assert self._locking is None, "the references are not known yet"
        self._left -= 1
        return self._last - self._left
