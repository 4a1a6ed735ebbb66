"""The server of the local shape is open to the account that runs it, and to whoever shows its token."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fastmcp import Client
from tests.adapters.conftest import caller_of
from tests.support.other_account import asks
from tests.support.service import Door, on_loopback

from memory_butler.adapters.http.app import connection_lines
from memory_butler.adapters.http.local_access import dashboard_link, ensure_token, needs_token, read_token, start_link
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.errors import TargetUnavailable
from memory_butler.resources import Resources
from memory_butler.settings import Settings, load_settings


def settings_in(home: Path, access: str = "account") -> Settings:
    return load_settings(home=home, service={"local_access": access})


@asynccontextmanager
async def local_server(resources: Resources, home: Path, access: str = "account") -> AsyncIterator[Door]:
    """A server of the local shape whose token is in this folder."""
    own = resources.settings.model_copy(
        update={"home": home, "service": resources.settings.service.model_copy(update={"local_access": access})}
    )
    ensure_token(own)
    async with on_loopback(LazyResources.already_open(replace(resources, settings=own))) as door:
        yield door


async def test_another_account_gets_nothing_but_health(
    resources: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No data, no page, no metrics, no hook, and health without names; the same account needs no token."""
    async with local_server(resources, tmp_path) as door, httpx.AsyncClient(base_url=door.url) as web:
        assert (await web.get("/api/v1/jobs")).status_code == 200
        assert "tenant" in (await web.get("/health/ready")).text
        # The connection of this test is recognised by now, whatever account the server believes to be next.
        for path in ("/api/v1/jobs", "/metrics", "/mcp", "/hooks/briefing", "/", "/facts", "/api/v1/openapi.json"):
            status, body = await asyncio.to_thread(asks, monkeypatch, door.port, path)
            assert (path, status) == (path, 401)
            assert resources.settings.tenant not in body
        status, body = await asyncio.to_thread(asks, monkeypatch, door.port, "/health/ready")
        assert status == 200
        assert resources.settings.tenant not in body


@pytest.mark.parametrize("header", ["X-Forwarded-For=127.0.0.1", "Forwarded=for=127.0.0.1", "X-Real-IP=127.0.0.1"])
async def test_a_header_does_not_change_the_account(
    resources: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: str
) -> None:
    """The account comes from the connection."""
    async with local_server(resources, tmp_path) as door:
        status, _ = await asyncio.to_thread(asks, monkeypatch, door.port, "/api/v1/jobs", header)
        assert status == 401


async def test_the_token_lets_another_account_in(
    resources: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner may give it away; a new one holds at once."""
    async with local_server(resources, tmp_path) as door:
        header = f"Authorization=Bearer {read_token(tmp_path / 'token')}"
        status, _ = await asyncio.to_thread(asks, monkeypatch, door.port, "/api/v1/jobs", header)
        assert status == 200
        (tmp_path / "token").unlink()
        ensure_token(settings_in(tmp_path))
        status, _ = await asyncio.to_thread(asks, monkeypatch, door.port, "/api/v1/jobs", header)
        assert status == 401


async def test_with_the_rule_token_every_program_shows_it(resources: Resources, tmp_path: Path) -> None:
    """REST and MCP alike; an empty token or a missing file opens nothing."""
    async with local_server(resources, tmp_path, "token") as door:
        token = read_token(tmp_path / "token")
        async with httpx.AsyncClient(base_url=door.url) as web:
            for given in ("Bearer", f"Basic {token}", "Bearer wrong", "Bearer wrong!"):
                assert (await web.get("/api/v1/jobs", headers={"authorization": given})).status_code == 401
            refused = await web.get("/api/v1/jobs")
            assert refused.headers["www-authenticate"].startswith("Bearer")
            assert str(tmp_path) not in refused.text
            allowed = await web.get("/api/v1/jobs", headers={"authorization": f"bearer {token}"})
            assert allowed.status_code == 200
        async with Client(f"{door.url}/mcp", auth=token) as client:
            assert "memories" in (await caller_of(client)("memory_stats")).body
        (tmp_path / "token").unlink()
        async with httpx.AsyncClient(base_url=door.url) as web:
            for given in ("Bearer", "Bearer None", f"Bearer {token}"):
                assert (await web.get("/api/v1/jobs", headers={"authorization": given})).status_code == 401


async def test_an_open_server_serves_every_account(
    resources: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a setting."""
    async with local_server(resources, tmp_path, "open") as door:
        assert not (tmp_path / "token").exists()
        status, _ = await asyncio.to_thread(asks, monkeypatch, door.port, "/api/v1/jobs")
        assert status == 200


def test_the_token_file_is_the_owners_alone(tmp_path: Path) -> None:
    """Whatever the umask; it stays the same at the next start, and a file that others could read gets a new token."""
    home = tmp_path / "home"
    before = os.umask(0)
    try:
        ensure_token(settings_in(home))
    finally:
        os.umask(before)
    file = home / "token"
    first = read_token(file)
    assert len(first) > 40
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    ensure_token(settings_in(home))
    assert read_token(file) == first
    file.chmod(0o644)
    ensure_token(settings_in(home))
    assert read_token(file) != first
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("short")
    ensure_token(settings_in(home))
    assert len(read_token(file)) > 40
    assert [path.name for path in home.iterdir()] == ["token"]


def test_a_service_has_no_token_file(tmp_path: Path) -> None:
    """It has API tokens."""
    ensure_token(load_settings(home=tmp_path, service={"auth": "required"}))
    ensure_token(settings_in(tmp_path, "open"))
    assert list(tmp_path.iterdir()) == []


def test_a_home_that_cannot_be_written_is_named_if_the_token_is_needed(tmp_path: Path) -> None:
    """Programs of the same account do without."""
    (tmp_path / "file").write_text("")
    ensure_token(settings_in(tmp_path / "file" / "home"))
    with pytest.raises(TargetUnavailable, match="token cannot be written"):
        ensure_token(settings_in(tmp_path / "file" / "home", "token"))


def test_links_hold_a_key_that_is_not_the_token(tmp_path: Path) -> None:
    """A link ends up in the history of a browser. It is printed only where a browser needs it."""
    settings = settings_in(tmp_path)
    assert start_link(settings, "http://here") == "http://here"
    ensure_token(settings)
    link, token = start_link(settings, "http://here"), read_token(tmp_path / "token")
    assert link.startswith("http://here/start?key=")
    assert token not in link and token.removeprefix("mbl_") not in link
    assert dashboard_link(settings, "http://here") == "http://here"
    assert dashboard_link(settings_in(tmp_path, "token"), "http://here") == link
    assert start_link(settings_in(tmp_path, "open"), "http://here") == "http://here"
    assert start_link(load_settings(home=tmp_path, service={"auth": "required"}), "http://here") == "http://here"


def test_the_line_for_a_client_sends_the_token_where_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, and the token itself is not shown on the screen."""
    assert "--header" not in connection_lines(settings_in(tmp_path))[1]
    line = connection_lines(settings_in(tmp_path, "token"))[1]
    assert line.endswith(f'--header "Authorization: Bearer $(cat {tmp_path}/token)"')
    assert needs_token(settings_in(tmp_path)) is False
    monkeypatch.setattr("memory_butler.adapters.http.local_access.KNOWS_ACCOUNTS", False)
    assert needs_token(settings_in(tmp_path)) is True
    assert needs_token(settings_in(tmp_path, "open")) is False
