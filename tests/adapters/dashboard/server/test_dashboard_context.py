"""The desk: what it costs to find out who is logged in, and who comes before whom."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest
from tests.support.service import Service, on_loopback, with_service

from memory_butler.adapters.dashboard.server.dashboard_context import DashboardContext
from memory_butler.adapters.dashboard.server.login import COOKIE
from memory_butler.adapters.dashboard.server.middleware import build_dashboard
from memory_butler.adapters.dashboard.server.page_context import PageContext, background_refresh
from memory_butler.adapters.http.single_flight import MAX_WAITING
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.errors import OverloadRejected, PermissionDenied, TargetUnavailable
from memory_butler.models import Login, Principal, Role
from memory_butler.operations.access import logins
from memory_butler.resources import Resources


class Away(LazyResources):
    """A store that can be away for a while."""

    is_away = False

    async def get(self, timeout_seconds: float) -> Resources:
        if self.is_away:
            raise TargetUnavailable("The memory store cannot be reached.")
        return await super().get(timeout_seconds)


@pytest.fixture
def lazy(resources: Resources) -> Away:
    """Of a service that looks at every login anew."""
    return Away.already_open(with_service(resources, token_cache_seconds=0))


@pytest.fixture
def dashboard_context(lazy: LazyResources) -> DashboardContext:
    return DashboardContext(lazy)


@pytest.fixture
async def service(lazy: Away, resources: Resources, pages_stay_loaded: None) -> AsyncIterator[Service]:
    async with on_loopback(lazy, build=build_dashboard) as door:
        yield Service(door.url, with_service(resources))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys that the store was asked for."""
    keys: list[str] = []
    recognise = logins.authenticate

    async def counted(resources: Resources, key: str, *, is_there: bool = True) -> Login | None:
        keys.append(key)
        return await recognise(resources, key, is_there=is_there)

    monkeypatch.setattr(logins, "authenticate", counted)
    return keys


async def test_invented_keys_do_not_take_all_of_the_database(
    dashboard_context: DashboardContext, asked: list[str], tenant: str
) -> None:
    """Of a flood of them a bounded number waits to be looked up, the rest is refused at once; and then it is over."""
    flood = [dashboard_context.find_login(uuid.uuid4().hex) for _ in range(MAX_WAITING + 50)]
    ends = await asyncio.gather(*flood, return_exceptions=True)
    assert sum(isinstance(end, OverloadRejected) for end in ends) == 50
    assert all(end is None or isinstance(end, OverloadRejected) for end in ends)
    assert len(asked) == MAX_WAITING
    assert await dashboard_context.find_login(await dashboard_context.log_in(Principal(tenant, "chef", Role.ADMIN)))


async def test_clicks_of_one_login_at_once_ask_once(
    dashboard_context: DashboardContext, asked: list[str], tenant: str
) -> None:
    """One look-up answers them all, also if the one that began it gave up; whether somebody is there is another one."""
    key = await dashboard_context.log_in(Principal(tenant, "chef", Role.ADMIN))
    clicks = [asyncio.create_task(dashboard_context.find_login(key)) for _ in range(5)]
    beside = [asyncio.create_task(dashboard_context.find_login(key, is_activity=False)) for _ in range(5)]
    await asyncio.sleep(0)
    clicks[0].cancel()
    gave_up, *ends = await asyncio.gather(*clicks, *beside, return_exceptions=True)
    assert isinstance(gave_up, asyncio.CancelledError)
    assert [end.tenant for end in ends if isinstance(end, Login)] == [tenant] * 9
    assert asked == [key, key]


async def test_what_pages_are_made_of_costs_no_look_into_the_store(service: Service, asked: list[str]) -> None:
    """It is for everybody, so that an invented key that comes with it is not looked up; with a page it is."""
    async with httpx.AsyncClient(base_url=service.url, cookies={COOKIE: "invented"}) as web:
        for path in ("/_nicegui/nothing", "/dashboard/dashboard.css", "/login"):
            assert (await web.get(path)).status_code in (200, 404)
        assert asked == []
        assert (await web.get("/facts")).headers["location"] == "/login?next=%2Ffacts&expired=1"
        assert asked == ["invented"]


async def test_upkeep_gives_way_to_people(dashboard_context: DashboardContext, lazy: Away, tenant: str) -> None:
    """What somebody asks is a call in hand; what a page asks by itself, perhaps because upkeep wrote, is none."""
    principal = Principal(tenant, "chef", Role.ADMIN)
    context = PageContext(dashboard_context, principal, await dashboard_context.log_in(principal))

    async def in_hand(visit: object) -> int:
        return lazy.calls.active

    assert await context.call("memory_stats", in_hand) == 1
    with background_refresh():
        assert await context.call("memory_stats", in_hand) == 0
    assert lazy.calls.active == 0


async def test_who_could_not_be_logged_out_is_told_and_can_try_again(service: Service, lazy: Away, tenant: str) -> None:
    """The login goes on while the store is away: to say otherwise would leave it open to whoever has the key."""
    async with httpx.AsyncClient(base_url=service.url) as web:
        await web.post("/login", data={"token": await service.token(tenant, "admin")})
        key = web.cookies[COOKIE]
        lazy.is_away = True
        reply = await web.post("/logout")
        assert reply.status_code == 503 and "You are still logged in. The memory store cannot" in reply.text
        assert '<form method="post" action="/logout">' in reply.text and "set-cookie" not in reply.headers
        lazy.is_away = False
        assert await logins.authenticate(service.resources, key)
        assert (await web.post("/logout")).headers["location"] == "/login"
        assert COOKIE not in web.cookies and await logins.authenticate(service.resources, key) is None


@pytest.mark.parametrize(("role", "reads", "changes"), [("reader", 1, 0), ("agent", 1, 0), ("admin", 1, 1)])
async def test_changes_in_the_dashboard_of_a_service_need_an_admin(
    dashboard_context: DashboardContext, tenant: str, role: str, reads: int, changes: int
) -> None:
    """Everybody who may log in reads what their role may read; the local dashboard belongs to its user."""
    principal = Principal(tenant, "main", Role(role))
    key = await dashboard_context.log_in(principal)
    context = PageContext(dashboard_context, principal, key)
    assert (context.may("memory_search"), context.may("memory_forget")) == (bool(reads), bool(changes))

    async def nothing(_: object) -> str:
        return "done"

    assert await context.call("memory_search", nothing) == "done"
    if changes:
        assert await context.call("memory_forget", nothing) == "done"
    else:
        with pytest.raises(PermissionDenied):
            await context.call("memory_forget", nothing)


async def test_the_roles_that_log_in_are_a_setting(resources: Resources, tenant: str) -> None:
    """Also a login that was made before the setting ends with it."""
    open_to_all = with_service(resources, token_cache_seconds=0)
    reader = Principal(tenant, "main", Role.READER)
    before = await DashboardContext(LazyResources.already_open(open_to_all)).log_in(reader)
    dashboard = open_to_all.settings.dashboard.model_copy(update={"login_roles": ("admin",)})
    narrow = replace(open_to_all, settings=open_to_all.settings.model_copy(update={"dashboard": dashboard}))
    context = DashboardContext(LazyResources.already_open(narrow))
    with pytest.raises(PermissionDenied, match="reader may not log in"):
        await context.log_in(reader)
    assert await context.log_in(Principal(tenant, "main", Role.ADMIN))
    async with (
        on_loopback(LazyResources.already_open(narrow), build=build_dashboard) as door,
        httpx.AsyncClient(base_url=door.url, cookies={COOKIE: before}) as web,
    ):
        assert (await web.get("/facts")).status_code == 303
