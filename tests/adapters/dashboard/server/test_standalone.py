"""The dashboard in a process of its own: what it prints, that it stops, comes back, and leaves nothing behind."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from benchmarks.support.served import free_port
from playwright.async_api import Browser, expect
from tests.adapters.dashboard.conftest import Errors, shown

from memory_butler.adapters.dashboard.server.standalone import serve_dashboard
from memory_butler.errors import PermissionDenied, TargetUnavailable
from memory_butler.models import NewFact
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import load_settings

SOURCE = Path(__file__).parents[4] / "src"
# What Chromium itself writes while there is nobody at the other end, and nothing else.
NOBODY_THERE = re.compile(
    r"ERR_CONNECTION_(?:REFUSED|RESET|CLOSED)|ERR_EMPTY_RESPONSE|ERR_SOCKET_NOT_CONNECTED|ERR_INCOMPLETE_CHUNKED_ENCODING"
    r"|Connection closed before receiving a handshake response"
)


@asynccontextmanager
async def dashboard(
    folder: Path, port: int, *more: str, **environment: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """`memory-butler dashboard` until Ctrl-C, started in an empty folder."""
    env = {**os.environ, **environment, "PYTHONPATH": str(SOURCE)}
    command = (sys.executable, "-m", "memory_butler.adapters.entry", "dashboard", "--port", str(port), *more)
    running = await asyncio.create_subprocess_exec(*command, cwd=folder, env=env, stdout=subprocess.PIPE)
    assert running.stdout
    try:
        assert (await running.stdout.readline()).decode() == f"Dashboard: http://127.0.0.1:{port}\n"
        yield running
    finally:
        running.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(running.wait(), 30) == 0


async def test_an_open_page_outlives_a_restart(
    resources: Resources, tenant: str, tmp_path: Path, chromium: Browser
) -> None:
    """The page says that it lost its server, and is itself again, with its address, when there is one on the port."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="green as grass"))
    here = {"MEMORY_BUTLER_HOME": str(resources.settings.home), "MEMORY_BUTLER_TENANT": tenant}
    errors, port = Errors(), free_port()
    async with shown(chromium) as window:
        page = await window.new_page()
        errors.watch(page)
        async with dashboard(tmp_path, port, **here) as first:
            await page.goto(f"http://127.0.0.1:{port}/facts?q=grass")
            await expect(page.get_by_text("green as grass").first).to_be_visible()
            children = Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text()
            assert children.split() == []
        lost = page.locator("#popup")
        await expect(lost).to_have_attribute("aria-hidden", "false")
        await expect(lost).to_contain_text("Connection lost")
        async with dashboard(tmp_path, port, **here):
            # The old page cannot come back to life: its server is gone. It is a new one, at the same address.
            await expect(lost).to_have_attribute("aria-hidden", "true", timeout=60_000)
            await expect(page.get_by_text("green as grass").first).to_be_visible()
            assert page.url == f"http://127.0.0.1:{port}/facts?q=grass"
            await page.close()
    assert [said for said in errors.said if not NOBODY_THERE.search(said)] == []
    assert list(tmp_path.iterdir()) == []


async def test_the_browser_is_opened_at_the_address(resources: Resources, tenant: str, tmp_path: Path) -> None:
    """The person's own one, once the address answers; and Ctrl-C ends the dashboard while the browser stays."""
    pipe, browser, empty = tmp_path / "said", tmp_path / "browser", tmp_path / "empty"
    os.mkfifo(pipe)
    empty.mkdir()
    browser.write_text(f'#!/bin/sh\necho "$$ $@" > {pipe}\nexec sleep 600 > /dev/null\n')
    browser.chmod(0o755)
    port = free_port()
    here = {"MEMORY_BUTLER_HOME": str(resources.settings.home), "MEMORY_BUTLER_TENANT": tenant, "BROWSER": str(browser)}
    number = ""
    try:
        async with dashboard(empty, port, "--open", **here):
            number, address = (await asyncio.to_thread(pipe.read_text)).split()
            assert address == f"http://127.0.0.1:{port}"
            async with httpx.AsyncClient(timeout=60) as web:
                assert "Memory Butler" in (await web.get(address)).text
        assert Path(f"/proc/{number}").exists()
    finally:
        if number:
            os.kill(int(number), signal.SIGTERM)


async def test_a_port_in_use_is_said_to_be(tmp_path: Path) -> None:
    """With the command that takes another one."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(TargetUnavailable, match=f"Port {port} on 127.0.0.1 is in use") as caught:
            await serve_dashboard(load_settings(home=tmp_path, port=port), print)
    assert f"memory-butler dashboard --port {port + 1}" in (caught.value.recovery or "")


async def test_without_logins_only_this_machine_is_served(tmp_path: Path) -> None:
    """Like `serve`."""
    with pytest.raises(PermissionDenied, match="would open the memory to other machines"):
        await serve_dashboard(load_settings(home=tmp_path, host="0.0.0.0", port=0), print)


def test_a_server_that_nobody_looks_at_does_not_load_nicegui() -> None:
    """Not with the program, not with the application, and not with a call of its API."""
    code = (
        "import asyncio, sys, tempfile, httpx\n"
        "from memory_butler.adapters.http.app import build_app\n"
        "from memory_butler.settings import load_settings\n"
        "app = build_app(load_settings(home=tempfile.mkdtemp()))\n"
        "async def ask():\n"
        "    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url='http://127.0.0.1') as web:\n"
        "        return [(await web.get(path)).status_code for path in ('/health/live', '/login')]\n"
        "front = 'memory_butler.adapters.dashboard.server.middleware'\n"
        "print(asyncio.run(ask()), 'nicegui' in sys.modules, front in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert ran.stdout.strip() == "[200, 303] False True", ran.stderr


async def test_the_dashboard_alone_is_alive(resources: Resources, tmp_path: Path) -> None:
    """Whoever watches it can ask."""
    from memory_butler.adapters.dashboard.server.middleware import build_dashboard
    from memory_butler.adapters.lazy_resources import LazyResources

    app = build_dashboard(LazyResources.already_open(resources))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as web:
        assert (await web.get("/health/live")).json()["status"] == "live"
        assert (await web.get("/nothing")).status_code == 404
