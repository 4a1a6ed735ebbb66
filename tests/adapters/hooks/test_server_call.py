"""A hook talks to the server of its own account: over the Unix socket, else over the port with the local token."""

import asyncio
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.hooks.conftest import Hook, context_in, project_memory, silence, started
from tests.support.other_account import NOBODY

from memory_butler.adapters.hooks.server_call import Server
from memory_butler.adapters.http.app import build_app, listening
from memory_butler.adapters.http.local_access import ensure_token
from memory_butler.adapters.http.local_socket import local_socket
from memory_butler.adapters.http.uvicorn_server import Server as HttpServer
from memory_butler.adapters.http.uvicorn_server import uvicorn_config
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.resources import Resources
from memory_butler.settings import load_settings

LISTEN = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); s.accept()"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a path that is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="mb-") as made:
        yield Path(made)


@asynccontextmanager
async def closed_server(resources: Resources, folder: Path, *, with_socket: bool) -> AsyncIterator[int]:
    """A server that wants the token from every program that comes by its port."""
    service = resources.settings.service.model_copy(update={"local_access": "token"})
    own = resources.settings.model_copy(update={"home": folder, "service": service})
    ensure_token(own)
    with listening(load_settings(port=0)) as port, local_socket(own) as unix:
        app = build_app(LazyResources.already_open(replace(resources, settings=own)))
        server = HttpServer(uvicorn_config(app))
        sockets = [port, *([unix] if with_socket and unix else [])]
        if not with_socket:
            (folder / "server.sock").unlink()
        running = asyncio.create_task(server.serve(sockets=sockets))
        try:
            yield port.getsockname()[1]
        finally:
            server.should_exit = True
            await running


@pytest.mark.parametrize("with_socket", [True, False])
async def test_a_hook_gets_in(resources: Resources, folder: Path, hook: Hook, project: Path, with_socket: bool) -> None:
    """By the socket without any port, and by the port with the token; without either it gets nothing."""
    await project_memory(resources)
    async with closed_server(resources, folder, with_socket=with_socket) as port:
        given = await hook(
            "session-start", 1 if with_socket else port, started(project), MEMORY_BUTLER_HOME=str(folder)
        )
        assert "make check" in context_in(given.stdout)
        assert silence(await hook("session-start", port, started(project))).startswith("the server refused the request")


def test_a_token_of_a_service_is_for_its_port(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket is that of the local server, which knows nothing of it."""
    monkeypatch.setenv("MEMORY_BUTLER_TOKEN", "mb_of_a_service")
    (folder / "token").write_text("mbl_local\n")
    service = Server(str(folder))
    assert (service.token, service.is_own) == ("mb_of_a_service", False)
    monkeypatch.delenv("MEMORY_BUTLER_TOKEN")
    assert (Server(str(folder)).token, Server(str(folder)).is_own) == ("mbl_local", True)
    (folder / "token").write_bytes(b"\xff")
    assert Server(str(folder)).token == ""


async def test_nothing_is_told_to_the_server_of_another_account(
    folder: Path, hook: Hook, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took the port while ours was down: neither the words of the session nor the token go there."""
    if os.geteuid() == 0:
        account: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        command = ("/usr/bin/python3", "-c", LISTEN)
        taken = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd="/", **account)
        assert taken.stdout
        port = int(await taken.stdout.readline())
        debug = {"MEMORY_BUTLER_HOOK_DEBUG": "1", "MEMORY_BUTLER_HOME": str(folder)}
        done = await hook("session-start", port, started(project), **debug)
        taken.kill()
        await taken.wait()
        assert silence(done) == f"another account of this machine listens on port {port}"
        assert f"another account of this machine listens on port {port}" in done.stderr
    monkeypatch.setattr("memory_butler.adapters.hooks.server_call.is_foreign_server", lambda host, port: True)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setenv("MEMORY_BUTLER_PORT", str(listener.getsockname()[1]))
        listener.settimeout(0)
        with pytest.raises(Exception, match="another account of this machine listens"):
            Server(str(folder)).ask("/hooks/briefing", {"prompt": "secret"}, float("inf"))
        with pytest.raises(BlockingIOError):
            listener.accept()
