"""The server and then its database die under write load, in short: nothing acknowledged is lost or doubled."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.stories.durability import campaign, check

from memory_butler.store.embedded.server import EmbeddedPostgres


@pytest.fixture
def database(new_home: Any) -> Iterator[EmbeddedPostgres]:
    home: Path = new_home()
    server = EmbeddedPostgres(home)
    server.ensure_running()
    yield server
    server.stop()


async def test_what_was_acknowledged_is_there_once(database: EmbeddedPostgres) -> None:
    """Clients that try again with the same key end up with every episode stored once; a dead database is told as
    `target_unavailable`, and the server gets over it by itself."""
    ledger = await campaign(database, kills=(1, 1), seed=5)
    assert check(database, ledger) >= 18
    assert not set(ledger.refusals) & {"internal_error", "integrity_error", "conflict", "validation_error"}
