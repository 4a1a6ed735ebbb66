"""Encrypted text over MCP: only roles that may read it get it."""

from collections.abc import Callable

import pytest
from fastmcp import Client, FastMCP
from tests.adapters.conftest import HIDDEN, NUTS, caller_of
from tests.support.service import Switch

from memory_butler.resources import Resources


@pytest.mark.parametrize("role", ["admin", "agent"])
async def test_only_readers_get_encrypted_text(
    read_by: Callable[..., Resources], usual_server: tuple[Switch, FastMCP[None]], role: str
) -> None:
    """The local caller is an administrator: a search, a briefing and a look show the text only if that role reads."""
    switch, server = usual_server
    switch.resources = read_by(role)
    switch.settings = switch.resources.settings
    async with Client(server) as client:
        call = caller_of(client)
        found = await call("memory_search", query="Anna allergies", min_relevance=0)
        [one] = found.body["results"]
        told = await call("memory_context", trigger_prompt="Cook dinner for Anna", butler="main")
        shown = await call("memory_get", type="fact", id=one["ref"])
    for reply in (found, told, shown):
        assert (NUTS in reply.text, HIDDEN in reply.text) == (role == "admin", role != "admin")
