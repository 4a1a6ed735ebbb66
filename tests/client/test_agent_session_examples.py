"""The examples with a client run as they stand, against a real server; so does what the page about Python shows."""

import asyncio
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.client.scripted import Request, http, scripted

from memory_butler import NewFact, Question
from memory_butler.operations.retrieval import search
from memory_butler.operations.system import stats
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


async def run(*command: str, **environment: str) -> str:
    """Run Python; whatever it prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, problems = await asyncio.wait_for(process.communicate(), timeout=120)
    assert process.returncode == 0, problems.decode()
    return said.decode()


async def episodes(resources: Resources, query: str) -> list[str]:
    found = await search.search(resources, Question(query=query, types=("episode",), min_relevance=0), bump=False)
    return [entry.hit.content for entry in found.results]


async def test_the_plain_loop(url: str, resources: Resources) -> None:
    """Each task begins with what is known and leaves an episode; the next time that is known, too."""
    example = str(EXAMPLES / "plain_loop.py")
    said = await run(example, "Water the plants", "Water the plants", MEMORY_BUTLER_URL=url)
    assert re.findall(r"knowing (\d) things", said) == ["0", "1"]
    assert len(re.findall(r"^stored as episode:\w{4}$", said, re.MULTILINE)) == 2
    assert (await stats.stats(resources))["memories"]["episodes"] == {"active": 2}


async def test_the_plain_loop_without_a_server() -> None:
    """The work is done all the same, and it is said that memory was missing."""
    said = await run(str(EXAMPLES / "plain_loop.py"), "Water the plants", MEMORY_BUTLER_URL="http://127.0.0.1:9")
    assert "continuing without memory: context: target_unavailable" in said
    assert "working on 'Water the plants', knowing 0 things" in said and "not stored" in said


def completion(request: Request) -> bytes:
    """A model that looks up what it is asked, remembers something, and then answers."""
    said: dict[str, Any]
    messages = request.body["messages"]
    tools = [message for message in messages if message["role"] == "tool"]
    if "one sentence" in str(messages[-1].get("content")):
        said = {"role": "assistant", "content": "Anna was to get green tea."}
    elif len(tools) < 2:
        name, arguments = (
            ("search_memory", {"query": "Anna drinks tea"}),
            ("remember", {"subject": "Anna", "predicate": "visits", "content": "Anna comes on Tuesdays."}),
        )[len(tools)]
        function = {"name": name, "arguments": json.dumps(arguments)}
        said = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{len(tools)}", "type": "function", "function": function}],
        }
    else:
        said = {"role": "assistant", "content": f"Make this one: {tools[0]['content']}"}
    choice = {"index": 0, "finish_reason": "stop", "message": said}
    return http(
        200, json.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})
    )


async def test_the_openai_agent(url: str, resources: Resources) -> None:
    """What is known is in the system prompt, the model's own searches and facts go to the store, and an episode is
    left."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="drink", content="Anna drinks green tea."))
    async with scripted(completion) as model:
        said = await run(
            str(EXAMPLES / "openai_agent.py"),
            "Which tea shall I make for Anna?",
            MEMORY_BUTLER_URL=url,
            OPENAI_BASE_URL=f"{model.url}/v1",
            OPENAI_API_KEY="none",
        )
        first = model.requests[0]
    assert first.path == "/v1/chat/completions"
    assert "Anna drinks green tea." in first.body["messages"][0]["content"]
    assert re.search(r"Make this one: Anna · drink: Anna drinks green tea\. \[fact:\w{4}\]", said)
    assert "memory: fine" in said
    found = await search.search(resources, Question(query="Tuesdays", min_relevance=0, types=("fact",)), bump=False)
    assert "Anna comes on Tuesdays." in [entry.hit.content for entry in found.results]
    assert await episodes(resources, "tea") == ["Anna was to get green tea."]


async def test_the_pydantic_ai_agent(url: str, resources: Resources) -> None:
    """It finds what is stored with its tool, and leaves an episode."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="drink", content="Anna drinks green tea."))
    said = await run(str(EXAMPLES / "pydantic_ai_agent.py"), MEMORY_BUTLER_URL=url)
    assert "I remember: ['Anna · drink: Anna drinks green tea. [fact:" in said
    assert "memory: fine" in said
    assert await episodes(resources, "tea")


PAGES = ("guides/python.md", "getting-started/quick-start.md")
PAGE = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in PAGES)


@pytest.mark.parametrize("program", re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
async def test_what_the_page_shows_runs(
    program: str, url: str, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every program of the page runs as it is printed there, and prints what its last lines say."""
    monkeypatch.setenv("MEMORY_BUTLER_HOME", str(resources.settings.home))
    monkeypatch.setenv("MEMORY_BUTLER_TENANT", resources.settings.tenant)
    promised = [line.removeprefix("# → ") for line in program.splitlines() if line.startswith("# → ")]
    said: list[str] = []

    def note(*words: object) -> None:
        said.append(" ".join(map(str, words)))

    code = compile(program.replace("http://127.0.0.1:8150", url), "docs/guides/python.md", "exec")
    names: dict[str, Any] = {"__name__": "__main__", "print": note}
    # In a thread, as it brings a loop of its own.
    await asyncio.to_thread(exec, code, names)
    if memory := names.get("memory"):
        # A program that ends need not close it; this process goes on.
        await asyncio.to_thread(memory.close)
    assert promised and said == promised
