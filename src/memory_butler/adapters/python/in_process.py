"""A client of the store of this process: the routes of REST, called without a network.

So both ways of use have the same methods, answers, checks and errors.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from starlette.applications import Starlette

from memory_butler.adapters.lazy_resources import LazyResources, background_worker
from memory_butler.adapters.mcp.catalog import build_tools
from memory_butler.adapters.rest.app import mount_rest
from memory_butler.client.memory_client import MemoryClient
from memory_butler.models import Principal, Role
from memory_butler.settings import Settings

URL = "http://in-process"
# Opening an embedded store for the first time takes longest.
OPENING_SECONDS = 120.0


@asynccontextmanager
async def open_in_process(settings: Settings, deadline_seconds: float) -> AsyncIterator[MemoryClient]:
    """Open the store, and close it at the end. The caller is the owner of the store."""
    lazy = LazyResources(settings, worker=background_worker(settings))
    owner = Principal(settings.tenant, settings.butler, Role.ADMIN)
    try:
        resources = await lazy.get(OPENING_SECONDS)
        # The first start in a home folder prepares the model; a call must not pass its deadline for that.
        await resources.domains.phrases()
        app = Starlette()
        mount_rest(app, lazy, build_tools(lazy, owner))
        transport = httpx.ASGITransport(app=app)
        async with MemoryClient(URL, deadline_seconds=deadline_seconds, transport=transport) as client:
            yield client
    finally:
        await lazy.close()
