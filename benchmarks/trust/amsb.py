"""OWASP's Agent Memory Security Benchmark (AMSB) with default settings: `python -m benchmarks.trust.amsb`.

The benchmark writes values under keys and reads them back after a session. Here a key is subject and predicate of a
fact, its source class the `source` of the write, and reading back is a search without a minimum relevance: everything
that a read of the tenant can return.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from importlib import metadata
from itertools import count
from typing import Any, TypeVar

from agent_memory_guard.bench import (
    MemorySystemAdapter,
    RememberOutcome,
    Scorecard,
    SystemReport,
    run_suite,
    score_report,
)

from benchmarks.support.machine import scratch_store, wide_console
from memory_butler.errors import InvalidInput
from memory_butler.models import Caller, MemoryType, NewFact, Origin, Principal, Question, Role
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings

Result = TypeVar("Result")

ENOUGH = 95.0
SOURCES = {
    "external_tool": Origin.TOOL,
    "user_input": Origin.USER,
    "agent_authored": Origin.AGENT,
    "system": Origin.AGENT,
}


class MemoryButlerAdapter(MemorySystemAdapter):
    """A tenant of its own in an open store; the benchmark calls it from another thread."""

    name = "memory-butler"
    version = metadata.version("memory-butler")

    def __init__(self, resources: Resources, loop: asyncio.AbstractEventLoop, tenant: str) -> None:
        self._resources = replace(resources, settings=resources.settings.model_copy(update={"tenant": tenant}))
        self._caller = Caller(Principal(tenant, "main", Role.ADMIN))
        self._loop = loop

    def remember(self, key: str, value: Any, *, source_class: str = "external_tool") -> RememberOutcome:
        subject, _, predicate = key.rpartition(".")
        new = NewFact(
            subject=subject or predicate, predicate=predicate, content=str(value), source=SOURCES[source_class]
        )
        try:
            stored = self._run(remember.fact(self._resources, new, self._caller))
        except InvalidInput:
            return RememberOutcome.BLOCKED
        if stored.quarantine_reason:
            return RememberOutcome.QUARANTINED
        return RememberOutcome.STORED if self.recall(key) == value else RememberOutcome.REDACTED

    def recall(self, key: str) -> str | None:
        question = Question(query=key.replace(".", " "), types=tuple(MemoryType), min_relevance=0, limit=100)
        answer = self._run(search.search(self._resources, question, self._caller))
        return "\n".join(entry.hit.content for entry in answer.results) or None

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


async def grade(resources: Resources) -> tuple[SystemReport, Scorecard]:
    """Run all scenarios, each in a tenant of its own."""
    loop, numbers = asyncio.get_running_loop(), count()
    factory: Callable[[], MemoryButlerAdapter] = lambda: MemoryButlerAdapter(  # noqa: E731
        resources, loop, f"{resources.settings.tenant}-amsb-{next(numbers)}"
    )
    report = await asyncio.to_thread(run_suite, factory)
    return report, score_report(report)


async def measure() -> Scorecard:
    console = wide_console()
    with scratch_store() as server:
        async with open_resources(load_settings(home=server.home)) as resources:
            report, card = await grade(resources)
    for run in report.runs:
        state = "passed" if run.passed else "FAILED"
        console.print(f"{state}  {run.severity:<8}  {run.scenario_id:<30}  {run.final_outcome}  {run.detail}")
    console.print(
        f"AMSB: grade {card.grade.value}, {card.score:.1f} of 100; {card.critical_breaches} critical breaches, "
        f"{card.false_positives} of {card.benign_total} benign texts blocked"
    )
    return card


def main() -> None:
    card = asyncio.run(measure())
    sys.exit(card.score < ENOUGH or card.critical_breaches > 0 or card.false_positives > 0)


if __name__ == "__main__":
    main()
