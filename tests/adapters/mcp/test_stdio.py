"""The stdio door as real processes: pure protocol on stdout, several at once on one store, and a clean end."""

import asyncio
import json
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from tests.adapters.conftest import PARAMETERS, caller_of

from memory_butler.adapters.mcp.server import INSTRUCTIONS
from memory_butler.store.embedded.server import EmbeddedPostgres

CLI = [sys.executable, "-m", "memory_butler.adapters.cli.app", "mcp"]
PATIENCE_SECONDS = 60
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def _env(home: Path, tenant: str) -> dict[str, str]:
    # The first call may come before the store is open on a busy machine; it is to wait for it.
    more = {"MEMORY_BUTLER_HOME": str(home), "MEMORY_BUTLER_TENANT": tenant, "MEMORY_BUTLER_DEADLINE_SECONDS": "30"}
    more["MEMORY_BUTLER_MCP__TOOLS"] = "all"
    # This home is full of other tests' tenants, and none of them is to be looked after.
    return {**os.environ, **more, "MEMORY_BUTLER_UPKEEP__WORKER": "false"}


class Agent:
    """A client that speaks the protocol by hand and sees every byte the server writes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin and process.stdout and process.stderr
        self.process, self.input, self.output, self.errors = process, process.stdin, process.stdout, process.stderr
        self._last = 0

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._last += 1
        await self.tell(method, id=self._last, params=params)
        line = await asyncio.wait_for(self.output.readline(), PATIENCE_SECONDS)
        reply: dict[str, Any] = json.loads(line)
        assert (reply["jsonrpc"], reply["id"]) == ("2.0", self._last)
        return reply["result"]

    async def tell(self, method: str, **more: Any) -> None:
        self.input.write(json.dumps({"jsonrpc": "2.0", "method": method, **more}).encode() + b"\n")
        await self.input.drain()

    async def greet(self) -> dict[str, Any]:
        result = await self.ask("initialize", **HELLO)
        await self.tell("notifications/initialized")
        return result

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return (await self.ask("tools/call", name=tool, arguments=arguments))["structuredContent"]

    async def end(self) -> tuple[int, bytes, bytes]:
        """Wait for the end; gives the exit code and what was left on stdout and stderr."""
        code = await asyncio.wait_for(self.process.wait(), PATIENCE_SECONDS)
        return code, await self.output.read(), await self.errors.read()


@asynccontextmanager
async def agent(home: Path, tenant: str, **more: str) -> AsyncIterator[Agent]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *CLI, env=_env(home, tenant) | more, stdin=pipe, stdout=pipe, stderr=pipe, limit=2**22
    )
    try:
        yield Agent(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
def tenant() -> str:
    return f"t{uuid.uuid4().hex[:16]}"


# A start takes seconds, so each of these tests ends its servers in another way: input's end, SIGTERM, SIGINT.


async def test_only_protocol_is_on_stdout_and_the_end_is_clean(
    home: Path, tenant: str, server: EmbeddedPostgres
) -> None:
    """Every line is an answer, errors included; lines that are no protocol are passed over, and the next request is
    answered. The end of its input ends it with 0, and the database stays."""
    async with agent(home, tenant) as one:
        assert (await one.greet())["instructions"] == INSTRUCTIONS
        assert {tool["name"] for tool in (await one.ask("tools/list"))["tools"]} == set(PARAMETERS)
        assert (await one.call("memory_store_rule", content="Say little."))["outcome"] == "created"
        assert (await one.call("memory_store_rule"))["error"] == "validation_error"
        assert (await one.call("memory_get", type="rule", id="zzzz"))["error"] == "not_found"
        one.input.write(b"this is not JSON\n\xff\xfe\n{}\n")
        await one.tell("tools/list", id="after")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (reply := json.loads(await one.output.readline())).get("id") != "after":
                assert "error" in reply
        assert {tool["name"] for tool in reply["result"]["tools"]} == set(PARAMETERS)
        one.input.close()
        assert await one.end() == (0, b"", b"")
    assert server.is_running()


async def test_two_servers_share_one_store_and_one_survives_the_other(
    home: Path, tenant: str, server: EmbeddedPostgres
) -> None:
    """What one stores the other finds, and a kill in the middle of one's work does not harm the other, which a polite
    signal ends with 0."""
    async with agent(home, tenant) as doomed, agent(home, tenant) as other:
        await asyncio.gather(doomed.greet(), other.greet())
        first, second = await asyncio.gather(
            doomed.call("memory_store_rule", content="Water the plants on Monday."),
            other.call("memory_store_rule", content="Feed the cat on Tuesday."),
        )
        assert first["ref"] != second["ref"]
        for number in range(20):
            call = {"name": "memory_store_rule", "arguments": {"content": f"Rule of the doomed, number {number}."}}
            await doomed.tell("tools/call", id=f"w{number}", params=call)
        await doomed.output.readline()
        doomed.process.kill()
        await doomed.process.wait()
        found = await other.call("memory_search", query="water the plants", mode="keyword")
        assert first["ref"] in [result["ref"] for result in found["results"]]
        assert (await other.call("memory_store_rule", content="Carry on."))["outcome"] == "created"
        other.process.send_signal(signal.SIGTERM)
        assert await other.end() == (0, b"", b"")
    assert server.is_running()


async def test_a_ready_made_client_works_over_stdio(home: Path, tenant: str) -> None:
    """The library's own client, started the way agents start servers, remembers and is briefed."""
    transport = StdioTransport(CLI[0], CLI[1:], env=_env(home, tenant), keep_alive=False)
    async with Client(transport) as client:
        call = caller_of(client)
        stored = await call("memory_store_fact", subject="Anna", predicate="drink", content="Anna drinks green tea.")
        briefing = await call("memory_context", trigger_prompt="What does Anna drink?", butler="host")
    assert stored.body["ref"] in briefing.body["context"]


async def test_a_store_that_cannot_be_opened_leaves_the_server_standing(tmp_path: Path, tenant: str) -> None:
    """With no database to be had, the tools are there and say that memory is unavailable and what to do; Ctrl-C ends
    it with 0 all the same."""
    more = {"MEMORY_BUTLER_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none", "MEMORY_BUTLER_DEADLINE_SECONDS": "5"}
    async with agent(tmp_path, tenant, **more) as one:
        await one.greet()
        assert {tool["name"] for tool in (await one.ask("tools/list"))["tools"]} == set(PARAMETERS)
        for _ in range(2):
            reply = await one.call("memory_search", query="anything")
            assert (reply["error"], reply["retryable"]) == ("target_unavailable", True)
            assert reply["recovery"]
        one.process.send_signal(signal.SIGINT)
        assert await one.end() == (0, b"", b"")
    assert (tmp_path / "logs" / "memory-butler.log").stat().st_mode & 0o077 == 0
