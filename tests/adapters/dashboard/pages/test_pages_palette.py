"""The keys that all pages have: the command palette, the search, undo, and the list of keys."""

from playwright.async_api import expect
from tests.adapters.dashboard.conftest import Visit
from tests.adapters.dashboard.look import axe_findings, faint_parts

from memory_butler.models import NewFact
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources


async def test_a_key_leads_to_pages_and_memories(visit: Visit, resources: Resources) -> None:
    """Ctrl-K, a few letters, Enter; memories are found by meaning on every page; Escape gives the focus back."""
    fact = await remember.fact(resources, NewFact(subject="Sofia", predicate="birthday", content="12 June"))
    page = await visit("/system")
    await page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Go to")
    await expect(palette.get_by_role("combobox")).to_be_focused()
    assert await faint_parts(page) + await axe_findings(page) == []
    await page.keyboard.type("time")
    await expect(palette.get_by_role("option").first).to_contain_text("Timeline")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/timeline")
    await page.wait_for_selector("h1.mb-title")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("sofi")
    await expect(palette.get_by_role("option", name="Everything about it: 1 fact")).to_contain_text("Sofia")
    await page.keyboard.press("Escape")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("birthdays")
    await expect(palette.get_by_role("option").first).to_contain_text("Sofia's birthday: 12 June")
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/memory/fact/{fact.ref}")
    await page.wait_for_selector("h1.mb-title")
    await page.focus(".mb-actions [data-act=pin]")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Undo the last change")
    await page.keyboard.press("Escape")
    await expect(page.locator(".mb-actions [data-act=pin]")).to_be_focused()


async def test_the_last_change_is_undone_by_a_key(visit: Visit, resources: Resources) -> None:
    """Also when the notification is gone; / goes to the search."""
    await remember.fact(resources, NewFact(subject="Sofia", predicate="birthday", content="12 June"))
    page = await visit("/facts")
    await page.keyboard.press("/")
    await expect(page.locator("input[type=search]")).to_be_focused()
    await page.keyboard.press("u")
    await expect(page.locator("input[type=search]")).to_have_value("u")
    await page.fill("input[type=search]", "")
    await page.click("[data-act=pin]")
    await expect(page.locator(".mb-chip", has_text="pinned")).to_be_visible()
    await page.evaluate("document.querySelector('.q-notifications').remove()")
    await page.keyboard.press("u")
    await expect(page.locator(".mb-chip", has_text="pinned")).to_have_count(0)
    await page.keyboard.press("u")
    await expect(page.locator(".mb-row-text")).to_have_count(1)
