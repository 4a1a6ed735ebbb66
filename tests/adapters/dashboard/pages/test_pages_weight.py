"""What a page weighs: everything that a browser loads on the first visit, and on one after it."""

from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext
from tests.adapters.dashboard.conftest import shown
from tests.support.service import Door

from memory_butler.models import NewFact
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

FIRST_BYTES, NEXT_BYTES = 950_000, 57_000


async def _loaded(context: BrowserContext, url: str) -> int:
    """The bytes that came over the wire for a page, compressed as they were."""
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    sizes: list[int] = []

    def note(event: dict[str, Any]) -> None:
        sizes.append(int(event["encodedDataLength"]))

    session.on("Network.loadingFinished", note)
    await session.send("Network.enable")
    await page.goto(url)
    await page.wait_for_selector("h1.mb-title")
    await page.wait_for_load_state("networkidle")
    await page.close()
    return sum(sizes)


@pytest.mark.parametrize("path", ["/", "/memories", "/graph", "/timeline", "memory"])
async def test_pages_are_light(chromium: Browser, dashboard: Door, resources: Resources, path: str) -> None:
    """At most 950 KB on the first visit, and 57 KB once the browser has the scripts."""
    stored = [
        await remember.fact(resources, NewFact(subject=f"Ana {number % 5}", predicate=f"p{number}", content="green"))
        for number in range(60)
    ]
    path = f"/memory/fact/{stored[0].ref}" if path == "memory" else path
    async with shown(chromium) as context:
        first = await _loaded(context, dashboard.url + path)
        then = await _loaded(context, dashboard.url + path)
    assert 100_000 < first <= FIRST_BYTES
    assert 0 < then <= NEXT_BYTES
