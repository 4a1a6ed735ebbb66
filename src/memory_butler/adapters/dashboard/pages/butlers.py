"""All butlers with their counts, of this store and of the configured other stores."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from fastapi import Request
from nicegui import ui
from nicegui.element import Element

from memory_butler.adapters.dashboard.actions.throttle import Throttle
from memory_butler.adapters.dashboard.components.elements import Timestamp, card, chip, tag, visible_text
from memory_butler.adapters.dashboard.components.empty_states import shell_command
from memory_butler.adapters.dashboard.components.page_frame import page, subscribe
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.server.page_url import url_for
from memory_butler.adapters.mcp.tool_base import CallContext
from memory_butler.models import Caller
from memory_butler.models.listings import ButlerSummary
from memory_butler.operations.browse import butlers
from memory_butler.resources import Resources

OWN = "this store"
# Share of a call's deadline for other stores, so that those that answered are shown in any case.
TIMEOUT_SHARE = 0.5
FIGURES = (("facts", "Facts"), ("rules", "Rules"), ("episodes", "Episodes"), ("waiting", "Waiting"))


@page("/butlers", "Butlers")
async def butlers_page(context: PageContext, request: Request) -> None:
    box = tag("div", "mb-stack")

    async def redraw() -> None:
        stores_data = await context.call("memory_stats", partial(_read_stores, context))
        box.clear()
        with box:
            _draw(context, stores_data)

    await subscribe(context, Throttle(redraw))
    await redraw()


async def _read_stores(context: PageContext, call: CallContext) -> tuple[butlers.StoreButlers, ...]:
    async def own() -> Resources:
        return call.resources

    requests: dict[str, tuple[Callable[[], Awaitable[Resources]], Caller]] = {OWN: (own, call.caller)}
    if butlers.may_see_other_stores(call.resources, call.caller):
        sources = context.dashboard.other_stores
        for name in sources.names:
            requests[name] = (partial(sources.resources, name, call.resources), sources.caller(name))
    return await butlers.butlers_of_stores(requests, TIMEOUT_SHARE * call.resources.settings.deadline_seconds)


def _draw(context: PageContext, stores_data: Sequence[butlers.StoreButlers]) -> None:
    unavailable = [one for one in stores_data if one.problem]
    for one in unavailable:
        with tag("div", "mb-note mb-note-bad", role="alert"):
            tag("strong", text=f"{visible_text(one.source)} did not respond.")
            tag("span", text=f" {visible_text(one.problem or '')} The other stores are shown.")
    all_butlers = [butler for one in stores_data for butler in one.butlers]
    if not all_butlers:
        if not unavailable:
            _draw_empty(context)
        return
    _draw_totals(all_butlers, stores=len(stores_data) - len(unavailable), of=len(stores_data))
    for one in stores_data:
        if one.problem:
            continue
        if len(stores_data) > 1:
            tag("h2", text=f"{visible_text(one.source)} · {one.tenant}")
        with tag("div", "mb-grid"):
            for butler in one.butlers:
                _card(butler, with_links=one.source == OWN)


def _draw_totals(all_butlers: Sequence[ButlerSummary], *, stores: int, of: int) -> None:
    title = f"{len(all_butlers)} butler{'s' * (len(all_butlers) > 1)}"
    if of > 1:
        title += f" in {stores} of {of} stores"
    with card(title):
        _figures({name: sum(getattr(one, name) for one in all_butlers) for name, _ in FIGURES})


def _card(one: ButlerSummary, *, with_links: bool) -> None:
    with tag("section", "mb-card mb-butler"):
        with tag("div", "mb-line"):
            ui.icon("room_service").props('aria-hidden="true"').classes("mb-muted")
            tag("h2", text=visible_text(one.butler), dir="auto")
        with tag("p", "mb-muted mb-small"):
            tag("span", text="last memory: ")
            Timestamp(one.last_at, format="ago", placeholder="never")
        _figures({name: getattr(one, name) for name, _ in FIGURES})
        marks = (
            (one.fading, "fading", "fading"),
            (one.warnings, "warning" if one.warnings == 1 else "warnings", "bad"),
            (one.deciding, "in review", "warn"),
            (one.stuck, "failed", "bad"),
        )
        if any(count for count, _, _ in marks):
            with tag("div", "mb-line"):
                for count, words, kind in marks:
                    if count:
                        chip(f"{count:,} {words}", kind)
        if with_links:
            with tag("div", "mb-line mb-small"):
                for label in ("Facts", "Rules", "Episodes", "Consolidation"):
                    tag("a", text=label, href=url_for(f"/{label.lower()}", {"butler": one.butler}))


def _figures(counts: dict[str, int]) -> Element:
    with tag("dl", "mb-counts") as box:
        for name, label in FIGURES:
            with tag("div"):
                tag("dt", "mb-muted mb-small", text=label)
                tag("dd", "mb-number", text=f"{counts[name]:,}")
    return box


def _draw_empty(context: PageContext) -> None:
    with card("No butlers yet", "mb-empty"):
        tag("p", text="A butler appears when it stores its first memory. Store one yourself:")
        tag("pre", text=shell_command(context.dashboard.settings, "remember", "fact", "Ana", "lives in", "Lisbon"))
