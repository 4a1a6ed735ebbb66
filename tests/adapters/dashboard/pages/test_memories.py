"""All memories in one table: found by meaning and words, opened beside the list, edited, and handled in bulk."""

import csv
import io
import json

from playwright.async_api import expect
from tests.adapters.dashboard.conftest import PHONE, LogIn, Visit
from tests.adapters.dashboard.look import axe_findings
from tests.conftest import MovingClock

from memory_butler.models import MemoryType, NewEpisode, NewFact, NewRule
from memory_butler.models.listings import Listing
from memory_butler.operations.browse import listings
from memory_butler.operations.retrieval import get
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources


async def _fill(resources: Resources, clock: MovingClock) -> dict[str, str]:
    """References by what is told."""
    made = {}
    for subject, predicate, content in (
        ("Sofia", "birthday", "12 June"),
        ("Ana", "allergic to", "peanuts"),
        ("Inês", "works as", "an architect in Lisbon"),
    ):
        clock.move(minutes=1)
        fact = NewFact(subject=subject, predicate=predicate, content=content, tags=("family",))
        made[content] = (await remember.fact(resources, fact)).ref
    clock.move(minutes=1)
    made["rule"] = (await remember.rule(resources, NewRule(content="Ask before booking flights."))).ref
    clock.move(minutes=1)
    episode = NewEpisode(content="Ana said that the cat was at the vet.", butler="main")
    made["episode"] = (await remember.episode(resources, episode)).ref
    return made


async def test_one_table_holds_all_types(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    """Newest first whatever the type; tabs with counts lead to one type and keep the filters that it has."""
    await _fill(resources, clock)
    page = await visit("/memories")
    rows = page.locator(".mb-memories tbody tr")
    await expect(rows).to_have_count(5)
    assert await page.locator(".mb-type").evaluate_all("icons => icons.map((one) => one.ariaLabel)") == [
        *("episode", "rule", "fact", "fact", "fact")
    ]
    await expect(page.locator(".mb-types")).to_have_text("All 5Episodes 1Facts 3Rules 1")
    await page.click("button.mb-chip-tag >> nth=0")
    await expect(rows).to_have_count(3)
    await page.get_by_role("link", name="Facts 3").click()
    await page.wait_for_url("**/facts?tag=family")
    await expect(rows).to_have_count(3)
    # A row reads as a sentence.
    assert (await rows.last.locator(".mb-row-line").inner_text()).split("\n")[-3:] == ["Sofia", "birthday", "12 June"]


async def test_what_people_type_is_found(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    """By meaning, in other forms of a word and without accents, best match first; what was asked for is marked."""
    await _fill(resources, clock)
    page = await visit("/memories")
    for asked, subject, marked in (
        ("ines", "Inês", "Inês"),
        ("birthdays", "Sofia", "birthday"),
        ("sofia's birthday", "Sofia", "Sofia"),
        ("flight", "", "flights"),
    ):
        await page.fill("input[type=search]", asked)
        first = page.locator(".mb-memories tbody tr").first
        await expect(first.locator("mark").first).to_have_text(marked)
        if subject:
            await expect(first.locator(".mb-row-subject")).to_have_text(subject)
    await expect(page.get_by_label("Sort by")).to_have_value("best")
    await page.fill("input[type=search]", "zzyzx")
    await expect(page.locator(".mb-empty h2")).to_have_text("No matching memories")


async def test_a_memory_opens_beside_the_list_and_is_edited_there(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    """Each field in its place, saved by Enter, as an event that can be undone; the address leads back to it."""
    made = await _fill(resources, clock)
    page = await visit("/memories")
    await page.get_by_role("link", name="12 June").click()
    pane = page.locator(".mb-pane")
    await expect(pane.locator(".mb-pane-title")).to_have_text("Sofia's birthday: 12 June")
    await expect(page.locator("tr.mb-open")).to_have_count(1)
    await page.wait_for_url(lambda url: url.endswith(f"open=fact%3A{made['12 June']}"))
    await pane.get_by_title("Edit importance").click()
    await pane.get_by_label("Importance").select_option("9")
    await page.keyboard.press("Enter")
    await pane.get_by_role("button", name="Save").click()
    await expect(pane.locator("[data-field=importance]")).to_contain_text("9")
    await expect(page.locator("tr.mb-open .mb-c-importance")).to_have_text("9")
    await pane.get_by_title("Edit tags").click()
    await pane.get_by_label("Tags").fill("family, June")
    await page.keyboard.press("Enter")
    await expect(pane.locator("[data-field=tags]")).to_contain_text("#june")
    await pane.get_by_title("Edit text").click()
    await pane.get_by_label("Text").fill("21 June")
    await page.keyboard.press("Control+Enter")
    await expect(pane.locator(".mb-pane-title")).to_have_text("Sofia's birthday: 21 June")
    await expect(page.get_by_role("link", name="21 June", exact=True)).to_be_visible()
    await page.wait_for_url(lambda url: made["12 June"] not in url)
    old = (await get.get(resources, "fact", made["12 June"], bump=False)).memory
    assert old.validity == "superseded"
    await page.get_by_role("button", name="Undo").filter(visible=True).last.click()
    await expect(pane.locator(".mb-pane-title")).to_have_text("Sofia's birthday: 12 June")
    assert await axe_findings(page) == []
    await page.reload()
    await expect(pane.locator(".mb-pane-title")).to_have_text("Sofia's birthday: 12 June")
    await pane.get_by_role("button", name="Close").click()
    await expect(pane).to_be_hidden()
    await page.wait_for_url(lambda url: "open=" not in url)


async def test_a_refused_edit_says_why_and_keeps_what_was_typed(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    made = await _fill(resources, clock)
    page = await visit(f"/memories?open=rule:{made['rule']}")
    pane = page.locator(".mb-pane")
    await pane.get_by_title("Edit scope").click()
    await pane.get_by_label("Scope").fill("not a scope!")
    await page.keyboard.press("Enter")
    await expect(page.locator(".q-notification")).to_contain_text("scope")
    await expect(pane.get_by_label("Scope")).to_have_value("not a scope!")


async def test_many_are_changed_at_once_and_undone_at_once(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    """Selected by x, by click and by shift-click; one bar, one action, one undo."""
    await _fill(resources, clock)
    page = await visit("/facts")
    await page.keyboard.press("j")
    await page.keyboard.press("x")
    await page.locator("tbody input[type=checkbox]").nth(2).click(modifiers=["Shift"])
    bar = page.get_by_role("toolbar", name="Selected memories")
    await expect(bar).to_contain_text("3 selected")
    await bar.get_by_role("button", name="Tag").click()
    await bar.get_by_label("Tag").fill("contacts")
    await page.keyboard.press("Enter")
    await expect(page.locator(".q-notification")).to_contain_text("Tagged: 3 memories")
    await expect(page.locator("button.mb-chip-tag", has_text="contacts")).to_have_count(3)
    await page.get_by_role("button", name="Undo").filter(visible=True).last.click()
    await expect(page.locator("button.mb-chip-tag", has_text="contacts")).to_have_count(0)
    await page.get_by_label("Select all on this page").check()
    await bar.get_by_role("button", name="Forget").click()
    await expect(page.locator(".mb-empty h2")).to_have_text("No facts in use")
    await page.get_by_role("button", name="Undo").filter(visible=True).last.click()
    await expect(page.locator(".mb-memories tbody tr")).to_have_count(3)
    live = await listings.memories(resources, Listing(type=MemoryType.FACT, validity=("active",)))
    assert len(live.items) == 3


async def test_keys_lead_through_the_list(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    """j, k, Enter, e and p; each row is one tab stop."""
    await _fill(resources, clock)
    page = await visit("/facts")
    for key, row in (("j", 0), ("j", 1), ("k", 0)):
        await page.keyboard.press(key)
        await expect(page.locator(f"tr[data-index='{row}'] .mb-row-text")).to_be_focused()
    assert await page.locator("tbody [tabindex='0']").count() < 12
    await page.keyboard.press("p")
    await expect(page.locator(".mb-chip", has_text="pinned")).to_have_count(1)
    await page.keyboard.press("e")
    await expect(page.locator(".mb-pane textarea")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.locator(".mb-pane textarea")).to_have_count(0)
    await page.keyboard.press("Escape")
    await expect(page.locator(".mb-pane")).to_be_hidden()


async def test_a_memory_is_made_here(visit: Visit, resources: Resources) -> None:
    """A fact, in words of the user; what the server refuses stays in the form with the reason."""
    page = await visit("/memories")
    await page.get_by_role("button", name="Remember").click()
    form = page.locator(".mb-create")
    await form.get_by_label("Subject").fill("Bruno")
    await form.get_by_label("Property").fill("shoe size")
    await form.get_by_label("Value").fill("42")
    await form.get_by_label("Scope").fill("not a scope!")
    await form.get_by_role("button", name="Remember").click()
    await expect(form.get_by_role("alert")).to_contain_text("scope")
    await form.get_by_label("Scope").fill("")
    await expect(form.get_by_role("button", name="Remember")).to_be_enabled()
    await form.get_by_role("button", name="Remember").click()
    await expect(page.locator(".mb-pane-title")).to_have_text("Bruno's shoe size: 42")
    [one] = (await listings.memories(resources, Listing(type=MemoryType.FACT))).items
    assert (one.memory.content, one.memory.origin) == ("42", "user")
    await page.get_by_role("button", name="Undo").filter(visible=True).last.click()
    await expect(page.locator(".mb-row-text")).to_have_count(0)


async def test_a_list_is_exported(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    """The whole list, or what is selected, in three formats; a cell is never a formula."""
    await _fill(resources, clock)
    await remember.fact(resources, NewFact(subject="Ana", predicate="sum", content="=1+1"))
    page = await visit("/facts")
    content = {}
    for form in ("JSON", "CSV", "Markdown"):
        await page.locator("summary", has_text="Export").click()
        async with page.expect_download() as waiting:
            await page.get_by_role("button", name=form, exact=True).click()
        content[form] = (await (await waiting.value).path()).read_text("utf-8-sig")
    assert [one["content"] for one in json.loads(content["JSON"])][-1] == "12 June"
    rows = list(csv.DictReader(io.StringIO(content["CSV"])))
    assert (len(rows), rows[0]["content"]) == (4, "'=1+1")
    assert "- **Sofia** birthday: 12 June [fact:" in content["Markdown"]


async def test_views_are_saved_and_columns_chosen(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    """Both are there after a reload."""
    await _fill(resources, clock)
    page = await visit("/facts")
    await page.get_by_role("button", name="Pinned").click()
    await expect(page.locator(".mb-empty h2")).to_have_text("No matching facts")
    await page.wait_for_url(lambda url: url.endswith("/facts?pinned=1"))
    await page.get_by_role("button", name="In use").click()
    await page.click(".mb-row-subject >> nth=0")
    await page.get_by_role("button", name="Save view").click()
    await page.get_by_label("Name of the view").fill("Inês only")
    await page.keyboard.press("Enter")
    await page.locator("summary", has_text="Columns").click()
    await page.get_by_role("checkbox", name="Confidence").uncheck()
    await expect(page.locator("th.mb-c-confidence")).to_have_count(0)
    await visit("/facts")
    await expect(page.locator("th.mb-c-confidence")).to_have_count(0)
    await page.get_by_role("button", name="Inês only", exact=True).click()
    await expect(page.locator(".mb-memories tbody tr")).to_have_count(1)
    await page.get_by_role("button", name="Delete the view Inês only").click()
    await expect(page.get_by_role("button", name="Inês only", exact=True)).to_have_count(0)


async def test_filters_suggest_what_is_there(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    await _fill(resources, clock)
    page = await visit("/facts")
    await page.click(".mb-filters-toggle")
    await page.locator(".mb-field-subject input").focus()
    await expect(page.locator("#mb-values-subject option")).to_have_count(3)
    assert await page.locator("#mb-values-subject option").first.get_attribute("value") == "Ana"


async def test_a_reader_changes_nothing_and_a_phone_opens_the_page(log_in: LogIn, resources: Resources) -> None:
    fact = await remember.fact(resources, NewFact(subject="Ada", predicate="tea", content="Jasmine"))
    page = await log_in("reader", f"/memories?open=fact:{fact.ref}")
    await expect(page.locator(".mb-pane")).to_contain_text("Jasmine")
    assert await page.locator(".mb-editable, .mb-remember, tbody input[type=checkbox]").count() == 0
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    await page.goto(page.url.split("?")[0])
    await page.get_by_role("link", name="Jasmine").click()
    await page.wait_for_url(f"**/memory/fact/{fact.ref}")
