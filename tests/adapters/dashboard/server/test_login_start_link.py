"""The dashboard of the local shape in a browser that the server does not know: the start link lets it in."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from playwright.async_api import expect
from tests.adapters.dashboard.conftest import Errors, Serve, Tabs
from tests.support.other_account import asks
from tests.support.service import Door
from typer.testing import CliRunner

from memory_butler.adapters.cli.app import app
from memory_butler.adapters.http.local_access import ensure_token, start_link
from memory_butler.models import NewFact
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import Settings

UNKNOWN = "Failed to load resource: the server responded with a status of 401"


@pytest.fixture
def closed(resources: Resources, tmp_path: Path) -> Settings:
    """Settings with which a browser has to show a key."""
    service = resources.settings.service.model_copy(update={"local_access": "token"})
    settings = resources.settings.model_copy(update={"home": tmp_path, "service": service})
    ensure_token(settings)
    return settings


@pytest.fixture
async def door(resources: Resources, closed: Settings, serve: Serve) -> AsyncIterator[Door]:
    async with serve(replace(resources, settings=closed)) as opened:
        yield opened


async def test_a_browser_gets_in_by_the_link_and_stays_in(
    resources: Resources, door: Door, closed: Settings, tabs: Tabs
) -> None:
    """The plain address says how to open it. After the link, pages work, live updates too, without the key."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="green as grass"))
    errors = Errors()
    async with tabs.one(errors) as page:
        await page.goto(f"{door.url}/facts")
        await expect(page.get_by_text("memory-butler dashboard --link --open")).to_be_visible()
        await expect(page.get_by_text("green as grass")).to_have_count(0)
        await page.goto(f"{start_link(closed, door.url)}&next=/facts")
        await expect(page.get_by_text("green as grass").first).to_be_visible()
        assert page.url == f"{door.url}/facts"
        await page.goto(f"{door.url}/")
        await page.wait_for_selector("h1.mb-title")
        await remember.fact(resources, NewFact(subject="Ben", predicate="color", content="blue"))
        await expect(page.locator("#popup")).to_have_attribute("aria-hidden", "true")
        await page.goto(f"{door.url}/facts?q=blue")
        await expect(page.get_by_text("blue").first).to_be_visible()
    assert [said for said in errors.said if not said.startswith(UNKNOWN)] == []


async def test_only_the_right_key_becomes_a_cookie(door: Door, closed: Settings) -> None:
    """The cookie is for pages: the API takes the token. A wrong key, the token itself, or none open nothing."""
    link = start_link(closed, door.url)
    token = (closed.home / "token").read_text().strip()
    async with httpx.AsyncClient(base_url=door.url) as web:
        for key in ("", "wrong", token, link[-10:]):
            refused = await web.get("/start", params={"key": key})
            assert refused.status_code == 401
            assert "set-cookie" not in refused.headers
            assert refused.headers["cache-control"] == "no-store"
        taken = await web.get(link, params={"key": link.partition("key=")[2], "next": "//evil.example"})
        assert (taken.status_code, taken.headers["location"]) == (303, "/")
        cookie = taken.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=lax" in cookie
        assert token not in cookie and link.partition("key=")[2] not in cookie
        assert (await web.get("/facts")).status_code == 200
        # A new token ends what was opened with the old one.
        (closed.home / "token").unlink()
        ensure_token(closed)
        assert (await web.get("/facts")).status_code == 401


async def test_a_page_of_another_account_stays_closed(
    dashboard: Door, monkeypatch: pytest.MonkeyPatch, resources: Resources
) -> None:
    """With the usual settings, too; its websocket as well."""
    for path in ("/", "/facts", "/_nicegui_ws/socket.io/?client_id=x&EIO=4&transport=polling"):
        status, body = await asyncio.to_thread(asks, monkeypatch, dashboard.port, path)
        assert status in (401, 403)
        assert resources.settings.tenant not in body


def test_the_command_prints_the_link_of_the_running_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It opens the browser if asked to."""
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setenv("MEMORY_BUTLER_HOME", str(tmp_path))
    printed = CliRunner().invoke(app, ["dashboard", "--link", "--port", "8199"])
    assert printed.output.startswith("http://127.0.0.1:8199/start?key=")
    assert opened == []
    assert CliRunner().invoke(app, ["dashboard", "--link", "--open", "--port", "8199"]).output == printed.output
    assert opened == [printed.output.strip()]
