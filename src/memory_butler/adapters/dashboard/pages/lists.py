"""Facts, rules and episodes: everything that is remembered, to be searched through and put right in place."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from fastapi import Request
from nicegui import events

from memory_butler.adapters.dashboard import acting, distilling, listing
from memory_butler.adapters.dashboard.acting import Done
from memory_butler.adapters.dashboard.address import address, move_to, on_travel
from memory_butler.adapters.dashboard.calm import Calmly
from memory_butler.adapters.dashboard.clicking import Clicks
from memory_butler.adapters.dashboard.doing import Doing
from memory_butler.adapters.dashboard.elements import tag
from memory_butler.adapters.dashboard.focusing import Focus, buttons
from memory_butler.adapters.dashboard.handling import handled
from memory_butler.adapters.dashboard.listing import EVERYTHING, Wanted
from memory_butler.adapters.dashboard.memories import Filters, Memories
from memory_butler.adapters.dashboard.rows import Row, columns_of, listed_of, row_of
from memory_butler.adapters.dashboard.shell import every, follow, page
from memory_butler.adapters.dashboard.teaching import teach
from memory_butler.adapters.dashboard.undoing import UndoBar
from memory_butler.adapters.dashboard.visitor import LoginOver, Visitor
from memory_butler.errors import InvalidInput, MemoryButlerError
from memory_butler.models import Activity, Memory, MemoryType, Stored
from memory_butler.models.listings import Listed, Page
from memory_butler.operations import browse, look, review

KNOWN = 500
# That something was proposed is no event of any memory.
REVIEW_SECONDS = 10.0


class List:
    """One open page: what it is asked for, and what it shows."""

    def __init__(self, visitor: Visitor, kind: MemoryType, request: Request) -> None:
        self._visitor = visitor
        self._kind = kind
        self._request = request
        self._path = f"/{kind}s"
        self._wanted: Wanted = listing.read(kind, request.query_params)
        self._unknown = listing.unknown(kind, request.query_params)
        self._page: Page[Listed] = Page(items=(), cursor=None)
        # A browser may still show what was listed before.
        self._known: OrderedDict[str, Listed] = OrderedDict()
        self._deciding: dict[UUID, UUID] = {}
        self._reading = asyncio.Lock()
        self._calmly = Calmly(partial(self._show, "live"))
        self._clicks = Clicks()
        self._asked = 0

    async def build(self) -> None:
        await follow(self._visitor, self._heard)
        self._bar = UndoBar(self._visitor, self._show, self._focus)
        self._keyboard = Focus()
        self._doing = Doing(self._visitor, self._bar)
        noun = f"{self._kind}s"
        self._filters = Filters(listing.filters_of(self._kind), listing.sorts_of(self._kind), noun=noun)
        self._memories = Memories(columns_of(self._kind), noun=noun)
        self._teaching = tag("div")
        for name, work in {"want": self._want, "add": self._add, "drop": self._drop}.items():
            self._filters.on(name, handled(work))
        for part in (self._filters, self._memories):
            part.on("clear", handled(self._clear))
            part.on("sort", handled(self._sort))
        self._memories.on("add", handled(self._add))
        self._memories.on("turn", handled(self._turn))
        self._memories.on("act", handled(self._act))
        on_travel(self._travelled)
        await self._show()
        if self._kind is MemoryType.EPISODE:
            every(self._visitor, REVIEW_SECONDS, self._look_at_reviews)

    async def _show(self, how: str = "asked") -> None:
        """Read what is asked for, and show it; of several wishes the last."""
        self._asked += how == "asked"
        mine = self._asked
        self._filters.show(self._wanted, listing.chips_of(self._kind, self._wanted))
        async with self._reading:
            try:
                listing.refuse(self._kind, self._unknown)
                found = await self._read(self._wanted)
                deciding = await self._read_deciding(found.items)
                is_empty = not found.items and not await self._has_any()
            except LoginOver:
                raise
            except MemoryButlerError as problem:
                self._memories.complain(problem)
                return
        if mine != self._asked:
            return
        self._page, self._deciding = found, deciding
        self._keep(found.items)
        self._draw(how)
        self._teaching.clear()
        self._memories.visible = self._filters.visible = not is_empty
        if is_empty:
            with self._teaching:
                teach(self._visitor, self._kind, self._request)

    def _keep(self, items: Iterable[Listed]) -> None:
        for one in items:
            self._known[str(one.memory.id)] = one
            self._known.move_to_end(str(one.memory.id))
        while len(self._known) > KNOWN:
            self._known.popitem(last=False)

    def _draw(self, how: str) -> None:
        found, wanted = self._page, self._wanted
        rows = [self._row(one) for one in found.items]
        self._memories.show(
            rows,
            how,
            place=listing.place_words(found),
            has_back=found.back is not None,
            has_more=found.cursor is not None,
            sort=wanted.get("sort", "created"),
            descending=wanted.get("order") != "asc",
            steady=not listing.is_plain(wanted),
            empty="" if rows else "filtered" if listing.is_narrowed(self._kind, wanted) else "idle",
        )

    def _row(self, listed: Listed, *, is_changed: bool = False) -> Row:
        run = self._deciding.get(listed.memory.id)
        in_review = address(distilling.PATH, {"run": str(run)}) if run and self._visitor.may("runs") else ""
        offered = acting.offered(self._visitor, listed.memory)
        return row_of(listed, offered, is_changed=is_changed, in_review=in_review if run else None)

    async def _read_deciding(self, items: Sequence[Listed]) -> dict[UUID, UUID]:
        if self._kind is not MemoryType.EPISODE or not items:
            return {}
        shown = [one.memory.id for one in items]
        return await self._visitor.ask(
            "list_memories", lambda visit: review.deciding(visit.butler, shown, visit.caller)
        )

    async def _look_at_reviews(self) -> None:
        if await self._read_deciding(self._page.items) != self._deciding:
            await self._calmly()

    async def _read(self, wanted: Wanted, limit: int = browse.USUAL) -> Page[Listed]:
        asked = listing.listing_of(self._kind, wanted, governs=self._visitor.principal.role.governs)
        return await self._visitor.ask(
            "list_memories",
            lambda visit: browse.memories(visit.butler, asked, visit.caller, limit=limit, cursor=wanted.get("cursor")),
        )

    async def _has_any(self) -> bool:
        return bool((await self._read({"validity": EVERYTHING}, limit=1)).items)

    async def _go(self, wanted: Wanted) -> None:
        """Show something else, and have the address say so."""
        if wanted == self._wanted and not self._unknown:
            self._memories.settle()
            return
        is_typing = "q" in self._wanted and "q" in wanted and {**self._wanted, "q": ""} == {**wanted, "q": ""}
        self._wanted, self._unknown = wanted, ()
        move_to(self._path, wanted, instead=is_typing)
        self._memories.wait()
        await self._show()

    async def _travelled(self, query: dict[str, str]) -> None:
        self._wanted, self._unknown = listing.read(self._kind, query), listing.unknown(self._kind, query)
        self._memories.wait()
        await self._show()

    async def _want(self, event: events.GenericEventArguments) -> None:
        changes = event.args if isinstance(event.args, dict) else {}
        await self._go(listing.changed(self._kind, self._wanted, changes))

    async def _add(self, event: events.GenericEventArguments) -> None:
        name, value = _texts(event.args, 2)
        await self._go(listing.added(self._kind, self._wanted, name, value))

    async def _drop(self, event: events.GenericEventArguments) -> None:
        name, value = _texts(event.args, 2)
        await self._go(listing.without(self._kind, self._wanted, name, value))

    async def _clear(self, event: events.GenericEventArguments) -> None:
        await self._go({name: value for name, value in self._wanted.items() if name in ("sort", "order")})

    async def _sort(self, event: events.GenericEventArguments) -> None:
        [name] = _texts([event.args], 1)
        await self._go(listing.sorted_by(self._kind, self._wanted, name))

    async def _turn(self, event: events.GenericEventArguments) -> None:
        [where] = _texts([event.args], 1)
        cursor = self._page.back if where == "back" else self._page.cursor
        is_first = where == "back" and self._page.start <= browse.USUAL
        await self._go({**self._wanted, "cursor": cursor} if cursor and not is_first else self._first())

    def _first(self) -> Wanted:
        return {name: value for name, value in self._wanted.items() if name != "cursor"}

    async def _act(self, event: events.GenericEventArguments) -> None:
        name, row = _texts(event.args, 2)
        chosen = self._known.get(row)
        if chosen is None:
            raise InvalidInput("That memory is not on this page any more.")
        with self._clicks.once(name, row) as is_first:
            if is_first:
                await self._do(name, row, chosen.memory)

    async def _do(self, name: str, row: str, memory: Memory) -> None:
        try:
            done = await self._doing.do(name, memory)
        except LoginOver:
            raise
        except MemoryButlerError:
            # It is not what the person saw: what it is now is the better half of the answer.
            await self._refresh(row, row)
            raise
        if done is not None and done.stored is not None:
            await self._refresh(row, str(done.stored.id))
            for id in self._made_way(done.stored, row):
                await self._refresh(id, id)
            self._focus(done)

    def _made_way(self, stored: Stored, row: str) -> list[str]:
        """What stands in another row and was replaced."""
        known = [(id, one.memory.ref) for id, one in self._known.items() if id != row]
        return [id for id, ref in known if ref == stored.superseded_ref]

    def _focus(self, done: Done) -> None:
        """On the row, whatever it shows by now; if it is gone, on the first, or on the search."""
        refs = (done.stored.ref, done.stored.superseded_ref) if done.stored else ()
        rows = [f'tr[data-ref="{self._kind}:{ref}"]' for ref in refs if ref]
        places = [place for row in rows for place in (*buttons(row, done.action), f"{row} .mb-row-words")]
        self._keyboard.put([*places, ".mb-row-words", ".mb-filters input[type=search]"])

    async def _refresh(self, old: str, now: str) -> None:
        """Show what became of a memory where it stood."""
        found = await self._visitor.ask(
            "memory_get", lambda visit: look.look(visit.butler, self._kind, now, visit.caller, bump=False)
        )
        new = listed_of(found)
        self._keep([new])
        self._memories.replace(old, self._row(new, is_changed=True))

    async def _heard(self, items: tuple[Activity, ...]) -> None:
        heard = (item.event for item in items if item.event.entity_type == self._kind)
        if any(not self._bar.is_own(event.request_id) for event in heard):
            await self._calmly()


def _texts(given: Any, count: int) -> Sequence[str]:
    """What a page sent, if it is as many texts as it should be."""
    if not isinstance(given, list) or len(given) != count or not all(isinstance(one, str) for one in given):
        raise InvalidInput("The page sent something else than was expected.")
    return given


@page("/facts", "Facts")
async def facts(visitor: Visitor, request: Request) -> None:
    await List(visitor, MemoryType.FACT, request).build()


@page("/rules", "Rules")
async def rules(visitor: Visitor, request: Request) -> None:
    await List(visitor, MemoryType.RULE, request).build()


@page("/episodes", "Episodes")
async def episodes(visitor: Visitor, request: Request) -> None:
    await List(visitor, MemoryType.EPISODE, request).build()
