"""A client of the MCP door, in memory; and the command line on a butler of the test's own."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from subprocess import CompletedProcess
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from tests.support.service import Switch
from typer.testing import CliRunner, Result

from memory_butler.adapters.cli.app import app, main
from memory_butler.adapters.mcp.catalog import TOOLS
from memory_butler.adapters.mcp.server import build_server
from memory_butler.adapters.telemetry import logs
from memory_butler.ai.distillers import open_distiller
from memory_butler.ai.embedding import Embedder
from memory_butler.models import NewEpisode, NewFact
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import Settings
from memory_butler.store.gate.database import Database

PARAMETERS = {
    "memory_store_episode": "content butler session_id importance observed_at tags metadata source idempotency_key "
    "request_context",
    "memory_store_fact": "subject predicate content importance permanence scope tags valid_at source_episode aliases "
    "links metadata source idempotency_key request_context",
    "memory_store_rule": "content scope tags source_episode metadata source idempotency_key request_context",
    "memory_store": "content tags tier butler importance source idempotency_key request_context",
    "memory_search": "query types scope mode limit min_confidence min_relevance butler tier tags as_of expand "
    "time_from time_to deep detail request_context",
    "memory_recall": "topic scope limit min_confidence min_relevance butler tags expand time_from time_to detail "
    "request_context",
    "memory_explain": "query id types scope mode limit min_confidence min_relevance butler tier tags time_from time_to "
    "deep token_budget request_context",
    "memory_get": "type id detail request_context",
    "memory_confirm": "type id idempotency_key request_context",
    "memory_mark_helpful": "rule_id idempotency_key request_context",
    "memory_mark_harmful": "rule_id reason idempotency_key request_context",
    "memory_forget": "type id derived reason idempotency_key request_context",
    "memory_forget_about": "subject text also dry_run reason idempotency_key request_context",
    "memory_restore": "type id supersede reason idempotency_key request_context",
    "memory_correct": "fact_id content reason idempotency_key request_context",
    "memory_update": "type id importance permanence tags scope content idempotency_key request_context",
    "memory_link": "id relation target idempotency_key request_context",
    "memory_pin": "type id idempotency_key request_context",
    "memory_unpin": "type id idempotency_key request_context",
    "memory_reverse": "rule_id reason idempotency_key request_context",
    "memory_undo": "id skip_changed idempotency_key request_context",
    "memory_purge": "ref subject text dry_run derived reason request_context",
    "memory_stats": "scope request_context",
    "memory_context": "trigger_prompt butler token_budget as_of with_own deep detail request_context",
    "memory_context_batch": "requests request_context",
    "memory_ingest_batch": "episodes request_context",
    "memory_activity_stream": "since scope limit request_context",
}
REQUIRED = {
    "memory_store_episode": {"content"},
    "memory_store_fact": {"subject", "predicate", "content"},
    "memory_store_rule": {"content"},
    "memory_store": {"content"},
    "memory_link": {"id", "relation", "target"},
    "memory_search": {"query"},
    "memory_recall": {"topic"},
    "memory_explain": {"query", "id"},
    "memory_get": {"id"},
    "memory_confirm": {"id"},
    "memory_mark_helpful": {"rule_id"},
    "memory_mark_harmful": {"rule_id"},
    "memory_forget": {"id"},
    "memory_forget_about": set(),
    "memory_restore": {"id"},
    "memory_correct": {"fact_id", "content"},
    "memory_update": {"id"},
    "memory_pin": {"id"},
    "memory_unpin": {"id"},
    "memory_reverse": {"rule_id"},
    "memory_undo": {"id"},
    "memory_purge": set(),
    "memory_stats": set(),
    "memory_context": {"trigger_prompt"},
    "memory_context_batch": {"requests"},
    "memory_ingest_batch": {"episodes"},
    "memory_activity_stream": set(),
}
# Only where agents distil.
OPTIONAL = {
    "memory_consolidation_claim": "limit request_context",
    "memory_consolidation_submit": "run proposal request_context",
}
FACT = {"subject": "Anna", "predicate": "favorite_color", "content": "Anna likes green."}


@dataclass(frozen=True)
class Reply:
    is_error: bool
    body: dict[str, Any]
    text: str

    @property
    def error(self) -> str | None:
        return self.body["error"] if self.is_error else None


Call = Callable[..., Coroutine[Any, Any, Reply]]


def caller_of(client: Client[Any]) -> Call:
    """Call a tool by name, for its full answer; its text and its structured content must say the same."""

    async def call(tool: str, /, **arguments: Any) -> Reply:
        if tool in TOOLS and TOOLS[tool].brief:
            arguments.setdefault("detail", "full")
        result = await client.call_tool(tool, arguments, raise_on_error=False)
        text = result.content[0].text
        assert json.loads(text) == result.structured_content
        return Reply(result.is_error, json.loads(text), text)

    return call


@pytest.fixture(scope="session")
def usual_server(settings: Settings) -> tuple[Switch, FastMCP[None]]:
    switch = Switch(settings)
    return switch, build_server(switch)


@pytest.fixture
async def client(resources: Resources, usual_server: tuple[Switch, FastMCP[None]]) -> AsyncIterator[Client[Any]]:
    """A client of the server with the usual settings, on the test's butler."""
    switch, server = usual_server
    switch.resources, switch.settings = resources, resources.settings
    async with Client(server) as opened:
        yield opened


@pytest.fixture
def call(client: Client[Any]) -> Call:
    return caller_of(client)


Type = Callable[..., Awaitable[Result]]


@pytest.fixture
def ask(command: Callable[..., Result]) -> Callable[..., Any]:
    """Run a command with --json and return what it printed."""

    def run(*arguments: str) -> Any:
        done = command(*arguments, "--json")
        assert done.exit_code == 0, done.exception or done.output
        return json.loads(done.stdout)

    return run


def lines(done: Result) -> list[str]:
    """What a command printed, none of it padded."""
    assert done.exit_code == 0, done.exception or done.output
    found = done.stdout.splitlines()
    assert all(line == line.rstrip() for line in found)
    return found


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[Resources], Type]:
    """The command line on a given butler, by its clock and with its settings and distiller; in a thread, as a command
    brings its own event loop."""

    def on(resources: Resources) -> Type:
        @asynccontextmanager
        async def open_ours(settings: object) -> AsyncIterator[Resources]:
            database = Database.from_settings(resources.settings)
            try:
                await database.open()
                yield replace(resources, database=database)
            finally:
                await database.close()

        monkeypatch.setattr("memory_butler.resources.open_resources", open_ours)
        monkeypatch.setattr(logs, "configure_logging", lambda settings: None)
        monkeypatch.setenv("MEMORY_BUTLER_HOME", str(resources.settings.home))
        monkeypatch.setenv("COLUMNS", "80")

        async def type_in(*command: str) -> Result:
            return await asyncio.to_thread(CliRunner().invoke, app, [*command], catch_exceptions=True)

        return type_in

    return on


class _Lent:
    """A model that is loaded already, and stays so."""

    def __init__(self, model: Embedder) -> None:
        self.version, self.start = model.version, model.start
        self.embed, self.embed_query = model.embed, model.embed_query

    async def close(self) -> None:
        """It is used again."""


Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def inside(shared_real_resources: Resources, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Run `memory-butler` in an environment, from its first line to its exit code, inside this process.

    It spares the start of a process, a second each time: nothing is replaced but that the model is loaded already and
    that the log is left alone. In a test that is asynchronous it needs a thread of its own.
    """
    monkeypatch.setattr("memory_butler.resources.OnnxEmbedder", lambda **given: _Lent(shared_real_resources.embedder))
    monkeypatch.setattr(logs, "configure_logging", lambda settings: None)
    umask = os.umask(0o077)

    def run(
        environment: Mapping[str, str], *arguments: str, code: int = 0, given: str | bytes = b""
    ) -> CompletedProcess[str]:
        with monkeypatch.context() as patch, CliRunner().isolation(given) as (out, err, _):
            patch.setattr(sys, "argv", ["memory-butler", *arguments])
            for name in [name for name in os.environ if name.startswith("MEMORY_BUTLER_")]:
                patch.delenv(name)
            for name, value in {**environment, "COLUMNS": "80"}.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main()
            streams = out.getvalue().decode(), err.getvalue().decode()
        done = CompletedProcess(arguments, int(ended.value.code or 0), *streams)
        assert done.returncode == code, streams
        return done

    yield run
    os.umask(umask)


def choosing(resources: Resources, **consolidation: Any) -> Resources:
    """The same butler with other settings of consolidation, and the distiller that they choose."""
    changed = resources.settings.consolidation.model_copy(update=consolidation)
    settings = resources.settings.model_copy(update={"consolidation": changed})
    return replace(resources, settings=settings, distiller=open_distiller(settings))


async def note(resources: Resources, content: str, whose: str = "main") -> str:
    """Store an episode; returns its reference."""
    return (await remember.episode(resources, NewEpisode(content=content, butler=whose))).ref


NUTS, HIDDEN = "severe nut allergy", "[encrypted: your role may not read encrypted text]"


@pytest.fixture
async def read_by(encrypted: Resources, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Resources]:
    """A butler with an encrypted fact about Anna (NUTS) that these roles may read. Local callers are administrators."""
    fact = NewFact(subject="Anna", predicate="allergies", content=NUTS, importance=9)
    await remember.fact(encrypted, fact)

    def allow(*roles: str) -> Resources:
        encryption = encrypted.database.encryption
        assert encryption
        changed = encryption.settings.model_copy(update={"readers": roles})
        monkeypatch.setattr(encryption, "settings", changed)
        settings = encrypted.settings.model_copy(update={"encryption": changed})
        return replace(encrypted, settings=settings)

    return allow
