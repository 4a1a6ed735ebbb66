"""Pages that are open hear of what is written: one follower for each tenant, for as long as anybody looks."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from memory_butler.adapters.opening import LateButler
from memory_butler.adapters.streaming import direct_url
from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput, MemoryButlerError
from memory_butler.models import Activity, Caller
from memory_butler.operations import activity
from memory_butler.store.listening import News

Told = Callable[[tuple[Activity, ...]], Awaitable[None]]
# Writes that come close together are told of together, and no page is drawn more often than this.
PAUSE_SECONDS = 0.3
WAIT_SECONDS = 15.0
RETRY_SECONDS = 2.0
PAGE = 100

log = logging.getLogger(__name__)


@dataclass
class _Reader:
    caller: Caller
    told: Told
    cursor: str


@dataclass
class _Tenant:
    """Those who look at one tenant, and the task that listens for them."""

    readers: dict[int, _Reader] = field(default_factory=dict)
    following: "asyncio.Task[None] | None" = None


class Live:
    def __init__(self, late: LateButler) -> None:
        self._late = late
        self._news: News | None = None
        self._tenants: dict[str, _Tenant] = {}
        self._number = 0

    def join(self, caller: Caller, since: str, told: Told) -> Callable[[], None]:
        """Have `told` called with what is new since a cursor, as this person may see it; the answer ends that."""
        name = caller.principal.tenant
        tenant = self._tenants.setdefault(name, _Tenant())
        self._number += 1
        number = self._number
        tenant.readers[number] = _Reader(caller, told, since)
        if tenant.following is None or tenant.following.done():
            tenant.following = asyncio.create_task(self._follow(name, tenant), name=f"dashboard of {name}")

        def leave() -> None:
            # Whoever is turned away leaves once more when the page is closed; by then others may look at the tenant.
            left = tenant.readers.pop(number, None)
            if left is not None and not tenant.readers and tenant.following:
                tenant.following.cancel()
                if self._tenants.get(name) is tenant:
                    del self._tenants[name]

        return leave

    async def close(self) -> None:
        tasks = [one.following for one in self._tenants.values() if one.following]
        self._tenants.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, name: str, tenant: _Tenant) -> None:
        while tenant.readers:
            try:
                butler = await self._late.get(WAIT_SECONDS)
                if self._news is None:
                    self._news = News(butler.database, direct_url(butler, self._late.settings.service))
                with self._news.of(name) as ear:
                    while tenant.readers:
                        unsafe = [await self._tell(butler, reader) for reader in [*tenant.readers.values()]]
                        await asyncio.sleep(PAUSE_SECONDS)
                        poll = self._late.settings.service.poll_seconds
                        await ear.listen(poll if any(unsafe) else WAIT_SECONDS, poll)
            except MemoryButlerError as problem:
                log.info("the dashboard cannot look for news: %s", problem.message)
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                # The outermost place of this task: pages go on without news rather than for ever without them.
                log.exception("the dashboard cannot look for news")
                await asyncio.sleep(RETRY_SECONDS)

    async def _tell(self, butler: Butler, reader: _Reader) -> bool:
        """Tell one page what is new; whether there is, or will be in a moment, something that it has not heard."""
        try:
            page = await activity.following(butler, reader.caller, since=reader.cursor, limit=PAGE)
        except InvalidInput:
            # The store was set back to before what this page has heard: it goes on from there.
            reader.cursor = await activity.latest(butler, reader.caller)
            return False
        reader.cursor = page.cursor
        if page.items:
            try:
                await reader.told(page.items)
            except Exception:
                # One page that cannot be drawn must not keep the news from the others.
                log.exception("a page could not be brought up to date")
        return page.unsafe or page.more
