"""Limits of the dashboard's pages. Each open page takes almost a megabyte of the server's memory.

A page that another site embeds or loads in the background is refused; a link to a page works. The number of pages that
are built at once and of pages that are open is limited. Pages whose browser never connected make room first.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from memory_butler.adapters.http.limits import Gate, default_concurrency
from memory_butler.adapters.http.problems import Busy
from memory_butler.settings import Settings

if TYPE_CHECKING:
    from nicegui import Client

WAITING_SECONDS: Final = 5.0
# The largest share of the open pages that one login may have.
LOGIN_SHARE: Final = 0.5
FOREIGN: Final = frozenset(["cross-site", "same-site"])


def is_embedded_elsewhere(headers: Mapping[str, str]) -> bool:
    """True if a page of another site loads this one other than by a link: as an image, a frame, in the background."""
    if headers.get("sec-fetch-site") not in FOREIGN:
        return False
    return (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) != ("navigate", "document")


class PageLimit:
    """Counts the open pages of one process, which NiceGUI keeps."""

    def __init__(self, settings: Settings) -> None:
        self._most = settings.dashboard.open_pages
        self._gate = Gate(default_concurrency(), settings.service.limits.waiting, WAITING_SECONDS)

    @asynccontextmanager
    async def building(self, key: str | None) -> AsyncIterator[None]:
        """Build a page for a login. Raises Busy if too many pages are open or being built."""
        async with self._gate.slot():
            self._make_room(key)
            yield

    def _make_room(self, key: str | None) -> None:
        from nicegui import Client  # noqa: PLC0415 (loaded by now)

        everybody = list(Client.instances.values())
        if key is not None:
            own = [client for client in everybody if _key_of(client) == key]
            _close_unconnected(own, len(own) + 1 - max(1, int(self._most * LOGIN_SHARE)))
        _close_unconnected(everybody, len(Client.instances) + 1 - self._most)


def _close_unconnected(clients: list["Client"], number: int) -> None:
    """Close pages that no browser is connected to, oldest first. Raises Busy if there are too few."""
    if number <= 0:
        return
    idle = sorted((client for client in clients if not client.has_socket_connection), key=lambda one: one.created)
    for client in idle[:number]:
        client.delete()
    if len(idle) < number:
        raise Busy("Too many pages of the dashboard are open.", recovery="Close some of them and reload this one.")


def _key_of(client: "Client") -> str | None:
    key = getattr(getattr(client.request.state, "page_context", None), "key", None)
    return key if isinstance(key, str) else None
