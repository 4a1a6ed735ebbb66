"""Encrypted text over REST: only roles that may read it get it."""

from collections.abc import Callable

import httpx
import pytest
from tests.adapters.conftest import HIDDEN, NUTS
from tests.adapters.rest.conftest import BASE, Door

from memory_butler.resources import Resources


@pytest.mark.parametrize("role", ["admin", "agent"])
async def test_only_readers_get_encrypted_text(read_by: Callable[..., Resources], door: Door, role: str) -> None:
    """The local caller is an administrator: tools, lists and briefings show the text only if that role reads."""
    door.switch.resources = read_by(role)
    async with httpx.AsyncClient(base_url=door.address + BASE) as web:
        replies = [
            await web.post("/search", json={"query": "Anna allergies", "min_relevance": 0}),
            await web.post("/context", json={"trigger_prompt": "Cook dinner for Anna", "butler": "main"}),
            await web.get("/memories/fact"),
        ]
    for reply in replies:
        assert reply.status_code == 200, reply.text
        assert (NUTS in reply.text, HIDDEN in reply.text) == (role == "admin", role != "admin")
