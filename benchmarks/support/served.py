"""A real server over HTTP to measure: `memory-butler serve` in a process of its own, with tokens."""

import asyncio
import itertools
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from memory_butler.models import NewToken
from memory_butler.operations.access import tokens
from memory_butler.resources import Resources

START_SECONDS = 60.0
_PORTS = itertools.count(101 * os.getpid())


@dataclass
class Served:
    """A server process that can be killed and started again."""

    home: Path
    port: int
    options: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    worker: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, *, with_worker: bool = False) -> None:
        """The server; and a worker in a process of its own, as a service has it, if that is asked for."""
        self.process = self._run("serve", *(["--no-worker"] if with_worker else []))
        self.worker = self._run("work") if with_worker else None

    def catch_up(self) -> None:
        """Have everything done that is due: in a store that was loaded a moment ago every job of every tenant is."""
        self._run("work", "--once").wait()

    def _run(self, *arguments: str) -> subprocess.Popen[bytes]:
        settings = {"HOME": str(self.home), "PORT": str(self.port), "SERVICE__AUTH": "required", **self.options}
        env = os.environ | {f"MEMORY_BUTLER_{name}": value for name, value in settings.items()}
        command = [sys.executable, "-m", "memory_butler.adapters.cli.app", *arguments]
        return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    async def ready(self, client: httpx.AsyncClient, patience_seconds: float = START_SECONDS) -> None:
        """Wait until it says that it is."""
        async with asyncio.timeout(patience_seconds):
            while True:
                with suppress(httpx.HTTPError):
                    if (await client.get(f"{self.url}/health/ready")).status_code == 200:
                        return
                await asyncio.sleep(0.1)

    def kill(self, number: int = signal.SIGKILL) -> None:
        for process in (self.worker, self.process):
            if process is not None:
                process.send_signal(number)
                process.wait()
        self.worker = self.process = None

    def resident_mb(self) -> float:
        assert self.process
        return float(psutil.Process(self.process.pid).memory_info().rss) / 2**20


def free_port() -> int:
    """Nobody's port. It is below those that the system gives to connections, any of which could take it before it is
    used, and every process begins to look at another place."""
    while True:
        port = 20_000 + next(_PORTS) % 10_000
        with socket.socket() as probe, suppress(OSError):
            # As servers do: what only lingers from a server that has ended is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port


@contextmanager
def served(home: Path, *, with_worker: bool = False, **options: str) -> Iterator[Served]:
    server = Served(home, free_port(), options)
    if with_worker:
        server.catch_up()
    server.start(with_worker=with_worker)
    try:
        yield server
    finally:
        server.kill(signal.SIGTERM)


async def make_tokens(resources: Resources, tenants: Sequence[str]) -> dict[str, str]:
    """A token of an agent for each tenant."""
    operator = resources.local_operator()
    wanted = (NewToken(tenant=tenant, butler="main") for tenant in tenants)
    return {one.tenant: (await tokens.create(resources, one, operator))[1] for one in wanted}
