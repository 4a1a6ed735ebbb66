"""The Unix socket of the local shape: open to its owner, one per store, and gone with its server."""

import asyncio
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.support.service import Switch

from memory_butler.adapters.http.app import build_app, listening
from memory_butler.adapters.http.local_socket import SOCKET_FILE, local_socket
from memory_butler.adapters.http.uvicorn_server import Server, uvicorn_config
from memory_butler.resources import Resources
from memory_butler.settings import Settings, load_settings


@pytest.fixture
def short(tmp_path: Path) -> Iterator[Path]:
    """A folder with a path that is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="mb-") as folder:
        yield Path(folder)


def local(home: Path, **service: str) -> Settings:
    return load_settings(home=home, port=0, service=service)


async def test_the_socket_serves_without_a_token(resources: Resources, short: Path) -> None:
    """Even where every program has to show one: only the owner can open it."""
    settings = local(short, local_access="token")
    switch = Switch(settings.model_copy(update={"tenant": resources.settings.tenant}))
    switch.resources = resources
    with listening(settings) as port, local_socket(settings) as unix:
        assert unix is not None
        assert stat.S_IMODE((short / SOCKET_FILE).stat().st_mode) == 0o600
        server = Server(uvicorn_config(build_app(switch)))
        running = asyncio.create_task(server.serve(sockets=[port, unix]))
        try:
            transport = httpx.AsyncHTTPTransport(uds=str(short / SOCKET_FILE))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as web:
                assert (await web.get("/api/v1/jobs")).status_code == 200
                assert (await web.get("/api/v1/jobs", headers={"host": "evil.example"})).status_code == 421
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port.getsockname()[1]}") as web:
                assert (await web.get("/api/v1/jobs")).status_code == 401
        finally:
            server.should_exit = True
            await running
    assert not (short / SOCKET_FILE).exists()


def test_a_second_server_leaves_the_socket_to_the_first(short: Path) -> None:
    """Both serve the same store. What a killed server left behind is replaced."""
    with local_socket(local(short)) as first:
        assert first is not None
        with local_socket(local(short)) as second:
            assert second is None
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(short / SOCKET_FILE))
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(short / SOCKET_FILE))
    left.close()
    with local_socket(local(short)) as again:
        assert again is not None


def test_where_there_is_no_socket_the_port_is_enough(short: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A service has none, a long path cannot have one, and a folder that is not there is no reason to stop."""
    with local_socket(local(short, auth="required")) as none:
        assert none is None
    long = short / ("x" * 100)
    long.mkdir()
    with local_socket(local(long)) as none:
        assert none is None
    with local_socket(local(short / "missing")) as none:
        assert none is None
    assert "server.sock cannot be opened" in caplog.text
