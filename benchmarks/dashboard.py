"""How soon the dashboard's pages are there with 100,000 facts: `python -m benchmarks.dashboard`.

A real server process, a real browser on the same machine. A page counts as there when what it is for stands in the
document and two frames have been drawn since; the clock is the browser's own, from the start of the navigation. A
filter change counts from the last key or click until the new rows are there. Then every page is opened once more with
the database writing down each statement, and the statements are listed with their names and times.
"""

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
from playwright.async_api import Page, async_playwright
from rich.console import Console
from rich.table import Table

from benchmarks.support import machine
from benchmarks.support.latency import percentile
from benchmarks.support.load_store import Pool, Size, load_store
from benchmarks.support.sentences import sentences
from memory_butler.models import Caller, MemoryType, Principal, Role
from memory_butler.models.listings import Listing
from memory_butler.operations.browse import listings
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.gate.queries import Names, load_queries

SEED = 20_260_107
GOAL_MS = 1000
PORT = 8199
TENANT = "large"
WARM_UPS = 3
START_SECONDS = 60
LARGE = Size(100_000, 1_000, 5_000)


@dataclass(frozen=True, slots=True)
class Plan:
    size: Size = LARGE
    pool: int = 2_000
    loads: int = 20
    changes: int = 20


QUICK = Plan(size=Size(2_000, 50, 200), pool=200, loads=3, changes=2)

# What a page is for, by what must stand in it.
MEANING = {
    "overview": ("/", ".mb-main .nicegui-echart svg"),
    "memories": ("/memories", ".mb-main tbody tr td a"),
    "search": ("/memories?q=ferry+ticket", ".mb-main tbody tr td a"),
    "facts": ("/facts", ".mb-main tbody tr td a"),
    "rules": ("/rules", ".mb-main tbody tr td a"),
    "episodes": ("/episodes", ".mb-main tbody tr td a"),
    "memory": ("/memory/fact/{fact}", ".mb-main .nicegui-echart svg"),
    "playground": ("/playground?prompt=ferry+ticket", ".mb-main pre"),
    "graph": ("/graph?center=fact:{fact}", ".mb-main .nicegui-echart svg"),
    "timeline": ("/timeline", ".mb-main time"),
    "consolidation": ("/consolidation", ".mb-main .mb-card"),
    "butlers": ("/butlers", ".mb-butler"),
    "system": ("/system", ".mb-main table"),
}
WATCH = """
window.memoryButlerMeaning = undefined;
window.memoryButlerShift = 0;
new PerformanceObserver((seen) => {
  for (const one of seen.getEntries()) if (!one.hadRecentInput) window.memoryButlerShift += one.value;
}).observe({ type: 'layout-shift', buffered: true });
addEventListener('DOMContentLoaded', () => {
  const look = () => {
    if (document.querySelector(%s)) {
      requestAnimationFrame(() => requestAnimationFrame(() => { window.memoryButlerMeaning = performance.now(); }));
      return true;
    }
    return false;
  };
  if (!look()) {
    const watcher = new MutationObserver(() => { if (look()) watcher.disconnect(); });
    watcher.observe(document.documentElement, { childList: true, subtree: true });
  }
});
"""


@contextmanager
def served(home: Path) -> Iterator[str]:
    """The server in a process of its own, without a worker: nothing else happens while pages are timed."""
    environment = {**os.environ, "MEMORY_BUTLER_HOME": str(home), "MEMORY_BUTLER_PORT": str(PORT)}
    environment["MEMORY_BUTLER_TENANT"] = TENANT
    command = [sys.executable, "-m", "memory_butler.adapters.entry", "serve", "--no-worker"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{PORT}"
    try:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            try:
                if httpx.get(f"{url}/health/ready", timeout=5).status_code == 200:
                    break
            except httpx.HTTPError:
                time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=20)


async def pages_of(resources: Resources) -> dict[str, tuple[str, str]]:
    caller = Caller(Principal(TENANT, resources.settings.butler, Role.ADMIN))
    [first, *_] = (await listings.memories(resources, Listing(type=MemoryType.FACT), caller, limit=1)).items
    return {name: (path.format(fact=first.memory.ref), selector) for name, (path, selector) in MEANING.items()}


async def first_paints(page: Page, url: str, selector: str, count: int) -> tuple[list[float], float]:
    """Milliseconds until a page is there, load after load; and how much of the last one moved while it loaded."""
    await page.add_init_script(WATCH % repr(selector))
    found = []
    for number in range(WARM_UPS + count):
        await page.goto(url)
        await page.wait_for_function("window.memoryButlerMeaning !== undefined", timeout=30_000)
        if number >= WARM_UPS:
            found.append(await page.evaluate("window.memoryButlerMeaning"))
    # What comes after the first paint must not move what is there.
    await page.wait_for_load_state("networkidle")
    await page.wait_for_timeout(1000)
    return found, float(await page.evaluate("window.memoryButlerShift"))


# What a person changes on the page of facts, and what the address says afterwards.
WORDS = ("ferry", "landlord", "piano", "garden", "kayak", "doctor", "passport", "teapot", "train", "baker")
SORTS = ("confidence", "importance", "last_referenced", "observed")
STATES = ("fading", "all", "superseded", "active")
DONE = """([name, value]) => new URL(location).searchParams.get(name) === value
    && document.querySelector('.mb-list[aria-busy=false]') && performance.now() - window.memoryButlerFrom"""


async def filter_changes(page: Page, url: str, count: int) -> dict[str, list[float]]:
    """Milliseconds from a change of words, order or state until the new rows are there, by the browser's clock."""
    await page.goto(f"{url}/facts")
    await page.wait_for_selector("tbody tr td a")
    found: dict[str, list[float]] = {"words": [], "order": [], "state": []}
    box = page.get_by_role("searchbox")
    await page.click(".mb-filters-toggle")
    state = page.locator(".mb-field-validity select")
    sort = page.get_by_label("Sort by")
    for number in range(count):
        word, validity = WORDS[number % len(WORDS)], STATES[number % len(STATES)]
        order = SORTS[number % len(SORTS)]
        word += f" {WORDS[(number // len(WORDS) + number + 1) % len(WORDS)]}" if number >= len(WORDS) else ""
        await box.fill(word)
        found["words"].append(await _until(page, box.press("Enter"), "q", word))
        await box.fill("")
        await _until(page, box.press("Enter"), "q", None)
        found["order"].append(await _until(page, sort.select_option(order), "sort", order))
        found["state"].append(await _until(page, state.select_option(validity), "validity", validity))
        await page.goto(f"{url}/facts")
        await page.wait_for_selector("tbody tr td a")
    return found


async def _until(page: Page, change: Awaitable[Any], name: str, value: str | None) -> float:
    await page.evaluate("window.memoryButlerFrom = performance.now()")
    await change
    passed = await page.wait_for_function(DONE, arg=[name, value], timeout=30_000)
    return float(await passed.json_value())


async def in_the_browser(url: str, pages: dict[str, tuple[str, str]], plan: Plan, console: Console) -> dict[str, Any]:
    result: dict[str, Any] = {"pages": {}, "errors": []}
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (path, selector) in pages.items():
            window = await browser.new_context(viewport={"width": 1360, "height": 900})
            page = await window.new_page()
            page.on("pageerror", lambda problem: result["errors"].append(str(problem)))
            times, shift = await first_paints(page, url + path, selector, plan.loads)
            result["pages"][name] = {**_summed(times), "layout_shift": round(shift, 3)}
            console.print(f"{name}: {result['pages'][name]}")
            await window.close()
        window = await browser.new_context(viewport={"width": 1360, "height": 900})
        changes = await filter_changes(await window.new_page(), url, plan.changes)
        result["filter changes"] = {name: _summed(values) for name, values in changes.items() if values}
        await browser.close()
    return result


def _summed(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "p50_ms": round(percentile(ordered, 0.5)),
        "p95_ms": round(percentile(ordered, 0.95)),
        "loads": len(ordered),
    }


def statements(server: EmbeddedPostgres, url: str, paths: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Every page once more, the second time over, with the database writing down its statements."""
    found = {}
    for name, path in paths.items():
        httpx.get(url + path, timeout=30)
        with psycopg.connect(server.dsn("postgres", "memory"), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET log_min_duration_statement = 0")
            connection.execute("SELECT pg_reload_conf()")
        time.sleep(0.5)
        offset = server.log_file.stat().st_size
        httpx.get(url + path, timeout=30)
        time.sleep(0.3)
        with server.log_file.open("rb") as log:
            log.seek(offset)
            text = log.read().decode(errors="replace")
        with psycopg.connect(server.dsn("postgres", "memory"), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM RESET log_min_duration_statement")
            connection.execute("SELECT pg_reload_conf()")
        found[name] = named(text)
    return found


_LINE = re.compile(
    r"duration: ([\d.]+) ms\s+(parse|bind|execute|statement)\s*[^:]*: (.*?)(?=\n\d{4}-\d\d-\d\d |\Z)", re.DOTALL
)


def named(log: str) -> list[dict[str, Any]]:
    """Statements of a log by the names they have in the program, with the time of parsing, planning and running."""
    known = {_plain(text.decode()): name for name, text in queries().items()}
    spent: dict[str, float] = defaultdict(float)
    runs: dict[str, int] = defaultdict(int)
    for milliseconds, step, statement in _LINE.findall(log):
        name = known.get(_plain(statement))
        if name is None or name.startswith("database.bind"):
            continue
        spent[name] += float(milliseconds)
        runs[name] += step in ("execute", "statement")
    return [
        {"query": name, "times": runs[name], "ms": round(total, 1)}
        for name, total in sorted(spent.items(), key=lambda one: -one[1])
    ]


def queries() -> dict[str, bytes]:
    return load_queries(Names())


def _plain(statement: str) -> str:
    return " ".join(re.sub(r"%\(\w+\)s|\$\d+", "?", statement).replace("%%", "%").split())


def measure(plan: Plan, console: Console) -> dict[str, Any]:
    with machine.scratch_store() as server:
        settings = load_settings(home=server.home)

        async def load() -> dict[str, tuple[str, str]]:
            async with open_resources(settings) as resources:
                texts = sentences(plan.pool, SEED)
                pool = Pool(texts, await resources.embedder.embed(texts))
                console.print(f"Loading {plan.size.facts:,} facts …")
                await load_store(resources, {TENANT: plan.size}, pool, SEED)
                return await pages_of(resources)

        pages = asyncio.run(load())
        with served(server.home) as url:
            result = asyncio.run(in_the_browser(url, pages, plan, console))
            result["statements"] = statements(server, url, {name: path for name, (path, _) in pages.items()})
        return {**machine.header(server, settings, SEED), **result, "goals": goals(result)}


def goals(result: dict[str, Any]) -> list[dict[str, Any]]:
    measured = {**result["pages"], **{f"change of {name}": one for name, one in result["filter changes"].items()}}
    return [
        {"goal": f"{name} p95 < {GOAL_MS} ms", "measured": one["p95_ms"], "met": one["p95_ms"] < GOAL_MS}
        for name, one in measured.items()
    ]


def show(result: dict[str, Any], console: Console) -> None:
    table = Table("page", "p50 ms", "p95 ms", "shift", "statements, slowest first (ms)")
    for name, one in [*result["pages"].items(), *result["filter changes"].items()]:
        listed = ", ".join(f"{line['query']} {line['ms']}" for line in result["statements"].get(name, [])[:6])
        table.add_row(name, str(one["p50_ms"]), str(one["p95_ms"]), str(one.get("layout_shift", "")), listed)
    console.print(table)
    for goal in result["goals"]:
        console.print(f"{'✓' if goal['met'] else '✗'} {goal['goal']}: {goal['measured']}")
    for problem in result["errors"]:
        console.print(f"the browser said: {problem}")


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dashboard", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small store and few repetitions, to see that it works")
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "dashboard.json", help="where the result goes")
    arguments = parser.parse_args(given)
    console = machine.wide_console()
    result = measure(QUICK if arguments.quick else Plan(), console)
    show(result, console)
    machine.write_json(arguments.json, result)
    console.print(f"Written to {arguments.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
