"""Lists, fetched page by page: memories with their history and links, jobs, runs, dead letters, tokens."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, TypeVar, Unpack
from urllib.parse import quote
from uuid import UUID

from memory_butler.client.requests import ClientBase, Options, listing_params
from memory_butler.models import Episode, Token
from memory_butler.models.listings import Listing, Page
from memory_butler.models.wire.codec import JsonObject
from memory_butler.models.wire.memory_answers import EventLine, LinkLine, MemoryDetail, MemoryListItem

Entry = TypeVar("Entry")
Params = Mapping[str, str | list[str]]
PAGE = 100


class ListingMethods(ClientBase):
    """Methods of the client that list. Each list is an async iterator that fetches the next page when needed."""

    def memories(self, listing: Listing, **options: Unpack[Options]) -> AsyncIterator[MemoryListItem]:
        """All memories of a type that match, in the order of the listing. Does not update usage counts."""
        return self._walk(f"/memories/{part(listing.type)}", listing_params(listing), options, MemoryListItem)

    async def memories_page(
        self, listing: Listing, *, limit: int = PAGE, cursor: str | None = None, **options: Unpack[Options]
    ) -> Page[MemoryListItem]:
        """One page of them, with the total; pass its cursor for the next page."""
        params = {**listing_params(listing), **_place(limit, cursor)}
        return await self._page(f"/memories/{part(listing.type)}", params, options, MemoryListItem)

    def history(self, type: str, id: str | UUID, **options: Unpack[Options]) -> AsyncIterator[EventLine]:
        """The events of a memory in words, oldest first."""
        return self._walk(f"/memories/{part(type)}/{part(id)}/history", {}, options, EventLine)

    def links(self, type: str, id: str | UUID, **options: Unpack[Options]) -> AsyncIterator[LinkLine]:
        """The links of a memory in both directions, oldest first."""
        return self._walk(f"/memories/{part(type)}/{part(id)}/links", {}, options, LinkLine)

    async def jobs(self, *, butler: str | None = None, **options: Unpack[Options]) -> list[JsonObject]:
        """The status of the upkeep jobs of each butler, from all pages."""
        return [job async for job in self._walk("/jobs", {"butler": butler} if butler else {}, options, dict)]

    def runs(
        self, *, butler: str | None = None, state: str | None = None, **options: Unpack[Options]
    ) -> AsyncIterator[JsonObject]:
        """Consolidation runs, newest first."""
        wanted = {name: value for name, value in (("butler", butler), ("state", state)) if value is not None}
        return self._walk("/runs", wanted, options, dict)

    async def run(self, id: str | UUID, **options: Unpack[Options]) -> JsonObject:
        """One run with its items, each with the previous value."""
        return await self._get(f"/runs/{part(id)}", options, dict)

    def dead_letters(self, *, butler: str | None = None, **options: Unpack[Options]) -> AsyncIterator[Episode]:
        """Episodes that consolidation gave up, oldest first."""
        return self._walk("/dead_letters", {"butler": butler} if butler else {}, options, Episode)

    def tokens(self, **options: Unpack[Options]) -> AsyncIterator[Token]:
        """The API tokens of the tenant, newest first, without their secrets."""
        return self._walk("/tokens", {}, options, Token)

    async def look(self, type: str, id: str | UUID, **options: Unpack[Options]) -> MemoryDetail:
        """The same as `get`, but it does not update usage counts."""
        return await self._get(f"/memories/{part(type)}/{part(id)}", options, MemoryDetail)

    async def _walk(self, path: str, params: Params, options: Options, kind: type[Entry]) -> AsyncIterator[Entry]:
        cursor: str | None = None
        while True:
            page = await self._page(path, {**params, **_place(PAGE, cursor)}, options, kind)
            for entry in page.items:
                yield entry
            if page.cursor is None or page.cursor == cursor:
                return
            cursor = page.cursor

    async def _page(self, path: str, params: Params, options: Options, kind: type[Entry]) -> Page[Entry]:
        page_type: Any = Page[kind]  # type: ignore[valid-type]
        page: Page[Entry] = await self._get(path, options, page_type, params)
        return page


def part(name: object) -> str:
    """A quoted path segment."""
    return quote(str(name), safe="")


def _place(limit: int, cursor: str | None) -> dict[str, str]:
    return {"limit": str(limit), **({"cursor": cursor} if cursor else {})}
