"""The map of the whole store: a picture that is drawn, walked through, filtered by time, lit up and saved."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.adapters.dashboard.conftest import Visit
from tests.conftest import MovingClock

from memory_butler.models import NewFact, NewRule
from memory_butler.operations.browse import memory_map
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

HOSTILE = "<img src=x onerror='window.hacked=1'>"
# The component's own positions, in pixels of the window.
DISC = """name => {
    const canvas = document.querySelector('.mb-map canvas');
    const map = getElement(Number(canvas.closest('[id^="c"]').id.slice(1)));
    const disc = map.discs.find(one => one.label === name);
    const box = canvas.getBoundingClientRect();
    return [box.left + map.view.x + disc.x * map.view.k, box.top + map.view.y + disc.y * map.view.k];
}"""


async def household(resources: Resources, clock: MovingClock) -> None:
    await remember.fact(resources, NewFact(subject="Ana", predicate="birthday", content="12 June"))
    await remember.fact(resources, NewFact(subject="Ana", predicate="relationship:sofia", content="sister"))
    clock.move(days=10)
    await remember.fact(resources, NewFact(subject="Sofia", predicate="drink", content="green tea"))
    await remember.rule(resources, NewRule(content="Ask before you book."))


async def test_the_picture_says_in_words_what_it_shows(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    await household(resources, clock)
    page = await visit("/graph")
    await expect(page.get_by_role("img", name="Map of 3 subjects and 4 memories: Ana, ")).to_be_visible()
    await expect(page.get_by_text("4 memories about 2 subjects.")).to_be_visible()
    await expect(page.locator(".mb-map-relations")).to_contain_text("Ana — sister → Sofia")
    await expect(page.locator("h1")).to_have_text("Map")
    painted = "() => document.querySelector('.mb-map canvas').getContext('2d')"
    count = f"({painted})().getImageData(0, 0, 4000, 3000).data.filter((one, at) => at % 4 === 3 && one > 0).length"
    await page.wait_for_function(f"{count} > 500")


async def test_a_click_on_a_subject_opens_its_neighbourhood(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    await household(resources, clock)
    page = await visit("/graph")
    await expect(page.locator(".mb-map canvas")).to_be_visible()
    x, y = await page.evaluate(DISC, "Ana")
    await page.mouse.move(x, y)
    await expect(page.locator(".mb-map-tip")).to_contain_text("Ana2 facts")
    await page.mouse.click(x, y)
    await expect(page.locator(".mb-graph-panel")).to_contain_text("Ana")
    await page.go_back()
    await expect(page.locator(".mb-map canvas")).to_be_visible()


async def test_time_goes_back_and_a_prompt_lights_up(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    await household(resources, clock)
    page = await visit("/graph")
    await page.locator(".mb-map-time input").fill("0.5")
    await expect(page.get_by_role("img", name="Map of 3 subjects and 2 memories")).to_be_visible()
    await page.get_by_label("What would this prompt recall?").fill("When is Ana's birthday?")
    await page.get_by_role("button", name="Light up").click()
    await expect(page.get_by_text("This prompt recalls")).to_be_visible()
    await page.get_by_label("What would this prompt recall?").fill("")
    await page.get_by_role("button", name="Light up").click()
    await expect(page.get_by_text("2 of 4 memories")).to_be_visible()


async def test_the_picture_is_saved_as_it_is_and_text_stays_text(
    visit: Visit, resources: Resources, clock: MovingClock, tmp_path: Path
) -> None:
    await household(resources, clock)
    await remember.fact(resources, NewFact(subject=HOSTILE, predicate="is", content="known"))
    page = await visit("/graph")
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Save as SVG").click()
    await (await download.value).save_as(tmp_path / "map.svg")
    saved = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert saved.startswith("<svg") and ">Ana</text>" in saved and ">sister</text>" in saved
    assert "<img" not in saved and "&lt;img src=x" in saved
    await page.goto((tmp_path / "map.svg").as_uri())
    assert await page.evaluate("window.hacked") is None


async def moved(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = await page.evaluate(
        "(() => { const canvas = document.querySelector('.mb-map canvas');"
        " return getElement(Number(canvas.closest('[id^=\"c\"]').id.slice(1))).view; })()"
    )
    return found


async def test_it_is_moved_by_keyboard(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    await household(resources, clock)
    page = await visit("/graph")
    await expect(page.locator(".mb-map canvas")).to_be_visible()
    await page.wait_for_function("document.querySelector('.mb-map canvas').width > 0")
    before = await moved(page)
    await page.locator(".mb-map canvas").focus()
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("+")
    after = await moved(page)
    assert after["k"] > before["k"] and after != before
    await page.keyboard.press("0")
    assert await moved(page) == before


async def test_more_than_fits_is_counted(visit: Visit, resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_map, "WHOLE", memory_map.MapSize(facts=3))
    for number in range(5):
        await remember.fact(resources, NewFact(subject=f"person {number}", predicate="is", content="known"))
    page = await visit("/graph")
    await expect(page.get_by_text("5 memories about 5 subjects. The map shows the 3 most important.")).to_be_visible()


async def test_two_thousand_nodes_have_places_of_their_own(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    """No two discs overlap, every memory has a dot, and the same store gives the same picture."""
    await household(resources, clock)
    page = await visit("/graph")
    found = await page.evaluate(
        """async () => {
            const { place, dots } = await import("/dashboard/map_layout.js");
            const subjects = Array.from({ length: 300 }, (_, at) => ({
                key: `s${at}`, label: `s${at}`, kind: "subject", count: 1 + (at % 12),
                keys: Array(1 + (at % 12)).fill("k"),
            }));
            const memories = Array.from({ length: 1700 }, (_, at) => ({
                key: `m${at}`, disc: `s${at % 300}`, at: "2026-01-01",
            }));
            const relations = subjects.slice(1).map((one, at) => ({
                source: one.key, target: `s${at >> 1}`, label: "knows",
            }));
            const once = place(subjects, relations, 1.6), again = place(subjects, relations, 1.6);
            let covered = 0;
            for (const a of once) for (const b of once)
                if (a !== b && Math.hypot(a.x - b.x, a.y - b.y) < (a.radius + b.radius) * 0.9) covered += 1;
            const same = JSON.stringify(once) === JSON.stringify(again);
            return { covered, points: dots(once, memories).length, same };
        }"""
    )
    assert found == {"covered": 0, "points": 1700, "same": True}
