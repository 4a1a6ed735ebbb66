"""The list of tools that a client sees: its size, its sets, and that unlisted tools stay callable."""

import json
from dataclasses import replace
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from tests.support.service import serving

from memory_butler.adapters.mcp.catalog import TOOLS
from memory_butler.adapters.mcp.listing import CORE, DISTILLING, STANDARD, parse_tool_set
from memory_butler.adapters.mcp.server import build_server
from memory_butler.errors import InvalidInput
from memory_butler.models import Role
from memory_butler.resources import Resources
from memory_butler.settings import McpSettings, ToolSet

TOKENS = 3500


def door(resources: Resources, tools: ToolSet) -> Client[Any]:
    settings = resources.settings.model_copy(update={"mcp": McpSettings(tools=tools)})
    return Client(build_server(replace(resources, settings=settings)))


async def names(client: Client[Any]) -> set[str]:
    return {tool.name for tool in await client.list_tools()}


async def test_the_usual_list_is_small(real_resources: Resources) -> None:
    """The twelve stable tools with their schemas stay within the limit, by the configured tokenizer and by four
    characters a token."""
    async with door(real_resources, McpSettings().tools) as client:
        tools = await client.list_tools()
    assert {tool.name for tool in tools} == CORE
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    text = json.dumps({"tools": listed}, separators=(",", ":"), ensure_ascii=False)
    assert len(text) / 4 <= TOKENS
    assert real_resources.tokens.count(text) <= TOKENS
    assert all(tool["outputSchema"]["properties"] for tool in listed)


async def test_sets_hold_each_other_and_what_is_not_listed_can_be_called(resources: Resources) -> None:
    async with door(resources, "core") as core, door(resources, "standard") as standard, door(resources, "all") as all_:
        assert await names(core) < await names(standard) < await names(all_)
        assert await names(all_) == TOOLS.keys() - DISTILLING
        stored = await core.call_tool("memory_store", {"content": "A note.", "tier": "mid"})
        assert stored.structured_content["outcome"] == "created"
        usual = next(tool for tool in await core.list_tools() if tool.name == "memory_search")
        full = next(tool for tool in await standard.list_tools() if tool.name == "memory_search")
        assert usual.input_schema["properties"].keys() < full.input_schema["properties"].keys()
        found = await core.call_tool("memory_search", {"query": "note", "expand": 1, "min_relevance": 0})
        assert found.structured_content["count"] == 1


def test_the_sets_name_only_tools_that_exist() -> None:
    assert TOOLS.keys() > STANDARD > CORE


async def test_a_header_chooses_the_set_of_a_client(resources: Resources, tenant: str) -> None:
    """Each client of one server sees the set it asks for; another word is refused with the words that are known."""
    async with serving(resources) as service:
        token = await service.token(tenant, Role.AGENT, "chef")
        for name, expected in (("core", CORE), ("standard", STANDARD)):
            headers = {"Memory-Butler-Tools": name}
            transport = StreamableHttpTransport(f"{service.url}/mcp", headers=headers, auth=token)
            async with Client(transport) as client:
                assert await names(client) == expected
    with pytest.raises(InvalidInput, match="'most' is not a set of tools"):
        parse_tool_set("most")
