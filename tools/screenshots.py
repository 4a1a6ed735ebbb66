"""Screenshots of every page in light, dark and at phone width, on the demo store: `make screenshots`.

All of them go to build/screenshots; those that the documentation shows go to docs/images.
"""

import argparse
import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright
from tests.support.service import on_loopback

from memory_butler.adapters.demo.store import create_demo_store, demo_settings
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.models import MemoryType
from memory_butler.models.listings import Listing
from memory_butler.operations.browse import listings
from memory_butler.resources import Resources, open_resources
from memory_butler.store.embedded.server import EmbeddedPostgres

ROOT = Path(__file__).parents[1]
THEMES = {
    "light": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light", "device_scale_factor": 2},
}
DOCUMENTED = {
    "home-light",
    "facts-light",
    "memory-light",
    "memory-dark",
    "playground-light",
    "graph-dark",
    "timeline-light",
}
TIMEOUT_MS = 30_000


async def pages_of(resources: Resources) -> dict[str, str]:
    """The path of every page, with a memory or a prompt where the page needs one."""
    refs: dict[str, str] = {}
    for kind, subject in ((MemoryType.FACT, "Ana"), (MemoryType.RULE, None), (MemoryType.EPISODE, None)):
        [first, *_] = (await listings.memories(resources, Listing(type=kind, subject=subject))).items
        refs[str(kind)] = first.memory.ref
    wanted = Listing(type=MemoryType.FACT, subject="Ana", predicate="lives in", validity=("active",))
    [fact, *_] = (await listings.memories(resources, wanted)).items
    runs = await listings.runs(resources)
    waiting = next((run for run in runs.items if run.state == "waiting"), runs.items[0])
    prompt = "Plan+Ana%27s+trip+to+Rome+and+a+table+for+dinner"
    return {
        "home": "/",
        "memories": "/memories",
        "memories-pane": f"/memories?open=fact:{fact.memory.ref}",
        "facts": "/facts",
        "search": "/memories?q=sofia%27s+birthday",
        "subjects": "/subjects",
        "subject": "/subjects?name=Ana",
        "review": "/review",
        "memory": f"/memory/fact/{fact.memory.ref}",
        "memory-rule": f"/memory/rule/{refs['rule']}",
        "memory-episode": f"/memory/episode/{refs['episode']}",
        "playground": f"/playground?prompt={prompt}&butler=travel",
        "graph": "/graph?subject=Ana",
        "timeline": "/timeline",
        "consolidation": "/consolidation",
        "run": f"/consolidation?run={waiting.id}",
        "calls": "/calls",
        "butlers": "/butlers",
        "system": "/system",
    }


@asynccontextmanager
async def demo_store(home: Path | None) -> AsyncIterator[Resources]:
    """The demo store, open; created temporarily unless its folder is given."""
    is_temporary = home is None
    home = home or Path(tempfile.mkdtemp(prefix="mb-screenshots-"))
    try:
        if is_temporary:
            await asyncio.to_thread(create_demo_store, home, lambda done, total: None)
        async with open_resources(demo_settings(home)) as resources:
            yield resources
    finally:
        EmbeddedPostgres(home).stop()
        if is_temporary:
            shutil.rmtree(home, ignore_errors=True)


async def wait_until_drawn(page: Page) -> None:
    """Wait until the page is drawn, with its fonts, and nothing is loading."""
    await page.wait_for_selector("h1.mb-title")
    await page.wait_for_load_state("networkidle")
    await page.evaluate("document.fonts.ready")
    await page.wait_for_timeout(700)


async def take(browser: Browser, url: str, pages: dict[str, str], folder: Path, only: set[str]) -> list[str]:
    """Take all screenshots; returns the errors of the browser's console."""
    errors: list[str] = []
    for theme, options in THEMES.items():
        window = await browser.new_context(timezone_id="Europe/Lisbon", locale="en-GB", **options)  # type: ignore[arg-type]
        window.set_default_timeout(TIMEOUT_MS)
        page = await window.new_page()
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda problem: errors.append(str(problem)))
        for name, path in pages.items():
            if only and name not in only:
                continue
            await page.goto(url + path)
            await wait_until_drawn(page)
            await page.screenshot(path=folder / f"{name}-{theme}.png")
            print(f"{name}-{theme}")
        await window.close()
    return errors


async def main(home: Path | None, only: set[str]) -> int:
    folder = ROOT / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    async with demo_store(home) as resources, on_loopback(LazyResources.already_open(resources)) as door:
        pages = await pages_of(resources)
        async with async_playwright() as driver:
            browser = await driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            errors = await take(browser, door.url, pages, folder, only)
            await browser.close()
    images = ROOT / "docs" / "images"
    images.mkdir(parents=True, exist_ok=True)
    for name in sorted(DOCUMENTED):
        if (folder / f"{name}.png").exists() and not only:
            shutil.copy(folder / f"{name}.png", images / f"{name}.png")
    for problem in errors:
        print("browser console:", problem)
    return 1 if errors else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, help="Folder of an existing demo store.")
    parser.add_argument("pages", nargs="*", help="Only these pages.")
    arguments = parser.parse_args()
    raise SystemExit(asyncio.run(main(arguments.home, set(arguments.pages))))
