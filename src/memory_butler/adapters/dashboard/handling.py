"""What happens when something that a person did goes wrong: they are told what, and how to go on."""

import functools
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from memory_butler.adapters.dashboard.complaints import words_of
from memory_butler.adapters.dashboard.visitor import LoginOver
from memory_butler.errors import InternalError, MemoryButlerError

log = logging.getLogger(__name__)
Handler = Callable[..., Awaitable[None]]


def handled(work: Handler) -> Handler:
    """Around everything that a click, a choice or a key starts."""

    @functools.wraps(work)
    async def done(*given: Any) -> None:
        try:
            await work(*given)
        except LoginOver:
            log_in_again()
        except MemoryButlerError as problem:
            complain(problem)
        except Exception:
            # The outermost place of a click: the log gets where it happened, the person that it did.
            log.exception("a click failed")
            complain(InternalError())

    return done


def complain(problem: MemoryButlerError) -> None:
    ui.notify(
        words_of(problem),
        type="negative",
        position="bottom",
        timeout=8000,
        close_button="Close",
        multi_line=True,
    )


def log_in_again() -> None:
    """To the login and back to where the person is; what they see there by then is the browser's to say.

    Once: what a page asks while it leaves ends here too, and going a second time would break off the first.
    """
    ui.run_javascript(
        "if (!window.mbLeaves) { window.mbLeaves = true;"
        " location.href = '/login?expired=1&next=' + encodeURIComponent(location.pathname + location.search); }"
    )
