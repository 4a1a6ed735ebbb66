"""The activity stream over a real server: in order, nothing lost, nothing twice, and only to those who may hear it."""

import asyncio
import json
import random
import socket
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from tests.support.service import on_loopback

from memory_butler.adapters.http import activity_stream, uvicorn_server
from memory_butler.adapters.http.app import listening
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.models import Caller, NewEpisode, NewFact, NewToken, Principal, Role, Token
from memory_butler.operations.access import tokens
from memory_butler.operations.history import activity
from memory_butler.operations.writing import ingest, remember
from memory_butler.resources import Resources, system_clock
from memory_butler.settings import Limits, load_settings
from memory_butler.store.gate.listening import APPLICATION

PATH = "/api/v1/activity/stream"
ROOT = Path(__file__).parents[3]
STREAMS = 6
Connection = psycopg.Connection[tuple[Any, ...]]


def governor(tenant: str) -> Caller:
    return Caller(Principal(tenant, "main", Role.ADMIN))


@dataclass
class AheadClock:
    by: timedelta = timedelta(0)

    def __call__(self) -> datetime:
        return system_clock() + self.by


@dataclass
class Running:
    url: str
    resources: Resources
    server: uvicorn_server.Server
    web: httpx.AsyncClient
    clock: AheadClock

    async def token(self, tenant: str, name: str = "main", role: Role = Role.ADMIN, **more: Any) -> tuple[Token, str]:
        wanted = NewToken(tenant=tenant, butler=name, role=role, **more)
        return await tokens.create(self.resources, wanted, governor(tenant))

    async def reader(self, tenant: str, name: str = "main", role: Role = Role.ADMIN, **params: str) -> "Reader":
        return Reader(self.web, (await self.token(tenant, name, role))[1], params)


@asynccontextmanager
async def running(resources: Resources, **service: Any) -> AsyncIterator[Running]:
    """A server that asks for tokens; nobody hears of anything by looking for themselves."""
    limits = Limits(streams=STREAMS, caller_share=1, tenant_share=1)
    given = {"auth": "required", "poll_seconds": 60.0, "token_cache_seconds": 0.0, "limits": limits, **service}
    settings = resources.settings.model_copy(update={"service": resources.settings.service.model_copy(update=given)})
    clock = AheadClock()
    own = replace(resources, settings=settings, clock=clock)
    listener = listening(load_settings(host="127.0.0.1", port=0))
    # What waits in the system's own buffers is little, so that a reader that does not read is noticed.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    async with (
        on_loopback(LazyResources.already_open(own), listener) as door,
        httpx.AsyncClient(base_url=door.url, timeout=30, verify=False) as web,
    ):
        yield Running(door.url, own, door.server, web, clock)


@pytest.fixture(scope="module")
async def service(shared_resources: Resources) -> AsyncIterator[Running]:
    async with running(shared_resources) as found:
        yield found


@dataclass
class Reader:
    """A client that comes again where it was cut off, as browsers do."""

    web: httpx.AsyncClient
    token: str
    params: dict[str, str]
    last_id: str | None = None
    heard: list[dict[str, Any]] = field(default_factory=list)
    connections: int = 0

    @property
    def ids(self) -> list[str]:
        return [event["id"] for event in self.heard]

    async def read(self, enough: Callable[["Reader"], bool], seconds: float | None = None) -> None:
        """Read until it is enough, the stream ends, or so much time has passed since it began."""
        headers = {"Authorization": f"Bearer {self.token}"}
        if self.last_id:
            headers["Last-Event-ID"] = self.last_id
        async with self.web.stream("GET", PATH, params=self.params, headers=headers) as reply:
            if reply.status_code == httpx.codes.TOO_MANY_REQUESTS:
                # A server at work notices a little later who has gone, and has but a few places here.
                await asyncio.sleep(0.1)
                return
            assert reply.status_code == 200, await reply.aread()
            assert reply.headers["content-type"].startswith("text/event-stream")
            self.connections += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    async for block in blocks(reply):
                        self._take(block)
                        if enough(self):
                            return

    def _take(self, block: dict[str, str]) -> None:
        self.last_id = block.get("id", self.last_id)
        if "data" in block:
            event = json.loads(block["data"])
            assert event.get("event", "end") == block["event"]
            self.heard.append(event)

    async def until(self, count: int, seconds: float = 30) -> None:
        async with asyncio.timeout(seconds):
            before = self.connections
            while self.connections == before:
                await self.read(lambda reader: len(reader.heard) >= count)


async def blocks(reply: httpx.Response) -> AsyncIterator[dict[str, str]]:
    block: dict[str, str] = {}
    async for line in reply.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            block[name] = value
        else:
            yield block
            block = {}


@asynccontextmanager
async def following(reader: Reader, count: int) -> AsyncIterator[None]:
    """Reads beside the test, which begins once the reader is there, until it has heard so much."""
    connected = asyncio.Event()

    def enough(reader: Reader) -> bool:
        connected.set()
        return len(reader.heard) >= count

    async def read() -> None:
        while not connected.is_set():  # Who finds no place comes again.
            await reader.read(enough)

    task = asyncio.create_task(read())
    try:
        async with asyncio.timeout(30):
            await asyncio.wait({task, asyncio.create_task(connected.wait())}, return_when=asyncio.FIRST_COMPLETED)
            yield
            await task
    finally:
        task.cancel()


def listeners(owner: Connection) -> list[int]:
    query = "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND query LIKE 'LISTEN%%'"
    return [int(str(row[0])) for row in owner.execute(query, (APPLICATION,)).fetchall()]


async def wait_for(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 (only the server knows when)
            await asyncio.sleep(0.02)


def in_the_log(owner: Connection, tenant: str, *owners: str) -> list[str]:
    """The events of a tenant, or of some scopes' and butlers' memories."""
    query = (
        "SELECT id FROM memory.memory_events WHERE tenant_id = %s AND (%s::text[] = '{}'"
        " OR coalesce(payload #>> '{state,scope}', payload #>> '{state,butler}') = ANY(%s)) ORDER BY seq"
    )
    return [str(row[0]) for row in owner.execute(query, (tenant, list(owners), list(owners))).fetchall()]


@asynccontextmanager
async def writing(home: Path, seed: int, count: int, *tenants: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A second process that writes to the same store."""
    command = [sys.executable, "-m", "tests.adapters.http.activity_writer", str(home), str(seed), str(count), *tenants]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    assert process.stdout
    try:
        assert await process.stdout.readline() == b"writing\n"
        yield process
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_nothing_is_lost_or_doubled_whatever_is_cut(
    service: Running, home: Path, tenant: str, owner: Connection
) -> None:
    """Another process writes to two tenants; their readers are cut off at random moments and come again, and so is
    the connection that listens. Each hears its own tenant's events, all of them, once, in the order of the log."""
    chance = random.Random(11)
    names = [tenant, f"{tenant}x"]
    readers = [
        await service.reader(names[0], since="start", scope="*"),
        await service.reader(names[1], since="start", scope="*"),
        await service.reader(names[0], "coder", Role.AGENT, since="start"),
        await service.reader(names[1], "main", Role.READER, since="start", scope="global"),
    ]
    done = asyncio.Event()

    async def read_on(reader: Reader) -> None:
        while not done.is_set():
            stop = len(reader.heard) + chance.randint(0, 12)
            await reader.read(lambda reader, stop=stop: len(reader.heard) > stop, chance.random() * 0.4)  # type: ignore[misc]

    async def cut() -> None:
        while not done.is_set():
            for pid in listeners(owner):
                owner.execute("SELECT pg_terminate_backend(%s)", (pid,))
            await asyncio.sleep(chance.random() * 0.4)

    tasks = [asyncio.create_task(work) for work in (*map(read_on, readers), cut())]
    async with writing(home, 1, 40, *names):
        pass
    done.set()
    await asyncio.gather(*tasks)
    expected = [
        in_the_log(owner, names[0]),
        in_the_log(owner, names[1]),
        in_the_log(owner, names[0], "global", "coder"),
        in_the_log(owner, names[1], "global"),
    ]
    for reader, events in zip(readers, expected, strict=True):
        if len(reader.heard) < len(events):
            await reader.until(len(events))
        assert reader.ids == events
        assert reader.connections > 2
    assert len(expected[0]) >= 40
    assert not set(expected[0]) & set(expected[1])


async def test_news_is_told_and_not_looked_for(service: Running, tenant: str, owner: Connection) -> None:
    """Where nobody looks for a minute, what is written arrives at once, also after the listening connection was cut;
    several streams share that connection, and it is gone with the last of them."""
    readers = [await service.reader(tenant) for _ in range(3)]
    caller = Caller(Principal(tenant, "main", Role.AGENT))
    async with following(readers[0], 2), following(readers[1], 2), following(readers[2], 2):
        await wait_for(lambda: len(listeners(owner)) == 1)
        await remember.episode(service.resources, NewEpisode(content="one", butler="main"), caller)
        await wait_for(lambda: all(len(reader.heard) == 1 for reader in readers))
        (pid,) = listeners(owner)
        owner.execute("SELECT pg_terminate_backend(%s)", (pid,))
        await wait_for(lambda: len(listeners(owner)) == 1 and listeners(owner) != [pid])
        await remember.episode(service.resources, NewEpisode(content="two", butler="main"), caller)
    assert {tuple(reader.ids) for reader in readers} == {tuple(in_the_log(owner, tenant))}
    await wait_for(lambda: listeners(owner) == [])


async def test_a_stream_begins_now_or_where_it_is_told_to(service: Running, tenant: str) -> None:
    """Without a cursor it is what happens from now on; with the tool's, what came after that; `Last-Event-ID` wins."""
    caller = Caller(Principal(tenant, "main", Role.ADMIN))
    for day in ("one", "two"):
        await remember.episode(service.resources, NewEpisode(content=day, butler="main"), caller)
    first = await activity.activity(service.resources, caller, since="start", limit=1)
    since = await service.reader(tenant, since=first.cursor)
    await since.until(1)
    again = replace(since, params={"since": "start"}, last_id=first.cursor, heard=[])
    await again.until(1)
    live = await service.reader(tenant)
    async with following(live, 1):
        await remember.episode(service.resources, NewEpisode(content="three", butler="main"), caller)
    events = (await activity.activity(service.resources, caller, since="start")).items
    assert [since.ids, again.ids, live.ids] == [
        [str(events[1].event.id)],
        [str(events[1].event.id)],
        [str(events[2].event.id)],
    ]
    assert live.last_id == events[2].cursor
    assert live.heard[0]["words"] == "Stored by main." and live.heard[0]["ref"] == events[2].ref


REFUSED: dict[str, tuple[dict[str, str], int, str]] = {
    "no cursor": ({"since": "yesterday"}, 422, "validation_error"),
    "another's scope": ({"scope": "health"}, 403, "permission_denied"),
    "every scope": ({"scope": "*"}, 403, "permission_denied"),
    "no scope": ({"scope": "Ä"}, 422, "validation_error"),
    "an unknown parameter": ({"tenant": "other"}, 422, "validation_error"),
}


@pytest.mark.parametrize(("params", "status", "error"), REFUSED.values(), ids=REFUSED)
async def test_what_cannot_be_followed_is_refused_at_once(
    service: Running, tenant: str, params: dict[str, str], status: int, error: str
) -> None:
    """Before anything is sent, with a problem that says what is wrong."""
    _, secret = await service.token(tenant, "coder", Role.AGENT)
    reply = await service.web.get(PATH, params=params, headers={"Authorization": f"Bearer {secret}"})
    assert (reply.status_code, reply.json()["error"]) == (status, error)
    assert reply.headers["content-type"] == "application/problem+json" and reply.headers["x-request-id"]
    assert (await service.web.get(PATH)).status_code == 401


@pytest.mark.parametrize("end", ["revoked", "expired"])
async def test_a_token_that_ends_ends_its_stream(
    service: Running, tenant: str, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """An open stream outlives its token only as long as a token is remembered; the reader is told why it is over."""
    token, secret = await service.token(tenant, expires_at=system_clock() + timedelta(hours=1))
    reader = Reader(service.web, secret, {})
    async with following(reader, 100):
        if end == "revoked":
            await tokens.revoke(service.resources, tenant, token.id, governor(tenant))
        else:
            monkeypatch.setattr(service.clock, "by", timedelta(hours=2))
    assert [event["error"] for event in reader.heard] == ["permission_denied"]
    assert (await service.web.get(PATH, headers={"Authorization": f"Bearer {secret}"})).status_code == 401


async def test_there_are_only_so_many_streams(service: Running, tenant: str) -> None:
    """One more is refused and told when to come again; calls go on, and a place that is left can be taken."""
    reader = await service.reader(tenant)
    headers = {"Authorization": f"Bearer {reader.token}"}

    async def full() -> bool:
        async with service.web.stream("GET", PATH, headers=headers) as reply:
            return reply.status_code == 429 and int(reply.headers["retry-after"]) > 0

    async with AsyncExitStack() as opened:
        for _ in range(STREAMS):
            stream = service.web.stream("GET", PATH, headers=headers)
            assert (await opened.enter_async_context(stream)).status_code == 200
        assert await full()
        told = await service.web.post("/api/v1/activity_stream", json={}, headers=headers)
        assert (told.status_code, told.json()["events"]) == (200, [])
    async with asyncio.timeout(10):
        while await full():
            pass


async def test_a_reader_that_does_not_read_is_sent_away(
    service: Running, tenant: str, owner: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it does not take is not kept for it: its stream is over after a while, and its place is free."""
    caller = Caller(Principal(tenant, "main", Role.ADMIN, name="x" * 180))
    for _ in range(3):
        new = [ingest.IncomingEpisode(NewEpisode(content=uuid.uuid4().hex, butler="main")) for _ in range(100)]
        await ingest.ingest(service.resources, new, caller)
    _, secret = await service.token(tenant)
    host, port = service.url.removeprefix("http://").split(":")
    with monkeypatch.context() as hurry, socket.socket() as line:
        hurry.setattr(activity_stream, "SEND_TIMEOUT_SECONDS", 0.2)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect((host, int(port)))
        line.sendall(
            f"GET {PATH}?since=start HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {secret}\r\n\r\n".encode()
        )
        await wait_for(lambda: len(listeners(owner)) == 1)
        await wait_for(lambda: listeners(owner) == [])
    whole = await service.reader(tenant, since="start")
    await whole.until(300)
    assert whole.ids == in_the_log(owner, tenant)


async def test_a_silent_stream_says_that_it_is_there(
    service: Running, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A heartbeat is a comment with the place that was reached, past what the reader may not hear."""
    monkeypatch.setattr(activity_stream, "HEARTBEAT_SECONDS", 0.1)
    caller = Caller(Principal(tenant, "coder", Role.AGENT))
    reader = await service.reader(tenant, "health", Role.AGENT, since="start")
    await remember.fact(service.resources, NewFact(subject="a", predicate="b", content="c", scope="coder"), caller)
    async with asyncio.timeout(10):
        await reader.read(lambda reader: bool(reader.last_id and reader.last_id.startswith("a1-1-")))
    assert reader.heard == []


async def test_without_ears_it_looks_for_itself(shared_resources: Resources, tenant: str, owner: Connection) -> None:
    """Through a pooler nothing is heard: the stream looks every so often, and ends when the server does."""
    async with running(shared_resources, pooler=True, poll_seconds=0.1) as found:
        reader = await found.reader(tenant)
        async with following(reader, 1):
            await remember.episode(found.resources, NewEpisode(content="one", butler="main"), governor(tenant))
        assert reader.ids == in_the_log(owner, tenant)
        assert listeners(owner) == []
        async with following(reader, 100):
            found.server.should_exit = True
    assert reader.ids == in_the_log(owner, tenant)
