"""What is too much is refused at once, and told when to come again."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import pytest
from mcp import MCPError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from tests.support.service import serving

from memory_butler.adapters.http import limits as limits_module
from memory_butler.adapters.http.limits import (
    ACTIVITY_PATH,
    ConcurrencyLimit,
    EarlyRefusal,
    Gate,
    Gates,
    default_concurrency,
)
from memory_butler.adapters.http.problems import Busy
from memory_butler.jobs.yield_to_calls import ActiveCalls
from memory_butler.metrics import registry
from memory_butler.resources import Resources
from memory_butler.settings import Limits


class Shop:
    """An application whose calls stay until they are let go."""

    def __init__(self, processes: int = 1, **limits: Any) -> None:
        self.inside = 0
        self.most = 0
        self.go = asyncio.Event()
        self._changed = asyncio.Condition()
        anything = Route("/{path:path}", self._stay, methods=["GET", "POST"])
        gates = Gates(Limits(**limits), deadline_seconds=60, mcp_path="/mcp", processes=processes)
        self.calls = ActiveCalls()
        # Who is asked who they are, in between.
        self.asked = 0
        stack = [
            Middleware(EarlyRefusal, gates=gates),
            Middleware(Asking, shop=self),
            Middleware(ConcurrencyLimit, gates=gates, calls=self.calls),
        ]
        self.app = Starlette(routes=[anything], middleware=stack)

    async def _stay(self, request: Request) -> PlainTextResponse:
        async with self._changed:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self._changed.notify_all()
        try:
            await self.go.wait()
        finally:
            self.inside -= 1
        return PlainTextResponse("served")

    async def until(self, number: int) -> None:
        """Wait until so many are inside."""
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(lambda: self.inside == number)


class Asking:
    """Stands where authentication does, and counts."""

    def __init__(self, app: ASGIApp, shop: Shop) -> None:
        self._app, self._shop = app, shop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._shop.asked += 1
        await self._app(scope, receive, send)


@asynccontextmanager
async def opened(shop: Shop) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(shop.app), base_url="http://shop") as web:
        yield web


async def test_so_many_work_so_many_wait_and_the_rest_is_refused() -> None:
    """With two places and three chairs the sixth is refused at once; the five are served, two at a time."""
    shop = Shop(concurrency=2, waiting=3)
    async with opened(shop) as web:
        first = [asyncio.create_task(web.post("/api/v1/search")) for _ in range(5)]
        await shop.until(2)
        refused = await web.post("/api/v1/search", headers={"X-Request-Id": "r-1"})
        assert (refused.status_code, refused.headers["x-request-id"], refused.json()["request_id"]) == (
            429,
            "r-1",
            "r-1",
        )
        assert (refused.headers["retry-after"], refused.json()["error"]) == ("1", "overload_rejected")
        assert refused.json()["retryable"] and refused.headers["content-type"] == "application/problem+json"
        shop.go.set()
        assert {(await call).status_code for call in first} == {200}
        assert (await web.post("/api/v1/search")).status_code == 200
    assert shop.most == 2


async def test_processes_behind_one_port_share_the_limits() -> None:
    """Each of two has half of the places and of the chairs, so together they take no more than one would."""
    shop = Shop(processes=2, concurrency=4, waiting=2)
    async with opened(shop) as web:
        first = [asyncio.create_task(web.post("/api/v1/search")) for _ in range(3)]
        await shop.until(2)
        assert (await web.post("/api/v1/search")).status_code == 429
        shop.go.set()
        assert {(await call).status_code for call in first} == {200}
    assert shop.most == 2


async def test_a_full_server_refuses_before_it_asks_who_is_calling() -> None:
    """Nor does it read what is sent: to be turned away costs neither a look at a token nor at a body."""
    shop = Shop(concurrency=1, waiting=0)

    async def body() -> AsyncIterator[bytes]:
        pytest.fail("the body was read")
        yield b""

    async with opened(shop) as web:
        first = asyncio.create_task(web.post("/api/v1/search"))
        await shop.until(1)
        assert shop.asked == 1
        scope = {"type": "http", "method": "POST", "path": "/api/v1/search", "headers": []}
        sent: list[Message] = []
        await shop.app(scope, body().__anext__, _into(sent))  # type: ignore[arg-type]
        assert sent[0]["status"] == 429
        assert (await web.post("/mcp")).json()["error"]["data"]["error"] == "overload_rejected"
        assert shop.asked == 1
        shop.go.set()
        assert (await first).status_code == 200
        assert (await web.post("/api/v1/search")).status_code == 200
        assert shop.asked == 2


def _into(sent: list[Message]) -> Send:
    async def send(message: Message) -> None:
        sent.append(message)

    return send


async def test_calls_are_counted_while_they_are_worked_on_or_wait_and_streams_are_not() -> None:
    """What upkeep gives way to: five calls of which three wait, and no reader of a stream, however it ends."""
    shop = Shop(concurrency=2, waiting=3)
    async with opened(shop) as web:
        calls = [asyncio.create_task(web.post("/api/v1/search")) for _ in range(5)]
        held = [*calls, asyncio.create_task(web.get(ACTIVITY_PATH))]
        await shop.until(3)
        assert shop.calls.active == 5
        assert (await web.post("/api/v1/search")).status_code == 429
        assert shop.calls.active == 5
        calls[4].cancel()
        await asyncio.wait({calls[4]})
        assert shop.calls.active == 4
        shop.go.set()
        await asyncio.gather(*held, return_exceptions=True)
    assert shop.calls.active == 0


@pytest.mark.parametrize(("cores", "places"), [(None, 8), (1, 8), (2, 8), (4, 16), (16, 64)])
def test_places_follow_the_cores_unless_they_are_set(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, places: int
) -> None:
    """Four for each core, and eight on the smallest machine or where nobody knows."""
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert default_concurrency() == places
    assert _places(Limits()) == places
    assert _places(Limits(concurrency=3)) == 3


def _places(limits: Limits) -> int:
    gate = Gates(limits, deadline_seconds=1, mcp_path="/mcp").gate_for(
        {"type": "http", "method": "POST", "path": "/mcp"}
    )
    assert gate
    return gate.slots


async def test_health_is_always_answered_and_streams_have_places_of_their_own() -> None:
    """A server without a free place answers to health and metrics, and readers of streams are counted apart."""
    shop = Shop(concurrency=1, waiting=0, streams=1)
    async with opened(shop) as web:
        held = [asyncio.create_task(web.post("/mcp")), asyncio.create_task(web.get(ACTIVITY_PATH))]
        await shop.until(2)
        for full in (web.post("/mcp"), web.get("/mcp"), web.get(ACTIVITY_PATH), web.get("/api/v1/jobs")):
            assert (await full).status_code == 429
        held += [asyncio.create_task(web.get(path)) for path in ("/health/live", "/health/ready", "/metrics")]
        await shop.until(5)
        shop.go.set()
        assert {(await call).status_code for call in held} == {200}


async def test_whoever_leaves_the_line_leaves_no_gap() -> None:
    """Callers that give up, waiting or just called in, take nobody's place with them."""
    gate = Gate(1, 10, 60)
    done: list[int] = []

    async def work(number: int) -> None:
        async with gate.slot():
            done.append(number)

    async with gate.slot():
        line = [asyncio.create_task(work(number)) for number in range(4)]
        await asyncio.sleep(0)
        line[1].cancel()
        await asyncio.sleep(0)
    # The first in line has its turn now, but has not noticed yet.
    line[0].cancel()
    await asyncio.gather(*line, return_exceptions=True)
    assert done == [2, 3]
    async with gate.slot():
        pass


async def test_nobody_waits_longer_than_a_share_of_the_deadline() -> None:
    """Then they are told to come again, and the line is free for others."""
    gate = Gate(1, 1, 0.01)
    async with gate.slot():
        for _ in range(2):
            with pytest.raises(Busy, match=r"waited 0\.01 seconds"):
                async with gate.slot():
                    pytest.fail("there was no place")
    async with gate.slot():
        pass


async def test_a_full_server_refuses_at_both_doors(
    shared_resources: Resources, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REST with a problem, MCP with an error that its client raises; both are counted."""
    monkeypatch.setattr(limits_module, "default_concurrency", lambda: 0)
    limits = shared_resources.settings.service.limits.model_copy(update={"waiting": 0})
    async with serving(shared_resources, limits=limits) as service:
        token = await service.token(tenant)
        counted = registry.REGISTRY.get_sample_value("memory_butler_refused_total") or 0
        async with service.web(token) as web:
            refused = await web.post("/api/v1/stats")
        assert (refused.status_code, refused.json()["error"]) == (429, "overload_rejected")
        assert refused.headers["retry-after"] == "1"
        assert (registry.REGISTRY.get_sample_value("memory_butler_refused_total") or 0) == counted + 1
        with pytest.raises(MCPError, match="limit of concurrent calls") as raised:
            async with service.mcp(token):
                pytest.fail("it was let in")
        assert raised.value.error.data["error"] == "overload_rejected"


async def test_no_caller_and_no_tenant_has_all_the_slots() -> None:
    """Half of the slots and of the line for a caller, three quarters for a tenant; the rest is for others."""
    gate = Gate(8, 8, 60)
    go = asyncio.Event()
    served: list[str] = []

    async def call(tenant: str, caller: str) -> None:
        async with gate.slot([((tenant, caller), 0.5), (tenant, 0.75)]):
            served.append(caller)
            await go.wait()

    greedy = [asyncio.create_task(call("a", "mallory")) for _ in range(20)]
    await asyncio.sleep(0)
    assert served == ["mallory"] * 4
    await asyncio.sleep(0)
    refused = [one for one in greedy if one.done()]
    assert len(refused) == 12 and all(isinstance(one.exception(), Busy) for one in refused)
    mates = [asyncio.create_task(call("a", f"mate {number}")) for number in range(4)]
    await asyncio.sleep(0)
    assert served[4:] == ["mate 0", "mate 1"]
    others = [asyncio.create_task(call("b", f"other {number}")) for number in range(2)]
    await asyncio.sleep(0)
    assert served[6:] == ["other 0", "other 1"]
    go.set()
    await asyncio.gather(*greedy, *mates, *others, return_exceptions=True)
    assert served.count("mallory") == 8
    assert (gate._inside, len(gate._line), dict(gate._inside_of), dict(gate._waiting_of)) == (0, 0, {}, {})


async def test_slow_bodies_and_streams_of_one_caller_leave_room_for_others(
    shared_resources: Resources, tenant: str
) -> None:
    """60 bodies that do not end and all the streams it can open: others are answered."""
    limits = shared_resources.settings.service.limits.model_copy(update={"concurrency": 4, "waiting": 4, "streams": 8})
    async with serving(shared_resources, limits=limits) as service, AsyncExitStack() as held:
        mallory, ana = await service.token(tenant), await service.token(f"{tenant}-b", butler="ana")
        host, port = service.url.removeprefix("http://").split(":")
        head = f"POST /api/v1/stats HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {mallory}\r\n"
        for _ in range(60):
            _, writer = await asyncio.open_connection(host, int(port))
            held.callback(writer.close)
            writer.write(f"{head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{{".encode())
            await writer.drain()
        statuses = []
        web = await held.enter_async_context(service.web(mallory))
        for _ in range(8):
            stream = await held.enter_async_context(web.stream("GET", ACTIVITY_PATH))
            statuses.append(stream.status_code)
        assert statuses == [200] * 4 + [429] * 4
        other = await held.enter_async_context(service.web(ana))
        for _ in range(5):
            assert (await other.post("/api/v1/stats", json={})).status_code == 200
        stream = await held.enter_async_context(other.stream("GET", ACTIVITY_PATH))
        assert stream.status_code == 200


async def test_large_heads_are_refused(shared_resources: Resources, tenant: str) -> None:
    async with serving(shared_resources) as service:
        token = await service.token(tenant)
        async with service.web(token, **{"x-long": "x" * 70_000}) as web:
            refused = await web.post("/api/v1/stats", json={})
        assert refused.status_code == 431
        async with service.web(token, **{"x-long": "x" * 20_000}) as web:
            assert (await web.post("/api/v1/stats", json={})).status_code == 200
