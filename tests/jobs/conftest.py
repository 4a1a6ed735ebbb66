"""A store of its own for each test of the jobs: upkeep looks after every tenant that it finds."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from tests.conftest import MovingClock
from tests.support.own_store import BRISK, Row, own_database, reader, settings_for

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.jobs.job_run import FinishedRun
from memory_butler.jobs.worker import Worker
from memory_butler.models import NewRule
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources, open_resources
from memory_butler.store.embedded.server import EmbeddedPostgres


@pytest.fixture
def database(server: EmbeddedPostgres, template: str) -> Iterator[str]:
    """The name of a database that only this test uses."""
    with own_database(server, template) as name:
        yield name


@pytest.fixture
async def resources(server: EmbeddedPostgres, database: str, clock: MovingClock) -> AsyncIterator[Resources]:
    """A butler on the test's own store, whose upkeep looks often, with a clock that stands still."""
    brisk = settings_for(server, database, upkeep=BRISK)
    async with open_resources(brisk, embedder=FakeEmbedder(), clock=clock) as opened:
        yield opened


@pytest.fixture
def rows(server: EmbeddedPostgres, database: str) -> Callable[..., list[Row]]:
    """What a statement finds, past row-level security."""
    return reader(server, database)


async def settle(resources: Resources, *shards: str) -> None:
    """Have shards, each `tenant/butler`: a butler is there from its first memory on."""
    for shard in shards:
        tenant, name = shard.split("/")
        own = replace(resources, settings=resources.settings.model_copy(update={"tenant": tenant, "butler": name}))
        await remember.rule(own, NewRule(content="Be brief.", scope=name), shard_of(tenant, name))


async def do_all_that_is_due(resources: Resources, **more: Any) -> list[FinishedRun]:
    ran: list[FinishedRun] = []
    await Worker(resources, on_run=ran.append, **more).once(asyncio.Event())
    return ran


async def until(condition: Callable[[], Any], seconds: float = 20) -> Any:
    """What a condition gives once it gives something."""
    async with asyncio.timeout(seconds):
        while not (found := await asyncio.to_thread(condition)):  # noqa: ASYNC110 (only the store knows when)
            await asyncio.sleep(0.02)
    return found


class Working:
    """Upkeep that goes on beside a test."""

    def __init__(self, upkeep: Worker) -> None:
        self.upkeep = upkeep
        self.stop = asyncio.Event()

    async def __aenter__(self) -> "Working":
        self.task = asyncio.create_task(self.upkeep.run(self.stop))
        return self

    async def __aexit__(self, *error: object) -> None:
        self.stop.set()
        with suppress(asyncio.CancelledError):
            await self.task
