"""Waits for the database: tells a call that was too slow from a database that did not answer or could not commit.

A frozen primary leaves connections open and answers nothing; one that lost its synchronous replicas takes a commit and
does not confirm it. Callers of both must hear that the store is unavailable, not that their call took too long.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import psycopg

from memory_butler.errors import TargetUnavailable

# Share of a call's deadline after which the server cancels a statement. One that is silent for longer does not answer.
STATEMENT_SHARE = 0.9
# A commit that takes longer than this is not a slow disk.
STALL_SECONDS = 2.0


class DatabaseSilent(TargetUnavailable):
    """The database did not answer in time."""

    default_recovery = "Try again, with the same idempotency key if it was a write: it may have been stored."


@dataclass(slots=True)
class ServerWait:
    """What one call waits for: since when for an answer of the database, and whether for that to a COMMIT or for a
    store that is opening.

    The database that the call uses sets `is_down`, and after how many seconds it cancels a statement.
    """

    since: float | None = None
    is_committing: bool = False
    is_opening: bool = False
    statement_seconds: float = float("inf")
    is_down: Callable[[], bool] = lambda: False

    @property
    def is_unanswered(self) -> bool:
        """True if the call, whose deadline has passed, waits for a database that does not answer or open."""
        if self.is_opening:
            return True
        if self.since is None:
            return False
        return self.is_committing or time.monotonic() - self.since >= self.statement_seconds or self.is_down()


# The wait of the current call, set at the boundary of the call.
current: ContextVar[ServerWait | None] = ContextVar("current_server_wait", default=None)


@contextmanager
def opening() -> Iterator[None]:
    """The current call waits for a store that is opening.

    A busy event loop may look at the time limit of this wait and at the call's deadline in one round, too late for
    both.
    """
    call = current.get()
    if call:
        call.is_opening = True
    yield
    if call:
        call.is_opening = False


class Commits:
    """The commits of this process that are not confirmed yet."""

    def __init__(self) -> None:
        self._begun: dict[object, float] = {}

    @contextmanager
    def one(self) -> Iterator[None]:
        key, call = object(), current.get()
        self._begun[key] = time.monotonic()
        if call:
            call.is_committing = True
        try:
            yield
        finally:
            del self._begun[key]
            if call:
                call.is_committing = False

    @property
    def are_stalled(self) -> bool:
        return any(time.monotonic() - begun > STALL_SECONDS for begun in self._begun.values())

    @contextmanager
    def explained(self) -> Iterator[None]:
        """A statement that was cancelled while commits stall waited for the lock of one of them."""
        try:
            yield
        except psycopg.errors.QueryCanceled as problem:
            if self.are_stalled:
                raise DatabaseSilent() from problem
            raise
