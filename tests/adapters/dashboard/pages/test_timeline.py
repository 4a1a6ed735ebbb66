"""The timeline in a real browser: the story, its filters, undo, news, and a look back."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from playwright.async_api import expect
from tests.adapters.dashboard.conftest import LogIn, Visit
from tests.conftest import MovingClock
from tests.support.service import Service

from memory_butler.adapters.dashboard.view_models import timeline_query as timeline_view
from memory_butler.errors import InvalidInput
from memory_butler.models import Caller, MemoryType, NewEpisode, NewFact, NewRule, Principal, Role
from memory_butler.models.days import DaySnapshot
from memory_butler.models.history import TimelineFilter
from memory_butler.operations.history import timeline
from memory_butler.operations.writing import forget, remember
from memory_butler.resources import Resources

# Hidden characters can only be in rows of earlier versions.
pytestmark = pytest.mark.usefixtures("text_of_older_versions")

HOSTILE = "<script>window.hacked=1</script>{{ 7*7 }}\u202e" + "x" * 300


async def live(resources: Resources, clock: MovingClock) -> str:
    """Three days; answers the reference of a fact that was replaced."""
    old = await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="green"))
    await remember.episode(resources, NewEpisode(content=HOSTILE, butler="main"))
    clock.move(days=1)
    person = Caller(Principal(resources.settings.tenant, "main", Role.ADMIN, name="Ada <b>Lovelace</b>"))
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="black"), person)
    clock.move(days=1)
    rule = await remember.rule(resources, NewRule(content="Offer tea"))
    await forget.forget(resources, MemoryType.RULE, rule.ref)
    return old.ref


async def test_the_story_is_read_narrowed_down_and_taken_back(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    """The newest first, day by day; the address says what is chosen; one event is undone at once, a group after a
    question, and both can be taken back. Hostile words stay words."""
    ref = await live(resources, clock)
    page = await visit("/timeline")
    entries = page.locator(".mb-events li")
    await expect(entries).to_have_count(5)
    await expect(entries.nth(0)).to_contain_text("Forgotten by main.")
    await expect(entries.nth(2)).to_contain_text("Ada <b>Lovelace</b>: 1 fact stored, 1 fact superseded")
    await expect(entries.nth(3)).to_contain_text("<script>window.hacked=1</script>{{ 7*7 }}⟨U+202E⟩")
    assert await page.locator(".mb-events-day").all_inner_texts() == [
        "Tuesday, 3 March 2026", "Monday, 2 March 2026", "Sunday, 1 March 2026"
    ]  # fmt: skip
    assert await page.evaluate("window.hacked") is None
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    await entries.nth(0).get_by_role("button", name="Undo").click()
    await expect(page.locator(".q-notification").last).to_contain_text("Undone: 1 change")
    await expect(entries).to_have_count(6)
    await expect(entries.nth(1)).to_have_class(re.compile("mb-undone"))
    assert await entries.nth(1).get_by_role("button").count() == 0
    await page.locator(".q-notification").last.get_by_role("button", name="Undo").click()
    await expect(entries).to_have_count(7)

    await entries.nth(4).get_by_role("button", name="Undo all 2").click()
    dialog = page.locator(".mb-dialog")
    await expect(dialog).to_contain_text("Undo 2 changes?")
    await expect(dialog).to_contain_text(f"fact:{ref}: the supersession")
    await dialog.get_by_role("button", name="Undo").click()
    await expect(entries.nth(0)).to_contain_text("2 facts undone")
    struck = page.locator(".mb-undone .mb-events-summary-text")
    await expect(struck).to_have_text("Ada <b>Lovelace</b>: 1 fact stored, 1 fact superseded")
    await expect(struck).to_have_css("text-decoration-line", "line-through")

    await page.get_by_label("Action").select_option(label="Forgotten")
    await expect(entries).to_have_count(1)
    await page.wait_for_url(lambda url: url.endswith("/timeline?what=retracted"))
    await page.get_by_role("button", name="Clear filters").click()
    await page.get_by_label("Memory").fill(f"fact:{ref}")
    await expect(entries).to_have_count(3)
    await page.go_back()
    await expect(entries).to_have_count(8)
    await page.get_by_label("Memory").fill("the one about tea")
    await expect(page.locator(".mb-error")).to_contain_text("names no memory")
    await page.reload()
    await expect(page.locator(".mb-error")).to_contain_text("names no memory")
    await expect(page.get_by_role("button", name="View as of an earlier day")).to_be_visible()


async def test_news_wait_until_they_are_wanted_and_the_past_can_be_paged(visit: Visit, resources: Resources) -> None:
    """What one reads stays where it is: a bar says how much is new. Older entries come below, each once."""
    for number in range(32):
        await remember.episode(resources, NewEpisode(content=f"day {number}", butler="main"))
    page = await visit("/timeline")
    entries = page.locator(".mb-events li")
    await expect(entries).to_have_count(30)
    await page.get_by_role("button", name="Earlier", exact=True).dblclick()
    await expect(entries).to_have_count(32)
    await expect(page.get_by_role("button", name="Earlier", exact=True)).to_be_hidden()
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="green"))
    news = page.get_by_role("button", name="1 new")
    await expect(news).to_be_visible()
    await expect(entries.nth(0)).to_contain_text("day 31")
    await news.click()
    await expect(entries.nth(0)).to_contain_text("Anna's tea: green")
    await expect(news).to_be_hidden()


async def test_whoever_takes_back_keeps_their_place(visit: Visit, resources: Resources) -> None:
    """What was paged to stays on the page, also where it is more than one read brings."""
    for number in range(timeline.MOST + timeline.USUAL):
        await remember.episode(resources, NewEpisode(content=f"day {number}", butler="main"))
    page = await visit("/timeline")
    entries = page.locator(".mb-events li")
    for shown in range(timeline.USUAL, timeline.MOST + timeline.USUAL, timeline.USUAL):
        await expect(entries).to_have_count(shown)
        await page.get_by_role("button", name="Earlier", exact=True).click()
    held = timeline.MOST + timeline.USUAL
    await expect(entries).to_have_count(held)
    await entries.nth(held - 1).get_by_role("button", name="Undo").click()
    await expect(entries.nth(0)).to_contain_text("Undone by")
    await expect(entries).to_have_count(held)
    await expect(entries.nth(held - 1)).to_contain_text("day 1")


async def test_a_day_of_the_past_is_shown_and_searched(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    """The slider goes to a day, which is in the address: what was in use then, what has changed since, what a search
    would have found, and the story up to it."""
    ref = await live(resources, clock)
    page = await visit("/timeline")
    await page.get_by_role("button", name="View as of an earlier day").click()
    await expect(page.get_by_role("slider", name="Day")).to_be_focused()
    await page.get_by_role("button", name="Previous day").click()
    await expect(page.get_by_role("heading", name="As of Monday, 2 March 2026")).to_be_visible()
    await page.get_by_role("slider", name="Day").press("ArrowLeft")
    await expect(page).to_have_url(re.compile(r"/timeline\?day=2026-03-01$"))
    await expect(page.locator("[data-then] li").nth(0)).to_contain_text("1 in use then, 1 now")
    await expect(page.locator(".mb-as-of-hint")).to_have_text("Since then: 2 stored, 1 forgotten, 1 superseded.")
    await expect(page.locator(".mb-events li")).to_have_count(2)
    await page.get_by_label("Search the store as of this day").fill("green tea Anna")
    await page.get_by_role("button", name="Search").click()
    row = page.locator(".mb-as-of-rows li", has_text=f"fact:{ref}")
    await expect(row).to_contain_text("now superseded")
    await page.reload()
    await expect(row).to_contain_text("now superseded")
    await page.get_by_role("button", name="Back to now").click()
    await expect(page.locator(".mb-events li")).to_have_count(5)
    await page.wait_for_url(lambda url: url.endswith("/timeline"))


async def test_a_parameter_that_there_is_not_is_named(visit: Visit, resources: Resources, clock: MovingClock) -> None:
    """It is named and ignored, so that a link with one still leads somewhere; the next choice drops it."""
    await live(resources, clock)
    page = await visit("/timeline?memory=k3f7")
    await expect(page.locator(".mb-note").first).to_contain_text("does not know: “memory”. Ignored.")
    assert await page.locator(".mb-events li").count() > 2
    await page.get_by_label("Type").select_option("rule")
    await expect(page.locator(".mb-events li")).to_have_count(2)
    await page.wait_for_url(lambda url: url.endswith("/timeline?of=rule"))


async def test_a_reader_reads_and_no_more(log_in: LogIn, service: Service, clock: MovingClock) -> None:
    """The story without undo and without the past, and a kind word where there is nothing."""
    clock.now = datetime.now(UTC)
    page = await log_in("reader", "/timeline")
    await expect(page.locator(".mb-empty")).to_contain_text("No events yet")
    await remember.fact(
        replace(service.resources, clock=clock), NewFact(subject="Anna", predicate="tea", content="green")
    )
    await expect(page.locator(".mb-events li")).to_have_count(1)
    assert await page.locator(".mb-events-undo, .mb-as-of").count() == 0
    options = await page.get_by_label("Type").locator("option").all_inner_texts()
    assert options == ["Changes", "Facts", "Rules", "Episodes"]


# --- what is shown, without a browser ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, TimelineFilter(kinds=timeline_view.CHANGES)),
        ({"of": "all", "what": " faded ", "strange": "x"}, TimelineFilter(actions=("faded",))),
        ({"of": "all", "what": "dead_lettered"}, TimelineFilter(actions=("dead_lettered", "failed"))),
        ({"of": "reads", "by": "Ada"}, TimelineFilter(kinds=("reference", "access"), actor="Ada")),
        ({"of": "fact", "ref": "k3f7", "scope": "chef"}, TimelineFilter(kinds=("fact",), ref="k3f7", scope="chef")),
        (
            {"day": "2026-03-01", "group": "g"},
            TimelineFilter(kinds=timeline_view.CHANGES, group="g", until=datetime(2026, 3, 2, tzinfo=UTC)),
        ),
    ],
)
def test_an_address_says_what_is_told(query: dict[str, Any], expected: TimelineFilter) -> None:
    """Without a kind it is what changed; what is called the same is found together; a day ends with its last moment."""
    assert timeline_view.filter_of(timeline_view.parse(query)) == expected


@pytest.mark.parametrize("day", ["yesterday", "9999-12-31", "10000-01-01", "0000-01-01"])
def test_a_day_that_is_none_is_refused(day: str) -> None:
    """An address may say anything, also the last day there is, which has no end."""
    with pytest.raises(InvalidInput, match="not a day"):
        timeline_view.filter_of({"day": day})


def test_a_day_is_compared_with_now() -> None:
    """What was in use is told apart from what was not, and what has happened since the most first."""
    found = DaySnapshot(
        day=date(2026, 3, 1),
        moment=datetime(2026, 3, 1, tzinfo=UTC),
        first_day=date(2026, 1, 1),
        then={"fact": {"active": 1200, "fading": 2, "retracted": 3}, "rule": {}, "episode": {"active": 1}},
        now={"fact": {"active": 5}, "rule": {"active": 1}, "episode": {}},
        since={"created": 1, "retracted": 1197, "dead_lettered": 2},
    )
    assert [(one["label"], one["then"], one["now"], one["states"]) for one in timeline_view.type_counts(found)] == [
        ("Facts", 1202, 5, "1,200 active, 2 fading, 3 forgotten"),
        ("Rules", 0, 1, ""),
        ("Episodes", 1, 0, "1 active"),
    ]
    assert timeline_view.changes_since(found) == "Since then: 1,197 forgotten, 2 dead-lettered, 1 stored."
    assert timeline_view.changes_since(replace(found, since={})) == "No changes since then."
