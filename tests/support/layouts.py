"""The layout of the tables that all tests run on: plain, or partitioned (`make test-partitioned`)."""

import asyncio
import os
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from memory_butler.operations.lifecycle import partitions
from memory_butler.resources import Resources
from memory_butler.settings import load_settings
from memory_butler.store.gate.database import Database

LAYOUT = "TESTS_LAYOUT"
# The tests' clock begins here; rows of the real clock are in the partition for other ids.
FIRST_MONTH = datetime(2026, 3, 1, tzinfo=UTC)


async def bring_into_layout(resources: Resources) -> None:
    """Move the tables into partitions, if these tests run on partitions."""
    if os.environ.get(LAYOUT) == "partitioned":
        await partitions.migrate(replace(resources, clock=lambda: FIRST_MONTH), lambda stage, done, total: None)


def bring_home_into_layout(home: Path) -> None:
    """The same for the store of a home folder, which gets no tenant; from code without an event loop of its own."""

    async def work() -> None:
        settings = load_settings(home=home)
        database = Database.from_settings(settings)
        await database.open()
        try:
            opened = SimpleNamespace(database=database, settings=settings, clock=lambda: FIRST_MONTH)
            await partitions.migrate(cast("Resources", opened), lambda stage, done, total: None)
        finally:
            await database.close()

    if os.environ.get(LAYOUT) == "partitioned":
        thread = threading.Thread(target=asyncio.run, args=(work(),))
        thread.start()
        thread.join()
