"""A campaign against the REST door: made-up calls of every operation, good and bad, checked against its own OpenAPI.

Its short form is a test; `make test-rest` runs the long one on a store of its own.
"""

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
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
from tests.service import on_loopback

from memory_butler.adapters.opening import LateButler
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.butler import open_butler
from memory_butler.settings import load_settings
from memory_butler.store.embedded import EmbeddedPostgres

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# A stream does not end, so it has no answer to check.
LEFT_OUT = ("/activity/stream",)
SEEDS: dict[str, dict[str, Any]] = {
    "fact": {"subject": "Anna", "predicate": "favorite_color", "content": "Anna likes green."},
    "rule": {"content": "Ask before deleting anything."},
    "episode": {"content": "Chose PostgreSQL for the new service.", "butler": "main"},
}
SENSIBLE: dict[str, Any] = {
    "query": "which color does Anna like?",
    "topic": "colors",
    "trigger_prompt": "Paint Anna's room.",
    "butler": "main",
    "type": "fact",
    "subject": "Ben",
    "predicate": "favorite_drink",
    "content": "Ben drinks coffee.",
    "requests": [{"trigger_prompt": "Paint Anna's room.", "butler": "main"}],
    "episodes": [{"content": "Painted a room.", "butler": "main"}],
}
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


def campaign(address: str, examples: int) -> Seen:
    """Call every operation; the first answer that breaks a promise is an error. Says how often each status was seen."""
    page = schemathesis.openapi.from_url(f"{address}/api/v1/openapi.json")
    page.config.update(base_url=f"{address}/api/v1")
    seen: Seen = Counter()
    with requests.Session() as session:
        refs = {kind: _store(session, address, kind, seed) for kind, seed in SEEDS.items()}
        for found in page.get_all_operations():
            operation = found.ok()
            if operation.path in LEFT_OUT:
                continue
            for mode, calls in ((GenerationMode.POSITIVE, examples), (GenerationMode.NEGATIVE, (examples + 1) // 2)):
                _call_all(operation, mode, calls, seen, session=session, refs=refs)
    return seen


def _store(session: requests.Session, address: str, kind: str, seed: dict[str, Any]) -> str:
    reply = session.post(f"{address}/api/v1/store_{kind}", json=seed)
    return str(reply.json()["ref"])


def _call_all(
    operation: Any,
    mode: GenerationMode,
    examples: int,
    seen: Seen,
    *,
    session: requests.Session,
    refs: dict[str, str],
) -> None:
    calls = count()

    @made_up(operation, mode, examples)
    def call(case: Case) -> None:
        n = next(calls)
        if mode is GenerationMode.POSITIVE and n % 2 == 0:
            _make_sense(case, refs, n // 2)
        response = case.call(session=session)
        seen[operation.label, response.status_code] += 1
        case.validate_response(response, checks=CHECKS)

    try:
        call()
    except hypothesis.errors.Unsatisfiable:
        # There is no bad call of an operation that takes nothing.
        assert mode is GenerationMode.NEGATIVE


def _make_sense(case: Case, refs: dict[str, str], n: int) -> None:
    """Nobody makes up a reference that exists, or a question: without these, most operations would never get anywhere.

    Of what may be left out, the first call leaves out all, and each later one keeps something else as it was made up.
    """
    places: dict[str, Any] = case.path_parameters or {}
    if "handle" in places:
        places["handle"] = refs[places.get("type", "episode")]
    if isinstance(case.body, dict):
        schema = case.operation.body[0].optimized_schema
        required = schema.get("required", [])
        optional = sorted(set(case.body) - set(required))
        sensible = {"rule_id": refs["rule"], "fact_id": refs["fact"], "id": refs["fact"], **SENSIBLE}
        kept = {optional[n % len(optional)]: case.body[optional[n % len(optional)]]} if n and optional else {}
        case.body = {name: sensible.get(name, case.body[name]) for name in required} | kept


async def long_form(examples: int) -> Seen:
    with tempfile.TemporaryDirectory(prefix="mb-rest-") as folder:
        server = EmbeddedPostgres(Path(folder), options={"fsync": "off", "full_page_writes": "off"})
        server.ensure_running()
        try:
            async with (
                open_butler(load_settings(home=folder), embedder=FakeEmbedder()) as butler,
                on_loopback(LateButler.already_open(butler)) as door,
            ):
                return await asyncio.to_thread(campaign, door.url, examples)
        finally:
            server.stop()


def told(seen: Seen) -> Iterator[str]:
    for label in sorted({label for label, _ in seen}):
        statuses = {status: count for (name, status), count in sorted(seen.items()) if name == label}
        yield f"{label:45} " + "  ".join(f"{status}: {count}" for status, count in statuses.items())


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--examples", type=int, default=200, help="good calls of each operation; half as many bad")
    lines = told(asyncio.run(long_form(options.parse_args().examples)))
    sys.stdout.write("\n".join(lines) + "\n")
