"""The activity stream: a tenant's events as they happen, as server-sent events.

The id of an event is the cursor after it, so a client that reconnects with `Last-Event-ID` gets every event exactly
once. Nothing is buffered for a slow client: it is disconnected and can reconnect.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from memory_butler.adapters.http.identity import request_principal
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.catalog import check_operation
from memory_butler.adapters.mcp.tool_base import within
from memory_butler.adapters.telemetry.instrumentation import instrument_call
from memory_butler.adapters.wire.answers import activity_event, error_json
from memory_butler.errors import InvalidInput, MemoryButlerError, PermissionDenied
from memory_butler.models import Activities, Caller, Lineage, Principal
from memory_butler.models.wire.codec import JsonObject, encode
from memory_butler.operations.access.cross_tenant_audit import audit_access
from memory_butler.operations.history import activity
from memory_butler.operations.trust.protection import limit_reading
from memory_butler.resources import Resources
from memory_butler.store.gate.listening import EventNotifications

OPERATION = "memory_activity_stream"
PATH = "/activity/stream"
PARAMETERS = ("since", "scope")
HEARTBEAT_SECONDS = 15.0
# A client that does not read for this time is disconnected.
SEND_TIMEOUT_SECONDS = 20.0
# Events that follow closely are sent together.
PAUSE_SECONDS = 0.05
PAGE = 100
# Without a token cache, the token of an idle client is checked again after this time.
RECHECK_SECONDS = 1.0
# Disconnected clients reconnect after this time.
RETRY_MS = 1000
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}

LAST = {"type": "http.response.body", "body": b"", "more_body": False}

Recheck = Callable[[], Awaitable[Principal]]
log = logging.getLogger(__name__)


class ActivityStreams:
    """All activity streams of a process; they share one listening connection."""

    def __init__(self, lazy: LazyResources) -> None:
        self._lazy = lazy
        self._notifications: EventNotifications | None = None

    async def open(self, request: Request) -> Response:
        """Start a stream; raises if the request is not valid or not permitted."""
        request_id = getattr(request.state, "request_id", None)
        with instrument_call(OPERATION, request_id) as call:
            client = await within(self._lazy.settings.deadline_seconds, self._begin(request, request_id))
            call.principal = client.caller.principal
        return EventStream(client)

    async def _begin(self, request: Request, request_id: str | None) -> "StreamClient":
        unknown = [name for name in request.query_params if name not in PARAMETERS]
        if unknown:
            raise InvalidInput(f"Unknown parameter {unknown[0][:60]!r}; the stream accepts: {', '.join(PARAMETERS)}.")
        settings = self._lazy.settings
        resources = await self._lazy.get_for_call()
        required = settings.service.auth == "required"
        principal = request_principal(required=required) or resources.local_caller().principal
        check_operation(principal, OPERATION)
        limit_reading(resources, principal)
        caller = Caller(principal, Lineage(request_id=request_id))
        await audit_access(resources, caller, OPERATION)
        scope = request.query_params.get("scope")
        since = request.headers.get("last-event-id") or request.query_params.get("since")
        if since is None:
            since = await activity.latest(resources, caller, scope=scope)
        else:
            # An invalid cursor is refused before the response starts.
            await activity.activity(resources, caller, since=since, scope=scope, limit=1)
        if self._notifications is None:
            self._notifications = EventNotifications(resources.database, listen_url(resources))
        recheck = request.scope.get("state", {}).get("recheck")
        return StreamClient(resources, caller, self._notifications, recheck, since=since, scope=scope)


def listen_url(resources: Resources) -> str | None:
    """Return a database URL for LISTEN, which does not work through a transaction pooler. None: there is none."""
    chosen = resources.settings.service.pooler
    is_pooled = resources.database.is_pooled if chosen is None else chosen
    if direct := resources.settings.direct_url:
        return direct.get_secret_value()
    return None if is_pooled else resources.database.dsn()


class StreamClient:
    def __init__(
        self,
        resources: Resources,
        caller: Caller,
        notifications: EventNotifications,
        recheck: Recheck | None,
        *,
        since: str,
        scope: str | None,
    ) -> None:
        self.caller = caller
        self._resources = resources
        self._service = resources.settings.service
        self._notifications = notifications
        self._recheck = recheck
        self._cursor = since
        self._scope = scope
        self._sent_at = self._checked_at = _now()

    async def blocks(self) -> AsyncGenerator[str, None]:
        """Yield the blocks of the response, as long as the client may read them."""
        yield f"retry: {RETRY_MS}\nid: {self._cursor}\n\n"
        try:
            with self._notifications.subscribe(self.caller.principal.tenant) as subscription:
                while True:
                    await self._check()
                    page = await self._next_page()
                    for item in page.items if page else ():
                        yield _event(item.cursor, item.event.event_type, encode(activity_event(item)))
                        self._sent_at = _now()
                    self._cursor = page.cursor if page else self._cursor
                    if page and page.more:
                        continue
                    if _now() - self._sent_at >= HEARTBEAT_SECONDS:
                        yield f": still here\nid: {self._cursor}\n\n"
                        self._sent_at = _now()
                    await asyncio.sleep(PAUSE_SECONDS)
                    await subscription.wait(self._timeout(page), self._service.poll_seconds)
        except MemoryButlerError as problem:
            # Not retryable: the client gets the reason and the stream ends.
            yield _event(self._cursor, "end", error_json(problem))

    async def _next_page(self) -> Activities | None:
        """Return new events; None while the store is unavailable."""
        try:
            return await activity.following(
                self._resources, self.caller, since=self._cursor, scope=self._scope, limit=PAGE
            )
        except MemoryButlerError as problem:
            if not problem.retryable:
                raise
            return None

    async def _check(self) -> None:
        """Check the token again whenever its cache entry has expired."""
        if self._recheck is None or _now() - self._checked_at < self._service.token_cache_seconds:
            return
        try:
            principal = await self._recheck()
        except MemoryButlerError as problem:
            if not problem.retryable:
                raise
            return
        if principal != self.caller.principal:
            raise PermissionDenied(
                "The token's permissions have changed; log in again.", recovery="Open the stream again."
            )
        self._checked_at = _now()

    def _timeout(self, page: Activities | None) -> float:
        """Return the longest wait for a notification: short if the store is down or events are not yet safe to read."""
        if page is None or page.unsafe:
            return self._service.poll_seconds
        seconds = self._sent_at + HEARTBEAT_SECONDS - _now()
        if self._recheck is not None:
            due = max(self._service.token_cache_seconds, RECHECK_SECONDS)
            seconds = min(seconds, self._checked_at + due - _now())
        return max(seconds, 0)


class EventStream(Response):
    """Sends events until the client disconnects, loses its permission or is too slow."""

    media_type = "text/event-stream"

    def __init__(self, client: StreamClient) -> None:
        super().__init__(headers=HEADERS)
        # The length is not known.
        del self.headers["content-length"]
        self._client = client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sending = asyncio.create_task(self._send_all(send))
        disconnected = asyncio.create_task(_wait_for_disconnect(receive))
        try:
            await asyncio.wait({sending, disconnected}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # Only a server that shuts down cancels. End the response; the server needs no exception.
            await send(LAST)
        finally:
            for task in (sending, disconnected):
                task.cancel()
            await asyncio.gather(sending, disconnected, return_exceptions=True)

    async def _send_all(self, send: Send) -> None:
        try:
            async with aclosing(self._client.blocks()) as blocks:
                async for block in blocks:
                    async with asyncio.timeout(SEND_TIMEOUT_SECONDS):
                        await send({"type": "http.response.body", "body": block.encode(), "more_body": True})
                    # `send` does not yield while the socket accepts data; without this a disconnect goes unnoticed.
                    await asyncio.sleep(0)
            await send(LAST)
        except TimeoutError:
            log.info("a client of the activity stream was too slow and was disconnected")
        except Exception:
            # Boundary of a stream: the fault is logged and the response ends.
            log.exception("an activity stream failed")


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _event(cursor: str, name: str, data: JsonObject) -> str:
    return f"id: {cursor}\nevent: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _now() -> float:
    return asyncio.get_running_loop().time()
