"""The event log of a store: page by page, or as a stream that resumes after an interruption."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Unpack

from memory_butler.client.answers import error_of
from memory_butler.client.connection import AttemptFailed, Call, jittered
from memory_butler.client.requests import ClientBase, Options, request_header
from memory_butler.models.wire.codec import Unreadable, decode, parse_object
from memory_butler.models.wire.memory_answers import ActivityEvent, ActivityPage

PATH = "/activity/stream"
# The server sends an event or a heartbeat at least every 15 seconds.
SILENCE_SECONDS = 45.0
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
LONGEST_BLOCK_BYTES = 4 * 1024 * 1024
END = "end"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Block:
    """One server-sent event; without data it only moves the cursor."""

    id: str | None
    event: str
    data: str | None


class ActivityMethods(ClientBase):
    """Methods of the client that read the event log."""

    async def activity_page(
        self,
        since: str | None = None,
        *,
        scope: str | None = None,
        limit: int | None = None,
        **options: Unpack[Options],
    ) -> ActivityPage:
        """Events after a cursor, or from `"start"`; without `since` the newest events."""
        body = {"since": since, "scope": scope, "limit": limit}
        return await self._read("activity_stream", body, options, ActivityPage)

    async def activity(
        self, since: str | None = None, *, scope: str | None = None, **options: Unpack[Options]
    ) -> AsyncGenerator[ActivityEvent, None]:
        """Stream events as they happen: after a cursor, from `"start"`, or without `since` from now on.

        After an interruption the stream resumes; no event is lost or repeated. Errors that a retry cannot fix are
        raised, for example a revoked token. To continue later, keep the cursor of the last event.
        """
        place, started, pause = since, False, FIRST_PAUSE_SECONDS
        while True:
            try:
                async with aclosing(self._blocks(place, scope, options)) as blocks:
                    async for block in blocks:
                        started, pause = True, FIRST_PAUSE_SECONDS
                        event = self._event(block, place)
                        place = block.id or place
                        if event:
                            yield event
                failed = AttemptFailed(self._connection.unexpected("the end of the stream"), retry=True)
            except AttemptFailed as problem:
                failed = problem
            if not started or not (failed.retry or failed.problem.retryable):
                raise failed.problem from failed.__cause__
            log.info("the activity stream was interrupted and is resumed: %s", failed.problem.message)
            await asyncio.sleep(max(failed.wait_seconds, jittered(pause)))
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _event(self, block: Block, place: str | None) -> ActivityEvent | None:
        """The event of a block; None if the block only moves the cursor."""
        if block.data is None:
            return None
        try:
            body = parse_object(block.data)
            if block.event == END:
                problem = error_of(body)
                raise AttemptFailed(problem, retry=problem.retryable)
            return None if place and block.id == place else replace(decode(ActivityEvent, body), cursor=block.id)
        except Unreadable as problem:
            # A retry would get the same event.
            raise self._connection.unexpected(f"an event with unexpected JSON ({problem})") from problem

    async def _blocks(self, place: str | None, scope: str | None, options: Options) -> AsyncGenerator[Block, None]:
        params = {name: value for name, value in (("since", place), ("scope", scope)) if value is not None}
        headers = {"Accept": "text/event-stream", **request_header(options)}
        call = Call(method="GET", path=PATH, params=params, headers=headers)
        async with self._connection.stream(call, options.get("deadline_seconds")) as response:
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                raise AttemptFailed(self._connection.unexpected("something other than an event stream"), retry=False)
            pieces = aiter(response.aiter_bytes())
            waiting = b""
            while True:
                try:
                    async with asyncio.timeout(SILENCE_SECONDS):
                        waiting += await anext(pieces)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    raise AttemptFailed(self._connection.unexpected("silence"), retry=True) from None
                *whole, waiting = waiting.replace(b"\r\n", b"\n").split(b"\n\n")
                if len(waiting) > LONGEST_BLOCK_BYTES:
                    raise self._connection.unexpected("an event without end")
                for text in whole:
                    if block := parsed(text):
                        yield block


def parsed(text: bytes) -> Block | None:
    """A server-sent event from its lines. Only line feeds end a line: the data may contain other line breaks."""
    id, event, data = None, "message", []
    for line in text.decode("utf-8", "replace").split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "id" and "\0" not in value:
            id = value
        elif name == "event":
            event = value
        elif name == "data":
            data.append(value)
    return Block(id, event, "\n".join(data) if data else None) if id or data else None
