"""Consolidation: what waits is distilled at a click, proposals are decided on, runs are taken back, and what was given
up gets another chance."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.adapters.dashboard.conftest import DESKTOP, PHONE, Errors, LogIn, Serve, Tabs
from tests.support.distillers import Scripted, say, with_distiller

from memory_butler.errors import Unprocessable
from memory_butler.models import Caller, NewFact, Principal, Role, Usage
from memory_butler.operations.browse import listings
from memory_butler.operations.consolidation import consolidate, overview, review
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.retrieval import get
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

HOSTILE = '<img src=x onerror="window.hacked=1"> {{ 7 * 7 }} tea'
Open = Callable[..., Awaitable[Page]]


@pytest.fixture
async def open_page(serve: Serve, tabs: Tabs) -> AsyncIterator[Open]:
    """Open a page of the dashboard of a butler that was set up for the test."""
    errors = Errors()
    async with AsyncExitStack() as stack:

        async def opened(resources: Resources, path: str, size: dict[str, int] = DESKTOP) -> Page:
            door = await stack.enter_async_context(serve(resources))
            page = await stack.enter_async_context(tabs.one(errors))
            await page.set_viewport_size(size)  # type: ignore[arg-type]
            await page.goto(door.url + path)
            await page.wait_for_selector("h1.mb-title")
            return page

        yield opened
    assert errors.said == []


def _cited(batch: Any, **item: str) -> dict[str, Any]:
    return {**item, "evidence": [f"episode:{batch.episodes[0].ref}"]}


def _moves(batch: Any) -> object:
    """A new home, which takes the place of the old one, something new, and something that is refused."""
    return {
        "version": 1,
        "facts": [
            _cited(batch, subject="user", predicate="lives_in", content="Porto"),
            _cited(batch, subject="user", predicate="likes:tea", content=HOSTILE),
            {"subject": "user", "predicate": "plays", "content": "chess", "evidence": ["episode:zzzz"]},
        ],
    }


# --- in a browser ---------------------------------------------------------------------------------


async def test_how_to_begin_is_shown_until_something_waits(open_page: Open, resources: Resources) -> None:
    """Where there was nothing to distil yet, the page says how that changes."""
    page = await open_page(resources, "/consolidation")
    await expect(page.locator(".mb-getting-started pre")).to_contain_text("remember episode")
    await expect(page.locator("[aria-label=Waiting]")).to_contain_text("No episodes are waiting.")
    await say(resources, "I drink green tea.")
    await expect(page.locator(".mb-getting-started")).to_be_hidden()


async def test_what_waits_is_distilled_at_a_click_and_taken_back(
    open_page: Open, resources: Resources, tenant: str
) -> None:
    """In the background, with a message; the page hears of it and of others; the diff stands beside what was there; to
    undo a run it is said first what would be undone, and the undoing can be undone."""
    told = with_distiller(
        resources, Scripted(_moves, usage=Usage(input_tokens=900, cost_microdollars=20_000)), daily_dollars=1
    )
    old = await remember.fact(told, NewFact(subject="user", predicate="lives_in", content="Lisbon", scope="main"))
    await say(told, f"I moved to Porto. {HOSTILE} I like it. I live in Porto.")
    page = await open_page(told, "/consolidation")
    waiting = page.locator("[aria-label=Waiting] .mb-consolidation-figure")
    await expect(waiting).to_have_text("1")
    await expect(page.get_by_text("No runs yet.")).to_be_visible()
    await say(told, "I still live in Porto. tea")
    await expect(waiting).to_have_text("2")

    await page.get_by_role("button", name="Consolidate now").click()
    await expect(page.locator(".q-notification")).to_contain_text("2 episodes: 1 new, 1 updated, 1 refused")
    await expect(waiting).to_have_text("0")
    row = page.locator(".mb-runs tbody tr")
    await expect(row).to_contain_text("$0.02")
    await expect(row).to_contain_text("2 episodes: 1 new")
    await expect(page.locator("[aria-label=Cost]")).to_contain_text("$0.0200 of $1.00 today")
    await page.get_by_label("State").select_option("failed")
    await expect(page.get_by_text("No matching runs.")).to_be_visible()
    await page.wait_for_url("**/consolidation?state=failed")
    await page.go_back()
    await expect(row).to_have_count(1)

    await row.locator("a").click()
    await expect(page.locator(".mb-changes section")).to_have_count(3)
    updated = page.locator("[aria-label=Updated]")
    await expect(updated.locator("del")).to_have_text("Lisbon")
    await expect(updated.get_by_role("link", name=f"fact:{old.ref}")).to_have_attribute(
        "href", f"/memory/fact/{old.ref}"
    )
    await expect(page.locator("[aria-label=New]")).to_contain_text(HOSTILE)
    await expect(page.locator("[aria-label=Refused] .mb-negative")).not_to_be_empty()
    assert await page.evaluate("window.hacked") is None

    await page.locator(".mb-consolidation-from a").first.click()
    await expect(page.locator(".mb-entries-line").last).not_to_contain_text("(run ")
    await page.get_by_role("link", name="Open run").click()
    await page.get_by_role("button", name="Undo this run").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("Undo 3 changes?")
    await expect(dialog).to_contain_text(f"fact:{old.ref}")
    await dialog.get_by_role("button", name="Undo").click()
    await expect(page.locator(".mb-consolidation-head")).to_contain_text("undid this run")
    assert (await get.get(told, "fact", old.ref, bump=False)).memory.validity == "active"
    await page.locator(".q-notification").get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("button", name="Undo this run")).to_be_visible()
    assert (await get.get(told, "fact", old.ref, bump=False)).memory.validity == "superseded"


async def test_a_proposal_is_decided_on_item_by_item(open_page: Open, resources: Resources, tenant: str) -> None:
    """Nothing is stored until all is decided; then what was approved is, in the person's name. Before the last item is
    rejected it is said what that means, and the episodes can then be distilled again, or after all not."""
    asked = with_distiller(resources, Scripted(_moves), review=True)
    await say(asked, f"I live in Porto. {HOSTILE}")
    report = await consolidate.run_once(asked, shard_of(tenant, "main"))
    assert report
    page = await open_page(asked, f"/consolidation?run={report.run}")
    head = page.locator(".mb-consolidation-head")
    await expect(head).to_contain_text("2 items to review")
    places = {line.shown["content"]: line.place for line in report.lines if line.outcome == "proposed"}
    await page.get_by_role("button", name="Approve: Porto").click()
    await expect(head).to_contain_text("1 decided, 1 to go")
    await expect(page.locator(".q-notification", has_text="Approved: Porto")).to_be_visible()
    await expect(page.locator(f'[data-place="{places["Porto"]}"]')).to_be_focused()
    assert (await review.get_run(asked, str(report.run))).run.state == "waiting"
    await page.get_by_role("button", name=f"Reject: {HOSTILE[:60]}").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("1 approved item is stored, the others are not.")
    assert (await review.get_run(asked, str(report.run))).run.state == "waiting"
    await dialog.get_by_role("button", name="Reject").click()
    await expect(page.locator(".q-notification", has_text="approved items are stored")).to_be_visible()
    await expect(page.locator(f'[data-place="{places[HOSTILE]}"]')).to_be_focused()
    await expect(page.locator("[aria-label=New]")).to_contain_text("Porto")
    await expect(page.locator("[aria-label=Rejected]")).to_contain_text("7 * 7")
    await expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    stored = next(line.memory for line in (await review.get_run(asked, str(report.run))).lines if line.memory)
    [created] = (await listings.history(asked, "fact", stored)).items
    assert created.event.actor == await page.inner_text(".mb-user-name")

    await page.get_by_role("button", name="Requeue episodes").click()
    said = page.locator(".q-notification", has_text="Requeued 1 episode. Stored facts and rules stay")
    await expect(said).to_be_visible()
    assert (await overview.overview(asked)).waiting == 1
    await said.get_by_role("button", name="Undo").click()
    await expect(page.locator(".q-notification", has_text="Undone")).to_be_visible()
    assert (await overview.overview(asked)).waiting == 0


async def test_a_key_that_is_pressed_twice_rejects_one_item(open_page: Open, resources: Resources, tenant: str) -> None:
    """The keyboard goes on at the next item, not on what decides on it; it is said what was rejected."""
    asked = with_distiller(resources, Scripted(_moves), review=True)
    await say(asked, f"I live in Porto. {HOSTILE}")
    report = await consolidate.run_once(asked, shard_of(tenant, "main"))
    assert report
    [first, second] = sorted(line.place for line in report.lines if line.outcome == "proposed")
    page = await open_page(asked, f"/consolidation?run={report.run}")
    await page.locator(f'[data-place="{first}"]').get_by_role("button", name="Reject").press("Enter")
    await expect(page.locator("[aria-label=Rejected] li")).to_have_count(1)
    await expect(page.locator(".q-notification", has_text="Rejected: ")).to_be_visible()
    await expect(page.locator(f'[data-place="{second}"]')).to_be_focused()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    next_one = page.locator(f'[data-place="{second}"] :focus')
    await expect(next_one).to_have_count(1)
    assert (await review.get_run(asked, str(report.run))).run.state == "waiting"
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_an_episode_in_review_leads_to_its_proposal(
    open_page: Open, log_in: LogIn, resources: Resources, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the list of episodes, also if it was proposed while somebody looks, and on its own page; whoever may not look
    at proposals is told no more than that there is one, and of another butler's episodes not even that."""
    monkeypatch.setattr("memory_butler.adapters.dashboard.pages.memories.REVIEW_SECONDS", 0.5)
    asked = with_distiller(resources, Scripted(_moves), review=True)
    [told] = await say(asked, f"I live in Porto. {HOSTILE}")
    page = await open_page(asked, "/episodes")
    await expect(page.locator(".mb-row-chips .mb-chip", has_text="waiting")).to_be_visible()
    report = await consolidate.run_once(asked, shard_of(tenant, "main"))
    assert report
    link = page.get_by_role("link", name="in review")
    await expect(link).to_have_attribute("href", f"/consolidation?run={report.run}")
    await expect(page.locator(".mb-row-chips .mb-chip", has_text="waiting")).to_have_count(0)
    await page.locator(".mb-row-text").click()
    await page.locator("#details").get_by_role("link", name="in review").click()
    await expect(page.locator(".mb-consolidation-head")).to_contain_text("2 items to review")

    page = await log_in("agent", "/episodes", butler="main")
    await expect(page.locator(".mb-row-chips .mb-chip", has_text="in review")).to_be_visible()
    assert await page.get_by_role("link", name="in review").count() == 0
    episode = (await get.get(asked, "episode", told, bump=False)).memory.id
    own, other = (Caller(Principal(tenant, name, Role.AGENT)) for name in ("main", "chef"))
    assert await review.runs_awaiting_decision(asked, [episode], own) == {episode: report.run}
    assert await review.runs_awaiting_decision(asked, [episode], other) == {}

    await review.decide(asked, str(report.run), rest="rejected")
    await expect(page.locator(".mb-row-chips .mb-chip", has_text="in review")).to_have_count(0)


async def test_what_was_given_up_gets_another_chance(open_page: Open, resources: Resources, tenant: str) -> None:
    """An address leads right there. With the reason, the tries and the words; one at a time or all that are shown, and
    that can be undone. Nothing runs over on a phone."""
    bad = with_distiller(resources, Scripted(lambda batch: Unprocessable("It cannot be read: <b>tea</b>.")), batch=1)
    refs = await say(bad, HOSTILE, "unreadable " + "x" * 300, "also unreadable")
    for _ in refs:
        await consolidate.run_once(bad, shard_of(tenant, "main"))
    page = await open_page(bad, "/consolidation#failed-episodes", PHONE)
    await expect(page.get_by_role("heading", name="Failed episodes")).to_be_in_viewport()
    letters = page.locator(".mb-dead-letters > li")
    await expect(letters).to_have_count(3)
    await expect(letters.first).to_contain_text(HOSTILE)
    await expect(letters.first).to_contain_text("failed after 1 attempt")
    await expect(letters.first).to_contain_text("It cannot be read: <b>tea</b>.")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.get_by_label(f"Requeue episode:{refs[0]}").click()
    await expect(letters).to_have_count(2)
    await page.locator(".q-notification").get_by_role("button", name="Undo").click()
    await expect(letters).to_have_count(3)
    await page.get_by_label(f"Requeue episode:{refs[0]}").click()
    await expect(letters).to_have_count(2)
    await page.get_by_role("button", name="Requeue all 2").click()
    await expect(page.get_by_text("No failed episodes.")).to_be_visible()
    assert (await overview.overview(bad)).waiting == 3
    await page.set_viewport_size({"width": 1280, "height": 900})

    await page.get_by_role("button", name="Consolidate now").click()
    await expect(page.locator(".q-notification").last).to_contain_text("3 runs failed")
    await expect(letters).to_have_count(3)


async def test_others_are_told_whose_business_it_is(log_in: LogIn) -> None:
    """A reader sees a sentence, and nothing to do."""
    page = await log_in("reader", "/consolidation?run=01a1d54f-9160-7077-bc40-b56139a998ff")
    await expect(page.locator(".mb-empty")).to_contain_text("Consolidation is for administrators")
    await expect(page.locator("main section button")).to_have_count(0)
