"""A campaign against the REST door: made-up calls of every operation, good and bad, checked against its own OpenAPI.

Every other good call is about something that was planted for it, so that every operation also gets somewhere. Its short
form is a test; `make test-rest` runs the long one on a store of its own.
"""

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import hypothesis
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.adapters.rest.planting import Planting
from tests.support.service import on_loopback

from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.models import MemoryType
from memory_butler.resources import open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# A stream does not end, so it has no answer to check.
LEFT_OUT = ("/activity/stream",)
SENSIBLE: dict[str, Any] = {
    "query": "which color does Anna like?",
    "topic": "colors",
    "trigger_prompt": "Paint Anna's room.",
    "butler": "main",
    "subject": "Ben",
    "predicate": "favorite_drink",
    "content": "Ben drinks coffee.",
    "tags": ["blue"],
    "requests": [{"trigger_prompt": "Paint Anna's room.", "butler": "main"}],
    "episodes": [{"content": "Painted a room.", "butler": "main"}],
}
# What may be left out, but not all of it.
NEEDED = {"memory_forget_about": ["subject"], "memory_purge": ["subject"], "memory_update": ["tags"]}
SUCCESS = range(200, 300)
Seen = Counter[tuple[str, int]]


def made_up(operation: Any, mode: GenerationMode, examples: int) -> Any:
    """So many calls of an operation, always the same ones."""

    def over(test: Any) -> Any:
        quiet = settings(
            max_examples=examples,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        return quiet(given(case=operation.as_strategy(generation_mode=mode))(test))

    return over


def campaign(address: str, examples: int, planting: Planting) -> Seen:
    """Call every operation; the first answer that breaks a promise is an error, and so is an operation that never did
    what it is for. Says how often each status was seen."""
    page = schemathesis.openapi.from_url(f"{address}/api/v1/openapi.json")
    page.config.update(base_url=f"{address}/api/v1")
    seen: Seen = Counter()
    with requests.Session() as session:
        for found in page.get_all_operations():
            operation = found.ok()
            if operation.path in LEFT_OUT:
                continue
            for mode, calls in ((GenerationMode.POSITIVE, examples), (GenerationMode.NEGATIVE, (examples + 1) // 2)):
                _call_all(operation, mode, calls, seen, session=session, planting=planting)
    idle = sorted({label for label, _ in seen} - {label for label, status in seen if status in SUCCESS})
    assert not idle, f"Never did what they are for: {', '.join(idle)}"
    return seen


def _call_all(
    operation: Any,
    mode: GenerationMode,
    examples: int,
    seen: Seen,
    *,
    session: requests.Session,
    planting: Planting,
) -> None:
    calls = count()
    sense = Sense(planting, operation.definition.raw["operationId"])

    @made_up(operation, mode, examples)
    def call(case: Case[Any]) -> None:
        n = next(calls)
        if mode is GenerationMode.POSITIVE and n % 2 == 0:
            sense.make(case, n // 2)
        response = case.call(session=session)
        seen[operation.label, response.status_code] += 1
        case.validate_response(response, checks=CHECKS)
        sense.note(case, response)

    try:
        call()
    except hypothesis.errors.Unsatisfiable:
        # There is no bad call of an operation that takes nothing.
        assert mode is GenerationMode.NEGATIVE


@dataclass
class Sense:
    """Nobody makes up a reference that exists, a question or a cursor: without these, most operations would never get
    anywhere. Of what may be left out, the first call leaves out all, and each later one keeps something else."""

    planting: Planting
    operation: str
    cursors: dict[str, str] = field(default_factory=dict)

    def make(self, case: Case[Any], n: int) -> None:
        given: dict[str, Any] = case.body if isinstance(case.body, dict) else {}
        kind = {**given, **(case.path_parameters or {})}.get("type")
        kind = kind if n and kind in list(MemoryType) else MemoryType.FACT
        sensible = {**SENSIBLE, "type": str(kind), **self.planting.values(self.operation, kind)}
        for name in case.path_parameters or {}:
            case.path_parameters[name] = sensible[name]
        if isinstance(case.body, dict):
            schema = case.operation.body[0].optimized_schema
            required = [*schema.get("required", []), *NEEDED.get(self.operation, [])]
            names = [*required, *_one_of(sorted(set(given) - set(required)), n)]
            case.body = {name: sensible[name] if name in sensible else given[name] for name in names}
        if case.query:
            case.query = self._query(case, n)

    def _query(self, case: Case[Any], n: int) -> dict[str, Any]:
        goes_on = self.cursors.pop(case.formatted_path, None)
        if goes_on:
            return {"limit": 1, "cursor": goes_on}
        kept = _one_of(sorted(set(case.query) - {"cursor"}), n)
        return {"limit": 1, **{name: case.query[name] for name in kept}}

    def note(self, case: Case[Any], response: Any) -> None:
        """Keep the cursor of a list that was not narrowed down, for a later call."""
        if response.status_code in SUCCESS and case.query == {"limit": 1} and response.json().get("cursor"):
            self.cursors[case.formatted_path] = response.json()["cursor"]


def _one_of(names: list[str], n: int) -> list[str]:
    return [names[n % len(names)]] if n and names else []


async def long_form(examples: int) -> Seen:
    """On a store where agents distil, because there all tools are offered."""
    with tempfile.TemporaryDirectory(prefix="mb-rest-") as folder:
        server = EmbeddedPostgres(Path(folder), options={"fsync": "off", "full_page_writes": "off"})
        server.ensure_running()
        try:
            settings_ = load_settings(home=folder, consolidation={"distiller": "agent"})
            async with (
                open_resources(settings_, embedder=FakeEmbedder()) as resources,
                on_loopback(LazyResources.already_open(resources)) as door,
            ):
                planting = Planting(resources, asyncio.get_running_loop())
                return await asyncio.to_thread(campaign, door.url, examples, planting)
        finally:
            server.stop()


def told(seen: Seen) -> Iterator[str]:
    for label in sorted({label for label, _ in seen}):
        statuses = {status: count for (name, status), count in sorted(seen.items()) if name == label}
        yield f"{label:45} " + "  ".join(f"{status}: {count}" for status, count in statuses.items())
    labels = {label for label, _ in seen}
    done = sum(count for (_, status), count in seen.items() if status in SUCCESS)
    yield f"{seen.total():,} calls of {len(labels)} operations; {done:,} did what they are for, of each operation some."


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--examples", type=int, default=200, help="good calls of each operation; half as many bad")
    lines = told(asyncio.run(long_form(options.parse_args().examples)))
    sys.stdout.write("\n".join(lines) + "\n")
