"""The overview in a real browser: what it shows, where it leads, and that it follows what is written."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from playwright.async_api import Page, expect
from tests.adapters.dashboard.conftest import LogIn, Visit
from tests.conftest import START, MovingClock
from tests.support.service import Service

from memory_butler.adapters.dashboard.components import charts
from memory_butler.adapters.dashboard.view_models import history_entries, list_rows, overview_figures
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Outcome, Principal, Role
from memory_butler.models.days import Day, Growth
from memory_butler.models.history import TimelineFilter
from memory_butler.operations.history import days, timeline
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.system import alerts, stats
from memory_butler.operations.writing import feedback, remember
from memory_butler.resources import Resources
from memory_butler.store.system.alerts import EpisodeCounts

# Hidden characters can only be in rows of earlier versions.
pytestmark = pytest.mark.usefixtures("text_of_older_versions")

Connection = psycopg.Connection[tuple[Any, ...]]
HOSTILE = "<img src=x onerror='window.hacked=1'>{{ 7*7 }}\u202egnp.exe"


async def furnish(resources: Resources, clock: MovingClock, owner: Connection) -> str:
    """A store that needs attention in every way there is; answers the reference of a fact that is about to fade."""
    fading = await remember.fact(
        resources,
        NewFact(subject="Anna", predicate="door code", content=HOSTILE, importance=9, permanence="volatile"),
    )
    rule = await remember.rule(resources, NewRule(content="Wake them at five"))
    for _ in range(3):
        await feedback.mark(resources, rule.ref, Outcome.HARMFUL, reason="tired")
    clock.move(days=50)
    warned = await remember.rule(resources, NewRule(content="Send it at night"))
    for _ in range(3):
        await feedback.mark(resources, warned.ref, Outcome.HARMFUL, reason="woke them")
    lost = await remember.episode(resources, NewEpisode(content="garbled", butler="main"))
    tenant = resources.settings.tenant
    owner.execute(
        "UPDATE memory.episodes SET consolidation_status = 'failed' WHERE tenant_id = %s AND id = %s",
        (tenant, lost.id),
    )
    owner.execute(
        "INSERT INTO memory.consolidation_runs"
        " (tenant_id, id, butler, distiller, state, claimed_at, lease_until, episodes)"
        " VALUES (%s, %s, 'main', 'none', 'waiting', %s, %s, 1)",
        (tenant, uuid4(), clock(), clock()),
    )
    return fading.ref


async def kinds(page: Page) -> list[str]:
    return [str(await one.get_attribute("data-kind")) for one in await page.query_selector_all(".mb-attention li")]


async def test_a_store_at_a_glance(visit: Visit, resources: Resources, clock: MovingClock, owner: Connection) -> None:
    """Figures, what needs attention with the way to its fix, charts with a name, and hostile words as words. A fact
    is confirmed in place, taken back, and the page follows what others write."""
    ref = await furnish(resources, clock, owner)
    page = await visit("/")
    await expect(page.locator("[data-figure=facts] .mb-figure-count")).to_have_text("1 in use")
    await expect(page.locator(".mb-attention li").last).to_have_attribute("data-kind", "burst")
    assert await kinds(page) == [
        "dead_letters",
        "proposals",
        *["job"] * len(jobs(resources)),
        "fading",
        "warning",
        "burst",
    ]
    fading = page.locator("[data-kind=fading]")
    await expect(fading.locator("a").first).to_have_text("Anna's door code: " + HOSTILE.replace("\u202e", "⟨U+202E⟩"))
    assert await fading.locator("a").first.get_attribute("href") == f"/memory/fact/{ref}"
    await expect(page.locator("[data-kind=warning] a").first).to_have_text("Do not: Send it at night")
    for name in ("Memories stored", "Histogram of the confidence"):
        await expect(page.locator(f'[role=img][aria-label^="{name}"] svg')).to_be_visible()
    assert await page.evaluate("window.hacked") is None
    await expect(page.locator(".mb-events-compact")).to_contain_text("Marked harmful by main: “woke them”")

    await fading.get_by_role("button", name="Confirm").click()
    await expect(page.locator(".q-notification").last).to_contain_text("Confirmed: Anna's door code: <img src=x")
    await expect(fading).to_have_count(0)
    assert await page.evaluate("window.hacked") is None
    await page.locator(".q-notification").get_by_role("button", name="Undo").click()
    await expect(fading).to_have_count(1)

    await remember.fact(resources, NewFact(subject="Ben", predicate="tea", content="green"))
    await expect(page.locator("[data-figure=facts] .mb-figure-count")).to_have_text("2 in use")
    await expect(page.locator(".mb-events-compact")).to_contain_text("Ben's tea: green")


async def test_an_important_episode_is_shown_before_it_expires_unkept(
    visit: Visit, resources: Resources, clock: MovingClock
) -> None:
    """With its words, why nothing is kept of it, and the way to its page, where it can be pinned."""
    done = await remember.episode(resources, NewEpisode(content=HOSTILE, butler="main", importance=8))
    clock.move(days=6)
    page = await visit("/")
    entry = page.locator("[data-kind=expiring]")
    await expect(entry).to_contain_text("This episode waits for consolidation. It is deleted on")
    assert await entry.locator("a").first.get_attribute("href") == f"/memory/episode/{done.ref}"
    assert await page.evaluate("window.hacked") is None


def jobs(resources: Resources) -> list[str]:
    return list(resources.settings.upkeep.intervals())


async def test_whoever_has_nothing_is_told_how_to_begin(visit: Visit, resources: Resources) -> None:
    """The commands that store, connect and fill a demo; with the first memory the page becomes what it is for."""
    page = await visit("/")
    for words in (" remember fact Ada", "claude mcp add", " demo --keep"):
        await expect(page.locator(".mb-empty")).to_contain_text(words)
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="green"))
    await expect(page.locator("[data-figure=facts] .mb-figure-count")).to_have_text("1 in use")
    await expect(page.locator(".mb-no-attention")).to_be_visible()


async def test_a_reader_sees_and_is_offered_nothing_to_change(
    log_in: LogIn, service: Service, clock: MovingClock, owner: Connection, tenant: str
) -> None:
    """What only an administrator can put right is not named, and what fades has no button."""
    theirs = replace(service.resources, clock=clock)
    await furnish(theirs, clock, owner)
    clock.now = datetime.now(UTC)
    await remember.fact(theirs, NewFact(subject="Ben", predicate="tea", content="green"))
    page = await log_in("reader")
    await expect(page.locator("[data-figure=facts] .mb-figure-count")).to_have_text("2 in use")
    assert set(await kinds(page)) <= {"fading", "warning"}
    assert await page.get_by_role("button", name="Confirm").count() == 0


# --- what is shown, without a browser ---------------------------------------------------------------


async def test_figures_lead_to_their_lists(resources: Resources) -> None:
    """Each state of facts and each maturity of rules is a way to the list that is narrowed down to it."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="green"))
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="black"))
    await remember.rule(resources, NewRule(content="Offer tea"))
    await remember.episode(resources, NewEpisode(content="tea was served", butler="main"))
    found = await stats.stats(resources)
    seen = await alerts.alerts(resources)
    cards = {card["name"]: card for card in overview_figures.count_cards(found, seen.line, governs=True)}
    parts = {name: [(p["count"], p["label"], p["href"]) for p in card["parts"]] for name, card in cards.items()}
    assert parts == {
        "facts": [(1, "superseded", "/facts?validity=superseded")],
        "rules": [(1, "candidate", "/rules?maturity=candidate")],
        "episodes": [(1, "waiting", "/consolidation")],
    }
    assert {name: card["count"] for name, card in cards.items()} == {"facts": 1, "rules": 1, "episodes": 1}
    assert overview_figures.backlog(found, seen.line, seen.at) == ("1", "The oldest has waited less than an hour.")
    many = EpisodeCounts(waiting=0, oldest=None, deciding=4, given_up=1)
    parts = overview_figures.count_cards(found, many, governs=True)[2]["parts"]
    assert parts[0]["kind"] == list_rows.IN_REVIEW[1], "a state has the colour that it has in the list of episodes"
    assert [(one["label"], one["href"]) for one in parts] == [
        ("in review", "/consolidation?state=waiting"),
        ("failed", "/consolidation#failed-episodes"),
    ]
    assert {one["href"] for one in overview_figures.count_cards(found, many, governs=False)[2]["parts"]} == {""}
    assert not overview_figures.is_empty(found)


@pytest.mark.parametrize(
    ("waiting", "words"),
    [
        ((0, 0, 0, 0), ("0", "All episodes have been processed.")),
        ((0, 0, 0, 4), ("0", "All episodes have been processed. 4 more in review.")),
        ((3, 0, 1.2, 0), ("3", "The oldest has waited 1 hour.")),
        ((3, 1, 30, 0), ("3", "The oldest has waited 30 hours. 1 of them has priority because others refer to them.")),
        (
            (2000, 2, 100, 0),
            ("2,000", "The oldest has waited 4 days. 2 of them have priority because others refer to them."),
        ),
    ],
)
def test_the_backlog_in_words(waiting: tuple[int, int, float, int], words: tuple[str, str]) -> None:
    """How many wait, how long, whether some come first, and how many are in proposals."""
    number, first, age, deciding = waiting
    line = EpisodeCounts(waiting=number, oldest=START - timedelta(hours=age), deciding=deciding, given_up=0)
    assert overview_figures.backlog({"backlog": {"first_in_line": first}}, line, START) == words


def test_rules_that_nobody_judged_have_no_effectiveness() -> None:
    """No figure rather than nought; with marks, the mean and both shares."""
    marks: dict[str, Any] = {"rules_applied": 0, "helpful_marks": 0, "harmful_marks": 0, "mean_effectiveness": None}
    assert overview_figures.effectiveness({"rule_effectiveness": marks})[0].startswith("No feedback yet")
    marks = {"rules_applied": 1, "helpful_marks": 3, "harmful_marks": 1, "mean_effectiveness": 0.4286}
    said, bars = overview_figures.effectiveness({"rule_effectiveness": marks})
    assert said == "43% effective on average, over 1 rule with feedback."
    assert [bar["share"] for bar in bars] == [0.75, 0.25]


async def test_growth_stands_up_and_decay_hangs_down(resources: Resources, clock: MovingClock) -> None:
    """Stored counts are positive, superseded ones negative; the line is what was in use. Empty days before the first
    are left out, but for a few weeks."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="green"))
    clock.move(days=1)
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="black"))
    drawn = overview_figures.growth_chart(await days.growth(resources))
    series = {one["name"]: one["data"] for one in drawn["series"]}
    assert {name: data[-2:] for name, data in series.items()} == {
        "Stored": [1, 1],
        "Superseded": [0, -1],
        "In use": [1, 1],
    }
    assert {len(data) for data in series.values()} == {overview_figures.MIN_DAYS}
    start = clock().date()
    old = Growth(days=tuple(Day(day=start + timedelta(days=n), happened={}, in_use={"fact": 1}) for n in range(90)))
    assert len(overview_figures.growth_chart(old)["series"][0]["data"]) == 90


def test_each_line_of_growth_has_a_colour_of_its_own() -> None:
    """What is in use among them."""
    colours = [charts.GREEN, *(colour for *_, colour in (*overview_figures._UP, *overview_figures._DOWN))]
    assert len(set(colours)) == len(colours)


async def test_each_step_of_confidence_has_its_bar(resources: Resources, clock: MovingClock) -> None:
    """Ten bars, also where there is nothing, and the fading ones in another colour."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="tea", content="green", permanence="ephemeral"))
    clock.move(days=18)
    drawn = overview_figures.confidence_chart(await stats.stats(resources), 0.2)
    bars = drawn["series"][0]["data"]
    assert [bar["value"] for bar in bars] == [0, 1] + [0] * 8
    assert len({bar["itemStyle"]["color"] for bar in bars[:2]}) == 1 and bars[1] != bars[2]
    assert bars[1]["itemStyle"] != bars[2]["itemStyle"]


async def test_of_many_fading_facts_the_rest_is_a_list(resources: Resources, clock: MovingClock, tenant: str) -> None:
    """What does not fit leads to the facts that matter, the least certain first; without the right, no button."""
    for number in range(alerts.SHOWN + 2):
        new = NewFact(subject=f"s{number}", predicate="p", content="x" * 400, importance=8, permanence="volatile")
        await remember.fact(resources, new)
    clock.move(days=50)
    reader = Caller(Principal(tenant, "main", Role.READER))
    items = overview_figures.attention_list(await alerts.alerts(resources, reader), may_confirm=False)
    assert len(items) == alerts.SHOWN + 1 and {item["action"] for item in items} == {""}
    assert items[-1]["title"] == "2 more important facts fading soon"
    assert items[-1]["href"] == "/facts?importance_min=7&sort=confidence&order=asc"
    assert all(len(item["title"]) <= overview_figures.SHOWN_CHARACTERS + len(" …") for item in items)


async def test_upkeep_says_whose_memories_it_looked_after(resources: Resources, clock: MovingClock) -> None:
    """Of several butlers whose episodes were deleted at the same time each is named."""
    for name in ("chef", "nurse"):
        for content in ("came by", "left again"):
            await remember.episode(resources, NewEpisode(content=content, butler=name))
    clock.move(days=30)
    await sweep.sweep(resources)
    clock.move(minutes=1)
    lately = (await timeline.timeline(resources, TimelineFilter(actions=("deleted",)))).entries
    assert {(one["actor"], one["summary"]) for one in history_entries.event_entries(lately)} == {
        ("upkeep for chef", "2 episodes deleted"),
        ("upkeep for nurse", "2 episodes deleted"),
    }


def test_tones_are_known_to_the_look() -> None:
    """Every tone that an entry can have has a colour."""
    import importlib.resources

    look = (importlib.resources.files("memory_butler.adapters.dashboard") / "assets" / "dashboard.css").read_text()
    assert all(
        f".mb-tone-{tone} " in look or f".mb-tone-{tone}," in look for tone in set(history_entries._TONES.values())
    )
