"""Following what happens in a store: its events as they come, over a stream that picks up where it was cut off."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Unpack

from memory_butler.client import shaping
from memory_butler.client.answers import Happened, Happenings
from memory_butler.client.asking import Asking, Options, request_header
from memory_butler.client.calling import Call, Failed, jittered
from memory_butler.client.reading import Unreadable

PATH = "/activity/stream"
# The server says something at least every 15 seconds.
SILENCE_SECONDS = 45.0
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
LONGEST_BLOCK_BYTES = 4 * 1024 * 1024
END = "end"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Block:
    """One message of a stream of server-sent events; without data it only says where the stream has got to."""

    id: str | None
    event: str
    data: str | None


class Following(Asking):
    """The log of a store, a part at a time or as it grows."""

    async def activity_page(
        self,
        since: str | None = None,
        *,
        scope: str | None = None,
        limit: int | None = None,
        **options: Unpack[Options],
    ) -> Happenings:
        """What happened after a cursor, or from the `start`; without either the newest events."""
        asked = {"since": since, "scope": scope, "limit": limit}
        return await self._read("activity_stream", asked, options, shaping.happenings)

    async def activity(
        self, since: str | None = None, *, scope: str | None = None, **options: Unpack[Options]
    ) -> AsyncGenerator[Happened, None]:
        """Every event as it happens, without end: after a cursor, from the `start`, or without either from now on.

        Once it has begun it is resumed whenever it is cut off: nothing is lost and nothing comes twice. What does not
        get better by itself is raised, for example that the token was revoked. To go on another day, keep the last
        event's cursor.
        """
        place, begun, pause = since, False, FIRST_PAUSE_SECONDS
        while True:
            try:
                async with aclosing(self._blocks(place, scope, options)) as blocks:
                    async for block in blocks:
                        begun, pause = True, FIRST_PAUSE_SECONDS
                        happened = self._happened(block, place)
                        place = block.id or place
                        if happened:
                            yield happened
                failed = Failed(self._connection.garbage("the end of its stream"), again=True)
            except Failed as problem:
                failed = problem
            if not begun or not (failed.again or failed.problem.retryable):
                raise failed.problem from failed.__cause__
            log.info("the activity stream was cut off and is taken up again: %s", failed.problem.message)
            await asyncio.sleep(max(failed.wait_seconds, jittered(pause)))
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)

    def _happened(self, block: Block, place: str | None) -> Happened | None:
        """What a block tells; nothing if it only says how far the stream has got."""
        if block.data is None:
            return None
        try:
            shape = shaping.said(block.data)
            if block.event == END:
                problem = shaping.problem_of(shape)
                raise Failed(problem, again=problem.retryable)
            return None if place and block.id == place else shaping.happened({**shape, "cursor": block.id})
        except Unreadable as problem:
            # It would be the same the next time.
            raise self._connection.garbage(f"an event of unexpected shape ({problem})") from problem

    async def _blocks(self, place: str | None, scope: str | None, options: Options) -> AsyncGenerator[Block, None]:
        params = {name: value for name, value in (("since", place), ("scope", scope)) if value is not None}
        headers = {"Accept": "text/event-stream", **request_header(options)}
        call = Call(method="GET", path=PATH, params=params, headers=headers)
        async with self._connection.stream(call, options.get("deadline_seconds")) as response:
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                raise Failed(self._connection.garbage("something that is no stream of events"), again=False)
            pieces = aiter(response.aiter_bytes())
            waiting = b""
            while True:
                try:
                    async with asyncio.timeout(SILENCE_SECONDS):
                        waiting += await anext(pieces)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    raise Failed(self._connection.garbage("silence"), again=True) from None
                *whole, waiting = waiting.replace(b"\r\n", b"\n").split(b"\n\n")
                if len(waiting) > LONGEST_BLOCK_BYTES:
                    raise self._connection.garbage("an event without end")
                for text in whole:
                    if block := parsed(text):
                        yield block


def parsed(text: bytes) -> Block | None:
    """A message of the stream. Only line feeds end its lines: what it says may hold other breaks."""
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
