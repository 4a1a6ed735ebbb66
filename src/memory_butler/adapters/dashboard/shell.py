"""What stands around every page: where one is, where one can go, and who one is."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from fastapi import Request
from nicegui import ui

from memory_butler.adapters.dashboard import places
from memory_butler.adapters.dashboard.elements import tag, text_of
from memory_butler.adapters.dashboard.handling import log_in_again
from memory_butler.adapters.dashboard.visitor import LoginOver, Visitor
from memory_butler.adapters.mcp import program_version
from memory_butler.errors import InternalError, MemoryButlerError
from memory_butler.models import Activity, Caller, Role
from memory_butler.operations import activity

Build = Callable[[Visitor, Request], Awaitable[None]]
Redraw = Callable[[tuple[Activity, ...]], Awaitable[None]]
# Longer than any operation may take, so that it is the operation that says why it took too long.
LONGEST_BUILD_SECONDS = 60.0

log = logging.getLogger(__name__)


def page(path: str, title: str) -> Callable[[Build], Build]:
    """Register a page: `build` draws it for a visitor. What it cannot find is said in its place."""

    def register(build: Build) -> Build:
        @ui.page(path, response_timeout=LONGEST_BUILD_SECONDS)
        async def shown(request: Request) -> None:
            visitor: Visitor = request.state.visitor
            ui.page_title(f"{title} · Memory Butler")
            with _frame(visitor, title, request):
                try:
                    await build(visitor, request)
                except LoginOver:
                    log_in_again()
                except MemoryButlerError as problem:
                    trouble(problem)
                except Exception:
                    # The outermost place of a page: the log gets where it happened, the person that it did.
                    log.exception("the page %s could not be drawn", path)
                    trouble(InternalError())

        return build

    return register


async def follow(visitor: Visitor, redraw: Redraw) -> None:
    """Have the page told of what is written from now on, until it is closed. To be called before the page reads."""
    client = ui.context.client
    since = await visitor.ask("memory_activity_stream", lambda visit: activity.latest(visit.butler, visit.caller))

    async def told(items: tuple[Activity, ...]) -> None:
        if client.is_deleted:
            return
        with client:
            try:
                await redraw(items)
            except LoginOver:
                leave()
                log_in_again()
            except MemoryButlerError as problem:
                log.info("a page could not be brought up to date: %s", problem.message)

    leave = visitor.desk.live.join(Caller(visitor.principal), since, told)
    client.on_delete(leave)


def trouble(problem: MemoryButlerError) -> None:
    """Why there is nothing to see here, and what to do."""
    with tag("section", "mb-card mb-trouble", role="alert"):
        tag("h2", text=problem.message)
        if problem.recovery:
            tag("p", text=problem.recovery)
        if problem.retryable:
            with tag("p"):
                ui.button("Try again", on_click=ui.navigate.reload).props("unelevated no-caps")


@contextmanager
def _frame(visitor: Visitor, title: str, request: Request) -> Iterator[None]:
    ui.add_head_html('<link rel="stylesheet" href="/dashboard/look.css"><link rel="icon" href="/dashboard/icon.svg">')
    with tag("div", "mb-shell"):
        tag("a", "mb-skip", text="Skip to content", href="#content")
        with tag("header", "mb-side"):
            with tag("div", "mb-brand"):
                with tag("a", "mb-name", href="/"):
                    tag("img", src="/dashboard/icon.svg", alt="", width="26", height="26")
                    tag("span", text="Memory Butler")
                menu = ui.button(icon="menu").props('flat round dense aria-label="Menu"').classes("mb-menu")
                menu.on("click", js_handler="() => document.querySelector('.mb-side').classList.toggle('mb-open')")
            with tag("nav", "mb-nav", aria_label="Pages"):
                for place in places.PLACES:
                    _entry(place, request.url.path)
            with tag("div", "mb-foot"):
                _person(visitor, request)
        with tag("main", "mb-main", id="content", tabindex="-1"):
            tag("h1", "mb-title", text=title)
            yield


def _entry(place: places.Place, here: str) -> None:
    is_here = here == place.path or (place.path == "/facts" and here.startswith(places.MEMORY + "fact"))
    with tag("a", "mb-entry", href=place.path) as entry:
        if is_here:
            entry.props["aria-current"] = "page"
        ui.icon(place.icon).props('aria-hidden="true"')
        tag("span", text=place.title)


def _person(visitor: Visitor, request: Request) -> None:
    """Who one is, in which tenant, and how to leave."""
    who = visitor.principal
    with tag("div", "mb-who"):
        ui.icon("person").props('aria-hidden="true"')
        with tag("div"):
            tag("div", "mb-who-name", text=text_of(who.name or who.butler))
            where = "this machine" if visitor.desk.is_open else f"{who.role} of {who.tenant}"
            tag("div", "mb-muted mb-small", text=where)
        dark = ui.button(icon="contrast").props('flat round dense aria-label="Light or dark"')
        dark.on(
            "click",
            js_handler="() => { const dark = !Quasar.Dark.isActive; setDark(dark); "
            "localStorage.setItem('memory-butler-dark', dark ? 'dark' : 'light'); }",
        )
    if who.role is Role.OPERATOR:
        _tenant(visitor, request)
    if not visitor.desk.is_open:
        with tag("form", method="post", action=places.LOGOUT):
            tag("button", "mb-plain", text="Log out", type="submit")
    tag("div", "mb-muted mb-small", text=f"Version {program_version()}")


def _tenant(visitor: Visitor, request: Request) -> None:
    """An operator goes to another tenant, and sees all the time where they are."""
    with tag("form", "mb-tenant", method="post", action=places.TENANT):
        tag("input", type="hidden", name="next", value=request.url.path)
        tag("label", "mb-small", text="Tenant", **{"for": "tenant"})
        with tag("div", "mb-line"):
            tag("input", id="tenant", name="tenant", value=visitor.principal.tenant, maxlength="64", required="")
            tag("button", "mb-plain", text="Go", type="submit")
    if visitor.principal.home:
        tag("p", "mb-note mb-note-warn mb-small", text=f"You are visiting {visitor.principal.tenant}. It is on record.")
