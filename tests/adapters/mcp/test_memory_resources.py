"""Memories as MCP resources, and prompts, as a client sees them."""

from typing import Any

import pytest
from fastmcp import Client
from fastmcp.exceptions import McpError
from tests.adapters.conftest import FACT, Call


async def test_resources_show_memories(client: Client[Any], call: Call) -> None:
    """The profile, a briefing and a fact are the texts that the tools answer with."""
    stored = await call("memory_store_fact", **FACT)
    await call("memory_store_fact", subject="user", predicate="name", content="Ines", importance=9)
    assert {str(one.uri) for one in await client.list_resources()} == {"memory://profile"}
    assert {one.uri_template for one in await client.list_resource_templates()} == {
        "memory://briefing/{task}",
        "memory://fact/{ref}",
    }
    [fact] = await client.read_resource(f"memory://fact/{stored.body['ref']}")
    assert "Anna likes green." in fact.text and stored.body["ref"] in fact.text
    [briefing] = await client.read_resource("memory://briefing/Paint%20for%20Anna")
    assert "Anna likes green." in briefing.text
    [profile] = await client.read_resource("memory://profile")
    assert "Ines" in profile.text


async def test_a_resource_that_is_not_there_says_what_to_do(client: Client[Any]) -> None:
    with pytest.raises(McpError, match="There is no fact:zzzz"):
        await client.read_resource("memory://fact/fact:zzzz")


async def test_prompts_name_the_tools(client: Client[Any]) -> None:
    assert {prompt.name for prompt in await client.list_prompts()} == {"remember", "recall", "review"}
    told = await client.get_prompt("remember", {"what": "I prefer tabs"})
    assert "I prefer tabs" in told.messages[0].content.text
    assert "memory_search" in (await client.get_prompt("recall", {"topic": "Anna"})).messages[0].content.text
