"""Lists for people, asked for a page at a time: memories with their history and links, and work in the background."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, Unpack
from urllib.parse import quote
from uuid import UUID

from memory_butler.client import shaping
from memory_butler.client.answers import Seen, SeenEvent, SeenLink, Shape
from memory_butler.client.asking import Asking, Options
from memory_butler.client.reading import read
from memory_butler.models import Memory, Token
from memory_butler.models.listings import Listed, Listing, Page

Entry = TypeVar("Entry")
Params = Mapping[str, str | list[str]]
PAGE = 100


class Listings(Asking):
    """Each list is an async iterator that asks for the next page when it gets there."""

    def memories(self, listing: Listing, **options: Unpack[Options]) -> AsyncIterator[Listed]:
        """All memories of a type that fit, in the listing's order. Nothing counts as used."""
        return self._walk(f"/memories/{part(listing.type)}", shaping.listing_params(listing), options, shaping.listed)

    async def memories_page(
        self, listing: Listing, *, limit: int = PAGE, cursor: str | None = None, **options: Unpack[Options]
    ) -> Page[Listed]:
        """One page of them, with how many there are in all; pass its cursor for the next."""
        params = {**shaping.listing_params(listing), **_place(limit, cursor)}
        return await self._page(f"/memories/{part(listing.type)}", params, options, shaping.listed)

    def history(self, type: str, id: str | UUID, **options: Unpack[Options]) -> AsyncIterator[SeenEvent]:
        """What happened to a memory, in words, the oldest first."""
        return self._walk(f"/memories/{part(type)}/{part(id)}/history", {}, options, _event)

    def links(self, type: str, id: str | UUID, **options: Unpack[Options]) -> AsyncIterator[SeenLink]:
        """The links of a memory in both directions, the oldest first."""
        return self._walk(f"/memories/{part(type)}/{part(id)}/links", {}, options, _link)

    async def jobs(self, *, butler: str | None = None, **options: Unpack[Options]) -> list[Shape]:
        """How the jobs of upkeep stand, butler by butler: all pages of them in one list."""
        return [job async for job in self._walk("/jobs", {"butler": butler} if butler else {}, options, dict)]

    def runs(
        self, *, butler: str | None = None, state: str | None = None, **options: Unpack[Options]
    ) -> AsyncIterator[Shape]:
        """Runs of consolidation, the newest first."""
        wanted = {name: value for name, value in (("butler", butler), ("state", state)) if value is not None}
        return self._walk("/runs", wanted, options, dict)

    async def run(self, id: str | UUID, **options: Unpack[Options]) -> Shape:
        """One run with its items, each beside what was there before."""
        return await self._look(f"/runs/{part(id)}", options, dict)

    def dead_letters(self, *, butler: str | None = None, **options: Unpack[Options]) -> AsyncIterator[Memory]:
        """Episodes that consolidation gave up, the oldest first."""
        return self._walk("/dead_letters", {"butler": butler} if butler else {}, options, shaping.memory)

    def tokens(self, **options: Unpack[Options]) -> AsyncIterator[Token]:
        """The tokens of the tenant, the newest first, without their secrets."""
        return self._walk("/tokens", {}, options, token)

    async def look(self, type: str, id: str | UUID, **options: Unpack[Options]) -> Seen:
        """The same as `get`, but for people: it does not count as a use."""
        return await self._look(f"/memories/{part(type)}/{part(id)}", options, shaping.seen)

    async def _walk(
        self, path: str, params: Params, options: Options, shape: Callable[[Shape], Entry]
    ) -> AsyncIterator[Entry]:
        cursor: str | None = None
        while True:
            page = await self._page(path, {**params, **_place(PAGE, cursor)}, options, shape)
            for entry in page.items:
                yield entry
            if page.cursor is None or page.cursor == cursor:
                return
            cursor = page.cursor

    async def _page(self, path: str, params: Params, options: Options, shape: Callable[[Shape], Entry]) -> Page[Entry]:
        def read_page(answer: Shape) -> Page[Entry]:
            page: Page[Any] = read(Page, {**answer, "items": shaping.objects(answer, "items")})
            return replace(page, items=tuple(shape(item) for item in page.items))

        return await self._look(path, options, read_page, params)


def _event(shape: Shape) -> SeenEvent:
    return read(SeenEvent, shape)


def _link(shape: Shape) -> SeenLink:
    return read(SeenLink, shape)


def token(shape: Shape) -> Token:
    return read(Token, shape)


def part(name: object) -> str:
    """A part of an address, whatever is in it."""
    return quote(str(name), safe="")


def _place(limit: int, cursor: str | None) -> dict[str, str]:
    return {"limit": str(limit), **({"cursor": cursor} if cursor else {})}
