"""Reads while the tenant is being written to."""

import asyncio

from memory_butler.models import NewFact, Question
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources


async def test_a_read_does_not_wait_for_a_write_of_its_tenant(resources: Resources, tenant: str) -> None:
    """A long write holds the tenant's lock: the answer comes without being counted, and says so."""
    stored = await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="Anna likes green."))
    async with resources.database.write(tenant, resources.clock()):
        async with asyncio.timeout(resources.settings.deadline_seconds):
            answer = await search.search(resources, Question(query="What does Anna like?"))
            details = await get.get(resources, "fact", stored.ref)
    assert [one.hit.ref for one in answer.results] == [stored.ref]
    assert any("references were not counted" in note for note in answer.degraded)
    assert details.memory.ref == stored.ref
    again = await search.search(resources, Question(query="What does Anna like?"))
    assert again.degraded == ()
