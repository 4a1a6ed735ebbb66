"""Every secret of both sets through every door: `python -m benchmarks.trust.doors [--every N]`.

A server, a client over stdio and commands work on one scratch store, as processes. Each door gets values of its own, so
that a value that is found afterwards in a table, a log or an answer names its door. After that, the episodes are
consolidated.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psycopg
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from psycopg import sql
from rich.table import Table

from benchmarks.support.machine import scratch_store, wide_console
from benchmarks.support.served import served
from benchmarks.trust.generated import Case
from benchmarks.trust.redaction import ENOUGH, all_secrets
from memory_butler.adapters.dashboard.actions import memory_actions
from memory_butler.adapters.mcp.tool_base import CallContext
from memory_butler.resources import open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

COMMAND = [sys.executable, "-m", "memory_butler.adapters.cli.app"]
IMPORTED = "imported"
# A secret of fewer characters is looked for together with the words before it: figures of four digits are everywhere.
ALONE_CHARACTERS, BEFORE_CHARACTERS = 10, 12
BATCH = 100
DEADLINE = "60"
# This is no measurement of speed: a busy machine may take its time.
PATIENCE_SECONDS = 300.0
CASES_PER_PROCESS = 12


@dataclass
class Visit:
    """The running server that the doors belong to, and what they answered."""

    home: Path
    url: str
    answers: dict[str, list[str]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "MEMORY_BUTLER_HOME": str(self.home), "MEMORY_BUTLER_DEADLINE_SECONDS": DEADLINE}

    def command(self, *arguments: str, **environment: str) -> str:
        done = subprocess.run(
            [*COMMAND, *arguments], env={**self.environment, **environment}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{arguments[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout + done.stderr

    def web(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, timeout=PATIENCE_SECONDS)


async def over_mcp(visit: Visit, cases: Sequence[Case]) -> list[str]:
    """Facts over HTTP, with the text in the metadata, too."""
    async with Client(f"{visit.url}/mcp") as client:
        return [
            json.dumps((await client.call_tool("memory_store_fact", arguments)).structured_content)
            for number, one in enumerate(cases)
            for arguments in (
                {"subject": f"mcp {number}", "predicate": "note", "content": one.text, "metadata": {"n": one.text}},
            )
        ]


async def over_stdio(visit: Visit, cases: Sequence[Case]) -> list[str]:
    """Episodes through a client's own process."""
    transport = StdioTransport(COMMAND[0], [*COMMAND[1:], "mcp"], env=visit.environment, keep_alive=False)
    async with Client(transport) as client:
        return [
            json.dumps(
                (
                    await client.call_tool("memory_store_episode", {"content": one.text, "butler": "stdio"})
                ).structured_content
            )
            for one in cases
        ]


async def over_rest(visit: Visit, cases: Sequence[Case]) -> list[str]:
    """Rules, with the text as key of the request, too."""
    async with visit.web() as web:
        return [
            (await web.post("/api/v1/store_rule", json={"content": one.text, "idempotency_key": one.text[:200]})).text
            for one in cases
        ]


async def as_corrections(visit: Visit, cases: Sequence[Case]) -> list[str]:
    """New values of facts, with the text as reason, too."""
    answers = []
    async with visit.web() as web:
        for number, one in enumerate(cases):
            fact = {"subject": f"corrected {number}", "predicate": "state", "content": "not known yet"}
            stored = (await web.post("/api/v1/store_fact", json=fact)).json()
            body = {"fact_id": stored["ref"], "content": one.text, "reason": one.text[:500]}
            answers.append((await web.post("/api/v1/correct", json=body)).text)
    return answers


async def in_batches(visit: Visit, cases: Sequence[Case]) -> list[str]:
    async with visit.web() as web:
        return [
            (await web.post("/api/v1/ingest_batch", json={"episodes": episodes})).text
            for first in range(0, len(cases), BATCH)
            for episodes in ([{"content": one.text, "butler": "batch"} for one in cases[first : first + BATCH]],)
        ]


async def through_hooks(visit: Visit, cases: Sequence[Case]) -> list[str]:
    """The last exchanges of sessions, and a briefing for a prompt with the secret."""
    answers = []
    async with visit.web() as web:
        for number, one in enumerate(cases):
            exchange = {"role": "user", "text": f"We decided to move. {one.text} We always test first.", "tools": []}
            told = {"session_id": f"hook-{number}", "butler": "hooks", "exchanges": [exchange]}
            asked = {"event": "user-prompt", "prompt": one.text, "butler": "hooks", "session_id": f"ask-{number}"}
            answers.append((await web.post("/hooks/session-end", json=told)).text)
            answers.append((await web.post("/hooks/briefing", json=asked)).text)
    return answers


async def in_the_dashboard(visit: Visit, cases: Sequence[Case]) -> list[str]:
    """Edits of facts, as the dialog of a page sends them."""
    answers = []
    async with open_resources(load_settings(home=visit.home)) as resources, visit.web() as web:
        context = CallContext(resources, resources.local_caller())
        for number, one in enumerate(cases):
            fact = {"subject": f"edited {number}", "predicate": "state", "content": "not known yet"}
            ref = (await web.post("/api/v1/store_fact", json=fact)).json()["ref"]
            edit = memory_actions.ActionInput(text=one.text, reason=one.text[:500])
            answers.append(repr(await memory_actions.ACTIONS["correct"].run(context, "fact", ref, edit)))
    return answers


async def by_command(visit: Visit, cases: Sequence[Case]) -> list[str]:
    """One process each, so only some of the secrets."""
    return [
        await asyncio.to_thread(visit.command, "remember", "fact", f"typed {number}", "note", one.text, "--json")
        for number, one in enumerate(cases[::CASES_PER_PROCESS])
        if not one.text.startswith("-")
    ]


async def from_notes(visit: Visit, cases: Sequence[Case]) -> list[str]:
    """A folder of Markdown notes."""
    folder = visit.home / "notes"
    folder.mkdir()
    for number, one in enumerate(cases):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\n{one.text}\n", encoding="utf-8")
    return [await asyncio.to_thread(visit.command, "import", str(folder), "--from", "markdown")]


async def from_an_export(visit: Visit, cases: Sequence[Case]) -> list[str]:
    """An export of a store that keeps everything, with its history."""
    with scratch_store() as server:
        keeping = {"MEMORY_BUTLER_HOME": str(server.home), "MEMORY_BUTLER_REDACTION__ACTIONS__ALL": "keep"}
        lines = "".join(f"# Note {number}\n\n{one.text}\n\n" for number, one in enumerate(cases))
        notes, export = server.home / "notes.md", visit.home / "export.jsonl"
        notes.write_text(lines, encoding="utf-8")
        await asyncio.to_thread(lambda: visit.command("import", str(notes), "--from", "markdown", **keeping))
        await asyncio.to_thread(lambda: visit.command("export", str(export), **keeping))
    if not any(secret in export.read_text(encoding="utf-8") for one in cases for secret in one.secrets):
        raise RuntimeError("the export holds no secret")
    try:
        return [await asyncio.to_thread(visit.command, "import", str(export), "--tenant", IMPORTED)]
    finally:
        export.unlink()


DOORS: dict[str, Callable[[Visit, Sequence[Case]], Awaitable[list[str]]]] = {
    "MCP over HTTP": over_mcp,
    "MCP over stdio": over_stdio,
    "REST": over_rest,
    "corrections": as_corrections,
    "batches": in_batches,
    "hooks": through_hooks,
    "dashboard": in_the_dashboard,
    "command line": by_command,
    "Markdown notes": from_notes,
    "export file": from_an_export,
}


def plain(text: str) -> str:
    """The words of a text: quoting and line breaks differ from table to table."""
    return re.sub(r"(?:\\[nrt]|[\W_])+", " ", text).casefold()


def probes(one: Case) -> Iterator[str]:
    """The words that must be found nowhere, for each line of each secret."""
    for secret in one.secrets:
        for line in secret.splitlines():
            at = one.text.find(line)
            before = one.text[max(0, at - BEFORE_CHARACTERS) : at] if len(line) < ALONE_CHARACTERS else ""
            if len(line) > 2 and plain(before + line).strip():
                yield plain(before + line).strip()


def everything_stored(server: EmbeddedPostgres) -> str:
    """All rows of all tables, and the logs."""
    words = [file.read_text(encoding="utf-8", errors="replace") for file in (server.home / "logs").glob("*")]
    with psycopg.connect(server.dsn("postgres", "memory")) as connection:
        tables = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables"
            " WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        for schema, table in tables:
            query = sql.SQL("SELECT t::text FROM {}.{} t").format(sql.Identifier(schema), sql.Identifier(table))
            words += [str(row[0]) for row in connection.execute(query)]
    return "\n".join(words)


async def measure(every: int = 1) -> dict[str, tuple[int, int]]:
    """By door: the secrets that are found nowhere, and all."""
    sent: dict[str, list[Case]] = {}
    with scratch_store() as server, served(server.home, SERVICE__AUTH="off", DEADLINE_SECONDS=DEADLINE) as running:
        visit = Visit(server.home, running.url)
        async with visit.web() as web:
            await running.ready(web, PATIENCE_SECONDS)
        for name, door in DOORS.items():
            cases = list(all_secrets(name))[::every]
            visit.answers[name] = await door(visit, cases)
            sent[name] = cases[::CASES_PER_PROCESS] if door is by_command else cases
        await asyncio.to_thread(visit.command, "consolidate")
        stored = plain(everything_stored(server))
    results = {}
    for name, cases in sent.items():
        words = stored + plain("\n".join(visit.answers[name]))
        missed = [one for one in cases if any(probe in words for probe in probes(one))]
        results[name] = (len(cases) - len(missed), len(cases))
    return results


def passes(results: dict[str, tuple[int, int]]) -> bool:
    return all(removed >= ENOUGH * size for removed, size in results.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="Only every Nth secret.")
    results = asyncio.run(measure(parser.parse_args().every))
    table = Table("door", "secrets", "found nowhere")
    for name, (removed, size) in results.items():
        table.add_row(name, str(size), f"{removed} ({removed / size:.1%})")
    wide_console().print(table)
    sys.exit(not passes(results))


if __name__ == "__main__":
    main()
