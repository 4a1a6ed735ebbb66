"""How an activity stream ends when its reader is gone."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, cast

from memory_butler.adapters.http.activity_stream import EventStream, StreamClient

PLENTY = 1_000


class Talkative:
    """Has much to say and never waits."""

    async def blocks(self) -> AsyncGenerator[str, None]:
        for number in range(PLENTY):
            yield f"data: {number}\n\n"


async def test_a_reader_that_leaves_in_the_middle_is_sent_no_more() -> None:
    """A line takes whatever it is given: the server itself must look whether somebody is still there."""
    gone, sent = asyncio.Event(), []

    async def send(message: Any) -> None:
        sent.append(message)
        if len(sent) == 5:
            gone.set()

    async def receive() -> Any:
        await gone.wait()
        return {"type": "http.disconnect"}

    await EventStream(cast("StreamClient", Talkative()))({"type": "http"}, receive, send)
    assert 5 <= len(sent) < 12
