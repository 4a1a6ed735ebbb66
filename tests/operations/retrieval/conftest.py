"""What the tests of retrieval share: the store of the tests with tiny models of other sizes."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.ai.optional_models import tiny_embedding

from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings

OpenTiny = Callable[..., AbstractAsyncContextManager[Resources]]


@pytest.fixture
def opened(home: Path, tenant: str, tmp_path: Path, shared_resources: Resources) -> OpenTiny:
    """Open the store of the tests with a tiny model of so many dimensions."""

    @asynccontextmanager
    async def open_with(dimensions: int, **embedding: Any) -> AsyncIterator[Resources]:
        folder = tmp_path / f"tiny-{dimensions}"
        if not folder.exists():
            tiny_embedding.write(folder, dimensions)
        settings = load_settings(home=home, tenant=tenant, embedding={"model": str(folder), **embedding})
        async with open_resources(settings) as resources:
            yield resources

    return open_with
