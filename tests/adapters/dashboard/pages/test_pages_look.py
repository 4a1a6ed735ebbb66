"""One visual language on every page: contrast in both themes, controls that are wide enough, one format of dates."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from playwright.async_api import Page, expect
from tests.adapters.dashboard.conftest import DESKTOP, Visit
from tests.adapters.dashboard.look import axe_findings, faint_parts, narrow_controls
from tests.conftest import MovingClock

from memory_butler.adapters.dashboard.server.routes import NAVIGATION
from memory_butler.models import NewEpisode, NewFact, NewRule, Outcome, Question, Stored
from memory_butler.operations.retrieval.search import search
from memory_butler.operations.system import call_log
from memory_butler.operations.writing import correct, feedback, forget, pin, remember
from memory_butler.resources import Resources

WIDTHS = (1024, 1280, 1440, 1920)
# Other ways to write a date: 2029-01-26, Jan 26 2029, 26.01.2029.
OTHER_DATES = re.compile(r"\b\d{4}-\d\d-\d\d\b|\b[A-Z][a-z]{2} \d{1,2}, \d{4}\b|\b\d{1,2}[./]\d{1,2}[./]\d{4}\b")


async def furnish(resources: Resources, clock: MovingClock) -> dict[str, Stored]:
    """A store with a memory in each state that has a colour."""
    episode = await remember.episode(resources, NewEpisode(content="Ana said she likes green tea.", butler="main"))
    fact = await remember.fact(
        resources, NewFact(subject="Ana", predicate="tea", content="green", source_episode=episode.ref, tags=("drink",))
    )
    clock.move(hours=1)
    fixed = await correct.correct(resources, fact.ref, "green, no sugar", reason="She told me.")
    rule = await remember.rule(resources, NewRule(content="Ask before you book."))
    await feedback.mark(resources, rule.ref, Outcome.HELPFUL)
    warning = await remember.rule(resources, NewRule(content="Book the cheapest flight."))
    for _ in range(4):
        clock.move(hours=1)
        await feedback.mark(resources, warning.ref, Outcome.HARMFUL, reason="It was cancelled.")
    gone = await remember.fact(resources, NewFact(subject="Ana", predicate="car", content="red"))
    await forget.forget(resources, "fact", gone.ref)
    kept = await remember.fact(resources, NewFact(subject="Ana", predicate="birthday", content="12 June"))
    await pin.pin(resources, "fact", kept.ref)
    agent = replace(resources.local_caller(), client="claude-code")
    await search(resources, Question(query="green tea"), agent)
    await search(resources, Question(query="xylophone"), agent)
    await call_log.store_waiting(resources)
    clock.move(days=20)
    return {"episode": episode, "fact": fixed, "rule": rule, "old": fact}


def paths(made: dict[str, Stored]) -> Iterator[str]:
    yield from (entry.path for entry in NAVIGATION)
    yield from (f"/memory/{one.type}/{one.ref}" for one in made.values())
    yield from ("/facts", "/rules", "/episodes?validity=all")
    yield "/facts?validity=all&q=green"
    yield f"/memories?open=fact:{made['fact'].ref}"
    yield f"/memory/fact/{made['fact'].ref}?q=tea"
    yield "/playground?prompt=tea&butler=main"
    yield "/graph?subject=Ana"


async def _settled(page: Page) -> None:
    await page.wait_for_load_state("networkidle")
    await page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished.catch(() => 0)))")


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_words_and_fields_stand_out_on_every_page(
    visit: Visit, resources: Resources, clock: MovingClock, theme: str
) -> None:
    """Text has a contrast of 4.5:1 and fields a border of 3:1, and axe finds nothing serious, in both themes."""
    made = await furnish(resources, clock)
    page = await visit("/")
    await page.evaluate("theme => localStorage.setItem('memory-butler-dark', theme)", theme)
    found: dict[str, list[str]] = {}
    for path in paths(made):
        await visit(path)
        await _settled(page)
        assert await page.evaluate("document.body.classList.contains('body--dark')") == (theme == "dark")
        if problems := await faint_parts(page) + await axe_findings(page):
            found[path] = problems
    assert found == {}


async def test_controls_are_wide_enough_at_every_width(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    """No field is squeezed to nothing beside its button, and nothing is wider than the window."""
    made = await furnish(resources, clock)
    page = await visit("/")
    found: dict[tuple[str, int], list[str]] = {}
    for path in paths(made):
        await visit(path)
        for width in WIDTHS:
            await page.set_viewport_size({"width": width, "height": 900})
            await page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
            if narrow := await narrow_controls(page):
                found[path, width] = narrow
    await page.set_viewport_size(DESKTOP)  # type: ignore[arg-type]
    assert found == {}
    await visit("/playground?prompt=tea&butler=main")
    await expect(page.locator(".mb-explain input")).to_be_visible()
    for width in WIDTHS:
        await page.set_viewport_size({"width": width, "height": 900})
        assert await narrow_controls(page, 120 if width < 1280 else 100) == []
        box = await page.locator(".mb-explain input").bounding_box()
        button = await page.locator(".mb-explain button").bounding_box()
        assert box and button and box["width"] >= 220 and box["x"] + box["width"] <= button["x"]


async def test_dates_have_one_format(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    """A day is written 17 Nov 2026 on every page, whatever the language of the browser."""
    clock.now -= timedelta(days=40)
    made = await furnish(resources, clock)
    page = await visit("/")
    # The system page quotes the reports of jobs as they are.
    for path in (one for one in paths(made) if one != "/system"):
        await visit(path)
        await _settled(page)
        assert OTHER_DATES.findall(await page.inner_text("main")) == [], path


async def test_the_theme_follows_the_system_until_one_is_chosen(visit: Visit) -> None:
    """Three states, said in words, kept over a reload; and a way back to the system's."""
    page = await visit("/")
    button = page.locator(".mb-user .mb-side-button")
    await expect(button).to_have_attribute("aria-label", "Theme: system. Switch to light")
    await button.click()
    await button.click()
    await expect(page.locator("body")).to_have_class(re.compile("body--dark"))
    await page.reload()
    await expect(button).to_have_attribute("aria-label", "Theme: dark. Switch to system")
    await expect(page.locator("body")).to_have_class(re.compile("body--dark"))
    await button.click()
    await expect(page.locator("body")).not_to_have_class(re.compile("body--dark"))
    await expect(button).to_have_attribute("aria-label", "Theme: system. Switch to light")


async def test_the_side_bar_is_a_rail_on_middling_screens(visit: Visit) -> None:
    """Icons with names below 1200 pixels; the menu opens it, and Escape closes it."""
    page = await visit("/")
    await page.set_viewport_size({"width": 1024, "height": 800})
    side = page.locator(".mb-side")
    assert (await side.bounding_box() or {})["width"] <= 64
    await expect(page.get_by_role("link", name="Timeline")).to_be_attached()
    menu = page.get_by_role("button", name="Menu")
    await expect(menu).to_have_attribute("aria-expanded", "false")
    await menu.click()
    await expect(menu).to_have_attribute("aria-expanded", "true")
    await expect(page.get_by_text("this machine")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(menu).to_have_attribute("aria-expanded", "false")


async def test_clicks_do_not_vanish_while_the_server_is_away(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    """A bar says so over the whole width, and a click does nothing: neither now nor when the server is back."""
    await furnish(resources, clock)
    page = await visit("/facts")
    await page.wait_for_function("window.did_handshake")
    # No new connection, as if the server were gone.
    await page.evaluate("window.socket.io.opts.reconnection = false; window.socket.io.reconnection(false)")
    await page.evaluate("window.socket.io.engine.close()")
    away = page.get_by_role("alert")
    await expect(away).to_contain_text("Server not reachable. Nothing you do now is saved.")
    box = await away.bounding_box()
    assert box and box["width"] == DESKTOP["width"]
    await page.click("[data-act=pin] >> nth=0")
    assert await page.evaluate("window.socket.sendBuffer.length") == 0
    await page.evaluate("window.socket.connect()")
    await expect(away).to_have_count(0)
    await page.click("[data-act=pin] >> nth=0")
    await expect(page.locator(".mb-chip", has_text="pinned")).to_have_count(2)
