"""A server without programs stops by itself, and never under a program that is connected."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from memory_butler.store.embedded.idle_stop import watch
from memory_butler.store.embedded.server import EmbeddedPostgres

LIMIT_SECONDS = 60


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mb-idle-") as folder:
        yield Path(folder)
        EmbeddedPostgres(Path(folder)).stop()


def test_a_server_that_nobody_uses_stops_by_itself_and_starts_again(home: Path) -> None:
    """Its process ends without any call of ours; the watching process ends with it."""
    server = EmbeddedPostgres(home, options={"fsync": "off"}, idle_seconds=0.5)
    server.ensure_running()
    assert server.pid
    watching = [one for one in psutil.process_iter() if _watches(one, home)]
    assert watching
    psutil.Process(server.pid).wait(LIMIT_SECONDS)
    _, left = psutil.wait_procs(watching, LIMIT_SECONDS)
    assert not left
    assert not server.is_running()
    EmbeddedPostgres(home).ensure_running()
    assert server.is_running()
    assert not [one for one in psutil.process_iter() if _watches(one, home)]


def test_a_connected_program_keeps_the_server(home: Path) -> None:
    """With two programs, the last one leaves; a server that was replaced is not stopped."""
    server = EmbeddedPostgres(home, options={"fsync": "off"})
    server.ensure_running()
    pid = server.pid
    assert pid
    with psycopg.connect(server.dsn("memory_app", "memory"), application_name="second"):
        with psycopg.connect(server.dsn("memory_app", "memory"), application_name="first"):
            assert server.activity()[0] == ["first", "second"]
            assert not server.stop_unused(pid)
        assert server.activity()[0] == ["second"]
        assert not server.stop_unused(pid)
    assert not server.stop_unused(pid + 1) and not watch(server, pid + 1, 0.5)
    assert server.pid == pid
    assert watch(server, pid, 0.5)
    assert not server.is_running()


def _watches(process: psutil.Process, home: Path) -> bool:
    try:
        command = process.cmdline()
    except psutil.Error:
        return False
    return "memory_butler.store.embedded.idle_stop" in command and str(home) in command
