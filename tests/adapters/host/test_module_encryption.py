"""Encrypted text in the module of a host: only roles that may read it get it."""

from pathlib import Path

import pytest
from fastmcp import Client
from tests.adapters.conftest import caller_of
from tests.adapters.host.conftest import Handle
from tests.adapters.host.test_module import started, table

from memory_butler.store.encryption.master_keys import new_key


@pytest.mark.parametrize("role", ["agent", "admin"])
async def test_a_session_reads_encrypted_text_only_if_agents_may(host_dsn: str, home: Path, role: str) -> None:
    """A host's butlers are agents: their briefings and tools show the text only if that role reads it."""
    name = f"cook-{role}"
    encryption = {"key": new_key(), "readers": [role]}
    module, server = await started(table(home, encryption=encryption), Handle(host_dsn, schema=f"s_{role}"), name)
    try:
        async with Client(server) as client:
            call = caller_of(client)
            fact = {"subject": "Anna", "predicate": "allergies", "content": "severe nut allergy", "importance": 9}
            assert not (await call("memory_store_fact", **fact)).is_error
            found = (await call("memory_search", query="Anna allergies", min_relevance=0)).text
        told = (await module.before_session("Cook dinner for Anna")).text
    finally:
        await module.on_shutdown()
    for text in (found, told):
        hidden = "your role may not read encrypted text" in text
        assert ("severe nut allergy" in text, hidden) == (role == "agent", role != "agent")
