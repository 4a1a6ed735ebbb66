"""News of events: one connection of its own listens for the whole process, and wakes those who follow a tenant.

It only ever says "look again". Where nothing can be heard, those who follow look by themselves, more often.
"""

import asyncio
import hashlib
import logging
import secrets
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
from psycopg import AsyncConnection, sql

from memory_butler.errors import MemoryButlerError
from memory_butler.store.database import Database

# A process that listens says so to whoever looks at the server's connections.
APPLICATION = "memory-butler listening"
# After a call of our own that is not heard for so long, we do not listen, whatever the server says.
PROBE_SECONDS = 3.0
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 30.0

log = logging.getLogger(__name__)


class Ear:
    """One who follows a tenant's events."""

    def __init__(self, news: "News") -> None:
        self._news = news
        self._heard = asyncio.Event()

    async def listen(self, seconds: float, poll_seconds: float) -> None:
        """Wait until there may be something new: until told so, or for so long; less if nothing can be heard."""
        patience = seconds if self._news.is_listening else min(seconds, poll_seconds)
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._heard.wait()
        self._heard.clear()

    def hear(self) -> None:
        self._heard.set()


class News:
    """The listening connection of a process. It is there while anybody listens.

    `url` is a direct connection; without one there is no listening.
    """

    def __init__(self, database: Database, url: str | None) -> None:
        self._database = database
        self._url = url
        self._channel = f"memory_events_{database.names.schema}"[:63]
        self._ears: defaultdict[str, set[Ear]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None
        self.is_listening = False

    @contextmanager
    def of(self, tenant: str) -> Iterator[Ear]:
        """Follow a tenant."""
        ear, digest = Ear(self), digest_of(tenant)
        self._ears[digest].add(ear)
        if self._task is None and self._url is not None:
            self._task = asyncio.create_task(self._stay_connected(self._url), name="memory-butler-news")
        try:
            yield ear
        finally:
            self._ears[digest].discard(ear)
            if not self._ears[digest]:
                del self._ears[digest]
            if not self._ears and self._task is not None:
                self._task.cancel()
                self._task, self.is_listening = None, False

    async def _stay_connected(self, url: str) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                await self._listen(url)
            except (psycopg.Error, OSError, MemoryButlerError, TimeoutError) as problem:
                log.info("news of events cannot be heard: %s", type(problem).__name__)
            finally:
                pause = FIRST_PAUSE_SECONDS if self.is_listening else pause
                self.is_listening = False
            # From here on everybody looks for themselves.
            self._tell_all()
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _listen(self, url: str) -> None:
        """Listen until the connection breaks."""
        async with await AsyncConnection.connect(
            url, autocommit=True, application_name=APPLICATION, connect_timeout=5
        ) as connection:
            await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))
            await self._try_out(connection)
            self.is_listening = True
            # Whatever was written while nobody listened.
            self._tell_all()
            async for news in connection.notifies():
                self._tell(news.payload)

    async def _try_out(self, connection: AsyncConnection[tuple[object, ...]]) -> None:
        """Hear a call of our own. Through a pooler, or in another database, one can listen for ever."""
        call = f"hello {secrets.token_hex(8)}"
        async with self._database.aside() as session:
            await session.send("listening.ring", channel=self._channel, payload=call)
        async for news in connection.notifies(timeout=PROBE_SECONDS):
            if news.payload == call:
                return
        raise TimeoutError("the connection does not hear what is said in the database")

    def _tell(self, digest: str) -> None:
        for ear in self._ears.get(digest, ()):
            ear.hear()

    def _tell_all(self) -> None:
        for ears in self._ears.values():
            for ear in ears:
                ear.hear()


def digest_of(tenant: str) -> str:
    """A tenant as the news name it."""
    return hashlib.sha256(tenant.encode()).hexdigest()[:24]
