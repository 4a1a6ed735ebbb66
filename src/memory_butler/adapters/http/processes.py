"""Several server processes behind one port: `memory-butler serve --workers N`.

The processes share the listening socket, so that a connection waits for whichever is free, and none is lost with a
process that dies. Each has its own model and connections. This process starts them, replaces one that ends, and stops
them when it is told to. Only the first runs scheduled jobs. The limits of the service are divided between them, and
every process answers `/metrics` for all.
"""

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from prometheus_client.multiprocess import mark_process_dead

from memory_butler.adapters.http.app import announcement, build_app, listening, require_loopback
from memory_butler.adapters.http.local_access import ensure_token
from memory_butler.adapters.http.local_socket import local_socket
from memory_butler.adapters.http.uvicorn_server import Server, uvicorn_config
from memory_butler.adapters.lazy_resources import LazyResources, background_worker, freeze_loaded_objects
from memory_butler.adapters.mcp.stdio import send_library_logs_to_file
from memory_butler.adapters.telemetry.logs import configure_logging
from memory_butler.adapters.telemetry.traces import configure_traces
from memory_butler.metrics import registry
from memory_butler.metrics.registry import program_version
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings
from memory_butler.store.gate.shared_positions import SharedPositions

# A process that does not stop within this time is killed.
STOP_SECONDS = 10.0
# A process that lived shorter failed at its start; the next one is started after a pause that doubles each time.
LIVED_SECONDS = 5.0
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.5, 30.0
POSITIONS_FILE = "positions"

log = logging.getLogger(__name__)


def serve_processes(settings: Settings, announce: Callable[[str], None] | None = None) -> None:
    """Serve with `service.workers` processes until SIGINT or SIGTERM."""
    configure_logging(settings)
    send_library_logs_to_file()
    if settings.service.auth == "off":
        require_loopback(settings.host)
    ensure_token(settings)
    with (
        listening(settings) as listener,
        local_socket(settings) as local,
        tempfile.TemporaryDirectory(prefix="memory-butler-") as folder,
    ):
        # Before the processes import prometheus-client, which reads it.
        os.environ[registry.SHARED_FOLDER] = folder
        sockets = [listener, *([local] if local else [])]
        port = listener.getsockname()[1]
        (announce or _print)(announcement(settings, port, processes=settings.service.workers))
        Supervisor(settings, sockets, Path(folder)).run()


class Supervisor:
    """Starts the processes and keeps them running."""

    def __init__(self, settings: Settings, sockets: Sequence[socket.socket], folder: Path) -> None:
        self._settings = settings
        self._sockets = sockets
        self._folder = folder
        self._context = multiprocessing.get_context("spawn")
        self._running: dict[int, SpawnProcess] = {}
        self._began: dict[int, float] = {}
        # When to start a process again, and after which pause.
        self._due: dict[int, float] = {}
        self._pauses: dict[int, float] = {}
        self._restarts = 0
        self._is_stopping = False

    def run(self) -> None:
        """Until a signal; then until every process has ended."""
        with self._signals() as signalled:
            for number in range(self._settings.service.workers):
                self._start(number)
            while not self._is_stopping:
                ready = wait([signalled, *(process.sentinel for process in self._running.values())], self._pause())
                if signalled in ready:
                    self._is_stopping = bool(signalled.recv(64))
                self._replace_dead()
            self._stop()

    @contextmanager
    def _signals(self) -> Iterator[socket.socket]:
        """A socket that is readable after a signal: waiting for it and for processes is one call."""
        received, sent = socket.socketpair()
        received.setblocking(False)
        sent.setblocking(False)
        previous = {number: signal.signal(number, _ignore) for number in (signal.SIGINT, signal.SIGTERM)}
        woken = signal.set_wakeup_fd(sent.fileno(), warn_on_full_buffer=False)
        try:
            yield received
        finally:
            signal.set_wakeup_fd(woken)
            for number, handler in previous.items():
                signal.signal(number, handler)
            received.close()
            sent.close()

    def _start(self, number: int) -> None:
        arguments = (self._settings, list(self._sockets), number, self._folder)
        process = self._context.Process(target=_run_process, args=arguments, name=f"memory-butler-serve-{number}")
        process.start()
        self._running[number], self._began[number] = process, time.monotonic()
        self._due.pop(number, None)
        self._note()

    def _pause(self) -> float | None:
        """Seconds until the next process has to be started; None: none is missing."""
        return max(0.0, min(self._due.values()) - time.monotonic()) if self._due else None

    def _replace_dead(self) -> None:
        now = time.monotonic()
        for number, process in list(self._running.items()):
            if process.is_alive():
                continue
            self._ended(number)
            if self._is_stopping:
                continue
            self._restarts += 1
            is_early = now - self._began[number] < LIVED_SECONDS
            pause = min(MAX_PAUSE_SECONDS, 2 * self._pauses.get(number, FIRST_PAUSE_SECONDS / 2)) if is_early else 0.0
            self._pauses[number] = pause or FIRST_PAUSE_SECONDS / 2
            self._due[number] = now + pause
            log.warning("server process %d ended (%s); it is replaced", process.pid, _reason(process.exitcode))
        for number in [number for number, due in self._due.items() if due <= now and not self._is_stopping]:
            self._start(number)

    def _ended(self, number: int) -> None:
        process = self._running.pop(number)
        process.join()
        mark_process_dead(process.pid, str(self._folder))  # type: ignore[no-untyped-call]
        self._note()

    def _note(self) -> None:
        pids = [process.pid for process in self._running.values() if process.pid is not None]
        registry.write_processes(self._folder, pids, self._restarts)

    def _stop(self) -> None:
        for process in self._running.values():
            process.terminate()
        until = time.monotonic() + STOP_SECONDS
        for process in self._running.values():
            process.join(max(0.0, until - time.monotonic()))
            if process.is_alive():
                log.warning("server process %d did not stop in %g seconds and is killed", process.pid, STOP_SECONDS)
                process.kill()
                process.join()


def _run_process(settings: Settings, sockets: list[socket.socket], number: int, folder: Path) -> None:
    # Ctrl-C in a terminal reaches all processes of the group; the first one tells the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    configure_logging(settings)
    send_library_logs_to_file()
    registry.identify("serve")
    configure_traces(program_version())
    asyncio.run(_serve(settings, sockets, number, folder))


async def _serve(settings: Settings, sockets: list[socket.socket], number: int, folder: Path) -> None:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Resources]:
        async with open_resources(settings) as resources:
            if resources.database.read_plane is not None:
                file = folder / POSITIONS_FILE
                resources.database.read_plane.positions = SharedPositions(file, number, settings.service.workers)
            yield resources

    worker = background_worker(settings) if number == 0 else None
    server = Server(
        uvicorn_config(build_app(LazyResources(settings, opened, worker=worker, on_ready=freeze_loaded_objects)))
    )
    first = multiprocessing.parent_process()
    assert first is not None
    # Without the process that would replace and stop it, this one ends as well.
    asyncio.get_running_loop().add_reader(first.sentinel, server.handle_exit, signal.SIGTERM, None)
    await server.serve(sockets=sockets)


def _reason(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return signal.Signals(-exit_code).name
    return f"exit code {exit_code}"


def _ignore(number: int, frame: object) -> None:
    """The wakeup socket tells of it."""


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
