"""Subjects: found, read as a whole, merged into each other and taken apart again."""

import pytest
from playwright.async_api import expect
from tests.adapters.dashboard.conftest import PHONE, Visit
from tests.adapters.dashboard.look import axe_findings, faint_parts
from tests.conftest import MovingClock

from memory_butler.errors import Conflict
from memory_butler.models import MemoryChanges, MemoryType, NewFact
from memory_butler.models.listings import Listing
from memory_butler.operations.browse import listings, subject_profile
from memory_butler.operations.retrieval import get
from memory_butler.operations.writing import forget, remember, update
from memory_butler.resources import Resources


async def _fill(resources: Resources, clock: MovingClock) -> dict[str, str]:
    made = {}
    for subject, predicate, content, aliases in (
        ("Ana", "sister", "Sofia", ("Anita",)),
        ("Ana", "diet", "vegetarian", ()),
        ("Sofia", "lives with", "Ana and the cat", ()),
        ("Ana Silva", "phone", "+351 912 000 417", ()),
    ):
        clock.move(minutes=1)
        fact = NewFact(subject=subject, predicate=predicate, content=content, aliases=aliases)
        made[content] = (await remember.fact(resources, fact)).ref
    await forget.forget(resources, "fact", made["vegetarian"])
    return made


async def test_everything_about_a_subject_is_on_its_page(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    """Facts by property, other names, relations both ways, and what was; found by a name."""
    made = await _fill(resources, clock)
    page = await visit("/subjects")
    await page.get_by_label("Search subjects").fill("sof")
    await expect(page.locator(".mb-subjects a")).to_have_count(1)
    await page.get_by_label("Search subjects").fill("anita")
    await page.locator(".mb-subjects a", has_text="Ana").click()
    await page.wait_for_url("**/subjects?name=ana")
    await expect(page.locator("h1.mb-title")).to_have_text("Ana")
    await expect(page.locator("#facts")).to_contain_text("1 fact in use, 1 not any more.")
    await expect(page.locator("#facts dd a")).to_have_attribute("href", f"/memory/fact/{made['Sofia']}")
    await expect(page.locator("#names")).to_contain_text("Anita")
    relations = page.locator("#relations")
    await expect(relations).to_contain_text("Mentions")
    await expect(relations).to_contain_text("Mentioned by")
    await expect(page.locator("#over-time li")).to_have_count(2)
    assert await faint_parts(page) + await axe_findings(page) == []
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    await relations.get_by_role("link", name="Sofia").first.click()
    await expect(page.locator("h1.mb-title")).to_have_text("Sofia")


async def test_subjects_are_merged_and_taken_apart(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    """All facts move as one change, which one undo takes back; one fact can be moved away again in the list."""
    await _fill(resources, clock)
    page = await visit("/subjects?name=Ana Silva")
    await page.get_by_label("Merge Ana Silva into").fill("Ana")
    await page.get_by_role("button", name="Merge…").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("1 fact about Ana Silva will be about Ana.")
    await dialog.get_by_role("button", name="Merge", exact=True).click()
    await expect(page.locator(".q-notification")).to_contain_text("Moved to another subject: 1 memory")

    async def contents(subject: str) -> set[str]:
        found = await listings.memories(resources, Listing(type=MemoryType.FACT, subject=subject, validity=("active",)))
        return {one.memory.content for one in found.items}

    assert await contents("ana") == {"Sofia", "+351 912 000 417"}
    await page.get_by_role("button", name="Undo").filter(visible=True).last.click()
    await expect(page.locator("#facts")).to_contain_text("1 fact in use")
    assert await contents("ana") == {"Sofia"}
    await visit("/facts?subject=ana")
    await page.locator("tbody input[type=checkbox]").first.check()
    bar = page.get_by_role("toolbar", name="Selected memories")
    await bar.get_by_role("button", name="Move to subject").click()
    await bar.get_by_label("Move to subject").fill("Ana Costa")
    await page.keyboard.press("Enter")
    await expect(page.locator(".q-notification")).to_contain_text("Moved to another subject: 1 memory")
    assert await contents("ana costa") == {"Sofia"}


async def test_a_fact_moves_to_another_subject_or_property(resources: Resources, clock: MovingClock) -> None:
    """As a new version with the same words; not onto a property that another fact holds."""
    made = await _fill(resources, clock)
    moved = await update.update(resources, "fact", made["Sofia"], MemoryChanges(subject="Ana Silva"))
    assert moved.outcome == "updated" and moved.superseded_ref == made["Sofia"]
    memory = (await get.get(resources, "fact", moved.ref, bump=False)).memory
    assert (memory.subject_label, memory.predicate_label, memory.content) == ("Ana Silva", "sister", "Sofia")
    with pytest.raises(Conflict, match="holds this property"):
        await update.update(resources, "fact", moved.ref, MemoryChanges(predicate="phone"))
    unchanged = await update.update(resources, "fact", moved.ref, MemoryChanges(subject="Ana Silva"))
    assert unchanged.outcome == "unchanged"
    profile = await subject_profile.subject_profile(resources, "Ana Silva")
    assert len(profile.facts) == 2
