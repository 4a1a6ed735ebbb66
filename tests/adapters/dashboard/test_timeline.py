"""The timeline in a real browser: the story, its filters, undo, news, and a look back."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from playwright.async_api import expect
from tests.adapters.dashboard.conftest import LogIn, Visit
from tests.conftest import MovingClock
from tests.service import Service

from memory_butler.adapters.dashboard import tale
from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput
from memory_butler.models import Caller, MemoryType, NewEpisode, NewFact, NewRule, Principal, Role
from memory_butler.models.days import DayStanding
from memory_butler.models.history import TimelineFilter
from memory_butler.operations import forget, remember, timeline

HOSTILE = "<script>window.hacked=1</script>{{ 7*7 }}\u202e" + "x" * 300


async def live(butler: Butler, clock: MovingClock) -> str:
    """Three days; answers the reference of a fact that was replaced."""
    old = await remember.fact(butler, NewFact(subject="Anna", predicate="tea", content="green"))
    await remember.episode(butler, NewEpisode(content=HOSTILE, butler="main"))
    clock.move(days=1)
    person = Caller(Principal(butler.settings.tenant, "main", Role.ADMIN, name="Ada <b>Lovelace</b>"))
    await remember.fact(butler, NewFact(subject="Anna", predicate="tea", content="black"), person)
    clock.move(days=1)
    rule = await remember.rule(butler, NewRule(content="Offer tea"))
    await forget.forget(butler, MemoryType.RULE, rule.ref)
    return old.ref


async def test_the_story_is_read_narrowed_down_and_taken_back(visit: Visit, butler: Butler, clock: MovingClock) -> None:
    """The newest first, day by day; the address says what is chosen; one event is undone at once, a group after a
    question, and both can be taken back. Hostile words stay words."""
    ref = await live(butler, clock)
    page = await visit("/timeline")
    entries = page.locator(".mb-story li")
    await expect(entries).to_have_count(5)
    await expect(entries.nth(0)).to_contain_text("Forgotten by main.")
    await expect(entries.nth(2)).to_contain_text("Ada <b>Lovelace</b>: 1 fact stored, 1 fact superseded")
    await expect(entries.nth(3)).to_contain_text("<script>window.hacked=1</script>{{ 7*7 }}⟨U+202E⟩")
    assert await page.locator(".mb-story-day").all_inner_texts() == [
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
    await expect(entries.nth(0)).to_contain_text("2 facts changed back")
    struck = page.locator(".mb-undone .mb-story-all")
    await expect(struck).to_have_text("Ada <b>Lovelace</b>: 1 fact stored, 1 fact superseded")
    await expect(struck).to_have_css("text-decoration-line", "line-through")

    await page.get_by_label("What happened").select_option(label="Forgotten")
    await expect(entries).to_have_count(1)
    assert page.url.endswith("/timeline?what=retracted")
    await page.get_by_role("button", name="Show all").click()
    await page.get_by_label("Memory").fill(f"fact:{ref}")
    await expect(entries).to_have_count(3)
    await page.go_back()
    await expect(entries).to_have_count(8)
    await page.get_by_label("Memory").fill("the one about tea")
    await expect(page.locator(".mb-trouble")).to_contain_text("names no memory")
    await page.reload()
    await expect(page.locator(".mb-trouble")).to_contain_text("names no memory")
    await expect(page.get_by_role("heading", name="As it is now")).to_be_visible()


async def test_news_wait_until_they_are_wanted_and_the_past_can_be_paged(visit: Visit, butler: Butler) -> None:
    """What one reads stays where it is: a bar says how much is new. Older entries come below, each once."""
    for number in range(32):
        await remember.episode(butler, NewEpisode(content=f"day {number}", butler="main"))
    page = await visit("/timeline")
    entries = page.locator(".mb-story li")
    await expect(entries).to_have_count(30)
    await page.get_by_role("button", name="Earlier", exact=True).dblclick()
    await expect(entries).to_have_count(32)
    await expect(page.get_by_role("button", name="Earlier", exact=True)).to_be_hidden()
    await remember.fact(butler, NewFact(subject="Anna", predicate="tea", content="green"))
    news = page.get_by_role("button", name="1 new")
    await expect(news).to_be_visible()
    await expect(entries.nth(0)).to_contain_text("day 31")
    await news.click()
    await expect(entries.nth(0)).to_contain_text("Anna · tea: green")
    await expect(news).to_be_hidden()


async def test_whoever_takes_back_keeps_their_place(visit: Visit, butler: Butler) -> None:
    """What was paged to stays on the page, also where it is more than one read brings."""
    for number in range(timeline.MOST + timeline.USUAL):
        await remember.episode(butler, NewEpisode(content=f"day {number}", butler="main"))
    page = await visit("/timeline")
    entries = page.locator(".mb-story li")
    for shown in range(timeline.USUAL, timeline.MOST + timeline.USUAL, timeline.USUAL):
        await expect(entries).to_have_count(shown)
        await page.get_by_role("button", name="Earlier", exact=True).click()
    held = timeline.MOST + timeline.USUAL
    await expect(entries).to_have_count(held)
    await entries.nth(held - 1).get_by_role("button", name="Undo").click()
    await expect(entries.nth(0)).to_contain_text("Undone by")
    await expect(entries).to_have_count(held)
    await expect(entries.nth(held - 1)).to_contain_text("day 1")


async def test_a_day_of_the_past_is_shown_and_searched(visit: Visit, butler: Butler, clock: MovingClock) -> None:
    """The slider goes to a day, which is in the address: what was in use then, what has changed since, what a search
    would have found, and the story up to it."""
    ref = await live(butler, clock)
    page = await visit("/timeline")
    await page.get_by_role("button", name="A day earlier").click()
    await expect(page.get_by_role("heading", name="As it was on Monday, 2 March 2026")).to_be_visible()
    await page.get_by_label("Day to look back to").press("ArrowLeft")
    await expect(page).to_have_url(re.compile(r"/timeline\?day=2026-03-01$"))
    await expect(page.locator("[data-then] li").nth(0)).to_contain_text("1 in use then, 1 now")
    await expect(page.locator(".mb-lookback-hint")).to_have_text("Since then: 2 stored, 1 forgotten, 1 superseded.")
    await expect(page.locator(".mb-story li")).to_have_count(2)
    await page.get_by_label("Search in what was remembered then").fill("green tea Anna")
    await page.get_by_role("button", name="Search").click()
    row = page.locator(".mb-lookback-rows li", has_text=f"fact:{ref}")
    await expect(row).to_contain_text("now superseded")
    await page.reload()
    await expect(row).to_contain_text("now superseded")
    await page.get_by_role("button", name="Back to today").click()
    await expect(page.locator(".mb-story li")).to_have_count(5)
    assert page.url.endswith("/timeline")


async def test_a_filter_that_there_is_not_lists_nothing(visit: Visit, butler: Butler, clock: MovingClock) -> None:
    """It is named where the story would be; a choice among those there are leads on."""
    await live(butler, clock)
    page = await visit("/timeline?memory=k3f7")
    await expect(page.get_by_role("alert")).to_contain_text("There is no filter “memory” here.")
    assert await page.locator(".mb-story li").count() == 0
    await page.get_by_label("To what").select_option("rule")
    await expect(page.locator(".mb-story li")).to_have_count(2)
    assert page.url.endswith("/timeline?of=rule")


async def test_a_reader_reads_and_no_more(log_in: LogIn, service: Service, clock: MovingClock) -> None:
    """The story without undo and without the past, and a kind word where there is nothing."""
    clock.now = datetime.now(UTC)
    page = await log_in("reader", "/timeline")
    await expect(page.locator(".mb-empty")).to_contain_text("Nothing has happened yet")
    await remember.fact(replace(service.butler, clock=clock), NewFact(subject="Anna", predicate="tea", content="green"))
    await expect(page.locator(".mb-story li")).to_have_count(1)
    assert await page.locator(".mb-story-undo, .mb-lookback").count() == 0
    options = await page.get_by_label("To what").locator("option").all_inner_texts()
    assert options == ["All that changed", "Facts", "Rules", "Episodes"]


# --- what is shown, without a browser ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, TimelineFilter(kinds=tale.CHANGES)),
        ({"of": "all", "what": " faded ", "strange": "x"}, TimelineFilter(actions=("faded",))),
        ({"of": "all", "what": "dead_lettered"}, TimelineFilter(actions=("dead_lettered", "failed"))),
        ({"of": "reads", "by": "Ada"}, TimelineFilter(kinds=("reference", "access"), actor="Ada")),
        ({"of": "fact", "ref": "k3f7", "scope": "chef"}, TimelineFilter(kinds=("fact",), ref="k3f7", scope="chef")),
        (
            {"day": "2026-03-01", "group": "g"},
            TimelineFilter(kinds=tale.CHANGES, group="g", until=datetime(2026, 3, 2, tzinfo=UTC)),
        ),
    ],
)
def test_an_address_says_what_is_told(query: dict[str, Any], expected: TimelineFilter) -> None:
    """Without a kind it is what changed; what is called the same is found together; a day ends with its last moment."""
    assert tale.filter_of(tale.read(query)) == expected


@pytest.mark.parametrize("day", ["yesterday", "9999-12-31", "10000-01-01", "0000-01-01"])
def test_a_day_that_is_none_is_refused(day: str) -> None:
    """An address may say anything, also the last day there is, which has no end."""
    with pytest.raises(InvalidInput, match="not a day"):
        tale.filter_of({"day": day})


def test_a_day_is_compared_with_now() -> None:
    """What was in use is told apart from what was not, and what has happened since the most first."""
    found = DayStanding(
        day=date(2026, 3, 1),
        moment=datetime(2026, 3, 1, tzinfo=UTC),
        first_day=date(2026, 1, 1),
        then={"fact": {"active": 1200, "fading": 2, "retracted": 3}, "rule": {}, "episode": {"active": 1}},
        now={"fact": {"active": 5}, "rule": {"active": 1}, "episode": {}},
        since={"created": 1, "retracted": 1197, "dead_lettered": 2},
    )
    assert [(one["label"], one["then"], one["now"], one["states"]) for one in tale.types(found)] == [
        ("Facts", 1202, 5, "1,200 active, 2 fading, 3 forgotten"),
        ("Rules", 0, 1, ""),
        ("Episodes", 1, 0, "1 active"),
    ]
    assert tale.since(found) == "Since then: 1,197 forgotten, 2 given up, 1 stored."
    assert tale.since(replace(found, since={})) == "Nothing has changed since."
