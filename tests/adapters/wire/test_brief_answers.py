"""Brief answers: what a model needs, and little more than the memories' own words."""

import json
from typing import Any

from fastmcp import Client

from memory_butler.adapters.mcp.server import build_server
from memory_butler.resources import Resources

FACTS = (
    ("Ana", "allergic_to:shellfish", "Ana is allergic to shellfish and carries an adrenaline pen since the spring."),
    ("Ana", "diet", "Ana eats fish and vegetables at home, but no meat unless her parents cook for everybody."),
    ("Ana", "works_at", "Ana works as a nurse at the children's clinic in Porto, mostly on night shifts."),
)


async def stored(client: Client[Any]) -> list[str]:
    references = []
    for subject, predicate, content in FACTS:
        arguments = {"subject": subject, "predicate": predicate, "content": content}
        references.append((await client.call_tool("memory_store_fact", arguments)).structured_content["ref"])
    return references


async def test_a_search_answers_with_lines_of_twice_the_length_of_the_memories_at_most(resources: Resources) -> None:
    async with Client(build_server(resources)) as client:
        references = await stored(client)
        found = await client.call_tool("memory_search", {"query": "Ana", "min_relevance": 0})
    text = found.content[0].text
    assert len(text) <= 2 * sum(len(content) for _, _, content in FACTS)
    assert all(f"[{reference}, " in text for reference in references)
    assert all(content in text for _, _, content in FACTS)
    fields = {"ref", "id", "type", "subject", "predicate", "content", "when", "confidence", "relevance"}
    assert all(set(result) == fields for result in found.structured_content["results"])


async def test_a_result_has_the_id_that_its_write_returned(resources: Resources) -> None:
    """A program finds what it stored without asking for details."""
    async with Client(build_server(resources)) as client:
        stored = await client.call_tool("memory_store_rule", {"content": "Ask Ana before booking."})
        found = await client.call_tool("memory_search", {"query": "booking", "min_relevance": 0})
    assert [one["id"] for one in found.structured_content["results"]] == [stored.structured_content["id"]]


async def test_details_are_there_on_request(resources: Resources) -> None:
    """The full answer has all that REST has; the brief one is a part of it."""
    async with Client(build_server(resources)) as client:
        await stored(client)
        arguments = {"query": "Ana shellfish", "min_relevance": 0, "limit": 1}
        brief = await client.call_tool("memory_search", arguments)
        full = await client.call_tool("memory_search", {**arguments, "detail": "full"})
        assert "parts" in full.structured_content["results"][0]
        assert brief.structured_content["results"][0].keys() < full.structured_content["results"][0].keys()
        assert json.loads(full.content[0].text) == full.structured_content


async def test_a_briefing_is_its_text(resources: Resources) -> None:
    async with Client(build_server(resources)) as client:
        await stored(client)
        told = await client.call_tool("memory_context", {"trigger_prompt": "Cook dinner for Ana", "butler": "chef"})
    assert told.content[0].text == told.structured_content["context"]
    assert told.structured_content.keys() == {"context", "receipt"}


async def test_one_memory_comes_with_what_it_replaced(resources: Resources) -> None:
    """A reference names its type, so none is needed."""
    async with Client(build_server(resources)) as client:
        first = (await stored(client))[1]
        changed = {"subject": "Ana", "predicate": "diet", "content": "Ana eats everything now."}
        second = (await client.call_tool("memory_store_fact", changed)).structured_content["ref"]
        seen = await client.call_tool("memory_get", {"id": second})
    assert "Ana eats everything now." in seen.content[0].text and f"[{first}]" in seen.content[0].text
    assert seen.structured_content["memory"]["ref"] == second
    assert "events" not in seen.structured_content
