"""Configures NiceGUI and imports the pages. Loaded with the first request for a page.

NiceGUI has one application per process, whatever the number of servers: it starts with the first and stops with the
last. Everything specific to a server comes with the request, in its `PageContext`.
"""

import importlib
import pkgutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nicegui import core
from nicegui.middlewares import SetCacheControlMiddleware

# Private: the public `ui.run_with` takes over a whole FastAPI app. NiceGUI is pinned, and a test guards the names.
from nicegui.nicegui import _shutdown, _startup
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp

from memory_butler.adapters.dashboard import pages

# The user's choice of light or dark; without one, the system's.
_RESTORE_THEME = """
const chosen = localStorage.getItem('memory-butler-dark');
if (chosen) setDark(chosen === 'dark');
"""
_COLOURS = {
    "primary": "#1f6b52",
    "secondary": "#8a6a2f",
    "accent": "#3f6aa3",
    "positive": "#2f7d4f",
    "negative": "#b3403a",
}
# The server keeps a disconnected page this long; after that the browser reloads it.
RECONNECT_SECONDS = 10.0

_running = 0


@asynccontextmanager
async def running() -> AsyncIterator[ASGIApp]:
    global _running  # noqa: PLW0603 (NiceGUI itself is global to the process)
    if _running == 0:
        await _startup()
    _running += 1
    try:
        yield core.app
    finally:
        _running -= 1
        if _running == 0:
            await _shutdown()


def _set_up() -> None:
    config = core.app.config
    config.add_run_config(
        reload=False,
        title="Memory Butler",
        viewport="width=device-width, initial-scale=1",
        favicon=None,
        dark=None,
        language="en-US",
        binding_refresh_interval=None,
        reconnect_timeout=RECONNECT_SECONDS,
        message_history_length=1000,
        tailwind=False,
        unocss=None,
        prod_js=True,
        show_welcome_message=False,
        markdown=False,
    )
    config.quasar_config["brand"] = _COLOURS
    config.vue_config_script += _RESTORE_THEME
    core.app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=6)
    core.app.add_middleware(SetCacheControlMiddleware)
    for module in pkgutil.iter_modules(pages.__path__):
        importlib.import_module(f"{pages.__name__}.{module.name}")


_set_up()
