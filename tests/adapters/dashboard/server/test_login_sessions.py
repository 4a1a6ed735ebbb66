"""What a login is worth to an open page, to others, and in other tenants."""

import asyncio
import json
import logging
import re
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg
import pytest
from playwright.async_api import Page, expect
from tests.adapters.dashboard.conftest import LogIn, Serve
from tests.conftest import MovingClock
from tests.support.service import Service, on_loopback, with_service

from memory_butler.adapters.dashboard.actions import memory_actions
from memory_butler.adapters.dashboard.components import page_frame
from memory_butler.adapters.dashboard.pages import system
from memory_butler.adapters.dashboard.server.dashboard_context import DashboardContext
from memory_butler.adapters.dashboard.server.login import COOKIE
from memory_butler.adapters.dashboard.server.middleware import build_dashboard
from memory_butler.adapters.dashboard.server.page_context import LoginExpired, PageContext, background_refresh
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.models import Caller, MemoryType, NewFact, NewRule, Principal, Role
from memory_butler.models.listings import Listing
from memory_butler.operations.access import logins, tokens
from memory_butler.operations.browse import listings
from memory_butler.operations.retrieval import get
from memory_butler.operations.system import stats
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

Connection = psycopg.Connection[Any]


@pytest.fixture
async def service(resources: Resources, serve: Serve) -> AsyncIterator[Service]:
    """A service that looks at every login anew."""
    ours = with_service(resources, token_cache_seconds=0)
    async with serve(ours) as door:
        yield Service(door.url, ours)


async def key_of(page: Page) -> str:
    """The key of the login in a browser."""
    (key,) = [cookie["value"] for cookie in await page.context.cookies() if cookie["name"] == COOKIE]
    return key


async def log_in_again(page: Page, token: str) -> None:
    await expect(page.locator("[role=alert]")).to_have_text("Your login has ended. Log in again.")
    await page.fill("#token", token)
    await page.click("button[type=submit]")
    await page.wait_for_selector("h1.mb-title")


async def test_a_click_after_the_login_leads_to_it_and_back(
    log_in: LogIn, service: Service, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the login was ended in another window, and if its token was revoked."""
    monkeypatch.setattr(system, "REFRESH_SECONDS", 600)
    monkeypatch.setattr(page_frame, "LOGIN_CHECK_SECONDS", 600)
    token = await service.token(tenant, "admin", label="Robin")
    page = await log_in("admin", "/system?tokens=", token=token)
    # What the page asks by itself after it is drawn has been answered: the next to ask is the click.
    checked = page.locator(".mb-sys-health .mb-sys-loading")
    await expect(checked).to_contain_text("operator")
    other = await page.context.new_page()
    await other.goto(service.url + "/system")
    await other.click("text=Log out")
    await other.wait_for_url(re.compile("/login$"))
    await page.get_by_role("button", name="Check again").click()
    await log_in_again(page, token)
    await page.wait_for_url(lambda url: url.endswith("/system?tokens="))
    await expect(checked).to_contain_text("operator")
    who, _ = await tokens.authenticate(service.resources, token)
    assert who.token_id
    await tokens.revoke(service.resources, tenant, who.token_id, service.resources.local_operator())
    await page.get_by_role("button", name="Check again").click()
    await expect(page.locator("[role=alert]")).to_have_text("Your login has ended. Log in again.")


async def test_news_after_the_login_are_not_shown(log_in: LogIn, service: Service, tenant: str) -> None:
    """The next push leads to the login instead, with nothing of what was written meanwhile; and back from there."""
    ours, token = service.resources, await service.token(tenant, "admin", label="Robin")
    await remember.fact(ours, NewFact(subject="Anna", predicate="color", content="green as grass"))
    page = await log_in("admin", "/system", token=token)
    shown: list[str] = []
    page.on("websocket", lambda line: line.on("framereceived", lambda frame: shown.append(str(frame))))
    await page.goto(service.url + "/facts")
    await expect(page.locator("text=green as grass")).to_be_visible()
    await remember.fact(ours, NewFact(subject="Anna", predicate="cup", content="a word about cups"))
    await expect(page.locator("text=a word about cups")).to_be_visible()
    assert any("a word about cups" in frame for frame in shown)
    # A page that was just drawn would wait before it is drawn again; a new one does not.
    await page.reload()
    await page.wait_for_function("window.did_handshake")
    shown.clear()
    await logins.log_out(ours, await key_of(page))
    await remember.fact(ours, NewFact(subject="Anna", predicate="tea", content="a secret about tea"))
    await page.wait_for_url(re.compile("/login"))
    assert shown and not any("secret" in frame for frame in shown)
    await log_in_again(page, token)
    await expect(page.locator("text=a secret about tea")).to_be_visible()


async def test_a_page_that_looks_by_itself_ends_with_its_login(
    log_in: LogIn, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a click and without news; and only once, however often it looks while it leaves."""
    monkeypatch.setattr(system, "REFRESH_SECONDS", 0.05)
    page = await log_in("admin", "/system")
    left: list[str] = []
    page.on("request", lambda request: left.append(request.url) if request.is_navigation_request() else None)
    await logins.log_out(service.resources, await key_of(page))
    await expect(page.locator("[role=alert]")).to_have_text("Your login has ended. Log in again.")
    assert len(left) == 1 and "/login?expired=1" in left[0]


async def test_a_page_that_nobody_touches_ends_with_its_login(
    log_in: LogIn, service: Service, tenant: str, owner: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing happens either: it asks for its login by itself, which keeps nobody logged in, and leaves once."""
    monkeypatch.setattr(page_frame, "LOGIN_CHECK_SECONDS", 0.05)
    asked = asyncio.Queue[None]()
    require = PageContext.require_login

    async def required(context: PageContext) -> None:
        await require(context)
        asked.put_nowait(None)

    page = await log_in("admin", "/facts")
    await page.wait_for_function("window.did_handshake")
    monkeypatch.setattr(PageContext, "require_login", required)
    left: list[str] = []
    page.on("request", lambda request: left.append(request.url) if request.is_navigation_request() else None)
    half = timedelta(minutes=service.resources.settings.dashboard.idle_minutes / 2)
    away = ("UPDATE memory.sessions SET created_at = created_at - %(by)s, seen_at = seen_at - %(by)s"
            " WHERE tenant_id = %(of)s")  # fmt: skip
    owner.execute(away, {"by": half, "of": tenant})
    # The second of them was asked after that.
    for _ in range(2):
        await asked.get()
    assert left == []
    owner.execute(away, {"by": half, "of": tenant})
    await expect(page.locator("[role=alert]")).to_have_text("Your login has ended. Log in again.")
    assert len(left) == 1 and "/login?expired=1&next=%2Ffacts" in left[0]


async def test_the_line_of_a_page_is_for_whoever_opened_it(log_in: LogIn, service: Service) -> None:
    """Another login's cookie with my page's id is refused, as is none at all; my own is let in."""
    mine, other = await log_in("admin"), await log_in("admin")
    async with mine.expect_event("websocket") as opened:
        await mine.reload()
    named = parse_qs(urlsplit((await opened.value).url).query)["client_id"][0]
    line = f"{service.url}/_nicegui_ws/socket.io/?EIO=4&transport=polling&client_id={named}"
    async with httpx.AsyncClient() as web:
        for page, status in ((mine, 200), (other, 403)):
            reply = await web.get(line, headers={"cookie": f"{COOKIE}={await key_of(page)}"})
            assert reply.status_code == status
        assert (await web.get(line)).status_code == 403


async def test_a_line_is_for_a_page_that_is_there(service: Service, tenant: str) -> None:
    """One for no page is refused; one for a page of an earlier server is refused in words that have it load again,
    whether or not it names its page at once."""
    line = "/_nicegui_ws/socket.io/?EIO=4&transport=polling"
    async with httpx.AsyncClient(base_url=service.url) as web:
        await web.post("/login", data={"token": await service.token(tenant, "admin")})
        for nothing in ("", "&client_id=", f"&client_id=&client_id={uuid.uuid4()}"):
            assert (await web.get(line + nothing)).status_code == 403
        for handshake in ("true", "false"):
            gone = f"{line}&client_id={uuid.uuid4()}&implicit_handshake={handshake}&tab_id=x&document_id=y"
            opened = json.loads((await web.get(gone)).text[1:])
            gone += f"&sid={opened['sid']}"
            await web.post(gone, content="40")
            assert (await web.get(gone)).text == '44{"message":"Implicit handshake failed"}'


async def test_an_open_page_keeps_nobody_logged_in(
    resources: Resources, tenant: str, clock: MovingClock, pages_stay_loaded: None
) -> None:
    """Its line asks again and again where it cannot stay open; only a person who looks at a page is there."""
    ours = replace(with_service(resources, token_cache_seconds=0), clock=clock)
    quarter = ours.settings.dashboard.idle_minutes / 4
    async with (
        on_loopback(LazyResources.already_open(ours), build=build_dashboard) as door,
        httpx.AsyncClient(base_url=door.url) as web,
    ):
        await web.post("/login", data={"token": await Service(door.url, ours).token(tenant, "admin")})
        for _ in range(5):
            clock.move(minutes=quarter)
            drawn = await web.get("/system")
            assert drawn.status_code == 200
        named = re.search(r"client_id\W+([0-9a-f-]{36})", drawn.text)
        assert named
        line = f"/_nicegui_ws/socket.io/?EIO=4&transport=polling&client_id={named[1]}"
        seen = []
        for _ in range(4):
            clock.move(minutes=quarter)
            seen.append((await web.get(line)).status_code)
        assert seen == [200, 200, 200, 403]
        assert (await web.get("/system")).headers["location"] == "/login?next=%2Fsystem&expired=1"


async def test_an_operator_goes_to_another_tenant_and_home(
    log_in: LogIn, service: Service, tenant: str, owner: Connection
) -> None:
    """They see where they are, it is on record there, and home is one click away."""
    other = f"t{uuid.uuid4().hex[:16]}"
    await service.token(other, "admin")
    page = await log_in("operator", "/system")
    await page.fill("#tenant", other)
    await page.click(".mb-tenant >> text=Go")
    await expect(page.locator(".mb-tenant-notice")).to_have_text(f"You are viewing tenant {other}. This is audited.")
    await expect(page.locator(".mb-user .mb-muted")).to_have_text(f"operator of {other}")
    seen = owner.execute(
        "SELECT DISTINCT actor, payload->>'home', payload->>'operation' FROM memory.memory_events"
        " WHERE tenant_id = %s AND event_type = 'operator.visited'",
        (other,),
    ).fetchall()
    assert {(row[0], row[1]) for row in seen} == {("operator Robin", tenant)}
    assert {"dashboard", "jobs", "system_info", "tokens"} <= {row[2] for row in seen}
    await page.click(f"text=Back to {tenant}")
    await expect(page.locator(".mb-tenant-notice")).to_have_count(0)
    await expect(page.locator(".mb-user .mb-muted")).to_have_text(f"operator of {tenant}")


NOWHERE = {
    "a tenant that is not there": ("operator", "nowhere", 404, "There is no tenant &#x27;nowhere&#x27;."),
    "no name at all": ("operator", "<b>x</b>", 404, "There is no tenant &#x27;&lt;b&gt;x&lt;/b&gt;&#x27;."),
    "an administrator": ("admin", "other", 403, "Only an operator may work in another tenant."),
    "a reader": ("reader", "other", 403, "Only an operator may work in another tenant."),
}


@pytest.mark.parametrize("case", NOWHERE.values(), ids=NOWHERE)
async def test_who_gets_nowhere_is_told_why(service: Service, tenant: str, case: tuple[str, str, int, str]) -> None:
    """In words, as text, with the way back; and they stay where they are."""
    role, wanted, status, words = case
    async with httpx.AsyncClient(base_url=service.url) as web:
        await web.post("/login", data={"token": await service.token(tenant, role)})
        reply = await web.post("/login/tenant", data={"tenant": wanted, "next": "/system"})
        assert (reply.status_code, words in reply.text) == (status, True)
        assert 'href="/system"' in reply.text and "set-cookie" not in reply.headers
        assert (await web.get("/system")).text.count(f"{role} of {tenant}") == 1


async def test_a_tenant_that_an_earlier_login_chose_is_not_the_next_ones(service: Service, tenant: str) -> None:
    """A cookie that names a tenant is worth nothing to whoever is no operator."""
    async with httpx.AsyncClient(base_url=service.url, cookies={"memory_butler_tenant": "other"}) as web:
        await web.post("/login", data={"token": await service.token(tenant, "admin")})
        web.cookies.set("memory_butler_tenant", "other")
        assert f"admin of {tenant}" in (await web.get("/system")).text


@pytest.fixture
def dashboard_context(service: Service) -> DashboardContext:
    return DashboardContext(LazyResources.already_open(service.resources))


async def context_for(dashboard_context: DashboardContext, service: Service, tenant: str, role: str) -> PageContext:
    """Somebody who logged in with a token of a role."""
    key = await dashboard_context.log_in_with_token(await service.token(tenant, role, label=f"{role} Robin"))
    login = await dashboard_context.find_login(key)
    assert login
    return PageContext(dashboard_context, logins.principal_of(login), key)


async def test_every_change_names_the_person(
    dashboard_context: DashboardContext, service: Service, tenant: str
) -> None:
    """Whoever logged in is the actor of what they did and of taking it back, not the butler and not the browser."""
    fact = await remember.fact(service.resources, NewFact(subject="Anna", predicate="color", content="green"))
    robin = await context_for(dashboard_context, service, tenant, "admin")
    done = await memory_actions.run_action(
        robin, "correct", "fact", fact.ref, memory_actions.ActionInput("blue", "she said so")
    )
    assert done.undo_id
    await memory_actions.undo_change(robin, done.undo_id)
    found = await get.get(service.resources, "fact", fact.ref, bump=False)
    made, *changes = [event.actor for event in found.events]
    assert made == "main" and changes and set(changes) == {"admin Robin"}


async def test_what_a_role_may_not_do_is_neither_offered_nor_done(
    dashboard_context: DashboardContext, service: Service, tenant: str
) -> None:
    """Readers are offered nothing to change, and a click that was made up gets nowhere."""
    fact = await remember.fact(service.resources, NewFact(subject="Anna", predicate="color", content="green"))
    rule = await remember.rule(service.resources, NewRule(content="Knock first."))
    shown = [(await get.get(service.resources, one.type, one.ref, bump=False)).memory for one in (fact, rule)]
    reader, admin = [await context_for(dashboard_context, service, tenant, role) for role in ("reader", "admin")]
    assert [memory_actions.available_actions(reader, memory) for memory in shown] == [[], []]
    assert all(memory_actions.available_actions(admin, memory) for memory in shown)
    with pytest.raises(Exception, match="may not use memory_forget"):
        await memory_actions.run_action(reader, "forget", "fact", fact.ref)


async def test_an_agent_sees_its_own_scope(dashboard_context: DashboardContext, service: Service, tenant: str) -> None:
    """What another butler keeps for itself is not there."""
    for scope in ("global", "chef", "health"):
        by = Caller(Principal(tenant, scope if scope != "global" else "chef", Role.AGENT))
        await remember.fact(
            service.resources, NewFact(subject="Anna", predicate=f"of {scope}", content=scope, scope=scope), by
        )
    agent, facts = await context_for(dashboard_context, service, tenant, "agent"), Listing(type=MemoryType.FACT)
    found = await agent.call("list_memories", lambda visit: listings.memories(visit.resources, facts, visit.caller))
    assert {one.memory.content for one in found.items} == {"global", "chef"}


async def test_what_a_page_asks_by_itself_is_no_visit(
    dashboard_context: DashboardContext, service: Service, tenant: str, owner: Connection
) -> None:
    """A look is on record; that the page is drawn again for news is none, or it would be news for ever."""
    other = f"t{uuid.uuid4().hex[:16]}"
    await service.token(other, "admin")
    operator = await context_for(dashboard_context, service, tenant, "operator")
    visiting = replace(operator, principal=replace(operator.principal, tenant=other, home=tenant))

    async def call() -> int:
        await visiting.call("memory_stats", lambda visit: stats.stats(visit.resources, caller=visit.caller))
        row = owner.execute("SELECT count(*) FROM memory.memory_events WHERE tenant_id = %s", (other,)).fetchone()
        return int(row[0])

    before = await call()
    assert await call() == before + 1
    with background_refresh():
        assert await call() == before + 1
        await logins.log_out(service.resources, visiting.key or "")
        with pytest.raises(LoginExpired):
            await call()


async def test_neither_key_nor_token_is_in_the_log(
    service: Service, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever is logged, also of libraries and in detail."""
    token = await service.token(tenant, "admin")
    with caplog.at_level(logging.DEBUG):
        async with httpx.AsyncClient(base_url=service.url) as web:
            await web.post("/login", data={"token": token})
            key = web.cookies[COOKIE]
            assert (await web.get("/system")).status_code == 200
            await web.post("/logout")
    # Except for the client of this test.
    ours = "\n".join(f"{one.getMessage()} {vars(one)}" for one in caplog.records if not one.name.startswith("http"))
    assert "POST /login" in ours and key not in ours and token not in ours
