"""The HTTP server: MCP over streamable HTTP, REST, hooks, dashboard, health checks and metrics."""

import asyncio
import logging
import shlex
import shutil
import socket
import sys
from collections.abc import Callable, Coroutine
from errno import EADDRINUSE
from functools import partial
from typing import Any

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from memory_butler.adapters.connect.executable import NAME, executable, is_usual
from memory_butler.adapters.dashboard.server.dashboard_context import DashboardContext
from memory_butler.adapters.dashboard.server.middleware import DashboardMiddleware
from memory_butler.adapters.hooks.endpoint import BASE as HOOKS
from memory_butler.adapters.hooks.endpoint import build_door
from memory_butler.adapters.http.identity import Authentication, Identities
from memory_butler.adapters.http.limits import ConcurrencyLimit, EarlyRefusal, Gates
from memory_butler.adapters.http.local_access import (
    TOKEN_FILE,
    LocalAccess,
    OwnerOnly,
    dashboard_link,
    ensure_token,
    needs_token,
)
from memory_butler.adapters.http.local_socket import local_socket
from memory_butler.adapters.http.loopback_guard import BodyLimit, LoopbackOnly, host_name
from memory_butler.adapters.http.problems import problem_response, request_id_from
from memory_butler.adapters.http.store_mark import STORE_HEADER, store_mark
from memory_butler.adapters.http.uvicorn_server import Server, uvicorn_config
from memory_butler.adapters.lazy_resources import (
    FIRST_OPENING_SECONDS,
    LazyResources,
    background_worker,
    first_start_line,
    freeze_loaded_objects,
    is_first_start,
)
from memory_butler.adapters.mcp.catalog import build_tools
from memory_butler.adapters.mcp.server import build_server
from memory_butler.adapters.mcp.stdio import send_library_logs_to_file
from memory_butler.adapters.mcp.tool_base import within
from memory_butler.adapters.rest.app import mount_rest
from memory_butler.adapters.telemetry.logs import configure_logging
from memory_butler.adapters.telemetry.traces import configure_traces
from memory_butler.errors import InternalError, MemoryButlerError, PermissionDenied, TargetUnavailable
from memory_butler.metrics import registry
from memory_butler.metrics.registry import program_version
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.system import fleet
from memory_butler.policy.access.roles import check_role
from memory_butler.policy.lifecycle import schedule
from memory_butler.resources import Resources
from memory_butler.settings import Settings, is_loopback_host
from memory_butler.store.gate.database import StoreUpgraded

MCP_PATH = "/mcp"
READY_SECONDS = 2.0
Check = dict[str, Any]

log = logging.getLogger(__name__)


def build_app(source: Settings | LazyResources) -> ASGIApp:
    """Build the ASGI application. Its lifespan opens the store in the background and closes it."""
    lazy = source if isinstance(source, LazyResources) else LazyResources(source)
    is_open = lazy.settings.service.auth == "off"
    is_alone = lazy.settings.service.workers == 1
    if is_open:
        require_loopback(lazy.settings.host)
    access = LocalAccess(lazy.settings)
    gates = Gates.from_settings(lazy.settings, MCP_PATH)
    tools = build_tools(lazy)
    server = build_server(lazy, tools=tools, transport="tcp")

    @server.custom_route("/health/live", methods=["GET"])
    async def live(request: Request) -> JSONResponse:
        # A client that finds a server on its port can tell whether it is that of its own home.
        headers = {STORE_HEADER: store_mark(lazy.settings.home)}
        return JSONResponse({"status": "live", "service": "memory-butler"}, headers=headers)

    @server.custom_route("/health/ready", methods=["GET"])
    async def ready(request: Request) -> JSONResponse:
        checks = await readiness(lazy)
        is_ready = all(check["ok"] for check in checks.values())
        with_store = checks["database"]["ok"] and checks["migrations"]["ok"]
        report = await upkeep_report(lazy, with_store=with_store)
        if not is_open or not access.allows(request.scope):
            # The request is not authenticated: it gets the status without tenants and reasons.
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
        return Response(registry.exposition(), headers={"content-type": registry.CONTENT_TYPE})

    app = server.http_app(
        path=MCP_PATH,
        # LoopbackOnly covers the same and answers with a problem document instead of plain text.
        host_origin_protection=False,
        # An MCP session would be a second identity besides the token: with tokens every request stands alone. With
        # several processes the next request of a session may reach another one.
        stateless_http=not (is_open and is_alone),
        middleware=[
            Middleware(EarlyRefusal, gates=gates),
            *(
                (Middleware(LoopbackOnly, configured=lazy.settings.host), Middleware(OwnerOnly, access=access))
                if is_open
                else (Middleware(Authentication, identities=Identities(lazy)),)
            ),
            # In front of the slots: a client that sends slowly holds none.
            Middleware(
                BodyLimit,
                limit_bytes=lazy.settings.service.limits.request_bytes,
                deadline_seconds=lazy.settings.deadline_seconds,
            ),
            Middleware(ConcurrencyLimit, gates=gates, calls=lazy.calls),
        ],
    )
    mount_rest(app, lazy, tools)
    app.mount(HOOKS, build_door(lazy, tools))
    # An open page belongs to the process that made it.
    with_dashboard = lazy.settings.dashboard.enabled and is_alone
    return DashboardMiddleware(app, DashboardContext(lazy)) if with_dashboard else app


async def readiness(lazy: LazyResources) -> dict[str, Check]:
    """Check database, migrations and model; a failed check has its reason and the recovery."""
    try:
        resources = await lazy.get(READY_SECONDS)
    except MemoryButlerError as problem:
        unknown = {"ok": False, "detail": "unknown until the store is open"}
        return {"database": _check(problem), "migrations": unknown, "model": unknown}
    store = await _problem_of(_reach_store(resources))
    model = _check(await _problem_of(resources.embedder.start()))
    disk = _check(await asyncio.to_thread(_disk_problem, resources.settings))
    if isinstance(store, StoreUpgraded):
        return {"database": _check(None), "migrations": _check(store), "model": model, "disk": disk}
    migrations = {"ok": False, "detail": "unknown without the database"} if store else _check(None)
    return {"database": _check(store), "migrations": migrations, "model": model, "disk": disk}


def _disk_problem(settings: Settings) -> MemoryButlerError | None:
    """Return the problem of a disk that is almost full: the embedded database cannot write any more."""
    wanted = settings.service.min_free_megabytes
    try:
        free = shutil.disk_usage(settings.home).free // 1_000_000
    except OSError as problem:
        return TargetUnavailable(f"The disk of {settings.home} cannot be read: {problem.strerror}.")
    if free >= wanted:
        return None
    return TargetUnavailable(
        f"The disk of {settings.home} has {free} MB left; at least {wanted} MB are needed.",
        recovery="Free some space, or lower service.min_free_megabytes.",
    )


async def upkeep_report(lazy: LazyResources, *, with_store: bool) -> Check:
    """Report the status of the jobs, for monitoring: a server with an overdue sweep is still ready."""
    report: Check = {"status": "unknown", "worker": "inside" if lazy.worker else "elsewhere"}
    if not with_store:
        return report
    try:
        return await _reported(lazy, report)
    except MemoryButlerError as problem:
        return {**report, "detail": problem.message}
    except Exception:
        # Boundary of a health check: it reports a fault instead of raising it.
        log.exception("a health check failed")
        return {**report, "detail": InternalError().message}


async def _reported(lazy: LazyResources, report: Check) -> Check:
    resources = await lazy.get(READY_SECONDS)
    if lazy.settings.service.auth == "required":
        return {**report, **await within(READY_SECONDS, fleet.upkeep_summary(resources))}
    jobs = await within(READY_SECONDS, job_status.status_summary(resources))
    worst = schedule.worst(schedule.JobState(job["status"]) for job in jobs.values())
    return {**report, "tenant": resources.settings.tenant, "status": str(worst), "jobs": jobs}


async def _reach_store(resources: Resources) -> None:
    """Open a transaction, which also checks the revision of the schema."""
    async with resources.database.read(resources.settings.tenant):
        pass


async def _problem_of(work: Coroutine[Any, Any, None]) -> MemoryButlerError | None:
    try:
        await within(READY_SECONDS, work)
    except MemoryButlerError as problem:
        return problem
    except Exception:
        # Boundary of a health check: it reports a fault instead of raising it.
        log.exception("a health check failed")
        return InternalError()
    return None


def _check(problem: MemoryButlerError | None) -> Check:
    return {"ok": False, "detail": problem.message, "recovery": problem.recovery} if problem else {"ok": True}


def require_loopback(host: str) -> None:
    """Refuse to listen on other than loopback addresses without authentication."""
    if is_loopback_host(host_name(f"[{host}]" if ":" in host else host)):
        return
    raise PermissionDenied(
        f"Serving on {host!r} without authentication would open the memory to other machines.",
        recovery='Set service.auth = "required" and run `memory-butler token create`, or serve on 127.0.0.1.',
    )


def connect_line(settings: Settings) -> str:
    """Return the command that connects Claude Code with its hooks."""
    home = [] if is_usual(settings.home) else ["--home", str(settings.home)]
    return shlex.join([*executable(), *home, "connect", "claude-code"])


def connection_lines(settings: Settings, port: int | None = None) -> list[str]:
    """Return the commands that connect Claude Code over stdio and over HTTP."""
    # A store in another folder must be named, or the client would start an empty one.
    env = "" if is_usual(settings.home) else f" --env {shlex.quote(f'MEMORY_BUTLER_HOME={settings.home}')}"
    token = "<token>" if settings.service.auth == "required" else ""
    if needs_token(settings):
        token = f"$(cat {shlex.quote(str(settings.home / TOKEN_FILE))})"
    header = f' --header "Authorization: Bearer {token}"' if token else ""
    return [
        f"claude mcp add --scope user {NAME}{env} -- {shlex.join(executable())} mcp",
        f"claude mcp add --scope user --transport http {NAME} {settings.reached_at(port)}{MCP_PATH}{header}",
    ]


def address(settings: Settings, port: int | None = None) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{port or settings.port}"


def announcement(settings: Settings, port: int | None = None, *, processes: int = 1) -> str:
    """Return the message shown to the user when the server starts."""
    data = "the database of `database_url`" if settings.database_url else str(settings.home)
    over_stdio, over_http = connection_lines(settings, port)
    return "\n".join(
        [
            f"Memory Butler listens on {address(settings, port)}{MCP_PATH}",
            f"Its data is in {data}",
            *([_dashboard_line(settings, port, processes)] if settings.dashboard.enabled else []),
            *([f"{processes} processes"] if processes > 1 else []),
            "Connect Claude Code, with hooks that brief every session:",
            f"  {connect_line(settings)}",
            "or without hooks, with one of these:",
            f"  {over_stdio}",
            f"  {over_http}",
            "Ctrl-C stops it.",
        ]
    )


def _dashboard_line(settings: Settings, port: int | None, processes: int) -> str:
    if processes > 1:
        return "Dashboard: memory-butler dashboard (a process of its own beside several servers)"
    return f"Dashboard: {dashboard_link(settings, settings.reached_at(port))}"


async def serve(settings: Settings, announce: Callable[[str], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM."""
    configure_logging(settings)
    send_library_logs_to_file()
    registry.identify("serve")
    configure_traces(program_version())
    ensure_token(settings)
    lazy = LazyResources(settings, worker=background_worker(settings), on_ready=freeze_loaded_objects)
    app = build_app(lazy)
    say = announce or _print
    if is_first_start(settings):
        sys.stderr.write(f"{first_start_line(settings)}\n")
    with listening(settings) as listener, local_socket(settings) as local:
        text = announcement(settings, listener.getsockname()[1])
        server = Server(uvicorn_config(app), partial(_announce_when_open, lazy, text, say))
        await server.serve(sockets=[listener, *([local] if local else [])])


async def _announce_when_open(lazy: LazyResources, text: str, say: Callable[[str], None]) -> None:
    """Say where the server listens once it can answer; if the store does not open, say that too."""
    try:
        await lazy.get(FIRST_OPENING_SECONDS)
    except MemoryButlerError as problem:
        text += f"\nThe memory store is not open yet: {problem.message} {problem.recovery}"
    say(text)


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def listening(settings: Settings) -> socket.socket:
    """Open the socket of the server, with TCP_NODELAY.

    Otherwise the body of a response waits 40 ms for the acknowledgement of its head; asyncio sets the option only on
    sockets that it opens itself.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as problem:
        if problem.errno == EADDRINUSE:
            free = settings.port + 1 if settings.port < 65535 else 8151
            raise TargetUnavailable(
                f"Port {settings.port} on {settings.host} is in use, perhaps by another Memory Butler.",
                recovery=f"Use the running one ({address(settings)}{MCP_PATH}), stop it, or choose another port: "
                f"--port {free} or MEMORY_BUTLER_PORT={free}",
            ) from problem
        raise TargetUnavailable(
            f"Cannot listen on {settings.host}, port {settings.port}: {problem.strerror or problem}.",
            recovery="Choose another address or port: --host, --port, or MEMORY_BUTLER_HOST, MEMORY_BUTLER_PORT.",
        ) from problem
