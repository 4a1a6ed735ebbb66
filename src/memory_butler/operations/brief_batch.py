"""Briefings for many tasks at once: each the same as if it were asked for by itself."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from memory_butler.butler import Butler
from memory_butler.errors import DeadlinePassed, MemoryButlerError
from memory_butler.models import Briefing, BriefRequest, Caller
from memory_butler.operations.brief import brief
from memory_butler.operations.ingest import check_size

# How many are under way together: their questions are embedded in one go, and what was read for one is ranked while the
# database works on the next. More of them are no quicker, and would keep others from the database.
AT_ONCE = 4
# What has not begun by then is left for another call.
BEGIN_SHARE = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefed:
    """What became of one request: a briefing, or a problem."""

    briefing: Briefing | None = None
    problem: MemoryButlerError | None = None


async def brief_batch(butler: Butler, requests: Sequence[BriefRequest], caller: Caller | None = None) -> list[Briefed]:
    """A briefing for each request, in the order given; what is wrong with one is no matter to the others.

    If none could be had because the store is away or too busy, that is the answer to the whole call.
    """
    caller = caller or butler.local_caller()
    check_size(len(requests), butler.settings.service.limits.batch_items, "requests")
    loop = asyncio.get_running_loop()
    until = loop.time() + butler.settings.deadline_seconds * BEGIN_SHARE
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(request: BriefRequest) -> Briefed:
        async with gate:
            try:
                if loop.time() > until:
                    raise DeadlinePassed("There was no time left for this one.", recovery="Ask for fewer at once.")
                return Briefed(briefing=await brief(butler, request, caller))
            except MemoryButlerError as problem:
                return Briefed(problem=problem)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(request)) for request in requests]
    except BaseExceptionGroup as faults:
        # A fault of ours ends the call; the others under way end with it instead of working on for nobody.
        raise faults.exceptions[0] from None
    done = [task.result() for task in tasks]
    problems = [found.problem for found in done if found.problem]
    if len(problems) == len(done) and all(problem.retryable for problem in problems):
        raise problems[0]
    return done
