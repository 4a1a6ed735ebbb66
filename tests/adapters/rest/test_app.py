"""The door keeps its promises: what its OpenAPI says is what it does."""

import asyncio

import httpx
from tests.adapters.rest.campaign import LEFT_OUT, campaign
from tests.adapters.rest.conftest import Door
from tests.adapters.rest.planting import Planting

from memory_butler.resources import Resources


async def test_made_up_calls_break_no_promise(door: Door, resources: Resources) -> None:
    """Good and bad calls of every operation: no server error, only statuses, media types and shapes that are announced;
    and each operation also did what it is for.

    A campaign with many more calls is `make test-rest`.
    """
    door.switch.resources = resources
    planting = Planting(resources, asyncio.get_running_loop())
    seen = await asyncio.to_thread(campaign, door.address, 2, planting)
    async with httpx.AsyncClient(base_url=door.address) as web:
        paths = (await web.get("/api/v1/openapi.json")).json()["paths"]
    offered = {
        f"{method.upper()} {path}"
        for path, methods in paths.items()
        for method in methods
        if method != "parameters" and path not in LEFT_OUT
    }
    assert {label for label, status in seen if status < 300} == offered
    assert {status for _, status in seen} <= {200, 201, 403, 404, 409, 422}


async def test_a_total_is_announced_only_where_it_is_returned(door: Door, resources: Resources) -> None:
    """Only the list of memories is counted."""
    door.switch.resources = resources
    async with httpx.AsyncClient(base_url=door.address) as web:
        paths = (await web.get("/api/v1/openapi.json")).json()["paths"]
    lists = {
        path: "total" in answer["properties"]
        for path, methods in paths.items()
        if "get" in methods
        for answer in [methods["get"]["responses"]["200"]["content"].get("application/json", {}).get("schema", {})]
        if "items" in answer.get("properties", {}) and "cursor" in answer["properties"]
    }
    assert len(lists) == 7
    assert [path for path, counted in lists.items() if counted] == ["/memories/{type}"]
