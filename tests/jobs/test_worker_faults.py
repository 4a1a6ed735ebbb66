"""Consolidation under fire, in short: worker processes are killed at every step of a run, and then it gets done."""

import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.jobs.conftest import until
from tests.jobs.consolidators import (
    STEPS,
    Crew,
    QuickClock,
    Story,
    settings_for,
)

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.resources import open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

SHARDS = [(f"t{number % 3}", f"b{number}") for number in range(8)]
EPISODES = 6


@pytest.fixture
def clock() -> QuickClock:
    return QuickClock()


@pytest.fixture
async def story(server: EmbeddedPostgres, database: str, clock: QuickClock) -> AsyncIterator[Story]:
    settings = load_settings(**settings_for(server, database))
    async with open_resources(settings, embedder=FakeEmbedder(), clock=clock) as resources:
        yield Story(resources, server.dsn("postgres", database))


@pytest.fixture
def crew(server: EmbeddedPostgres, database: str, clock: QuickClock, tmp_path: Path) -> Iterator[Crew]:
    found = Crew(settings_for(server, database), clock, tmp_path, size=3)
    yield found
    found.dismiss()


async def test_a_worker_killed_at_any_step_loses_nothing_and_doubles_nothing(story: Story, crew: Crew) -> None:
    """Three workers over eight shards of three tenants, one killed at each step and one at no step in particular: in
    the end every episode is consolidated once, all that it says is stored once, in its order, and a replay is equal."""
    for _ in range(EPISODES):
        for shard in SHARDS:
            await story.tell(*shard)
    for step in STEPS:
        crew.order(step)

    def done() -> bool:
        crew.muster()
        return not crew.orders and not story.count("pending")

    crew.muster()
    crew.kill_one(random.Random(1))
    await until(done, 120)
    crew.muster()
    assert crew.killed == len(STEPS) + 1
    assert story.rows("SELECT FROM memory.consolidation_runs WHERE state = 'lost'")
    await story.check()
