"""Claude Code's hooks: inputs as it sends them, the real command as its own process, and a real server."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from subprocess import CompletedProcess, run
from typing import Any
from uuid import uuid4

import pytest
from tests.support.service import Switch, on_loopback

from memory_butler.models import NewFact, NewRule, Question
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import Settings

COMMAND = [sys.executable, "-m", "memory_butler.adapters.entry"]
SESSION = "abc5fc7e-aa6d-41e9-a00f-4e6288dfd58f"
BUTLER = "acme.shop"
SECRET = "sk-ant-api03-" + "Zk4x9" * 18
Hook = Callable[..., Awaitable[CompletedProcess[str]]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A clone of a repository, in one of whose folders the session is."""
    folder = tmp_path / "clone"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / ".git" / "config").write_text(
        '[core]\n\tbare = false\n[remote "fork"]\n\turl = https://example.org/me/fork\n'
        '[remote "origin"]\n\turl = https://me:hunter2@github.com/Acme/Shop.git\n\tfetch = +refs/heads/*\n'
    )
    return folder


@pytest.fixture(scope="session")
async def served(settings: Settings) -> AsyncIterator[tuple[Switch, int]]:
    """The real application under a real server."""
    switch = Switch(settings)
    async with on_loopback(switch) as door:
        yield switch, door.port


@pytest.fixture
def port(resources: Resources, served: tuple[Switch, int]) -> int:
    """Where the test's butler is served."""
    switch, number = served
    switch.resources, switch.settings = resources, resources.settings
    return number


@pytest.fixture
def hook(tmp_path: Path, project: Path) -> Hook:
    """Run one hook with what Claude Code tells it. Whatever happens, its exit code is 0 and it complains of nothing."""

    async def call(
        event: str, port: int, told: dict[str, Any] | bytes, *, options: tuple[str, ...] = (), **environment: str
    ) -> CompletedProcess[str]:
        given = told if isinstance(told, bytes) else json.dumps(told).encode()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_BUTLER", "CLAUDE"))}
        variables = {"MEMORY_BUTLER_HOME": str(tmp_path), "MEMORY_BUTLER_PORT": str(port)}
        variables = {**variables, "MEMORY_BUTLER_HOOKS__START_SERVER": "false", **environment}
        # Longer than usual: on a busy machine it is not the clock that is tested.
        variables = {"MEMORY_BUTLER_HOOK_SECONDS": "30", **variables}

        def work() -> CompletedProcess[bytes]:
            arguments = [*COMMAND, *options, "hook", event]
            return run(arguments, input=given, capture_output=True, env={**kept, **variables}, check=False, timeout=60)

        done = await asyncio.to_thread(work)
        assert done.returncode == 0
        if variables.get("MEMORY_BUTLER_HOOK_DEBUG", "0") == "0":
            assert done.stderr == b""
        return CompletedProcess(done.args, 0, done.stdout.decode(), done.stderr.decode())

    return call


def started(project: Path, source: str = "startup", transcript: Path | None = None) -> dict[str, Any]:
    """As Claude Code 2.1 sends it."""
    path = transcript or project / "not-there.jsonl"
    return {
        "session_id": SESSION,
        "transcript_path": str(path),
        "cwd": str(project / "src"),
        "hook_event_name": "SessionStart",
        "source": source,
    }


def prompted(project: Path, prompt: str, transcript: Path | None = None, session: str = "") -> dict[str, Any]:
    """Claude Code creates the transcript after the first prompt."""
    path = transcript or project / "not-there.jsonl"
    return {
        "session_id": session or str(uuid4()),
        "transcript_path": str(path),
        "cwd": str(project / "src"),
        "prompt_id": "cd329b1d-bdaf-4fe3-97a0-fbe2489e4c2c",
        "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit",
        "prompt": prompt,
    }


def compacting(project: Path, transcript: Path) -> dict[str, Any]:
    return {
        "session_id": SESSION,
        "transcript_path": str(transcript),
        "cwd": str(project / "src"),
        "prompt_id": "8982cb0e-9889-45b5-bfeb-42f7ea32286f",
        "hook_event_name": "PreCompact",
        "trigger": "manual",
        "custom_instructions": None,
    }


def ended(project: Path, transcript: Path) -> dict[str, Any]:
    return {
        "session_id": SESSION,
        "transcript_path": str(transcript),
        "cwd": str(project / "src"),
        "prompt_id": "706f8568-e69e-49b5-831f-f24a56acc121",
        "hook_event_name": "SessionEnd",
        "reason": "other",
    }


def person(text: str, **marks: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}, "isSidechain": False, **marks}


def agent(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"type": "assistant", "message": {"role": "assistant", "content": list(blocks)}, "isSidechain": False}


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


LINES: list[dict[str, Any]] = [
    {"type": "queue-operation", "operation": "enqueue"},
    {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": ["# What I remember"]}},
    person("<local-command-caveat>Caveat: generated</local-command-caveat>", isMeta=True),
    person(f"Please move the invoices to Stripe. The key is {SECRET}. We always use Stripe in Europe."),
    agent(
        {"type": "thinking", "thinking": "hm"}, said("Let me look."), {"type": "tool_use", "id": "1", "name": "Bash"}
    ),
    agent({"type": "tool_use", "id": "2", "name": "Edit", "input": {"file_path": "/srv/shop/src/invoices.py"}}),
    agent({"type": "tool_use", "id": "3", "name": "Read", "input": {"file_path": "/srv/shop/secrets.py"}}),
    {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "rm -rf everything"}]}},
    person("We decided that the helper writes Chinese.", isSidechain=True),
    agent(said("Done. Invoices now use Stripe.\n- shop · test command: Tests run with make check. [fact:k3f7]")),
    {"type": "last-prompt", "lastPrompt": "x"},
]


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


async def project_memory(resources: Resources) -> None:
    await remember.fact(
        resources, NewFact(subject="shop", predicate="test_command", content="Tests run with make check.", scope=BUTLER)
    )
    await remember.rule(resources, NewRule(content="Run the linter before a commit.", scope=BUTLER))
    await remember.fact(
        resources, NewFact(subject="bakery", predicate="oven", content="The oven is a Miele.", scope="acme.bakery")
    )


async def episodes(resources: Resources) -> list[Any]:
    question = Question(query="invoices Stripe", types=("episode",), butler=BUTLER, min_relevance=0)
    return [found.hit for found in (await search.search(resources, question, bump=False)).results]


def context_in(answer: str, event: str = "SessionStart") -> str:
    output = json.loads(answer)["hookSpecificOutput"]
    assert output["hookEventName"] == event
    return str(output["additionalContext"])


def silence(done: CompletedProcess[str]) -> str:
    """Why the session starts without memory, as the user and the agent hear it."""
    told = json.loads(done.stdout)["systemMessage"]
    assert context_in(done.stdout) == told and "\n" not in told
    return str(told.partition(", because ")[2].partition(". ")[0])
