"""A secret of each group goes through every door, and is found nowhere: no table, no log, no answer."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from benchmarks.trust.generated import case
from fastmcp import Client
from tests.support.service import Switch, called, on_loopback
from tests.support.stored_words import stored_words
from typer.testing import Result

from memory_butler.adapters.dashboard.actions import memory_actions
from memory_butler.adapters.mcp.tool_base import CallContext
from memory_butler.operations.history.replay import replay
from memory_butler.resources import Resources

# One of each group, and the forms that detectors find in different ways.
CANARIES = {
    "github_token": case("github", "gh|p_{x36}").text,
    "aws_key": case("aws", "AK|IA{A16}").text,
    "password": "Tr0ub4dor-" + "9XqZ7",
    "card_number": "4111 1111" + " 1111 1111",
    "iban": "DE89 3704 0044" + " 0532 0130 00",
    "us_ssn": "078-05" + "-1120",
}
SENTENCES = {
    "github_token": "The CI uses {} to publish.",
    "aws_key": "Deploy with {} as the key.",
    "password": "The database password is {} at home.",
    "card_number": "My card is {} for travel.",
    "iban": "The account is {} in Berlin.",
    "us_ssn": "My social security number is {} as of today.",
}
TEXTS = {kind: SENTENCES[kind].format(value) for kind, value in CANARIES.items()}


def is_clean(text: str) -> bool:
    plain = text.replace(" ", "")
    return not any(value in text or value.replace(" ", "") in plain for value in CANARIES.values())


@pytest.fixture
async def url(resources: Resources) -> AsyncIterator[str]:
    switch = Switch(resources.settings)
    switch.resources = resources
    async with on_loopback(switch) as door:
        yield door.url


async def over_mcp(url: str, kind: str) -> str:
    async with Client(f"{url}/mcp") as client:
        answers = [
            await called(client, "memory_store_fact", subject=f"mcp {kind}", predicate="note", content=TEXTS[kind]),
            await called(client, "memory_store_rule", content=TEXTS[kind], idempotency_key=f"k-{kind}"),
            await called(client, "memory_store_episode", content=TEXTS[kind], butler="main", tags=[kind]),
            await called(client, "memory_search", query=TEXTS[kind]),
        ]
    return json.dumps(answers)


async def over_rest(url: str, kind: str) -> str:
    async with httpx.AsyncClient(base_url=f"{url}/api/v1") as web:
        body = {"subject": f"rest {kind}", "predicate": "note", "content": TEXTS[kind], "idempotency_key": f"r-{kind}"}
        stored = await web.post("/store_fact", json=body)
        again = await web.post("/store_fact", json={**body, "metadata": {"note": TEXTS[kind]}})
        wrong = await web.post("/forget", json={"type": "fact", "id": stored.json()["ref"], "reason": TEXTS[kind]})
    return stored.text + again.text + wrong.text


async def over_hooks(url: str, kind: str) -> str:
    exchanges = [
        {"role": "user", "text": f"We decided to move. {TEXTS[kind]} We always test first.", "tools": []},
        {"role": "assistant", "text": f"Done: {TEXTS[kind]}", "tools": []},
    ]
    async with httpx.AsyncClient(base_url=url) as web:
        told = {"session_id": kind, "butler": "main", "exchanges": exchanges}
        ended = await web.post("/hooks/session-end", json=told)
        asked = {"event": "session-start", "prompt": TEXTS[kind], "butler": "main", "session_id": kind}
        briefed = await web.post("/hooks/briefing", json=asked)
    assert (ended.status_code, briefed.status_code) == (200, 200), briefed.text
    return ended.text + briefed.text


async def test_no_door_lets_a_secret_through(
    *,
    resources: Resources,
    url: str,
    owner: psycopg.Connection[Any],
    command: Callable[..., Result],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """MCP, REST with its idempotency keys and errors, hooks, the command line, an edit of the dashboard, importer."""
    context = CallContext(resources, resources.local_caller())
    with caplog.at_level(logging.DEBUG):
        for kind in CANARIES:
            said = await over_mcp(url, kind) + await over_rest(url, kind) + await over_hooks(url, kind)
            typed = await asyncio.to_thread(command, "remember", "fact", f"cli {kind}", "note", TEXTS[kind], "--json")
            assert typed.exit_code == 0
            ref = json.loads(typed.stdout)["ref"]
            edit = memory_actions.ActionInput(text=f"Now: {TEXTS[kind]}", reason=TEXTS[kind])
            edited = await memory_actions._correct(context, "fact", ref, edit)
            (tmp_path / f"{kind}.md").write_text(f"# Notes\n\n- {TEXTS[kind]}\n", encoding="utf-8")
            assert is_clean(said + typed.output + repr(edited))
        imported = await asyncio.to_thread(command, "import", str(tmp_path), "--from", "markdown")
        assert imported.exit_code == 0 and is_clean(imported.output)
    assert is_clean(stored_words(owner, resources.settings.tenant))
    # The client of this test is in the same process; what its libraries write when debugging is not the server's.
    ours = [record for record in caplog.records if record.name.startswith("memory_butler")]
    assert ours and is_clean("\n".join(record.getMessage() for record in ours))
    logs = resources.settings.home / "logs"
    assert all(is_clean(file.read_text(encoding="utf-8", errors="replace")) for file in logs.glob("*"))
    assert (await replay(resources)).equal
