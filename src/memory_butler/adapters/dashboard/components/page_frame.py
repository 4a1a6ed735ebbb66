"""The frame of every page: navigation, user, error handling and live updates."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from fastapi import Request
from nicegui import Client, ui
from nicegui.elements.mixins.text_element import TextElement

from memory_butler.adapters.dashboard.actions.error_handling import (
    Handler,
    handle_errors,
    page_update,
    redirect_to_login,
)
from memory_butler.adapters.dashboard.actions.error_texts import user_advice, user_message
from memory_butler.adapters.dashboard.components.elements import card, tag, text_tag
from memory_butler.adapters.dashboard.components.navigation import draw_side_bar
from memory_butler.adapters.dashboard.components.palette import draw_palette
from memory_butler.adapters.dashboard.components.vue_components import ConnectionGuard, FocusKeeper
from memory_butler.adapters.dashboard.server.assets import STYLES, asset_url
from memory_butler.adapters.dashboard.server.page_context import LoginExpired, PageContext, background_refresh
from memory_butler.errors import InternalError, MemoryButlerError
from memory_butler.models import Activity, Caller
from memory_butler.operations.browse import inbox
from memory_butler.operations.history import activity

# Draws a page; a text that it returns becomes the page's title.
Build = Callable[[PageContext, Request], Awaitable[str | None]]
Redraw = Callable[[tuple[Activity, ...]], Awaitable[None]]
# Longer than any operation's deadline, so that the operation's own error is shown.
BUILD_TIMEOUT_SECONDS = 60.0
# An open page checks its login this often and leaves when it has ended.
LOGIN_CHECK_SECONDS = 30.0

_HEAD = f'<link rel="stylesheet" href="{asset_url(STYLES)}"><link rel="icon" href="/dashboard/icon.svg">'

# The heading of each open page.
_headings: WeakKeyDictionary[Client, TextElement] = WeakKeyDictionary()
log = logging.getLogger(__name__)


def page(path: str, title: str) -> Callable[[Build], Build]:
    """Register a page: `build` draws it. Errors are shown in the page's place."""

    def register(build: Build) -> Build:
        @ui.page(path, response_timeout=BUILD_TIMEOUT_SECONDS)
        async def draw(request: Request) -> None:
            context: PageContext = request.state.page_context
            ui.page_title(f"{title} · Memory Butler")
            with _frame(context, title, request, await _count_to_review(context)) as heading:
                try:
                    _headings[ui.context.client] = heading
                    if own := await build(context, request):
                        title_setter()(own)
                except LoginExpired:
                    redirect_to_login()
                except MemoryButlerError as problem:
                    show_error(problem)
                except Exception:
                    # Page boundary: the traceback goes to the log, a short message to the user.
                    log.exception("the page %s could not be drawn", path)
                    show_error(InternalError())

        return build

    return register


def title_setter() -> Callable[[str], None]:
    """Returns a function that changes the title of this page, also when the element of an event is gone."""
    client = ui.context.client

    def show(text: str) -> None:
        with client:
            if heading := _headings.get(client):
                heading.set_text(text)
            ui.page_title(f"{text} · Memory Butler")

    return show


async def subscribe(context: PageContext, redraw: Redraw) -> None:
    """Call `redraw` with new events until the page is closed. Subscribe before the page reads, so that it misses none.

    Delivery starts when the browser has connected; events written meanwhile are delivered then.
    """
    client = ui.context.client
    unsubscribe: Callable[[], None] | None = None
    since = await context.run("memory_activity_stream", activity.latest)

    async def on_events(items: tuple[Activity, ...]) -> None:
        if client.is_deleted:
            return
        with client, page_update(end):
            # Before anything is shown, because a page may show events without calling an operation.
            await context.require_login()
            await redraw(items)

    def begin() -> None:
        # A page connects again after a lost connection; it must not subscribe twice.
        nonlocal unsubscribe
        unsubscribe = unsubscribe or context.dashboard.live_updates.subscribe(
            Caller(context.principal), since, on_events
        )

    def end() -> None:
        if unsubscribe is not None:
            unsubscribe()

    client.on_connect(begin)
    client.on_delete(end)


def refresh_every(context: PageContext, seconds: float, redraw: Callable[[], Awaitable[None]]) -> None:
    """Redraw an open page at an interval: for changes that write no event."""
    client = ui.context.client

    async def refresh() -> None:
        with page_update(timer.cancel):
            await context.require_login()
            if not client.is_deleted:
                await redraw()

    timer = ui.timer(seconds, refresh, immediate=False)


def _watch_login(context: PageContext) -> None:
    """Redirect the page to the login when its login ends, even without clicks or events."""

    async def do_nothing() -> None:
        """`refresh_every` checks the login."""

    if not context.dashboard.is_open:
        refresh_every(context, LOGIN_CHECK_SECONDS, do_nothing)


def show_error(problem: MemoryButlerError) -> None:
    """Show an error in the page: what went wrong, what to do, and a retry button if that can help."""
    with card(user_message(problem), "mb-error", role="alert"):
        if advice := user_advice(problem):
            tag("p", text=advice)
        if problem.retryable:
            with tag("p"):
                ui.button("Try again", on_click=ui.navigate.reload).props("unelevated no-caps")


def button(text: str, classes: str, on_click: Handler) -> None:
    """A button in the style of our forms."""
    tag("button", classes, text=text, type="button").on("click", handle_errors(on_click))


async def _count_to_review(context: PageContext) -> int:
    """The number of items that wait for this user's decision; the page is shown without it if it cannot be read."""
    if not context.may("review"):
        return 0
    with background_refresh():
        try:
            return await context.run("review", inbox.waiting)
        except (MemoryButlerError, LoginExpired):
            return 0


@contextmanager
def _frame(context: PageContext, title: str, request: Request, to_review: int) -> Iterator[TextElement]:
    ui.add_head_html(_HEAD)
    slot = ui.context.client.content.parent_slot
    if slot:
        # NiceGUI wraps the content in a main landmark; the page has its own.
        slot.parent.props["role"] = "none"
    with tag("div", "mb-shell"):
        tag("a", "mb-skip", text="Skip to content", href="#content")
        draw_side_bar(context, request, to_review)
        with tag("main", "mb-main", id="content", tabindex="-1"):
            yield text_tag("h1", "mb-title", text=title, dir="auto")
    FocusKeeper()
    ConnectionGuard()
    draw_palette(context)
    _watch_login(context)
