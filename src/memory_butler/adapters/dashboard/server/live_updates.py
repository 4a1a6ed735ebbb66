"""Live updates of open pages: one follower task per tenant, as long as a page of that tenant is open."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from memory_butler.adapters.http.activity_stream import listen_url
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.errors import InvalidInput, MemoryButlerError
from memory_butler.models import Activity, Caller
from memory_butler.operations.history import activity
from memory_butler.resources import Resources
from memory_butler.store.gate.listening import EventNotifications

Callback = Callable[[tuple[Activity, ...]], Awaitable[None]]
# Writes within this time are delivered together; no page is updated more often.
PAUSE_SECONDS = 0.3
WAIT_SECONDS = 15.0
RETRY_SECONDS = 2.0
PAGE_SIZE = 100

log = logging.getLogger(__name__)


@dataclass
class _Subscriber:
    caller: Caller
    callback: Callback
    cursor: str


@dataclass
class _Tenant:
    """The open pages of one tenant, and the task that follows the log for them."""

    subscribers: dict[int, _Subscriber] = field(default_factory=dict)
    follower: "asyncio.Task[None] | None" = None


class LiveUpdates:
    def __init__(self, lazy_resources: LazyResources) -> None:
        self._lazy_resources = lazy_resources
        self._news: EventNotifications | None = None
        self._tenants: dict[str, _Tenant] = {}
        self._number = 0

    def subscribe(self, caller: Caller, since: str, callback: Callback) -> Callable[[], None]:
        """Call `callback` with the events after a cursor that the caller may see. Returns the unsubscribe function."""
        name = caller.principal.tenant
        tenant = self._tenants.setdefault(name, _Tenant())
        self._number += 1
        number = self._number
        tenant.subscribers[number] = _Subscriber(caller, callback, since)
        if tenant.follower is None or tenant.follower.done():
            tenant.follower = asyncio.create_task(self._follow(name, tenant), name=f"dashboard of {name}")

        def unsubscribe() -> None:
            # A page that lost its login unsubscribes again when it is closed; the tenant may have new pages by then.
            removed = tenant.subscribers.pop(number, None)
            if removed is not None and not tenant.subscribers and tenant.follower:
                tenant.follower.cancel()
                if self._tenants.get(name) is tenant:
                    del self._tenants[name]

        return unsubscribe

    async def close(self) -> None:
        tasks = [tenant.follower for tenant in self._tenants.values() if tenant.follower]
        self._tenants.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, name: str, tenant: _Tenant) -> None:
        while tenant.subscribers:
            try:
                resources = await self._lazy_resources.get(WAIT_SECONDS)
                service = self._lazy_resources.settings.service
                if self._news is None:
                    self._news = EventNotifications(resources.database, listen_url(resources))
                with self._news.subscribe(name) as subscription:
                    while tenant.subscribers:
                        behind = [await self._notify(resources, one) for one in [*tenant.subscribers.values()]]
                        await asyncio.sleep(PAUSE_SECONDS)
                        await subscription.wait(
                            service.poll_seconds if any(behind) else WAIT_SECONDS, service.poll_seconds
                        )
            except MemoryButlerError as problem:
                log.info("the dashboard cannot read new events: %s", problem.message)
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:
                # Task boundary: pages miss events for a moment instead of for good.
                log.exception("the dashboard cannot read new events")
                await asyncio.sleep(RETRY_SECONDS)

    async def _notify(self, resources: Resources, subscriber: _Subscriber) -> bool:
        """Deliver new events to one page; returns whether more events are there or about to be committed."""
        try:
            page = await activity.following(resources, subscriber.caller, since=subscriber.cursor, limit=PAGE_SIZE)
        except InvalidInput:
            # The store was restored to a state before this page's cursor: continue from the restored log's end.
            subscriber.cursor = await activity.latest(resources, subscriber.caller)
            return False
        subscriber.cursor = page.cursor
        if page.items:
            try:
                await subscriber.callback(page.items)
            except Exception:
                # One page that fails to update must not block the others.
                log.exception("a page could not be updated")
        return page.unsafe or page.more
