"""What a person does to a memory where it stands in a list, and taking it back."""

import getpass
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.adapters.dashboard.conftest import LogIn, Visit
from tests.conftest import MovingClock

from memory_butler.adapters.dashboard.actions import memory_actions
from memory_butler.adapters.dashboard.server.dashboard_context import DashboardContext
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.errors import TargetUnavailable
from memory_butler.models import Caller, Fact, MemoryDetails, NewEpisode, NewFact, NewRule, Rule, Validity
from memory_butler.operations.browse import listings
from memory_butler.operations.retrieval import get
from memory_butler.operations.writing import forget, remember
from memory_butler.resources import Resources


async def _tell(resources: Resources, kind: str, handle: str) -> MemoryDetails:
    return await get.get(resources, kind, handle, bump=False)


async def _act(page: Page, name: str, place: int = 0) -> None:
    await page.click(f"[data-act={name}] >> nth={place}")


async def _undo(page: Page, done: str) -> None:
    """Take back what the bar says was done, and wait until it says that it is."""
    bar = page.locator(".q-notification").filter(has_text=done).filter(has=page.get_by_role("button", name="Undo"))
    await bar.get_by_role("button", name="Undo").click()
    await page.locator(".q-notification", has_text=f"Undone: {done}").wait_for()


async def _chips(page: Page, words: str, *expected: str) -> None:
    row = page.locator("tbody tr", has=page.get_by_text(words, exact=True))
    await expect(row.locator("span.mb-chip")).to_have_text(list(expected))


async def test_a_fact_is_corrected_in_two_clicks_and_that_is_taken_back(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    """The right fact stands where the wrong one stood, says why, and goes again with one click, without a jump. It
    is the butler's whose the wrong one was, and the person is named with it."""
    home = Caller(replace(resources.local_caller().principal, butler="home"))
    wrong = await remember.fact(resources, NewFact(subject="Ada", predicate="tea", content="Green"), home)
    clock.move(hours=1)
    await remember.fact(resources, NewFact(subject="Ada", predicate="city", content="Porto"), home)
    page = await visit("/facts")
    words = page.locator(".mb-row-text")
    await expect(words).to_have_text(["Porto", "Green"])
    clock.move(hours=1)
    await _act(page, "correct", 1)
    await expect(page.locator(".mb-dialog textarea")).to_be_focused()
    assert await page.input_value(".mb-dialog textarea") == "Green"
    submit = page.get_by_role("button", name="Correct", exact=True)
    await expect(submit).to_be_disabled()
    await page.fill(".mb-dialog textarea", "Jasmine")
    await page.get_by_label("How do you know?").fill("She said so.")
    await submit.click()
    # What the page did itself is not news to it, so nothing moves.
    await expect(words).to_have_text(["Porto", "Jasmine"])
    await page.locator(".q-notification", has_text="Corrected").wait_for()
    old = await _tell(resources, "fact", wrong.ref)
    assert old.memory.validity is Validity.SUPERSEDED
    assert f"Corrected by {getpass.getuser()}" in old.story[-1].words
    assert "She said so" in old.story[-1].words
    right = old.chain[-1]
    assert (right.content, right.source_butler) == ("Jasmine", "home")
    assert await listings.butlers(resources) == ("home",)
    assert (await _tell(resources, "fact", right.ref)).events[0].actor == getpass.getuser()
    await expect(page.locator("tbody tr >> nth=1 >> [data-act=correct]")).to_be_focused()
    await expect(page.locator(".mb-new-button")).to_have_count(0)

    await _undo(page, "Corrected")
    await expect(words).to_have_text(["Porto", "Green"])
    assert (await _tell(resources, "fact", wrong.ref)).memory.validity is Validity.ACTIVE

    await expect(page.locator("tbody tr >> nth=1 >> [data-act=correct]")).to_be_focused()
    await _act(page, "correct")
    await expect(page.locator(".mb-dialog textarea")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.locator(".mb-dialog")).to_have_count(0)
    await expect(words).to_have_text(["Porto", "Green"])


async def test_a_fact_is_confirmed_pinned_forgotten_and_restored(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    """Each action changes the row at once, offers what makes sense next, and can be taken back; keys are enough."""
    stored = await remember.fact(resources, NewFact(subject="Ada", predicate="tea", content="Jasmine"))
    clock.move(days=40)
    page = await visit("/facts")
    share = page.locator(".mb-c-confidence .mb-number")
    await expect(share).to_have_text("73%")
    await page.focus("[data-act=confirm]")
    await page.keyboard.press("Enter")
    await expect(share).to_have_text("100%")
    await _undo(page, "Confirmed")
    await expect(share).to_have_text("73%")

    await _act(page, "pin")
    await _chips(page, "Jasmine", "pinned")
    await expect(page.locator("[data-act=unpin]")).to_be_focused()
    await _act(page, "unpin")
    await _chips(page, "Jasmine")
    await _undo(page, "Unpinned")
    await _chips(page, "Jasmine", "pinned")

    await page.focus("[data-act=forget]")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Reason (optional)")).to_be_focused()
    await expect(page.locator(".mb-dialog")).to_contain_text("You can undo this now, or restore it later.")
    await page.keyboard.type("Not mine")
    await page.keyboard.press("Enter")
    await _chips(page, "Jasmine", "forgotten", "pinned")
    assert await page.locator(".mb-row-action").evaluate_all("all => all.map(one => one.dataset.act)") == ["restore"]
    await expect(page.locator("[data-act=restore]")).to_be_focused()
    found = await _tell(resources, "fact", stored.ref)
    assert "Not mine" in " ".join(line.words for line in found.story)
    await _act(page, "restore")
    await _chips(page, "Jasmine", "pinned")
    await _undo(page, "Restored")
    # The list is of what is in use, and this is not.
    await expect(page.locator(".mb-empty h2")).to_have_text("No facts in use")
    memory = (await _tell(resources, "fact", stored.ref)).memory
    assert isinstance(memory, Fact)
    assert (memory.validity, memory.pinned) == (Validity.RETRACTED, True)


async def test_a_fact_is_brought_back_instead_of_what_took_its_place(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    """Whoever restores it is told what stands there now; then they change places, and back again."""
    old = await remember.fact(resources, NewFact(subject="Ada", predicate="tea", content="Green"))
    clock.move(hours=1)
    new = await remember.fact(resources, NewFact(subject="Ada", predicate="tea", content="Jasmine"))
    page = await visit("/facts?validity=all")
    await _chips(page, "Green", "superseded")
    await _act(page, "restore")
    dialog = page.locator(".mb-dialog")
    await expect(dialog.locator("h2")).to_have_text("Replace “Jasmine” with this fact?")
    await expect(dialog).to_contain_text(f"fact:{new.ref} is in use now.")
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(dialog).to_have_count(0)
    assert (await _tell(resources, "fact", old.ref)).memory.validity is Validity.SUPERSEDED
    await _act(page, "restore")
    await dialog.get_by_role("button", name="Restore").click()
    await _chips(page, "Green")
    await _chips(page, "Jasmine", "superseded")
    await _undo(page, "Restored")
    await _chips(page, "Jasmine")
    await _chips(page, "Green", "superseded")


async def test_a_rule_is_judged_and_an_episode_kept(visit: Visit, resources: Resources) -> None:
    """A rule's record counts help and harm, with the reason; an episode is pinned or forgotten, and no more."""
    stored = await remember.rule(resources, NewRule(content="Book the first train."))
    await remember.episode(resources, NewEpisode(content="The train was late.", butler="main"))
    page = await visit("/rules")
    record = page.locator(".mb-record")
    await _act(page, "helpful")
    await expect(record).to_contain_text("thumb_up1thumb_down0")
    await _act(page, "harmful")
    await page.get_by_label("What went wrong?").fill("It was late.")
    await page.get_by_role("button", name="Harmful", exact=True).click()
    await expect(record).to_contain_text("thumb_up1thumb_down1")
    rule = (await _tell(resources, "rule", stored.ref)).memory
    assert isinstance(rule, Rule)
    assert rule.harmful_reasons == ["It was late."]
    await _undo(page, "Marked as harmful")
    await expect(record).to_contain_text("thumb_up1thumb_down0")

    await visit("/episodes")
    names = await page.locator(".mb-row-action").evaluate_all("all => all.map(one => one.dataset.act)")
    assert names == ["pin", "forget"]
    await _act(page, "pin")
    await _chips(page, "The train was late.", "pinned", "waiting")


async def test_an_agent_changes_without_undo_and_is_told_what_went_wrong(log_in: LogIn, resources: Resources) -> None:
    """Only those who govern are offered to undo; if somebody was quicker, the person is told and sees how it is."""
    stored = await remember.fact(resources, NewFact(subject="Ada", predicate="tea", content="Jasmine"))
    page = await log_in("agent", "/facts?subject=Ada")
    await _act(page, "pin")
    await _chips(page, "Jasmine", "pinned")
    await page.locator(".q-notification", has_text="Pinned").wait_for()
    assert await page.get_by_role("button", name="Undo").count() == 0
    await _act(page, "forget")
    await expect(page.locator(".mb-dialog")).to_contain_text("You can restore it later.")
    await expect(page.get_by_label("Reason (optional)")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.locator(".mb-dialog")).to_have_count(0)
    await _act(page, "correct")
    await page.fill(".mb-dialog textarea", "Green")
    await forget.forget(resources, "fact", stored.ref)
    await page.get_by_role("button", name="Correct", exact=True).click()
    await page.locator(".q-notification.bg-negative").wait_for()
    await _chips(page, "Jasmine", "forgotten", "pinned")


async def _helped(resources: Resources, ref: str) -> int:
    rule = (await _tell(resources, "rule", ref)).memory
    assert isinstance(rule, Rule)
    return rule.success_count


@pytest.mark.parametrize(
    ("path", "record", "words"),
    [("/rules", ".mb-record", "thumb_up{}"), ("/memory/rule/{ref}", "#details", "{} helpful,")],
)
async def test_a_double_click_does_it_once(
    visit: Visit, resources: Resources, path: str, record: str, words: str
) -> None:
    """Whether the first is under way when the second comes, or is over already; two that are meant are two."""
    stored = await remember.rule(resources, NewRule(content="Book the first train."))
    page = await visit(path.format(ref=stored.ref))
    shown = page.locator(record)
    button = page.locator("[data-act=helpful]")
    await button.dblclick()
    await expect(shown).to_contain_text(words.format(1))
    await page.click("[data-act=pin]")
    await page.locator("[data-act=unpin]").wait_for()
    assert await _helped(resources, stored.ref) == 1

    await button.hover()
    await page.mouse.down(click_count=1)
    await page.mouse.up(click_count=1)
    await expect(shown).to_contain_text(words.format(2))
    await page.mouse.down(click_count=2)
    await page.mouse.up(click_count=2)
    await page.click("[data-act=unpin]")
    await page.locator("[data-act=pin]").wait_for()
    assert await _helped(resources, stored.ref) == 2


async def test_what_is_done_is_done_even_if_its_undo_cannot_be_found(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A click that failed would be made again: a read that fails after the write only leaves the offer out."""
    stored = await remember.rule(resources, NewRule(content="Book the first train."))
    dashboard_context = DashboardContext(LazyResources.already_open(resources))
    context = PageContext(dashboard_context, dashboard_context.local_principal())
    assert (await memory_actions.run_action(context, "helpful", "rule", stored.ref)).undo_id
    reads = iter([False, True])

    async def failing(*given: Any, **more: Any) -> MemoryDetails:
        if next(reads):
            raise TargetUnavailable()
        return await get.get(*given, **more)

    monkeypatch.setattr(memory_actions, "get", SimpleNamespace(get=failing))
    done = await memory_actions.run_action(context, "helpful", "rule", stored.ref)
    assert (done.message, done.undo_id) == ("Marked as helpful: Book the first train.", None)
    assert await _helped(resources, stored.ref) == 2
