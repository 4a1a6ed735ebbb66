"""A connection that goes round the event loop only when there is something to wait for."""

import select
from typing import Any, TypeVar

from psycopg import AsyncConnection
from psycopg.abc import PQGen
from psycopg.waiting import Ready, Wait

Row = dict[str, Any]
Returned = TypeVar("Returned")

# The driver's own notion of how often to look whether it was interrupted.
INTERVAL_SECONDS = 0.1


class Connection(AsyncConnection[Row]):
    """psycopg's, except that a socket which can be written to is written to at once.

    In a pipeline the driver asks twice per statement whether it may write, and goes round the event loop for each
    answer, which is nearly always yes. Behind every other call in hand, those rounds were most of what a call took.
    """

    async def wait(
        self,
        gen: PQGen[Returned],
        interval: float = INTERVAL_SECONDS,
        timeout: float | None = None,  # noqa: ASYNC109 (the signature is the driver's)
    ) -> Returned:
        return await super().wait(_at_once(gen, self.pgconn.socket), interval, timeout)


def _at_once(gen: PQGen[Returned], fileno: int) -> PQGen[Returned]:
    """The same generator, told by a look at the socket instead of the event loop whether it may write.

    Whoever only wants to read waits as before: there the answer is nearly always not yet, and a result that keeps
    coming must not keep all others waiting.
    """
    looking = select.poll()
    looking.register(fileno, select.POLLIN | select.POLLOUT)
    try:
        wanted = next(gen)
        while True:
            ready = _ready(looking) if wanted == Wait.RW else Ready.NONE
            wanted = gen.send(ready or (yield wanted))
    except StopIteration as end:
        returned: Returned = end.value
        return returned


def _ready(looking: "select.poll") -> Ready:
    """What can be done at once; nothing if that is not to write."""
    for _, events in looking.poll(0):
        if events == select.POLLOUT:
            return Ready.W
        if events == select.POLLIN | select.POLLOUT:
            return Ready.RW
    # Anything else, errors included, is for the driver to find out in its own way.
    return Ready.NONE
