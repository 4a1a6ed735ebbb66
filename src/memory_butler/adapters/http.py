"""The HTTP door: MCP over streamable HTTP, and two questions about the server's health."""

import asyncio
import contextlib
import logging
import shlex
import signal
import socket
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from errno import EADDRINUSE
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import uvicorn
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from memory_butler.adapters import metrics
from memory_butler.adapters.answering import within
from memory_butler.adapters.connect.executable import executable
from memory_butler.adapters.dashboard.desk import Desk
from memory_butler.adapters.dashboard.front import Front
from memory_butler.adapters.guard import BodyLimit, LoopbackOnly, host_name
from memory_butler.adapters.hooks.door import BASE as HOOKS
from memory_butler.adapters.hooks.door import build_door
from memory_butler.adapters.identity import Authentication, Identities
from memory_butler.adapters.limits import Doorkeeper, Gates, Limited
from memory_butler.adapters.logs import configure_logging
from memory_butler.adapters.mcp import build_server, build_tools, program_version
from memory_butler.adapters.opening import LateButler, companion_of, stay_out_of_the_way
from memory_butler.adapters.problems import problem_response, request_id_from
from memory_butler.adapters.rest.app import mount_rest
from memory_butler.adapters.stdio import send_library_logs_to_file
from memory_butler.adapters.traces import configure_traces
from memory_butler.butler import Butler
from memory_butler.errors import InternalError, MemoryButlerError, PermissionDenied, TargetUnavailable
from memory_butler.operations import upkeep
from memory_butler.policy import schedule
from memory_butler.policy.roles import check_role
from memory_butler.settings import Settings
from memory_butler.store.database import StoreUpgraded

MCP_PATH = "/mcp"
# Streams of clients are open for as long as the clients live: they are not waited for.
SHUTDOWN_SECONDS = 1
READY_SECONDS = 2.0
LONGEST_MESSAGE = 1_000_000
Check = dict[str, Any]

log = logging.getLogger(__name__)


def build_app(source: Settings | LateButler) -> ASGIApp:
    """The whole application; it opens the store beside its first requests and closes it with its lifespan."""
    late = source if isinstance(source, LateButler) else LateButler(source)
    is_open = late.settings.service.auth == "off"
    if is_open:
        require_loopback(late.settings.host)
    limits, gates = late.settings.service.limits, Gates.from_settings(late.settings, MCP_PATH)
    tools = build_tools(late)
    server = build_server(late, tools=tools)

    @server.custom_route("/health/live", methods=["GET"])
    async def live(request: Request) -> JSONResponse:
        return JSONResponse({"status": "live", "service": "memory-butler"})

    @server.custom_route("/health/ready", methods=["GET"])
    async def ready(request: Request) -> JSONResponse:
        checks = await readiness(late)
        is_ready = all(check["ok"] for check in checks.values())
        with_store = checks["database"]["ok"] and checks["migrations"]["ok"]
        report = await upkeep_report(late, with_store=with_store)
        if not is_open:
            # Whoever asks has not said who they are: they hear whether, not whose and why.
            checks = {name: {"ok": check["ok"]} for name, check in checks.items()}
            report = {"status": report["status"]}
        body = {"ready": is_ready, "checks": checks, "upkeep": report}
        return JSONResponse(body, status_code=200 if is_ready else 503)

    @server.custom_route("/metrics", methods=["GET"])
    async def metrics_for_prometheus(request: Request) -> Response:
        principal = request.scope.get("state", {}).get("principal")
        try:
            if principal is not None:
                check_role(principal, "metrics")
        except MemoryButlerError as problem:
            return problem_response(problem, request_id_from(request.scope))
        return metrics.exposed()

    app = server.http_app(
        path=MCP_PATH,
        # The library has such a guard too, which answers in plain text; ours covers the same and is the only one.
        host_origin_protection=False,
        # A session would be a second way to say who is calling: with tokens every request stands alone.
        stateless_http=not is_open,
        middleware=[
            Middleware(Doorkeeper, gates=gates, calls=late.calls),
            Middleware(LoopbackOnly, configured=late.settings.host)
            if is_open
            else Middleware(Authentication, identities=Identities.from_settings(late)),
            Middleware(Limited, gates=gates, calls_a_second=limits.calls_a_second),
            Middleware(BodyLimit, limit_bytes=limits.request_bytes, deadline_seconds=late.settings.deadline_seconds),
        ],
    )
    mount_rest(app, late, tools)
    app.mount(HOOKS, build_door(tools))
    return Front(app, Desk(late)) if late.settings.dashboard.enabled else app


async def readiness(late: LateButler) -> dict[str, Check]:
    """What the server needs for its work, and for each thing whether it is there and why not."""
    try:
        butler = await late.get(READY_SECONDS)
    except MemoryButlerError as problem:
        unknown = {"ok": False, "detail": "not known before the store is open"}
        return {"database": _check(problem), "migrations": unknown, "model": unknown}
    store = await _problem_of(_reach_store(butler))
    model = _check(await _problem_of(butler.embedder.start()))
    if isinstance(store, StoreUpgraded):
        return {"database": _check(None), "migrations": _check(store), "model": model}
    migrations = {"ok": False, "detail": "not known without the database"} if store else _check(None)
    return {"database": _check(store), "migrations": migrations, "model": model}


async def upkeep_report(late: LateButler, *, with_store: bool) -> Check:
    """How the jobs stand. It is said here for whoever watches; a server whose sweep is late answers all the same."""
    report: Check = {"status": "unknown", "worker": "inside" if late.companion else "elsewhere"}
    if not with_store:
        return report
    try:
        butler = await late.get(READY_SECONDS)
        jobs = await within(READY_SECONDS, upkeep.standings_in_short(butler))
    except MemoryButlerError as problem:
        return {**report, "detail": problem.message}
    except Exception:
        # The outermost place of a health check: it reports a fault, it does not become one.
        log.exception("a health check failed")
        return {**report, "detail": InternalError().message}
    worst = schedule.worst(schedule.Standing(job["status"]) for job in jobs.values())
    return {**report, "tenant": butler.settings.tenant, "status": str(worst), "jobs": jobs}


async def _reach_store(butler: Butler) -> None:
    """Open a transaction: the gate also checks that the schema is of this program's revision."""
    async with butler.database.read(butler.settings.tenant):
        pass


async def _problem_of(work: Coroutine[Any, Any, None]) -> MemoryButlerError | None:
    try:
        await within(READY_SECONDS, work)
    except MemoryButlerError as problem:
        return problem
    except Exception:
        # The outermost place of a health check: it reports a fault, it does not become one.
        log.exception("a health check failed")
        return InternalError()
    return None


def _check(problem: MemoryButlerError | None) -> Check:
    return {"ok": False, "detail": problem.message, "recovery": problem.recovery} if problem else {"ok": True}


def require_loopback(host: str) -> None:
    """Nobody but the person at this machine may be served, as long as nobody has to say who they are."""
    name = host_name(f"[{host}]" if ":" in host else host)
    with contextlib.suppress(ValueError):
        if name == "localhost" or ip_address(name).is_loopback:
            return
    raise PermissionDenied(
        f"Serving on {host!r} would open the memory to other machines, and nobody has to say who they are.",
        recovery='Set service.auth = "required" and make tokens (`memory-butler token create`), or serve on 127.0.0.1.',
    )


def connection_lines(settings: Settings, port: int | None = None) -> list[str]:
    """The two commands that connect Claude Code: over stdio and over HTTP."""
    name = "memory-butler"
    home = settings.home
    # A store that is not in the usual place has to be named, or the client would start an empty one.
    is_usual = home == Path("~/.memory-butler").expanduser().absolute()
    env = "" if is_usual else f" --env {shlex.quote(f'MEMORY_BUTLER_HOME={home}')}"
    header = ' --header "Authorization: Bearer <token>"' if settings.service.auth == "required" else ""
    return [
        f"claude mcp add {name}{env} -- {shlex.join(executable())} mcp",
        f"claude mcp add --transport http {name} {settings.reached_at(port)}{MCP_PATH}{header}",
    ]


def address(settings: Settings, port: int | None = None) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{port or settings.port}"


def announcement(settings: Settings, port: int | None = None) -> str:
    """What a person wants to know when the server starts."""
    data = "the database in MEMORY_BUTLER_DATABASE_URL" if settings.database_url else str(settings.home)
    over_stdio, over_http = connection_lines(settings, port)
    return "\n".join(
        [
            f"Memory Butler listens on {address(settings, port)}{MCP_PATH}",
            f"Its data is in {data}",
            *([f"Look into it at {settings.reached_at(port)}"] if settings.dashboard.enabled else []),
            "Connect Claude Code with one of these:",
            f"  {over_stdio}",
            f"  {over_http}",
            "Ctrl-C stops it.",
        ]
    )


async def serve(settings: Settings, announce: Callable[[str], None] | None = None) -> None:
    """Serve until a signal asks to stop."""
    configure_logging(settings)
    send_library_logs_to_file()
    metrics.VERSION.info({"version": program_version()})
    configure_traces(program_version())
    app = build_app(LateButler(settings, companion=companion_of(settings), warmed=stay_out_of_the_way))
    with listening(settings) as listener:
        (announce or _say)(announcement(settings, listener.getsockname()[1]))
        await Server(under(app)).serve(sockets=[listener])


def under(app: ASGIApp) -> uvicorn.Config:
    """How uvicorn is to serve."""
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="on",
        # The lines of the dashboard's open pages.
        ws="websockets-sansio",
        ws_max_size=LONGEST_MESSAGE,
        server_header=False,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def listening(settings: Settings) -> socket.socket:
    """The socket of the server. Its connections send at once what they have: an answer's body that waits for its head
    to be acknowledged costs 40 ms, and asyncio does not see to it for a socket made by others."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as problem:
        if problem.errno == EADDRINUSE:
            raise TargetUnavailable(
                f"Port {settings.port} on {settings.host} is in use, perhaps by a Memory Butler that already runs.",
                recovery=f"Use the one that runs ({address(settings)}{MCP_PATH}), stop it, or choose another port: "
                f"MEMORY_BUTLER_PORT={settings.port + 1 if settings.port < 65535 else 8151}",
            ) from problem
        raise TargetUnavailable(
            f"Cannot listen on {settings.host}, port {settings.port}: {problem.strerror or problem}.",
            recovery="Choose another address or port: MEMORY_BUTLER_HOST, MEMORY_BUTLER_PORT.",
        ) from problem


class Server(uvicorn.Server):
    """uvicorn, except that a signal ends `serve` like any other return instead of being raised again after it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
