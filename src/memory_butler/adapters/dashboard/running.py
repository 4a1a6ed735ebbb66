"""NiceGUI: how it is set up, and which pages it has. Loaded with the first page that somebody asks for.

It is one application for the whole process, however many servers there are in it: it starts with the first and stops
with the last. What differs between servers comes with each request, in its visitor.
"""

import importlib
import pkgutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nicegui import core
from nicegui.middlewares import SetCacheControlMiddleware

# There are no public names for these: `ui.run_with` wants the whole server. The version of NiceGUI is pinned.
from nicegui.nicegui import _shutdown, _startup
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp

from memory_butler.adapters.dashboard import pages

# Whoever chose light or dark finds it again; whoever did not has what their system has.
_REMEMBER_DARK = """
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
# So long a page that lost its line is waited for; after that it loads itself again.
RECONNECT_SECONDS = 10.0

_running = 0


@asynccontextmanager
async def running() -> AsyncIterator[ASGIApp]:
    global _running  # noqa: PLW0603 (NiceGUI has one application in a process, too)
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
    config.vue_config_script += _REMEMBER_DARK
    core.app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=6)
    core.app.add_middleware(SetCacheControlMiddleware)
    for found in pkgutil.iter_modules(pages.__path__):
        importlib.import_module(f"{pages.__name__}.{found.name}")


_set_up()
