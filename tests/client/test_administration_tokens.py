"""The client of a server that asks who is calling."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from tests.support.service import on_loopback

from memory_butler import NewEpisode, NewFact, Question, Role
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.client import MemoryClient, session
from memory_butler.errors import PermissionDenied
from memory_butler.models import NewToken
from memory_butler.operations.access import tokens
from memory_butler.resources import Resources


@pytest.fixture
async def guarded(resources: Resources) -> AsyncIterator[str]:
    """A server with authentication, on the test's store."""
    service = resources.settings.service.model_copy(update={"auth": "required"})
    settings = resources.settings.model_copy(update={"service": service})
    async with on_loopback(LazyResources.already_open(replace(resources, settings=settings))) as door:
        yield door.url


async def token(resources: Resources, tenant: str, role: Role = Role.AGENT, name: str = "health") -> str:
    wanted = NewToken(tenant=tenant, butler=name, role=role)
    return (await tokens.create(resources, wanted, resources.local_operator()))[1]


async def test_a_token_says_who_is_calling(guarded: str, resources: Resources, tenant: str) -> None:
    """Without one nothing is answered, with one it is that butler's memory, and an operator may visit."""
    async with MemoryClient(guarded) as nobody, MemoryClient(guarded, token="mbt_wrong") as stranger:
        for client in (nobody, stranger):
            with pytest.raises(PermissionDenied) as raised:
                await client.search(Question(query="tea"))
            assert raised.value.recovery
            async with session(client, prompt="tea", butler="health") as s:
                assert s.degraded and s.degraded.startswith("context: permission_denied")
    async with MemoryClient(guarded, token=await token(resources, tenant)) as agent:
        await agent.store_episode(NewEpisode(content="Anna had green tea.", butler="health"))
        await agent.store_fact(NewFact(subject="Anna", predicate="drink", content="Anna drinks green tea."))
        with pytest.raises(PermissionDenied):
            await agent.store_episode(NewEpisode(content="x", butler="finance"))
        async with session(agent, prompt="Make Anna a green tea", butler="health") as s:
            assert "green tea" in s.context
            s.finish("Tea was made.")
        assert s.degraded is None
    elsewhere = f"{tenant}x"
    operator = await token(resources, elsewhere, Role.OPERATOR, "ops")
    question = Question(query="green tea", types=("fact",))
    async with MemoryClient(guarded, token=operator) as at_home:
        assert (await at_home.search(question)).results == ()
    async with MemoryClient(guarded, token=operator, tenant=tenant) as visiting:
        assert [result.hit.content for result in (await visiting.search(question)).results] == [
            "Anna drinks green tea."
        ]
    async with MemoryClient(guarded, token=await token(resources, elsewhere), tenant=tenant) as intruder:
        with pytest.raises(PermissionDenied):
            await intruder.search(question)
