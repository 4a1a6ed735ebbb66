"""What is too much is refused at once, and told when to come again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
from tests.service import Service, serving

from memory_butler.adapters import limits as limits_module
from memory_butler.adapters import metrics
from memory_butler.adapters.limits import (
    ACTIVITY_PATH,
    REMEMBERED,
    Doorkeeper,
    Gate,
    Gates,
    Limited,
    Rates,
    usual_concurrency,
)
from memory_butler.adapters.problems import Busy
from memory_butler.butler import Butler
from memory_butler.jobs.courtesy import Calls
from memory_butler.models import Principal
from memory_butler.settings import Limits


class Shop:
    """An application whose calls stay until they are let go."""

    def __init__(self, **limits: Any) -> None:
        self.inside = 0
        self.most = 0
        self.go = asyncio.Event()
        self._changed = asyncio.Condition()
        anything = Route("/{path:path}", self._stay, methods=["GET", "POST"])
        gates = Gates(Limits(**limits), deadline_seconds=60, mcp_path="/mcp")
        self.calls = Calls()
        # Who is asked who they are, in between.
        self.asked = 0
        stack = [
            Middleware(Doorkeeper, gates=gates, calls=self.calls),
            Middleware(Asking, shop=self),
            Middleware(Limited, gates=gates),
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
        assert shop.asked == 2, "who waits is not asked yet"
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
        assert shop.calls.in_hand == 5
        assert (await web.post("/api/v1/search")).status_code == 429
        assert shop.calls.in_hand == 5
        calls[4].cancel()
        await asyncio.wait({calls[4]})
        assert shop.calls.in_hand == 4
        shop.go.set()
        await asyncio.gather(*held, return_exceptions=True)
    assert shop.calls.in_hand == 0


@pytest.mark.parametrize(("cores", "places"), [(None, 8), (1, 8), (2, 8), (4, 16), (16, 64)])
def test_places_follow_the_cores_unless_they_are_set(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, places: int
) -> None:
    """Four for each core, and eight on the smallest machine or where nobody knows."""
    monkeypatch.setattr(limits_module.os, "cpu_count", lambda: cores)
    assert usual_concurrency() == places
    assert _places(Limits()) == places
    assert _places(Limits(concurrency=3)) == 3


def _places(limits: Limits) -> int:
    gate = Gates(limits, deadline_seconds=1, mcp_path="/mcp").of({"type": "http", "method": "POST", "path": "/mcp"})
    assert gate
    return gate._free


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
        async with gate.turn():
            done.append(number)

    async with gate.turn():
        line = [asyncio.create_task(work(number)) for number in range(4)]
        await asyncio.sleep(0)
        line[1].cancel()
        await asyncio.sleep(0)
    # The first in line has its turn now, but has not noticed yet.
    line[0].cancel()
    await asyncio.gather(*line, return_exceptions=True)
    assert done == [2, 3]
    async with gate.turn():
        pass


async def test_nobody_waits_longer_than_a_share_of_the_deadline() -> None:
    """Then they are told to come again, and the line is free for others."""
    gate = Gate(1, 1, 0.01)
    async with gate.turn():
        for _ in range(2):
            with pytest.raises(Busy, match="waited long enough"):
                async with gate.turn():
                    pytest.fail("there was no place")
    async with gate.turn():
        pass


def test_a_caller_has_as_many_calls_as_ten_seconds_bring() -> None:
    """Saved up for ten seconds and no longer; each caller has its own, and is told when the next one is free."""
    now = 0.0
    rates = Rates(0.5, clock=lambda: now)
    for _ in range(5):
        rates.take("anna")
    with pytest.raises(Busy) as refused:
        rates.take("anna")
    assert refused.value.retry_seconds == 2
    rates.take("ben")
    now = 1.0
    with pytest.raises(Busy) as refused:
        rates.take("anna")
    assert refused.value.retry_seconds == 1
    now = 2.0
    rates.take("anna")
    now = 1000.0
    for _ in range(5):
        rates.take("anna")
    with pytest.raises(Busy):
        rates.take("anna")


def test_callers_are_not_remembered_without_end() -> None:
    """However many there are, and no limit means none."""
    rates = Rates(1)
    for number in range(REMEMBERED + 10):
        rates.take(number)
    assert len(rates._left) == REMEMBERED
    unlimited = Rates(0)
    for _ in range(1000):
        unlimited.take("anna")


@pytest.fixture
async def narrow(shared_butler: Butler) -> AsyncIterator[Service]:
    """A service where each caller has one call, and the next after some minutes."""
    limits = shared_butler.settings.service.limits.model_copy(update={"calls_a_second": 0.005})
    async with serving(shared_butler, limits=limits) as service:
        yield service


async def test_over_the_rate_both_doors_refuse(narrow: Service, tenant: str) -> None:
    """REST with a problem, MCP with an error that its client hands on; it is counted, and touches no other token."""
    busy, quiet = await narrow.token(tenant), await narrow.token(tenant)
    counted = metrics.REGISTRY.get_sample_value("memory_butler_refused_total") or 0
    async with narrow.web(busy) as web:
        first, second = [await web.post("/api/v1/stats") for _ in range(2)]
    assert first.status_code == 200
    assert (second.status_code, second.json()["error"]) == (429, "overload_rejected")
    assert (metrics.REGISTRY.get_sample_value("memory_butler_refused_total") or 0) == counted + 1
    assert 1 < int(second.headers["retry-after"]) <= 200
    with pytest.raises(MCPError, match="calls a second") as refused:
        async with narrow.mcp(busy):
            pytest.fail("it was let in")
    assert refused.value.error.data["error"] == "overload_rejected"
    async with narrow.web(quiet) as web:
        assert (await web.post("/api/v1/stats")).status_code == 200


def test_one_token_is_one_caller() -> None:
    """Whose calls are counted together follows from who is calling, not from what they call themselves."""
    from memory_butler.adapters.limits import _caller

    def scope(**who: Any) -> dict[str, Any]:
        return {"state": {"principal": Principal("acme", "main", **who)}}

    assert _caller(scope(name="anna")) == _caller(scope(name="anna"))
    assert _caller(scope(name="anna")) != _caller(scope(name="ben"))
    assert _caller({"state": {}}) is None
