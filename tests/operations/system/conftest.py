"""A store of its own for tests of what is the same for all tenants."""

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from tests.conftest import MovingClock
from tests.support.own_store import BRISK, Row, own_database, reader, settings_for

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.resources import Resources, open_resources
from memory_butler.store.embedded.server import EmbeddedPostgres


@pytest.fixture
def database(server: EmbeddedPostgres, template: str) -> Iterator[str]:
    with own_database(server, template) as name:
        yield name


@pytest.fixture
async def alone(server: EmbeddedPostgres, database: str, clock: MovingClock) -> AsyncIterator[Resources]:
    """Resources on a store in which there is nobody else."""
    settings = settings_for(server, database, upkeep=BRISK)
    async with open_resources(settings, embedder=FakeEmbedder(), clock=clock) as opened:
        yield opened


@pytest.fixture
def own_rows(server: EmbeddedPostgres, database: str) -> Callable[..., list[Row]]:
    return reader(server, database)
