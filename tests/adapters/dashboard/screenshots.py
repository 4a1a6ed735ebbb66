"""Pictures of every page in light, dark and at phone width, on the demo store: `make screenshots`.

All of them go to build/screenshots; the few that the documentation shows go to docs/images.
"""

import argparse
import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright
from tests.service import on_loopback

from memory_butler.adapters.demo_store import demo_settings, filled
from memory_butler.adapters.opening import LateButler
from memory_butler.butler import Butler, open_butler
from memory_butler.models import MemoryType
from memory_butler.models.listings import Listing
from memory_butler.operations import browse
from memory_butler.store.embedded import EmbeddedPostgres

ROOT = Path(__file__).parents[3]
LOOKS = {
    "light": {"viewport": {"width": 1360, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1360, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light", "device_scale_factor": 2},
}
SHOWN = {
    "overview-light",
    "facts-light",
    "memory-light",
    "memory-dark",
    "playground-light",
    "graph-dark",
    "timeline-light",
}
PATIENCE_MS = 30_000


async def pages_of(butler: Butler) -> dict[str, str]:
    """Every page, with something to see on it."""
    found: dict[str, str] = {}
    for kind, subject in ((MemoryType.FACT, "Ana"), (MemoryType.RULE, None), (MemoryType.EPISODE, None)):
        [first, *_] = (await browse.memories(butler, Listing(type=kind, subject=subject))).items
        found[str(kind)] = first.memory.ref
    wanted = Listing(type=MemoryType.FACT, subject="Ana", predicate="lives in", validity=("active",))
    [moved, *_] = (await browse.memories(butler, wanted)).items
    runs = await browse.runs(butler)
    waiting = next((run for run in runs.items if run.state == "waiting"), runs.items[0])
    prompt = "Plan+Ana%27s+trip+to+Rome+and+a+table+for+dinner"
    return {
        "overview": "/",
        "facts": "/facts",
        "rules": "/rules",
        "episodes": "/episodes",
        "memory": f"/memory/fact/{moved.memory.ref}",
        "memory-rule": f"/memory/rule/{found['rule']}",
        "memory-episode": f"/memory/episode/{found['episode']}",
        "playground": f"/playground?prompt={prompt}&butler=travel",
        "graph": "/graph?subject=Ana",
        "timeline": "/timeline",
        "consolidation": "/consolidation",
        "run": f"/consolidation?run={waiting.id}",
        "butlers": "/butlers",
        "system": "/system",
    }


@asynccontextmanager
async def demo_store(kept: Path | None) -> AsyncIterator[Butler]:
    """The demo store, open; made for the occasion unless one is given."""
    home = kept or Path(tempfile.mkdtemp(prefix="mb-screenshots-"))
    try:
        if kept is None:
            await asyncio.to_thread(filled, home, lambda done, total: None)
        async with open_butler(demo_settings(home)) as butler:
            yield butler
    finally:
        EmbeddedPostgres(home).stop()
        if kept is None:
            shutil.rmtree(home, ignore_errors=True)


async def settled(page: Page) -> None:
    """Wait until everything is drawn: the frame, its fonts, and nothing that still loads."""
    await page.wait_for_selector("h1.mb-title")
    await page.wait_for_load_state("networkidle")
    await page.evaluate("document.fonts.ready")
    await page.wait_for_timeout(700)


async def take(browser: Browser, url: str, pages: dict[str, str], folder: Path, only: set[str]) -> list[str]:
    """All pictures; what the browser complained about meanwhile."""
    errors: list[str] = []
    for look, options in LOOKS.items():
        window = await browser.new_context(timezone_id="Europe/Lisbon", locale="en-GB", **options)  # type: ignore[arg-type]
        window.set_default_timeout(PATIENCE_MS)
        page = await window.new_page()
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda problem: errors.append(str(problem)))
        for name, path in pages.items():
            if only and name not in only:
                continue
            await page.goto(url + path)
            await settled(page)
            await page.screenshot(path=folder / f"{name}-{look}.png")
            print(f"{name}-{look}")
        await window.close()
    return errors


async def main(kept: Path | None, only: set[str]) -> int:
    folder = ROOT / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    async with demo_store(kept) as butler, on_loopback(LateButler.already_open(butler)) as door:
        pages = await pages_of(butler)
        async with async_playwright() as driver:
            browser = await driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            errors = await take(browser, door.url, pages, folder, only)
            await browser.close()
    images = ROOT / "docs" / "images"
    images.mkdir(parents=True, exist_ok=True)
    for name in sorted(SHOWN):
        if (folder / f"{name}.png").exists() and not only:
            shutil.copy(folder / f"{name}.png", images / f"{name}.png")
    for problem in errors:
        print("the browser said:", problem)
    return 1 if errors else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, help="A demo store that is there already.")
    parser.add_argument("pages", nargs="*", help="Only these.")
    given = parser.parse_args()
    raise SystemExit(asyncio.run(main(given.home, set(given.pages))))
