"""Read-your-writes over HTTP: the position of a write travels with its caller from one server to another."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import httpx
import pytest
from fastmcp import Client
from tests.support.replication import StreamingReplica, opened_planes, serves, until
from tests.support.service import on_loopback

from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.client.memory_client import MemoryClient
from memory_butler.models import NewFact, Question
from memory_butler.models.log_position import POSITION_HEADER, POSITION_META, parse_position
from memory_butler.resources import Resources

FACT = {"subject": "Anna", "predicate": "color", "content": "white"}
SEARCH = {"query": "Anna color", "min_relevance": 0}


@dataclass(frozen=True)
class Pair:
    """Two servers of one store, and the replica that both read from."""

    first: str
    second: str


@pytest.fixture
async def pair(resources: Resources, replica: StreamingReplica) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as stack:
        urls = []
        for _ in range(2):
            planes = await stack.enter_async_context(opened_planes(resources, replica.dsn()))
            await until(planes, serves)
            urls.append((await stack.enter_async_context(on_loopback(LazyResources.already_open(planes)))).url)
        # The log up to here has arrived, so that what follows is behind it.
        await asyncio.sleep(0.1)
        replica.pause_replay()
        try:
            yield Pair(*urls)
        finally:
            replica.resume_replay()


async def test_a_rest_caller_that_sends_the_position_sees_its_write_on_another_server(pair: Pair) -> None:
    async with httpx.AsyncClient() as http:
        stored = await http.post(f"{pair.first}/api/v1/store_fact", json=FACT)
        assert stored.status_code == 200
        position = stored.headers[POSITION_HEADER]
        assert parse_position(position) > 0
        there = await http.post(f"{pair.second}/api/v1/search", json=SEARCH)
        assert there.json()["count"] == 0 and POSITION_HEADER not in there.headers
        seen = await http.post(f"{pair.second}/api/v1/search", json=SEARCH, headers={POSITION_HEADER: position})
        assert [one["content"] for one in seen.json()["results"]] == ["white"]
        listed = await http.get(f"{pair.second}/api/v1/memories/fact", headers={POSITION_HEADER: position})
        assert [one["content"] for one in listed.json()["items"]] == ["white"]


async def test_an_mcp_caller_has_the_position_in_the_metadata(pair: Pair) -> None:
    async with Client(f"{pair.first}/mcp") as first, Client(f"{pair.second}/mcp") as second:
        stored = await first.call_tool("memory_store_fact", FACT)
        position = (stored.meta or {})[POSITION_META]
        without = await second.call_tool("memory_search", SEARCH)
        assert (without.structured_content or {})["count"] == 0
        seen = await second.call_tool("memory_search", SEARCH, meta={POSITION_META: position})
        assert (seen.structured_content or {})["count"] == 1
        wrong = await second.call_tool("memory_search", SEARCH, meta={POSITION_META: "7"}, raise_on_error=False)
        assert wrong.is_error and (wrong.structured_content or {})["error"] == "validation_error"


async def test_the_python_client_keeps_the_position_of_its_writes(pair: Pair) -> None:
    async with MemoryClient(pair.first) as first, MemoryClient(pair.second) as second:
        await first.store_fact(NewFact(subject="Anna", predicate="color", content="white"))
        question = Question(query="Anna color", min_relevance=0)
        assert not (await second.search(question)).results
        assert (await first.search(question)).results
        second._connection._position = first._connection._position
        assert (await second.search(question)).results


async def test_a_position_that_is_none_is_refused(pair: Pair) -> None:
    async with httpx.AsyncClient() as http:
        wrong = await http.post(f"{pair.first}/api/v1/search", json=SEARCH, headers={POSITION_HEADER: "soon"})
    assert wrong.status_code == 422
    assert wrong.json()["message"] == "'soon' is not a position."
