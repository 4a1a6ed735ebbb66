"""The dashboard behind a proxy that ends TLS: logging in, the line of an open page, and who is let through."""

from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, expect
from tests.adapters.dashboard.conftest import Errors, shown
from tests.adapters.dashboard.proxy import proxied
from tests.support.service import Service, on_loopback, with_service

from memory_butler.adapters.dashboard.server.middleware import build_dashboard
from memory_butler.adapters.http.app import listening
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.models import NewFact
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import load_settings


def reached_at(resources: Resources, address: str) -> Resources:
    """The butler of a service that knows the address people use."""
    known = resources.settings.dashboard.model_copy(update={"public_url": address})
    return replace(resources, settings=resources.settings.model_copy(update={"dashboard": known}))


@pytest.mark.parametrize("keeps_host", [True, False])
async def test_a_person_logs_in_and_the_page_follows_along(
    resources: Resources, tenant: str, tmp_path: Path, chromium: Browser, pages_stay_loaded: None, *, keeps_host: bool
) -> None:
    """With a token, over https only, and over a websocket; whether the proxy passes on the Host header or not, since
    the service is told its address."""
    errors, lines = Errors(), list[str]()
    # The service is told the proxy's address, and the proxy where the service will be.
    listener = listening(load_settings(host="127.0.0.1", port=0))
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(proxied(listener.getsockname()[1], tmp_path, keeps_host=keeps_host))
        ours = with_service(reached_at(resources, address))
        door = await stack.enter_async_context(on_loopback(LazyResources.already_open(ours), listener, build_dashboard))
        window = await stack.enter_async_context(shown(chromium, ignore_https_errors=True))
        page = await window.new_page()
        errors.watch(page)
        page.on("websocket", lambda line: lines.append(line.url.split("?")[0]))
        await page.goto(f"{address}/facts")
        await page.fill("#token", await Service(door.url, ours).token(tenant, "admin", label="Robin"))
        await page.click("button[type=submit]")
        await page.wait_for_selector("h1.mb-title")
        assert page.url == f"{address}/facts"
        kept = [(one["name"], one["secure"], one["httpOnly"]) for one in await window.cookies()]
        assert kept == [("memory_butler_session", True, True)]
        await remember.fact(ours, NewFact(subject="Anna", predicate="tea", content="green as grass"))
        await expect(page.get_by_text("green as grass").first).to_be_visible()
        assert lines == [f"wss{address.removeprefix('https')}/_nicegui_ws/socket.io/"]
    assert errors.said == []


async def test_a_proxy_that_hides_the_address_is_told_what_to_do(
    resources: Resources, tmp_path: Path, pages_stay_loaded: None
) -> None:
    """Without the Host header and without the setting, a person's own page looks like another site's."""
    lazy = LazyResources.already_open(with_service(resources))
    async with (
        on_loopback(lazy, build=build_dashboard) as door,
        proxied(door.port, tmp_path, keeps_host=False) as address,
        httpx.AsyncClient(verify=False, base_url=address, timeout=30) as web,
    ):
        assert (await web.get("/login")).status_code == 200
        refused = await web.post("/login", data={"token": "x"}, headers={"origin": address})
        assert (refused.status_code, refused.json()["error"]) == (403, "permission_denied")
        assert "Host header" in refused.json()["recovery"] and "public_url" in refused.json()["recovery"]
