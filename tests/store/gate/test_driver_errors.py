"""Errors of the driver: what a caller is told, and what a task that is cancelled meanwhile sees."""

import asyncio

import psycopg
import pytest
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from memory_butler.errors import (
    DeadlinePassed,
    IntegrityViolation,
    InternalError,
    MemoryButlerError,
    OverloadRejected,
    TargetUnavailable,
)
from memory_butler.resources import Resources
from memory_butler.store.gate.connection import shut_down
from memory_butler.store.gate.driver_errors import LockBusy, translated


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (PoolTimeout(), TargetUnavailable),
        (PoolClosed(), TargetUnavailable),
        (TooManyRequests(), OverloadRejected),
        (psycopg.errors.LockNotAvailable(), LockBusy),
        (psycopg.errors.QueryCanceled(), DeadlinePassed),
        (psycopg.errors.UniqueViolation("twice"), IntegrityViolation),
        (psycopg.errors.InsufficientPrivilege("no"), IntegrityViolation),
        (psycopg.errors.AdminShutdown(), TargetUnavailable),
        (psycopg.errors.ProtocolViolation("server login has been failing"), TargetUnavailable),
        (psycopg.errors.DuplicatePreparedStatement(), InternalError),
        (psycopg.errors.SyntaxError(), InternalError),
    ],
)
def test_what_callers_are_told(problem: Exception, told: type[MemoryButlerError]) -> None:
    with pytest.raises(told), translated():
        raise problem


@pytest.mark.parametrize("after_cancelling", [True, False])
async def test_a_task_that_is_cancelled_while_its_connection_breaks_is_cancelled(
    resources: Resources, after_cancelling: bool
) -> None:
    """The error of the connection must not take the place of the cancellation: a loop would go on."""
    sleeping = asyncio.Event()
    connections: list[psycopg.AsyncConnection[dict[str, object]]] = []

    async def work() -> None:
        while True:
            try:
                async with resources.database.write(resources.settings.tenant, resources.clock()) as transaction:
                    connections.append(transaction._connection)
                    cursor = await transaction._connection.execute("SELECT pg_sleep(30)")
                    sleeping.set()
                    await cursor.fetchone()
            except MemoryButlerError:
                continue

    task = asyncio.create_task(work())
    await sleeping.wait()
    if after_cancelling:
        task.cancel()
        shut_down(connections[0])
    else:
        shut_down(connections[0])
        task.cancel()
    done, _ = await asyncio.wait({task}, timeout=10)
    assert done and task.cancelled()
