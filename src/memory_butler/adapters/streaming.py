"""The activity stream: a tenant's events as they happen, as server-sent events.

Every event has the cursor behind it as its id, so a client that comes again with `Last-Event-ID` misses nothing and
hears nothing twice. Nothing is kept for a reader that does not read: it is sent away, and can come again.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from memory_butler.adapters import shapes
from memory_butler.adapters.answering import said, within
from memory_butler.adapters.identity import shown_principal
from memory_butler.adapters.opening import LateButler
from memory_butler.adapters.watching import OK, watched
from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput, MemoryButlerError, PermissionDenied
from memory_butler.models import Activities, Caller, Lineage, Principal
from memory_butler.operations import activity
from memory_butler.operations.visits import note_visit
from memory_butler.policy.roles import check_role
from memory_butler.settings import Service
from memory_butler.store.listening import News

OPERATION = "memory_activity_stream"
PATH = "/activity/stream"
PARAMETERS = ("since", "scope")
HEARTBEAT_SECONDS = 15.0
# A reader that does not take what it is sent for so long is sent away.
SLOW_SECONDS = 20.0
# Writes that come close together are told of together.
PAUSE_SECONDS = 0.05
PAGE = 100
# Where tokens are not remembered at all, an idle reader's is looked up again after so long.
RECHECK_SECONDS = 1.0
# Those who are cut off come again after so long.
RETRY_MS = 1000
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}

LAST = {"type": "http.response.body", "body": b"", "more_body": False}

Recheck = Callable[[], Awaitable[Principal]]
log = logging.getLogger(__name__)


class ActivityStreams:
    """All activity streams of a process; they share one connection that listens for news."""

    def __init__(self, late: LateButler) -> None:
        self._late = late
        self._news: News | None = None

    async def open(self, request: Request) -> Response:
        """Begin a stream, or say why not."""
        request_id = getattr(request.state, "request_id", None)
        with watched(OPERATION, request_id) as call:
            try:
                began = await within(self._late.settings.deadline_seconds, self._begin(request, request_id))
            except MemoryButlerError as problem:
                call.outcome = problem.error_class
                raise
            call.principal, call.outcome = began.caller.principal, OK
        return EventStream(began)

    async def _begin(self, request: Request, request_id: str | None) -> "Following":
        unknown = [name for name in request.query_params if name not in PARAMETERS]
        if unknown:
            raise InvalidInput(f"{unknown[0][:60]!r} is not known; the stream takes: {', '.join(PARAMETERS)}.")
        settings = self._late.settings
        butler = await self._late.get(settings.deadline_seconds * 0.8)
        required = settings.service.auth == "required"
        principal = shown_principal(required=required) or butler.local_caller().principal
        check_role(principal, OPERATION)
        caller = Caller(principal, Lineage(request_id=request_id))
        await note_visit(butler, caller, OPERATION)
        scope = request.query_params.get("scope")
        since = request.headers.get("last-event-id") or request.query_params.get("since")
        if since is None:
            since = await activity.latest(butler, caller, scope=scope)
        else:
            # One that cannot be read is refused before anything is sent.
            await activity.activity(butler, caller, since=since, scope=scope, limit=1)
        if self._news is None:
            self._news = News(butler.database, direct_url(butler, settings.service))
        recheck = request.scope.get("state", {}).get("recheck")
        return Following(butler, caller, self._news, recheck, since=since, scope=scope)


def direct_url(butler: Butler, service: Service) -> str | None:
    """Where news can be heard: a direct connection, which one through a pooler is not."""
    if service.listen_url:
        return service.listen_url.get_secret_value()
    return None if service.pooler else butler.database.dsn()


class Following:
    """One reader of one tenant's events."""

    def __init__(
        self, butler: Butler, caller: Caller, news: News, recheck: Recheck | None, *, since: str, scope: str | None
    ) -> None:
        self.caller = caller
        self._butler = butler
        self._service = butler.settings.service
        self._news = news
        self._recheck = recheck
        self._cursor = since
        self._scope = scope
        self._spoke_at = self._checked_at = _now()

    async def blocks(self) -> AsyncGenerator[str, None]:
        """What is sent, for as long as the reader may hear it."""
        yield f"retry: {RETRY_MS}\nid: {self._cursor}\n\n"
        try:
            with self._news.of(self.caller.principal.tenant) as ear:
                while True:
                    await self._check()
                    page = await self._look()
                    for item in page.items if page else ():
                        yield _event(item.cursor, item.event.event_type, shapes.activity(item))
                        self._spoke_at = _now()
                    self._cursor = page.cursor if page else self._cursor
                    if page and page.more:
                        continue
                    if _now() - self._spoke_at >= HEARTBEAT_SECONDS:
                        yield f": still here\nid: {self._cursor}\n\n"
                        self._spoke_at = _now()
                    await asyncio.sleep(PAUSE_SECONDS)
                    await ear.listen(self._patience(page), self._service.poll_seconds)
        except MemoryButlerError as problem:
            # Nothing that gets well by itself: the reader hears why this is the end.
            yield _event(self._cursor, "end", said(problem))

    async def _look(self) -> Activities | None:
        """What is new; nothing while the store is away."""
        try:
            return await activity.following(
                self._butler, self.caller, since=self._cursor, scope=self._scope, limit=PAGE
            )
        except MemoryButlerError as problem:
            if not problem.retryable:
                raise
            return None

    async def _check(self) -> None:
        """Whether the reader is still who it was when it came; asked as often as a token is remembered."""
        if self._recheck is None or _now() - self._checked_at < self._service.token_cache_seconds:
            return
        try:
            principal = await self._recheck()
        except MemoryButlerError as problem:
            if not problem.retryable:
                raise
            return
        if principal != self.caller.principal:
            raise PermissionDenied("The token says something else by now.", recovery="Open the stream again.")
        self._checked_at = _now()

    def _patience(self, page: Activities | None) -> float:
        """How long to wait for news, at most. Of a store that is away, or that has to get something safe, none come."""
        if page is None or page.unsafe:
            return self._service.poll_seconds
        seconds = self._spoke_at + HEARTBEAT_SECONDS - _now()
        if self._recheck is not None:
            due = max(self._service.token_cache_seconds, RECHECK_SECONDS)
            seconds = min(seconds, self._checked_at + due - _now())
        return max(seconds, 0)


class EventStream(Response):
    """Sends what a reader is to hear until it leaves, may hear no more, or does not listen."""

    media_type = "text/event-stream"

    def __init__(self, following: Following) -> None:
        super().__init__(headers=HEADERS)
        # There is no telling how long it will be.
        del self.headers["content-length"]
        self._following = following

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sending = asyncio.create_task(self._send_all(send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # Only a server that stops does this. The reader is told that it is over, and the server needs no telling.
            await send(LAST)
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _send_all(self, send: Send) -> None:
        try:
            async with aclosing(self._following.blocks()) as blocks:
                async for block in blocks:
                    async with asyncio.timeout(SLOW_SECONDS):
                        await send({"type": "http.response.body", "body": block.encode(), "more_body": True})
                    # Sending does not wait while the line takes it: only now is it noticed that nobody is there.
                    await asyncio.sleep(0)
            await send(LAST)
        except TimeoutError:
            log.info("a reader of the activity stream was too slow and was sent away")
        except Exception:
            # The outermost place of a stream: the log gets where it happened, the reader that it is over.
            log.exception("an activity stream failed")


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _event(cursor: str, name: str, data: shapes.Shape) -> str:
    return f"id: {cursor}\nevent: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _now() -> float:
    return asyncio.get_running_loop().time()
