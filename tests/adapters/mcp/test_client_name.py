"""The call log names the program that called."""

from fastmcp import Client
from mcp_types import Implementation

from memory_butler.adapters.mcp.server import build_server
from memory_butler.models.calls import CallFilter, LoggedCall
from memory_butler.operations.system import call_log
from memory_butler.resources import Resources

FACT = {"subject": "Anna", "predicate": "favorite_color", "content": "Anna likes green."}


async def logged(resources: Resources) -> list[LoggedCall]:
    await call_log.store_waiting(resources)
    return list((await call_log.logged_calls(resources, CallFilter())).items)


async def test_over_mcp_it_is_what_the_client_calls_itself(resources: Resources) -> None:
    """Without hidden characters, and not endless."""
    info = Implementation(name="claude\u202e-code\n" + "x" * 500, version="1")
    async with Client(build_server(resources), client_info=info) as client:
        await client.call_tool("memory_store_fact", FACT)
        await client.call_tool(
            "memory_search", {"query": "green", "request_context": {"request_id": "r1", "session_id": "s1"}}
        )
        await client.call_tool("memory_context", {"trigger_prompt": "What does Anna like?", "butler": "main"})
    context, search = await logged(resources)
    assert context.client == search.client and search.client.startswith("claude-code x") and len(search.client) <= 60
    assert (search.session_id, context.kind, search.kind) == ("s1", "briefing", "search")
