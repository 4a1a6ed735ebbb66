"""The demo store has something to show on every page of the dashboard."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_butler.adapters.demo import store
from memory_butler.adapters.demo.script import read_eight_weeks
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import Conflict
from memory_butler.models import MemoryType
from memory_butler.models.calls import CallFilter
from memory_butler.models.listings import Listing
from memory_butler.operations.browse import listings
from memory_butler.operations.retrieval import get
from memory_butler.operations.system import call_log
from memory_butler.operations.system.stats import stats
from memory_butler.resources import open_resources
from memory_butler.store.embedded.server import EmbeddedPostgres


def test_the_kept_store_has_something_for_every_page(new_home: Callable[[], Path]) -> None:
    """Eight weeks leave every state behind, proposals to decide on, a letter that could not be read and a wrong fact
    with the episode it came from; a second filling is refused, changes nothing and lets a server run that is in use."""
    home = new_home()
    try:
        count = store.create_demo_store(home, lambda done, total: None)
        server = EmbeddedPostgres(home)
        assert not server.is_running()
        server.ensure_running()
        (home / "config.toml").unlink()
        with pytest.raises(Conflict, match="already"):
            store.create_demo_store(home, lambda done, total: None)
        assert server.is_running() and not (home / "config.toml").exists()

        async def look_around() -> None:
            async with open_resources(store.demo_settings(home), embedder=FakeEmbedder()) as resources:
                found = await stats(resources)
                assert sum(sum(states.values()) for states in found["memories"].values()) == count
                assert set(found["memories"]["facts"]) == {"active", "expired", "fading", "retracted", "superseded"}
                assert {"anti_pattern", "candidate", "established"} <= set(found["rules_by_maturity"])
                assert found["episodes_by_consolidation"]["failed"] == 1
                assert found["consolidation"]["awaiting_review"] > 0
                assert len((await call_log.logged_calls(resources, CallFilter())).items) == call_log.USUAL_PAGE
                wanted = Listing(type=MemoryType.FACT, subject="Sofia", predicate="birthday")
                [wrong] = (await listings.memories(resources, wanted)).items
                assert wrong.memory.content == "12 June" and wrong.memory.source_episode_id is not None
                seen = await get.get(resources, "episode", str(wrong.memory.source_episode_id), bump=False)
                assert seen.memory.content == read_eight_weeks().episode("misheard").content

        asyncio.run(look_around())
    finally:
        EmbeddedPostgres(home).stop()
        shutil.rmtree(home)
