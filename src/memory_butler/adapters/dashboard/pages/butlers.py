"""Each butler and all of them together; over several stores, as far as they answer."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from fastapi import Request
from nicegui import ui
from nicegui.element import Element

from memory_butler.adapters.answering import Visit
from memory_butler.adapters.dashboard.address import address
from memory_butler.adapters.dashboard.calm import Calmly
from memory_butler.adapters.dashboard.elements import Moment, chip, tag, text_of
from memory_butler.adapters.dashboard.shell import follow, page
from memory_butler.adapters.dashboard.teaching import command
from memory_butler.adapters.dashboard.visitor import Visitor
from memory_butler.butler import Butler
from memory_butler.models import Caller
from memory_butler.models.listings import ButlerStanding
from memory_butler.operations import butlers
from memory_butler.operations.butlers import Heard

OWN = "this store"
# Of the time a call has, so much is for stores elsewhere: those that answered are shown in any case.
PATIENCE = 0.5
FIGURES = (("facts", "Facts"), ("rules", "Rules"), ("episodes", "Episodes"), ("waiting", "Waiting"))


@page("/butlers", "Butlers")
async def butlers_page(visitor: Visitor, request: Request) -> None:
    box = tag("div", "mb-stack")

    async def redraw() -> None:
        heard = await visitor.ask("memory_stats", partial(_heard, visitor))
        box.clear()
        with box:
            _draw(visitor, heard)

    await follow(visitor, Calmly(redraw))
    await redraw()


async def _heard(visitor: Visitor, visit: Visit) -> tuple[Heard, ...]:
    async def own() -> Butler:
        return visit.butler

    asked: dict[str, tuple[Callable[[], Awaitable[Butler]], Caller]] = {OWN: (own, visit.caller)}
    if butlers.may_see_other_stores(visit.butler, visit.caller):
        sources = visitor.desk.sources
        for name in sources.names:
            asked[name] = (partial(sources.butler, name, visit.butler), sources.caller(name))
    return await butlers.everywhere(asked, PATIENCE * visit.butler.settings.deadline_seconds)


def _draw(visitor: Visitor, heard: Sequence[Heard]) -> None:
    silent = [one for one in heard if one.problem]
    for one in silent:
        with tag("div", "mb-note mb-note-bad", role="alert"):
            tag("strong", text=f"{text_of(one.source)} did not answer.")
            tag("span", text=f" {text_of(one.problem or '')} What the others said is shown.")
    everyone = [butler for one in heard for butler in one.butlers]
    if not everyone:
        if not silent:
            _nobody(visitor)
        return
    _together(everyone, stores=len(heard) - len(silent), of=len(heard))
    for one in heard:
        if one.problem:
            continue
        if len(heard) > 1:
            tag("h2", text=f"{text_of(one.source)} · {one.tenant}")
        with tag("div", "mb-grid"):
            for butler in one.butlers:
                _card(butler, with_links=one.source == OWN)


def _together(everyone: Sequence[ButlerStanding], *, stores: int, of: int) -> None:
    said = f"{len(everyone)} butler{'s' * (len(everyone) > 1)}"
    if of > 1:
        said += f" in {stores} of {of} stores"
    with tag("section", "mb-card"):
        tag("h2", text=said)
        _figures({name: sum(getattr(one, name) for one in everyone) for name, _ in FIGURES})


def _card(one: ButlerStanding, *, with_links: bool) -> None:
    with tag("section", "mb-card mb-butler"):
        with tag("div", "mb-line"):
            ui.icon("room_service").props('aria-hidden="true"').classes("mb-muted")
            tag("h2", text=text_of(one.butler), dir="auto")
        with tag("p", "mb-muted mb-small"):
            tag("span", text="learned something ")
            Moment(one.last_at, form="ago", otherwise="never")
        _figures({name: getattr(one, name) for name, _ in FIGURES})
        marks = (
            (one.fading, "fading", "fading"),
            (one.warnings, "warning" if one.warnings == 1 else "warnings", "bad"),
            (one.deciding, "awaiting a decision", "warn"),
            (one.stuck, "given up", "bad"),
        )
        if any(count for count, _, _ in marks):
            with tag("div", "mb-line"):
                for count, words, kind in marks:
                    if count:
                        chip(f"{count:,} {words}", kind)
        if with_links:
            with tag("div", "mb-line mb-small"):
                for label in ("Facts", "Rules", "Episodes", "Consolidation"):
                    tag("a", text=label, href=address(f"/{label.lower()}", {"butler": one.butler}))


def _figures(counts: dict[str, int]) -> Element:
    with tag("dl", "mb-counts") as box:
        for name, label in FIGURES:
            with tag("div"):
                tag("dt", "mb-muted mb-small", text=label)
                tag("dd", "mb-number", text=f"{counts[name]:,}")
    return box


def _nobody(visitor: Visitor) -> None:
    with tag("section", "mb-card mb-empty"):
        tag("h2", text="No butler has been here yet")
        tag("p", text="A butler is known as soon as it stores something. Store the first memory yourself:")
        tag("pre", text=command(visitor.desk.settings, "remember", "fact", "Ana", "lives in", "Lisbon"))
