"""Page URLs hold the state of a page, so that it can be bookmarked, shared and reached with the back button."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlencode

from nicegui import events, ui

from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.components.elements import visible_text

PopstateHandler = Callable[[dict[str, str]], Awaitable[None]]


def url_for(path: str, params: Mapping[str, str | None]) -> str:
    """A page's URL with its query parameters; empty ones are omitted."""
    query = urlencode({name: value for name, value in params.items() if value})
    return f"{path}?{query}" if query else path


def unknown_params(query: Mapping[str, Any], known: Collection[str]) -> tuple[str, ...]:
    """The query parameters that a page does not support."""
    return tuple(name for name, value in query.items() if name not in known and str(value).strip())


def ignored_text(names: Sequence[str]) -> str:
    """A note that names the parameters that the page ignored; empty without any."""
    if not names:
        return ""
    quoted = ", ".join(f"“{visible_text(name[:40])}”" for name in names[:3])
    return f"This page does not know: {quoted}. Ignored."


def push_url(path: str, params: Mapping[str, str | None], *, replace: bool = False) -> None:
    """Change the URL without loading the page again; with `replace`, without a new entry in the browser's history."""
    history = ui.navigate.history
    (history.replace if replace else history.push)(url_for(path, params))


def on_popstate(handler: PopstateHandler) -> None:
    """Call the handler with the query parameters when the user goes back or forward."""

    async def on_event(event: events.GenericEventArguments) -> None:
        query = str(event.args)[:8000].removeprefix("?")
        await handler({name: values[0] for name, values in parse_qs(query).items()})

    ui.on("memory-butler-popstate", handle_errors(on_event))
    ui.add_body_html(
        "<script>addEventListener('popstate', () => emitEvent('memory-butler-popstate', location.search))</script>"
    )
