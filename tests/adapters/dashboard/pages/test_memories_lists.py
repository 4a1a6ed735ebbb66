"""Facts, rules and episodes in a real browser: found, sorted, gone through, and brought up to date."""

import re
from datetime import timedelta

import pytest
from playwright.async_api import Page, expect
from tests.adapters.dashboard.conftest import PHONE, LogIn, Visit
from tests.conftest import MovingClock

from memory_butler.models import Fact, MemoryType, NewEpisode, NewFact, NewRule
from memory_butler.models.listings import Listing
from memory_butler.operations.browse import listings
from memory_butler.operations.writing import forget, remember
from memory_butler.policy.lifecycle.confidence import falls_below
from memory_butler.resources import Resources

# Hidden characters can only be in rows of earlier versions.
pytestmark = pytest.mark.usefixtures("text_of_older_versions")

HOSTILE = [
    '<img src=x onerror="window.hacked=1">',
    "<script>window.hacked=1</script>",
    '{{ constructor.constructor("window.hacked=1")() }}',
    "[a](javascript:window.hacked=1)",
    "x" * 400,
    "photo\u202egnp.exe",
    "مرحبا بالعالم 👩‍👩‍👧‍👦",
]


async def _says(page: Page, *words: str) -> None:
    await expect(page.locator(".mb-row-text")).to_have_text(list(words))


async def _fact(resources: Resources, predicate: str, content: str, **more: object) -> None:
    await remember.fact(resources, NewFact(subject="Ada", predicate=predicate, content=content, **more))  # type: ignore[arg-type]


async def test_facts_are_found_sorted_and_kept_in_the_address(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    """Words, a phrase, filters, chips and heads narrow and sort the list; the address has it all, back and reloaded."""
    await _fact(resources, "tea", "Jasmine, no sugar", importance=9, tags=("drink",))
    clock.move(hours=1)
    await _fact(resources, "coffee", "No sugar in coffee, ever", importance=2, tags=("drink", "work"))
    clock.move(hours=1)
    await _fact(resources, "city", "Lives in Porto", importance=5, scope="travel")
    page = await visit("/facts")
    await _says(page, "Lives in Porto", "No sugar in coffee, ever", "Jasmine, no sugar")
    assert await page.inner_text(".mb-list-head [role=status]") == "1–3 of 3"
    assert await page.get_attribute(".mb-row-text >> nth=0", "href") is not None

    await page.fill("input[type=search]", "sugar coffee")
    await expect(page.locator(".mb-row-text").first).to_have_text("No sugar in coffee, ever")
    await expect(page.locator(".mb-row-text").first.locator("mark")).to_have_text(["sugar", "coffee"])
    await page.fill("input[type=search]", '"no sugar"')
    await _says(page, "No sugar in coffee, ever", "Jasmine, no sugar")
    await page.click("th button:has-text('Importance')")
    await _says(page, "Jasmine, no sugar", "No sugar in coffee, ever")
    assert await page.get_attribute("th.mb-c-importance", "aria-sort") == "descending"
    await page.click("button.mb-chip-tag:has-text('work')")
    await _says(page, "No sugar in coffee, ever")
    await page.wait_for_url(re.compile(r"\?q=%22no\+sugar%22&tag=work&sort=importance$"))

    await page.reload()
    await _says(page, "No sugar in coffee, ever")
    assert await page.input_value("input[type=search]") == '"no sugar"'
    await page.go_back()
    await _says(page, "Jasmine, no sugar", "No sugar in coffee, ever")
    await page.click("button[aria-label='Remove Search: \"no sugar\"']")
    await _says(page, "Jasmine, no sugar", "Lives in Porto", "No sugar in coffee, ever")
    await page.click(".mb-filters-toggle")
    await page.select_option("label:has-text('Importance min.') select", "6")
    await _says(page, "Jasmine, no sugar")
    await page.fill("label:has-text('Scope') input", "travel")
    await page.keyboard.press("Enter")
    await expect(page.locator(".mb-empty h2")).to_have_text("No matching facts")
    await page.click(".mb-empty button")
    await _says(page, "Jasmine, no sugar", "Lives in Porto", "No sugar in coffee, ever")
    await page.wait_for_url(lambda url: url.endswith("/facts?sort=importance"))
    await page.fill("label:has-text('Tag') input", "#work")
    await page.keyboard.press("Enter")
    await _says(page, "No sugar in coffee, ever")
    state = "label:has-text('State') select"
    chosen = "document.querySelector('.mb-field-validity select').selectedOptions[0]?.label ?? ''"
    await visit("/facts?validity=fading,active")
    await expect(page.locator(".mb-row-text")).to_have_count(3)
    assert await page.evaluate(chosen) == "Fading or Active"
    await visit("/facts?validity=bogus")
    await expect(page.locator(".mb-error")).to_contain_text("There is no state “bogus”.")
    assert await page.evaluate(chosen) == ""
    await page.select_option(state, "all")
    await expect(page.locator(".mb-row-text")).to_have_count(3)


async def test_a_parameter_that_there_is_not_is_named(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    """It is named and ignored, so that a link that carries one still leads to the list."""
    await _fact(resources, "tea", "Jasmine, no sugar", importance=9, tags=("drink",))
    page = await visit("/facts?utm_source=mail")
    await expect(page.locator(".mb-note")).to_contain_text("does not know: “utm_source”. Ignored.")
    await _says(page, "Jasmine, no sugar")
    await page.click("button.mb-chip-tag")
    await expect(page.locator(".mb-note")).to_be_hidden()
    await page.wait_for_url(lambda url: url.endswith("/facts?tag=drink"))


async def test_a_long_list_is_gone_through_page_by_page(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    """On and back with numbers; the address of a page can be reloaded; days are those of the viewer."""
    for number in range(52):
        clock.move(hours=1)
        await remember.episode(resources, NewEpisode(content=f"episode {number}", butler="main"))
    page = await visit("/episodes")
    await expect(page.locator(".mb-list-head [role=status]")).to_have_text("1–50 of 52")
    back, on = page.get_by_role("button", name="Previous"), page.get_by_role("button", name="Next")
    await expect(back).to_be_disabled()
    await on.click()
    await _says(page, "episode 1", "episode 0")
    await expect(page.locator(".mb-list-head [role=status]")).to_have_text("51–52 of 52")
    await page.reload()
    await _says(page, "episode 1", "episode 0")
    await back.click()
    await expect(page.locator(".mb-list-head [role=status]")).to_have_text("1–50 of 52")
    await page.wait_for_url(lambda url: url.endswith("/episodes"))
    await page.go_back()
    await _says(page, "episode 1", "episode 0")

    await page.goto(page.url.split("?")[0] + "?order=asc&to=2026-03-01T11:30:00Z")
    await _says(page, "episode 0", "episode 1")
    await page.click(".mb-filters-toggle")
    await page.fill("label:has-text('Until') input", "2026-03-01")
    # The first of March ends in Lisbon as it does in UTC: fourteen hours after the first episode.
    await expect(page.locator(".mb-list-head [role=status]")).to_have_text("1–14 of 14")
    await expect(page.locator(".mb-active-filters")).to_contain_text("1 Mar 2026")


async def test_what_others_write_is_shown_without_moving_what_is_looked_at(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    """A new fact appears by itself at the top; under the mouse, or in a list that was narrowed, it is announced."""
    await _fact(resources, "tea", "Jasmine")
    page = await visit("/facts")
    await page.mouse.move(5, 5)
    clock.move(hours=1)
    await _fact(resources, "city", "Porto")
    await _says(page, "Porto", "Jasmine")

    await page.hover(".mb-row-text >> nth=1")
    clock.move(hours=1)
    await _fact(resources, "car", "None")
    await page.wait_for_selector(".mb-new-button")
    await _says(page, "Porto", "Jasmine")
    await page.click(".mb-new-button")
    await _says(page, "None", "Porto", "Jasmine")

    await page.fill("input[type=search]", "o")
    await _says(page, "None", "Porto")
    clock.move(hours=1)
    await _fact(resources, "boss", "Otto")
    await page.click(".mb-new-button")
    await _says(page, "Otto", "None", "Porto")


async def test_a_reader_sees_and_is_offered_nothing(log_in: LogIn, resources: Resources) -> None:
    """Whoever may only look sees what is global and their own, and no action; nothing of another butler."""
    await _fact(resources, "tea", "Jasmine")
    await _fact(resources, "secret", "Not for the chef", scope="health")
    page = await log_in("reader", "/facts")
    await _says(page, "Jasmine")
    assert await page.locator(".mb-row-action").count() == 0
    await page.goto(page.url + "?scope=health")
    await expect(page.locator(".mb-error")).to_contain_text("belongs to another butler")
    await page.click(".mb-error button")
    await _says(page, "Jasmine")


async def test_hostile_words_stay_words(visit: Visit, resources: Resources) -> None:
    """Markup, templates, scripts and steering characters in every place of a row are text, also on a phone."""
    for number, words in enumerate(HOSTILE):
        given = {"content": words, "tags": (words[:60],), "source": "user"}
        fact = NewFact(subject=words[:150], predicate=f"p{number} {words[:100]}", **given)  # type: ignore[arg-type]
        await remember.fact(resources, fact)
        await remember.rule(resources, NewRule(**given))  # type: ignore[arg-type]
        await remember.episode(resources, NewEpisode(butler="main", **given))  # type: ignore[arg-type]
    page = await visit("/facts?order=asc")
    shown = [words.replace("\u202e", "⟨U+202E⟩") for words in HOSTILE]
    await _says(page, *shown)
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await page.click(".mb-row-about button >> nth=0")
    await expect(page.locator(".mb-chip-drop")).to_have_count(1)
    await _says(page, shown[0])
    assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    for path in ("/rules", "/episodes"):
        await visit(f"{path}?order=asc")
        await _says(page, *shown)
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert await page.evaluate("window.hacked") is None


async def test_an_empty_list_teaches(visit: Visit, resources: Resources) -> None:
    """With nothing there the page says how to begin; the first one takes its place; all forgotten is not nothing."""
    page = await visit("/rules")
    await expect(page.locator(".mb-getting-started h2")).to_have_text("No rules yet")
    assert "remember rule 'Ask before" in await page.inner_text(".mb-getting-started")
    assert "claude mcp add --scope user --transport http" in await page.inner_text(".mb-getting-started")
    stored = await remember.rule(resources, NewRule(content="Ask first."))
    await _says(page, "Ask first.")
    await expect(page.locator(".mb-getting-started")).to_have_count(0)
    await forget.forget(resources, "rule", stored.ref)
    await page.reload()
    await expect(page.locator(".mb-empty h2")).to_have_text("No rules in use")
    await page.click(".mb-empty button")
    await _says(page, "Ask first.")


async def test_a_fact_is_shown_as_low_from_where_it_fades(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    """What is coloured is what fades, to the day, not what is rounded to the same percentage."""
    await _fact(resources, "tea", "Jasmine")
    [listed] = (await listings.memories(resources, Listing(type=MemoryType.FACT))).items
    standing = listed.memory
    assert isinstance(standing, Fact)
    fades_at = falls_below(0.2, standing.confidence, standing.decay_rate, standing.created_at)
    assert fades_at
    for day, is_low in ((-1, 0), (1, 1)):
        clock.now = fades_at + timedelta(days=day)
        page = await visit("/facts")
        await expect(page.locator(".mb-c-confidence .mb-number")).to_have_text("20%")
        await expect(page.locator(".mb-low")).to_have_count(is_low)
