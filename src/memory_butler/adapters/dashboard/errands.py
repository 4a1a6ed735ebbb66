"""Work that takes longer than a click: it goes on while pages come and go, one of a kind in a tenant."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from memory_butler.adapters.dashboard.complaints import words_of
from memory_butler.errors import Conflict, MemoryButlerError

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Errand:
    """How far it is: so many of so many, and in the end what came of it, or what went wrong."""

    total: int = 0
    done: int = 0
    came_to: str | None = None
    problem: str | None = None
    task: "asyncio.Task[None] | None" = field(default=None, repr=False)

    @property
    def is_running(self) -> bool:
        return self.task is not None and not self.task.done()


Work = Callable[[Errand], Awaitable[str]]


class Errands:
    """What is under way, by tenant and kind. What is not done when the server ends is given up."""

    def __init__(self) -> None:
        self._errands: dict[tuple[str, str], Errand] = {}

    def of(self, tenant: str, kind: str) -> Errand | None:
        """The one that runs, or the last that did."""
        return self._errands.get((tenant, kind))

    def begin(self, tenant: str, kind: str, work: Work) -> Errand:
        """Start one; its work says in the end what came of it."""
        before = self.of(tenant, kind)
        if before and before.is_running:
            raise Conflict("This is under way already.", recovery="Wait until it is done; the page says when.")
        errand = self._errands[tenant, kind] = Errand()
        errand.task = asyncio.create_task(_run(errand, work), name=f"{kind} of {tenant}")
        return errand

    async def close(self) -> None:
        tasks = [errand.task for errand in self._errands.values() if errand.task and not errand.task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _run(errand: Errand, work: Work) -> None:
    try:
        errand.came_to = await work(errand)
    except MemoryButlerError as problem:
        errand.problem = words_of(problem)
    except Exception:
        # The outermost place of this task: the log gets where it happened, the person that it did.
        log.exception("work in the background failed")
        errand.problem = "Something unexpected went wrong. The server's log says where."
