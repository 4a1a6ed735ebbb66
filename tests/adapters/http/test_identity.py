"""The door of a service: who gets in, who is told to say who they are, and who may not do what they ask for."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import httpx
import pytest
from tests.support.service import Service, called, serving, with_service

from memory_butler.adapters.http import identity
from memory_butler.adapters.http.app import build_app
from memory_butler.adapters.http.identity import Identities, request_principal
from memory_butler.adapters.http.single_flight import MAX_WAITING
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.errors import OverloadRejected, PermissionDenied
from memory_butler.metrics import registry
from memory_butler.models import NewToken, Principal
from memory_butler.operations.access import tokens
from memory_butler.resources import Resources

HELLO = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
MCP_HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}


@pytest.fixture(scope="module")
async def service(shared_resources: Resources) -> AsyncIterator[Service]:
    async with serving(shared_resources, token_cache_seconds=0.2) as opened:
        yield opened


async def _ask(web: httpx.AsyncClient, **headers: str) -> httpx.Response:
    return await web.post("/mcp", json=HELLO, headers=MCP_HEADERS | headers)


async def test_a_token_opens_the_door_for_its_own_tenant(service: Service, tenant: str) -> None:
    """Two bearers at one server, at the same time: each finds what its own tenant stored, and nothing else."""
    mine, other = await service.token(tenant), await service.token(f"{tenant}-b")
    async with service.mcp(mine) as one, service.mcp(other) as two:
        for client, color in ((one, "green"), (two, "red")):
            stored = await called(
                client, "memory_store_fact", subject="Anna", predicate="color", content=f"Anna likes {color}"
            )
            assert stored["outcome"] == "created"
        answers = await asyncio.gather(
            *(called(client, "memory_search", query="which color does Anna like", min_relevance=0)
              for client in (one, two) * 5)
        )  # fmt: skip
    for place, answer in enumerate(answers):
        said = [found["content"] for found in answer["results"]]
        assert said == [f"Anna likes {'red' if place % 2 else 'green'}"]


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Basic YTpi", "bearer mbt_" + "x" * 43, "Bearer no-token", "Bearer a.b.c"]
)
async def test_who_does_not_say_who_they_are_is_told_how(service: Service, header: str) -> None:
    """401 with a challenge and the way out, on every path that is not a question of health."""
    async with service.web() as web:
        for path in ("/mcp", "/metrics", "/api/v1/search", "/api/v1/openapi.json", "/nowhere"):
            reply = await web.get(path, headers={"authorization": header} if header else {})
            assert (reply.status_code, reply.json()["error"]) == (401, "permission_denied"), path
            assert reply.headers["www-authenticate"].startswith('Bearer realm="memory-butler"')
            assert reply.headers["content-type"] == "application/problem+json"
            assert reply.json()["recovery"]


async def test_who_may_not_see_the_metrics_is_told_like_everywhere_else(service: Service, tenant: str) -> None:
    """A problem answer with its class, its way out and the request's id, as for any other path."""
    async with service.web(await service.token(tenant, "agent")) as web:
        reply = await web.get("/metrics", headers={"x-request-id": "demo-1"})
    assert reply.headers["content-type"] == "application/problem+json"
    told = reply.json()
    assert (reply.status_code, told["error"], told["status"], told["request_id"]) == (
        403,
        "permission_denied",
        403,
        "demo-1",
    )
    assert told["recovery"]


async def test_who_comes_without_a_good_token_is_counted(service: Service) -> None:
    """So that whoever watches sees somebody trying."""
    counted = registry.REGISTRY.get_sample_value("memory_butler_unauthenticated_total") or 0
    async with service.web("mbt_invented") as web:
        assert (await web.post("/api/v1/stats")).status_code == 401
    assert registry.REGISTRY.get_sample_value("memory_butler_unauthenticated_total") == counted + 1


async def test_two_authorization_headers_are_nobody(service: Service, tenant: str) -> None:
    """Even if both are good: which of them counts must not depend on who reads them."""
    token = await service.token(tenant)
    headers = httpx.Headers([("authorization", f"Bearer {token}"), ("authorization", f"Bearer {token}")])
    async with service.web() as web:
        assert (await web.post("/mcp", json=HELLO, headers=headers)).status_code == 401
        assert (await _ask(web, authorization=f"Bearer {token}")).status_code == 200


async def test_a_tenant_of_others_is_forbidden_to_all_but_operators(service: Service, tenant: str) -> None:
    """403, not 401: they are known, and may not. A header that is no tenant's name is 422, one that is twice also."""
    other = f"{tenant}-other"
    await service.token(other)
    for role in ("reader", "agent", "admin"):
        async with service.web(await service.token(tenant, role)) as web:
            reply = await _ask(web, **{identity.TENANT_HEADER: other})
            assert (reply.status_code, reply.json()["error"]) == (403, "permission_denied")
            assert (await _ask(web, **{identity.TENANT_HEADER: tenant})).status_code == 200
    async with service.web(await service.token(tenant, "operator")) as web:
        assert (await _ask(web, **{identity.TENANT_HEADER: other})).status_code == 200
        assert (await _ask(web, **{identity.TENANT_HEADER: "no such/name"})).status_code == 422
        twice = httpx.Headers([*MCP_HEADERS.items(), *[(identity.TENANT_HEADER, other)] * 2])
        assert (await web.post("/mcp", json=HELLO, headers=twice)).status_code == 422


async def test_an_operators_visit_is_an_event_before_it_is_an_answer(service: Service, tenant: str) -> None:
    """Each read in another tenant is in that tenant's log, with who and what; at home there is no such event. A tenant
    that does not exist is not made by asking for it."""
    other = f"{tenant}-visited"
    token = await service.token(tenant, "operator", label="Ops on call")
    await service.token(other)
    async with service.web(token) as web:
        for whose in (other, other, tenant, f"{tenant}-nobody"):
            reply = await web.post("/api/v1/stats", json={}, headers={identity.TENANT_HEADER: whose})
            assert reply.status_code == (404 if whose.endswith("nobody") else 200), reply.text
    seen = {}
    for whose in (other, tenant, f"{tenant}-nobody"):
        async with service.resources.database.read(whose) as transaction:
            seen[whose] = await transaction.one("stats.log")
    # The first is of the token that was made there.
    assert seen[other] == {"events": 2} and seen[tenant] == {"events": 0}
    assert seen[f"{tenant}-nobody"] is None


async def test_a_revoked_token_stops(service: Service, tenant: str) -> None:
    """It is good until it is revoked, and refused as soon as the server's short memory of it is over."""
    token = await service.token(tenant)
    async with service.web(token) as web:
        assert (await _ask(web)).status_code == 200
        (listed,) = (await tokens.list_tokens(service.resources, tenant, service.resources.local_operator())).items
        assert listed.last_used_at is not None
        await tokens.revoke(service.resources, tenant, listed.id, service.resources.local_operator())
        async with asyncio.timeout(10):
            while (reply := await _ask(web)).status_code != 401:  # noqa: ASYNC110 (only the server knows when)
                await asyncio.sleep(0.02)
        assert reply.headers["www-authenticate"].endswith('error="invalid_token"')


async def test_the_servers_memory_of_tokens_holds_no_token(service: Service, tenant: str) -> None:
    """What is remembered between calls is a digest, and a token that is revoked is asked for again when that ends."""
    token = await service.token(tenant)
    known = Identities(LazyResources.already_open(with_service(service.resources, token_cache_seconds=300)))
    first = await known.principal_of(token)
    assert token.encode() not in repr(vars(known)).encode() and first.tenant == tenant
    (listed,) = (await tokens.list_tokens(service.resources, tenant, service.resources.local_operator())).items
    await tokens.revoke(service.resources, tenant, listed.id, service.resources.local_operator())
    assert await known.principal_of(token) == first
    forgetful = Identities(LazyResources.already_open(with_service(service.resources, token_cache_seconds=0)))
    with pytest.raises(PermissionDenied):
        await forgetful.principal_of(token)


async def test_a_token_is_not_remembered_beyond_its_time(
    service: Service, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between calls it is remembered for a while; one that expires before that is over is refused from then on."""
    now, passed = datetime.now(UTC), 0.0
    monkeypatch.setattr(identity, "time", SimpleNamespace(monotonic=lambda: passed))
    ours = replace(with_service(service.resources, token_cache_seconds=300), clock=lambda: now)
    ends = now + timedelta(seconds=60)
    wanted = NewToken(tenant=tenant, butler="main", expires_at=ends)
    _, token = await tokens.create(ours, wanted, ours.local_operator())
    known = Identities(LazyResources.already_open(ours))
    assert (await known.principal_of(token)).tenant == tenant
    passed, now = 60.0, ends
    with pytest.raises(PermissionDenied):
        await known.principal_of(token)


async def test_invented_tokens_do_not_take_all_of_the_database(service: Service) -> None:
    """Of a flood of them a bounded number waits to be looked up; the rest is refused at once."""
    known = Identities(LazyResources.already_open(service.resources))
    flood = [known.principal_of(f"mbt_{uuid.uuid4().hex}") for _ in range(MAX_WAITING + 50)]
    ends = await asyncio.gather(*flood, return_exceptions=True)
    assert sum(isinstance(end, OverloadRejected) for end in ends) == 50
    assert all(isinstance(end, OverloadRejected | PermissionDenied) for end in ends)
    with pytest.raises(PermissionDenied):
        await known.principal_of("mbt_later")


async def test_calls_that_show_one_token_at_once_ask_once(
    service: Service, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One look-up answers them all, also if the call that began it has given up; the next ones ask again."""
    token, asked, go = await service.token(tenant), 0, asyncio.Event()
    admit = tokens.authenticate

    async def slow(resources: Resources, secret: str) -> tuple[Principal, datetime | None]:
        nonlocal asked
        asked += 1
        await go.wait()
        return await admit(resources, secret)

    monkeypatch.setattr(tokens, "authenticate", slow)
    known = Identities(LazyResources.already_open(with_service(service.resources, token_cache_seconds=0)))
    calls = [asyncio.create_task(known.principal_of(token)) for _ in range(5)]
    await asyncio.sleep(0)
    calls[0].cancel()
    go.set()
    ends = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(ends[0], asyncio.CancelledError)
    assert [end.tenant for end in ends[1:] if isinstance(end, Principal)] == [tenant] * 4
    assert asked == 1
    await known.principal_of(token)
    assert asked == 2 and not known._lookups._running


async def test_health_is_open_and_says_nothing_of_anybody(service: Service, tenant: str) -> None:
    """Without a token: whether the server lives and is ready, and of its parts whether, not whose or why."""
    await service.token(tenant)
    async with service.web() as web:
        assert (await web.get("/health/live")).json() == {"status": "live", "service": "memory-butler"}
        ready = (await web.get("/health/ready")).json()
    assert ready["checks"] == {name: {"ok": True} for name in ("database", "disk", "migrations", "model")}
    assert set(ready["upkeep"]) == {"status"}


async def test_a_service_answers_under_every_name_but_not_to_every_length(service: Service, tenant: str) -> None:
    """Which name it is called by is for the proxy in front of it; how much it reads is not."""
    async with service.web(await service.token(tenant)) as web:
        assert (await _ask(web, host="memory.example.org")).status_code == 200
        assert (await _ask(web, origin="https://app.example.org")).status_code == 200
        large = await web.post("/mcp", content=b" " * 4_194_305, headers=MCP_HEADERS)
        assert (large.status_code, large.json()["error"]) == (413, "validation_error")


async def test_with_authentication_any_address_may_be_served(resources: Resources) -> None:
    """What is refused without authentication is allowed with it."""
    settings = with_service(resources).settings.model_copy(update={"host": "0.0.0.0"})
    assert build_app(settings)


async def test_a_request_that_slipped_past_authentication_is_nobody(
    service: Service, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where callers must say who they are, one without a principal is not taken for the person at the machine."""

    async def let_everybody_in(self: object, scope: object) -> None:
        return None

    token = await service.token(tenant)
    monkeypatch.setattr(identity.Authentication, "_refusal", let_everybody_in)
    async with service.mcp(token) as client:
        assert (await called(client, "memory_stats"))["error"] == "permission_denied"
    assert request_principal(required=True) is None
