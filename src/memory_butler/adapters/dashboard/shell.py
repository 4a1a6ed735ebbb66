"""What stands around every page: where one is, where one can go, and who one is."""

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from fastapi import Request
from nicegui import ui
from nicegui.element import Element

from memory_butler.adapters.dashboard import places
from memory_butler.adapters.dashboard.complaints import advice_of, message_of
from memory_butler.adapters.dashboard.elements import tag, text_of
from memory_butler.adapters.dashboard.focusing import Keep
from memory_butler.adapters.dashboard.handling import log_in_again
from memory_butler.adapters.dashboard.visitor import LoginOver, Visitor, by_itself
from memory_butler.adapters.mcp import program_version
from memory_butler.errors import InternalError, MemoryButlerError
from memory_butler.models import Activity, Caller, Role
from memory_butler.operations import activity

Build = Callable[[Visitor, Request], Awaitable[None]]
Redraw = Callable[[tuple[Activity, ...]], Awaitable[None]]
# Longer than any operation may take, so that it is the operation that says why it took too long.
LONGEST_BUILD_SECONDS = 60.0
# So often an open page asks whether its login still holds: what it shows is not for whoever comes by after that.
LOGIN_SECONDS = 30.0

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
    """Have the page told of what is written from now on, until it is closed. To be called before the page reads.

    It is told once it is drawn and somebody looks at it; what was written meanwhile comes then.
    """
    client = ui.context.client
    leave: Callable[[], None] | None = None
    since = await visitor.ask("memory_activity_stream", lambda visit: activity.latest(visit.butler, visit.caller))

    async def told(items: tuple[Activity, ...]) -> None:
        if client.is_deleted:
            return
        with client, by_itself():
            try:
                # Before anything of the news is shown, also where a page shows them without a question of its own.
                await visitor.require_login()
                await redraw(items)
            except LoginOver:
                end()
                log_in_again()
            except MemoryButlerError as problem:
                log.info("a page could not be brought up to date: %s", problem.message)

    def begin() -> None:
        # A page whose line was cut connects once more; one that has to log in again does not begin anew.
        nonlocal leave
        leave = leave or visitor.desk.live.join(Caller(visitor.principal), since, told)

    def end() -> None:
        if leave is not None:
            leave()

    client.on_connect(begin)
    client.on_delete(end)


def every(visitor: Visitor, seconds: float, redraw: Callable[[], Awaitable[None]]) -> None:
    """Have the page drawn again now and then while it is open: for what no event tells of."""
    client = ui.context.client

    async def again() -> None:
        with by_itself():
            try:
                await visitor.require_login()
                if not client.is_deleted:
                    await redraw()
            except LoginOver:
                timer.cancel()
                log_in_again()
            except MemoryButlerError as problem:
                log.info("a page could not be brought up to date: %s", problem.message)

    timer = ui.timer(seconds, again, immediate=False)


def _end_with_login(visitor: Visitor) -> None:
    """Have the page leave for the login when that has ended, also if nobody clicks and nothing is written."""

    async def nothing_else() -> None:
        """To have asked for the login is all."""

    if not visitor.desk.is_open:
        every(visitor, LOGIN_SECONDS, nothing_else)


def trouble(problem: MemoryButlerError) -> None:
    """Why there is nothing to see here, and what to do."""
    with tag("section", "mb-card mb-trouble", role="alert"):
        tag("h2", text=message_of(problem))
        if advice := advice_of(problem):
            tag("p", text=advice)
        if problem.retryable:
            with tag("p"):
                ui.button("Try again", on_click=ui.navigate.reload).props("unelevated no-caps")


@contextmanager
def _frame(visitor: Visitor, title: str, request: Request) -> Iterator[None]:
    ui.add_head_html('<link rel="stylesheet" href="/dashboard/look.css"><link rel="icon" href="/dashboard/icon.svg">')
    around = ui.context.client.content.parent_slot
    if around:
        # NiceGUI puts everything into a main part; ours is the one that is meant.
        around.parent.props["role"] = "none"
    with tag("div", "mb-shell"):
        tag("a", "mb-skip", text="Skip to content", href="#content")
        with tag("header", "mb-side"):
            with tag("div", "mb-brand"):
                with tag("a", "mb-name", href="/"):
                    tag("img", src="/dashboard/icon.svg", alt="", width="26", height="26")
                    tag("span", text="Memory Butler")
                menu = ui.button(icon="menu", color=None).props('flat round dense aria-label="Menu"').classes("mb-menu")
                menu.on("click", js_handler="() => document.querySelector('.mb-side').classList.toggle('mb-open')")
            with tag("nav", "mb-nav", aria_label="Pages"):
                for place in places.PLACES:
                    _entry(place, request.url.path)
            with tag("div", "mb-foot"):
                _person(visitor, request)
        with tag("main", "mb-main", id="content", tabindex="-1"):
            tag("h1", "mb-title", text=title)
            yield
    Keep()
    _end_with_login(visitor)


def _entry(place: places.Place, here: str) -> None:
    is_here = here == place.path or here.startswith(f"{places.MEMORY}{place.path[1:-1]}/")
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
        dark = ui.button(icon="contrast", color=None).props('flat round dense aria-label="Light or dark"')
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
    """An operator goes to another tenant, sees all the time where they are, and finds home."""
    who = visitor.principal
    with _tenant_form(request):
        tag("label", "mb-small", text="Tenant", **{"for": "tenant"})
        with tag("div", "mb-line"):
            # Not as its value: that would be put back, while somebody types, with everything that is drawn.
            held = {"placeholder": who.tenant, "maxlength": "64", "required": "", "autocomplete": "off"}
            tag("input", id="tenant", name="tenant", **held)
            tag("button", "mb-plain", text="Go", type="submit")
    if who.home:
        tag("p", "mb-visiting mb-small", text=f"You are visiting {who.tenant}. It is on record.", role="status")
        with _tenant_form(request):
            tag("input", type="hidden", name="tenant", value="")
            tag("button", "mb-plain", text=f"Back to {who.home}", type="submit")


def _tenant_form(request: Request) -> Element:
    form = tag("form", "mb-tenant", method="post", action=places.TENANT)
    with form:
        # Only the page: what it was narrowed down to is of one tenant.
        path = request.url.path
        tag("input", type="hidden", name="next", value="/" if path.startswith(places.MEMORY) else path)
    return form
