"""Briefings for many requests in one call; each is the same as in a call of its own."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from memory_butler.errors import DeadlinePassed, MemoryButlerError
from memory_butler.models import Briefing, BriefRequest, Caller
from memory_butler.operations.briefing.brief import brief
from memory_butler.operations.writing.ingest import check_size
from memory_butler.resources import Resources

# Requests processed concurrently: their queries are embedded together, and one is ranked while the database works on
# the next. More are not faster, and would keep other callers from the database.
CONCURRENCY = 4
# Share of the deadline after which no further request is started.
START_SHARE = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefResult:
    """Result of one request: a briefing, or a problem."""

    briefing: Briefing | None = None
    problem: MemoryButlerError | None = None


async def brief_batch(
    resources: Resources, requests: Sequence[BriefRequest], caller: Caller | None = None
) -> list[BriefResult]:
    """Returns a result for each request, in request order. A problem with one does not affect the others.

    If all fail with a retryable error (the database is unavailable or overloaded), the whole call fails with it.
    """
    caller = caller or resources.local_caller()
    check_size(len(requests), resources.settings.service.limits.batch_items, "requests")
    loop = asyncio.get_running_loop()
    start_until = loop.time() + resources.settings.deadline_seconds * START_SHARE
    slots = asyncio.Semaphore(CONCURRENCY)

    async def one(request: BriefRequest) -> BriefResult:
        async with slots:
            try:
                if loop.time() > start_until:
                    raise DeadlinePassed(
                        "The deadline passed before this request was started.", recovery="Send fewer requests per call."
                    )
                return BriefResult(briefing=await brief(resources, request, caller))
            except MemoryButlerError as problem:
                return BriefResult(problem=problem)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(request)) for request in requests]
    except BaseExceptionGroup as faults:
        # An internal error ends the call and cancels the requests still running.
        raise faults.exceptions[0] from None
    results = [task.result() for task in tasks]
    problems = [result.problem for result in results if result.problem]
    if len(problems) == len(results) and all(problem.retryable for problem in problems):
        raise problems[0]
    return results
