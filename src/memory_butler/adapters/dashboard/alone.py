"""The dashboard in a process of its own, on the store that others serve or work on."""

import threading
import webbrowser
from collections.abc import Callable

from memory_butler.adapters.dashboard.front import build_dashboard
from memory_butler.adapters.http import Server, listening, require_loopback, under
from memory_butler.adapters.logs import configure_logging
from memory_butler.adapters.opening import LateButler, stay_out_of_the_way
from memory_butler.adapters.stdio import send_library_logs_to_file
from memory_butler.errors import TargetUnavailable
from memory_butler.settings import Settings


async def serve_dashboard(settings: Settings, say: Callable[[str], None], *, open_browser: bool = False) -> None:
    """Serve it until a signal asks to stop. Upkeep is left to those who serve agents."""
    if settings.service.auth == "off":
        require_loopback(settings.host)
    configure_logging(settings)
    send_library_logs_to_file()
    app = build_dashboard(LateButler(settings, warmed=stay_out_of_the_way))
    try:
        listener = listening(settings)
    except TargetUnavailable as problem:
        following = settings.port + 1 if settings.port < 65535 else 8151
        raise TargetUnavailable(
            problem.message, recovery=f"Choose another port: memory-butler dashboard --port {following}"
        ) from problem
    with listener:
        address = settings.reached_at(listener.getsockname()[1])
        data = "the database in MEMORY_BUTLER_DATABASE_URL" if settings.database_url else str(settings.home)
        say(f"Look into it at {address}\nIts data is in {data}\nCtrl-C stops it.\n")
        server = Server(under(app))
        if open_browser:
            # By then it listens: a browser that is quick waits for a moment. Nobody waits for one that stays.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        await server.serve(sockets=[listener])
