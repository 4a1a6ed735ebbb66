"""Error handling of events: the user gets a notification that says what went wrong and what to do."""

import functools
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nicegui import ui

from memory_butler.adapters.dashboard.actions.error_texts import user_text
from memory_butler.adapters.dashboard.server.page_context import LoginExpired, background_refresh
from memory_butler.errors import InternalError, MemoryButlerError

log = logging.getLogger(__name__)
Handler = Callable[..., Awaitable[None]]


def handle_errors(handler: Handler) -> Handler:
    """Wrap the handler of a click, a choice or a key press."""

    @functools.wraps(handler)
    async def wrapped(*arguments: Any) -> None:
        try:
            await handler(*arguments)
        except LoginExpired:
            redirect_to_login()
        except MemoryButlerError as problem:
            notify_error(problem)
        except Exception:
            # Event boundary: the traceback goes to the log, a short message to the user.
            log.exception("a click failed")
            notify_error(InternalError())

    return wrapped


@contextmanager
def page_update(on_logout: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Wrap an update that a page makes by itself. A failed update is logged; the next one may succeed."""
    with background_refresh():
        try:
            yield
        except LoginExpired:
            on_logout()
            redirect_to_login()
        except MemoryButlerError as problem:
            log.info("a page could not be updated: %s", problem.message)


def notify_error(problem: MemoryButlerError) -> None:
    ui.notify(
        user_text(problem),
        type="negative",
        position="bottom",
        timeout=8000,
        close_button="Close",
        multi_line=True,
    )


def redirect_to_login() -> None:
    """Send the browser to the login and from there back to its current URL, which only the browser knows.

    Only once per page: a second redirect would cancel the first.
    """
    ui.run_javascript(
        "if (!window.mbRedirecting) { window.mbRedirecting = true;"
        " location.href = '/login?expired=1&next=' + encodeURIComponent(location.pathname + location.search); }"
    )
