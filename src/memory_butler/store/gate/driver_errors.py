"""Translation of driver errors into the errors of memory_butler.errors."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from memory_butler.errors import (
    DeadlinePassed,
    IntegrityViolation,
    InternalError,
    MemoryButlerError,
    OverloadRejected,
    TargetUnavailable,
)
from memory_butler.store.gate.migrate import StoreUpgraded

# SQLSTATEs that our own functions and triggers raise.
INVARIANT_BROKEN = "MB001"
WRONG_REVISION = "MB002"
KEYS_UNKNOWN = "MB003"
# A prepared statement exists already, or does not exist: it belongs to another client of the same pooler.
PREPARED_STATEMENT_MISMATCH = ("42P05", "26000")


class LockBusy(OverloadRejected):
    """Another change of this tenant is being written."""


@contextmanager
def translated() -> Iterator[None]:
    """Translate every error of the driver and of its pool."""
    try:
        yield
    except (psycopg.Error, PoolTimeout, PoolClosed, TooManyRequests) as problem:
        raise_if_cancelled(problem)
        raise _translation(problem) from problem


def raise_if_cancelled(problem: Exception) -> None:
    """Raise the cancellation of the current task again, if the error of a broken connection took its place.

    A loop that goes on after an error would never end otherwise.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return
    if task is not None and task.cancelling():
        raise asyncio.CancelledError from problem


def _translation(problem: Exception) -> MemoryButlerError:
    match problem:
        case PoolTimeout() | PoolClosed():
            return TargetUnavailable()
        case TooManyRequests():
            return OverloadRejected()
        case psycopg.errors.LockNotAvailable():
            return LockBusy()
        case psycopg.errors.QueryCanceled():
            return DeadlinePassed()
        case psycopg.IntegrityError() | psycopg.errors.InsufficientPrivilege():
            refused = "the change" if isinstance(problem, psycopg.IntegrityError) else "access"
            return IntegrityViolation(f"The store refused {refused}: {_first_line(problem)}")
    assert isinstance(problem, psycopg.Error)
    return _by_state(problem)


def _by_state(problem: psycopg.Error) -> MemoryButlerError:
    state = problem.sqlstate
    if state == INVARIANT_BROKEN:
        return IntegrityViolation(f"The store refused the change: {_first_line(problem)}")
    if state == WRONG_REVISION:
        return StoreUpgraded(f"{_first_line(problem)[:1].upper()}{_first_line(problem)[1:]}.")
    if state == KEYS_UNKNOWN:
        return TargetUnavailable(
            "Encryption was switched on after this program started.",
            recovery="Restart it, so that it reads the master key.",
        )
    if isinstance(problem, psycopg.OperationalError):
        return TargetUnavailable()
    if state in PREPARED_STATEMENT_MISMATCH:
        return InternalError(
            f"The database mixes up prepared statements (error {state}), as it does behind a transaction pooler.",
            recovery="Set service.pooler = true, or connect to the database directly.",
        )
    return InternalError(f"The database answered with error {state or type(problem).__name__}.")


def _first_line(problem: psycopg.Error) -> str:
    return (problem.diag.message_primary or str(problem)).splitlines()[0]
