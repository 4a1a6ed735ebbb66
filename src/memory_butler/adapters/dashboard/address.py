"""A page's address says what it shows: it can be kept, sent and gone back to."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlencode

from nicegui import events, ui

from memory_butler.adapters.dashboard.elements import text_of
from memory_butler.adapters.dashboard.handling import handled
from memory_butler.errors import InvalidInput

Travelled = Callable[[dict[str, str]], Awaitable[None]]


def address(path: str, wanted: Mapping[str, str | None]) -> str:
    """The address of a page that shows what is wanted; what is empty is left out."""
    query = urlencode({name: value for name, value in wanted.items() if value})
    return f"{path}?{query}" if query else path


def unknown_in(query: Mapping[str, Any], known: Collection[str]) -> tuple[str, ...]:
    """What an address wants to be narrowed down by, and its page knows nothing of."""
    return tuple(name for name, value in query.items() if name not in known and str(value).strip())


def refuse_unknown(names: Sequence[str], offered: Sequence[str]) -> None:
    """What would be left out is named: whoever sees everything in its stead takes it for what they asked for."""
    if names:
        said = " or ".join(f"“{text_of(name[:40])}”" for name in names[:3])
        raise InvalidInput(f"There is no filter {said} here.", recovery=f"Choose one of: {', '.join(offered)}.")


def move_to(path: str, wanted: Mapping[str, str | None], *, instead: bool = False) -> None:
    """Change the address without loading the page again; `instead` of the one before, if going back to that is idle."""
    history = ui.navigate.history
    (history.replace if instead else history.push)(address(path, wanted))


def on_travel(travelled: Travelled) -> None:
    """Have the page show what its address says when the person goes back or forth."""

    async def heard(event: events.GenericEventArguments) -> None:
        query = str(event.args)[:8000].removeprefix("?")
        await travelled({name: values[0] for name, values in parse_qs(query).items()})

    ui.on("memory-butler-travel", handled(heard))
    ui.add_body_html(
        "<script>addEventListener('popstate', () => emitEvent('memory-butler-travel', location.search))</script>"
    )
