"""The dashboard as a process of its own, on a store that other processes serve."""

import threading
import webbrowser
from collections.abc import Callable

from memory_butler.adapters.dashboard.server.middleware import build_dashboard
from memory_butler.adapters.http.app import listening, require_loopback
from memory_butler.adapters.http.local_access import dashboard_link, ensure_token
from memory_butler.adapters.http.uvicorn_server import Server, uvicorn_config
from memory_butler.adapters.lazy_resources import LazyResources, freeze_loaded_objects
from memory_butler.adapters.mcp.stdio import send_library_logs_to_file
from memory_butler.adapters.telemetry.logs import configure_logging
from memory_butler.errors import TargetUnavailable
from memory_butler.settings import Settings


async def serve_dashboard(settings: Settings, say: Callable[[str], None], *, open_browser: bool = False) -> None:
    """Serve the dashboard until a signal stops it. It runs no upkeep: servers and workers do."""
    if settings.service.auth == "off":
        require_loopback(settings.host)
    configure_logging(settings)
    send_library_logs_to_file()
    ensure_token(settings)
    app = build_dashboard(LazyResources(settings, on_ready=freeze_loaded_objects))
    try:
        listener = listening(settings)
    except TargetUnavailable as problem:
        next_port = settings.port + 1 if settings.port < 65535 else 8151
        raise TargetUnavailable(
            problem.message, recovery=f"Choose another port: memory-butler dashboard --port {next_port}"
        ) from problem
    with listener:
        address = dashboard_link(settings, settings.reached_at(listener.getsockname()[1]))
        data = "the database of `database_url`" if settings.database_url else str(settings.home)
        say(f"Dashboard: {address}\nData: {data}\nPress Ctrl-C to stop.\n")
        server = Server(uvicorn_config(app))
        if open_browser:
            # The socket listens already, so an early request waits. The thread is a daemon: the browser may not return.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        await server.serve(sockets=[listener])
