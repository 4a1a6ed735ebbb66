"""Notifications of new events: one connection per process listens and wakes the subscribers of a tenant.

A notification only means "query again". Without a listening connection, subscribers poll.
"""

import asyncio
import logging
import secrets
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
from psycopg import AsyncConnection, sql

from memory_butler.errors import MemoryButlerError
from memory_butler.store.gate.database import Database
from memory_butler.store.gate.driver_errors import raise_if_cancelled
from memory_butler.store.gate.ids import tenant_digest

# Name of the connection in pg_stat_activity.
APPLICATION = "memory-butler listening"
# If our own probe does not arrive within this time, the connection counts as not listening.
PROBE_SECONDS = 3.0
# A listening connection is probed again after this time.
CHECK_SECONDS = 30.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 30.0

log = logging.getLogger(__name__)


class Subscription:
    """Waits for the events of one tenant."""

    def __init__(self, notifications: "EventNotifications") -> None:
        self._notifications = notifications
        self._notified = asyncio.Event()

    async def wait(self, seconds: float, poll_seconds: float) -> None:
        """Wait until notified, at most `seconds`; at most `poll_seconds` if nothing listens."""
        timeout = seconds if self._notifications.is_listening else min(seconds, poll_seconds)
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._notified.wait()
        self._notified.clear()

    def notify(self) -> None:
        self._notified.set()


class EventNotifications:
    """The listening connection of a process, open while there are subscriptions.

    `url` is a direct connection to the database; without one, subscribers poll.
    """

    def __init__(self, database: Database, url: str | None) -> None:
        self._database = database
        self._url = url
        self._channel = f"memory_events_{database.names.schema}"[:63]
        self._subscriptions: defaultdict[str, set[Subscription]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None
        self.is_listening = False

    @contextmanager
    def subscribe(self, tenant: str) -> Iterator[Subscription]:
        subscription, digest = Subscription(self), tenant_digest(tenant)
        self._subscriptions[digest].add(subscription)
        if self._task is None and self._url is not None:
            self._task = asyncio.create_task(self._stay_connected(self._url), name="memory-butler-listening")
        try:
            yield subscription
        finally:
            self._subscriptions[digest].discard(subscription)
            if not self._subscriptions[digest]:
                del self._subscriptions[digest]
            if not self._subscriptions and self._task is not None:
                self._task.cancel()
                self._task, self.is_listening = None, False

    async def _stay_connected(self, url: str) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                await self._listen(url)
            except (psycopg.Error, OSError, MemoryButlerError, TimeoutError) as problem:
                raise_if_cancelled(problem)
                log.info("listening for events failed: %s", type(problem).__name__)
            finally:
                pause = FIRST_PAUSE_SECONDS if self.is_listening else pause
                self.is_listening = False
            # From now on, subscribers poll.
            self._notify_all()
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _listen(self, url: str) -> None:
        """Listen until the connection breaks."""
        async with await AsyncConnection.connect(
            url, autocommit=True, application_name=APPLICATION, connect_timeout=5
        ) as connection:
            await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
            await self._probe(connection)
            self.is_listening = True
            # Events may have been written before listening began.
            self._notify_all()
            while True:
                async for notification in connection.notifies(timeout=CHECK_SECONDS):
                    self._notify(notification.payload)
                # A server that froze, or a network that was cut, leaves the connection open.
                await self._probe(connection)

    async def _probe(self, connection: AsyncConnection[tuple[object, ...]]) -> None:
        """Send a notification and wait for it: through a pooler, or in another database, none would ever arrive."""
        probe = f"hello {secrets.token_hex(8)}"
        async with self._database.unlocked_write() as transaction:
            await transaction.send("listening.ring", channel=self._channel, payload=probe)
        async for notification in connection.notifies(timeout=PROBE_SECONDS):
            if notification.payload == probe:
                return
            self._notify(notification.payload)
        raise TimeoutError("the connection receives no notifications")

    def _notify(self, digest: str) -> None:
        for subscription in self._subscriptions.get(digest, ()):
            subscription.notify()

    def _notify_all(self) -> None:
        for subscriptions in self._subscriptions.values():
            for subscription in subscriptions:
                subscription.notify()
