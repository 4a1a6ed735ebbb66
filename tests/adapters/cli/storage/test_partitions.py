"""The commands for partitions, as a person types them."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from tests.support.own_database import own_database
from typer.testing import Result

from memory_butler.models import NewFact
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres

Type = Callable[..., Awaitable[Result]]


@pytest.fixture
async def own(server: EmbeddedPostgres, settings: Settings, plain_template: str) -> AsyncIterator[Resources]:
    async with own_database(server, settings, plain_template) as resources:
        yield resources


async def test_a_store_is_moved_by_a_command(own: Resources, terminal: Callable[[Resources], Type]) -> None:
    """The status tells the layout before and after; a second move and a needless cancel say that there is nothing."""
    await remember.fact(own, NewFact(subject="Anna", predicate="color", content="Anna likes green."))
    type_in = terminal(own)
    before = await type_in("partitions", "status")
    assert before.exit_code == 0, before.output
    assert "memory_events: about" in before.output and "plain" in before.output
    moved = await type_in("partitions", "migrate")
    assert "memory_events: 1 rows are in partitions now." in moved.output
    said = json.loads((await type_in("partitions", "status", "--json")).stdout)
    assert [(one["base"], one["layout"], one["is_due"]) for one in said] == [
        ("memory_events", "partitioned", False),
        ("episodes", "partitioned", False),
    ]
    assert said[0]["partitions"][0]["name"] == "memory_events_pbefore"
    assert "memory_events_pother" in (await type_in("partitions", "status")).output
    assert "All tables have partitions already." in (await type_in("partitions", "migrate")).output
    assert "There is no move to give up." in (await type_in("partitions", "migrate", "--cancel")).output
