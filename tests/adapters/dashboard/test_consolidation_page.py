"""Consolidation: what waits is distilled at a click, proposals are decided on, runs are taken back, and what was given
up gets another chance."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from playwright.async_api import Page, expect
from tests.adapters.dashboard.conftest import PHONE, LogIn
from tests.conftest import START
from tests.operations.distillers import Scripted, of_each, proposal, say, with_distiller
from tests.service import on_loopback

from memory_butler.adapters.dashboard import distilling
from memory_butler.adapters.dashboard.distilling import View, view_from
from memory_butler.adapters.dashboard.errands import Errand, Errands
from memory_butler.adapters.dashboard.front import build_dashboard
from memory_butler.adapters.opening import LateButler
from memory_butler.butler import Butler
from memory_butler.errors import Conflict, DistillerUnavailable, Unprocessable
from memory_butler.models import LeftAlone, NewFact, RunReport, TakenBack, UndoReport, Usage
from memory_butler.operations import browse, consolidate, ledger, look, remember, review
from memory_butler.operations.diff import DiffLine
from memory_butler.operations.ledger import CameTo, Day, Ledger
from memory_butler.operations.upkeep import shard_of
from memory_butler.store.consolidation import Run

HOSTILE = '<img src=x onerror="window.hacked=1"> {{ 7 * 7 }} tea'
Open = Callable[[Butler, str], Any]


@pytest.fixture
async def open_page(page: Page, pages_stay_loaded: None) -> AsyncIterator[Open]:
    """Open a page of the dashboard of a butler that was set up for the test."""
    async with AsyncExitStack() as stack:

        async def opened(butler: Butler, path: str) -> Page:
            late = LateButler.already_open(butler)
            door = await stack.enter_async_context(on_loopback(late, build=build_dashboard))
            await page.goto(door.url + path)
            await page.wait_for_selector("h1.mb-title")
            return page

        yield opened


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


async def test_what_waits_is_distilled_at_a_click_and_taken_back(open_page: Open, butler: Butler, tenant: str) -> None:
    """In the background, with a message; the page hears of it and of others; the diff stands beside what was there; to
    undo a run it is said first what would be undone, and the undoing can be undone."""
    told = with_distiller(
        butler, Scripted(_moves, usage=Usage(input_tokens=900, cost_microdollars=20_000)), daily_dollars=1
    )
    old = await remember.fact(told, NewFact(subject="user", predicate="lives_in", content="Lisbon", scope="main"))
    await say(told, f"I moved to Porto. {HOSTILE} I like it. I live in Porto.")
    page = await open_page(told, "/consolidation")
    waiting = page.locator("[aria-label=Waiting] .mb-distil-figure")
    await expect(waiting).to_have_text("1")
    await expect(page.get_by_text("There was no run yet.")).to_be_visible()
    await say(told, "I still live in Porto. tea")
    await expect(waiting).to_have_text("2")

    await page.get_by_role("button", name="Consolidate now").click()
    await expect(page.locator(".q-notification")).to_contain_text("2 episodes: 1 new, 1 updated, 1 refused")
    await expect(waiting).to_have_text("0")
    row = page.locator(".mb-runs tbody tr")
    await expect(row).to_contain_text("$0.02")
    await expect(page.locator("[aria-label=Cost]")).to_contain_text("$0.0200 of $1.00 today")
    await page.get_by_label("State").select_option("failed")
    await expect(page.get_by_text("No run is like this.")).to_be_visible()
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
    await expect(page.locator("[aria-label=Refused] .mb-no")).not_to_be_empty()
    assert await page.evaluate("window.hacked") is None

    await page.get_by_role("button", name="Undo this run").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("Take back 3 changes?")
    await expect(dialog).to_contain_text(f"fact:{old.ref}")
    await dialog.get_by_role("button", name="Take it back").click()
    await expect(page.locator(".mb-distil-head")).to_contain_text("This run was taken back by")
    assert (await look.look(told, "fact", old.ref, bump=False)).memory.validity == "active"
    await page.locator(".q-notification").get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("button", name="Undo this run")).to_be_visible()
    assert (await look.look(told, "fact", old.ref, bump=False)).memory.validity == "superseded"


async def test_a_proposal_is_decided_on_item_by_item(open_page: Open, butler: Butler, tenant: str) -> None:
    """Nothing is stored until all is decided; then what was approved is, in the person's name."""
    asked = with_distiller(butler, Scripted(_moves), review=True)
    await say(asked, f"I live in Porto. {HOSTILE}")
    report = await consolidate.run_once(asked, shard_of(tenant, "main"))
    assert report
    page = await open_page(asked, f"/consolidation?run={report.run}")
    head = page.locator(".mb-distil-head")
    await expect(head).to_contain_text("2 items await your decision")
    places = {line.shown["content"]: line.place for line in report.lines if line.outcome == "proposed"}
    await page.get_by_label(f"Approve item {places['Porto']}").click()
    await expect(head).to_contain_text("1 decided, 1 to go")
    assert (await review.show(asked, str(report.run))).run.state == "waiting"
    await page.get_by_label(f"Reject item {places[HOSTILE]}").click()
    await expect(page.locator(".q-notification")).to_contain_text("what was approved is stored")
    await expect(page.locator("[aria-label=New]")).to_contain_text("Porto")
    await expect(page.locator("[aria-label=Rejected]")).to_contain_text("7 * 7")
    await expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    stored = next(line.memory for line in (await review.show(asked, str(report.run))).lines if line.memory)
    [created] = (await browse.history(asked, "fact", stored)).items
    assert created.event.actor == await page.inner_text(".mb-who-name")


async def test_what_was_given_up_gets_another_chance(open_page: Open, butler: Butler, tenant: str) -> None:
    """With the reason, the tries and the words; one at a time or all that are shown. Nothing runs over on a phone."""
    bad = with_distiller(butler, Scripted(lambda batch: Unprocessable("It cannot be read: <b>tea</b>.")), batch=1)
    refs = await say(bad, HOSTILE, "unreadable " + "x" * 300, "also unreadable")
    for _ in refs:
        await consolidate.run_once(bad, shard_of(tenant, "main"))
    page = await open_page(bad, "/consolidation")
    await page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    letters = page.locator(".mb-letters > li")
    await expect(letters).to_have_count(3)
    await expect(letters.first).to_contain_text(HOSTILE)
    await expect(letters.first).to_contain_text("failed after 1 try")
    await expect(letters.first).to_contain_text("It cannot be read: <b>tea</b>.")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.get_by_label(f"Try episode:{refs[0]} again").click()
    await expect(letters).to_have_count(2)
    await page.get_by_role("button", name="Try all 2 again").click()
    await expect(page.get_by_text("No episode was given up.")).to_be_visible()
    assert (await ledger.ledger(bad)).waiting == 3
    await page.set_viewport_size({"width": 1280, "height": 900})

    await page.get_by_role("button", name="Consolidate now").click()
    await expect(page.locator(".q-notification").last).to_contain_text("3 runs failed")
    await expect(letters).to_have_count(3)


async def test_others_are_told_whose_business_it_is(log_in: LogIn) -> None:
    """A reader sees a sentence, and nothing to do."""
    page = await log_in("reader", "/consolidation?run=01a1d54f-9160-7077-bc40-b56139a998ff")
    await expect(page.locator(".mb-empty")).to_contain_text("Only administrators look after consolidation")
    await expect(page.locator("main section button")).to_have_count(0)


# --- work in the background -----------------------------------------------------------------------


async def test_an_errand_runs_once_at_a_time_and_says_what_came_of_it() -> None:
    """A second one of its kind is refused while it runs, in the same tenant alone; trouble is kept in words."""
    errands, gate = Errands(), asyncio.Event()

    async def wait(errand: Errand) -> str:
        await gate.wait()
        return "done"

    async def fail(errand: Errand) -> str:
        raise DistillerUnavailable("Nobody is there.", recovery="Wait.")

    first = errands.begin("a", "tidy", wait)
    with pytest.raises(Conflict):
        errands.begin("a", "tidy", wait)
    other = errands.begin("b", "tidy", fail)
    assert first.task and other.task and errands.of("a", "tidy") is first
    gate.set()
    await asyncio.wait({first.task, other.task})
    assert (first.is_running, first.came_to, other.problem) == (False, "done", "Nobody is there. Wait.")
    assert errands.begin("a", "tidy", wait).is_running
    await errands.close()


async def test_errands_end_with_the_server(caplog: pytest.LogCaptureFixture) -> None:
    """What is under way is stopped, and what failed for no known reason is in the log."""
    errands = Errands()

    async def forever(errand: Errand) -> str:
        await asyncio.Event().wait()
        return ""

    async def broken(errand: Errand) -> str:
        raise ZeroDivisionError

    under_way, failed = errands.begin("a", "tidy", forever), errands.begin("a", "count", broken)
    assert failed.task
    await asyncio.wait({failed.task})
    assert failed.problem and "unexpected" in failed.problem and "ZeroDivisionError" in caplog.text
    await errands.close()
    assert under_way.task and under_way.task.cancelled()


# --- what is shown --------------------------------------------------------------------------------

RUN = Run(
    id=UUID(int=7),
    tenant_id="t",
    butler="main",
    distiller="model",
    state="applied",
    claimed_at=START,
    lease_until=START,
    finished_at=START,
    error=None,
    episodes=2,
    input_tokens=900,
    output_tokens=100,
    cost_microdollars=20_000,
    request_id=None,
)


def _ledger(**given: Any) -> Ledger:
    days = tuple(Day(day=START + timedelta(days=number)) for number in range(2))
    usual: dict[str, Any] = {
        "distiller": "built-in",
        "works_by_itself": True,
        "butlers": (),
        "backlogs": (),
        "claimed": 0,
        "proposals": 0,
        "dead_letters": 0,
        "days": days,
        "daily_tokens": None,
        "daily_dollars": None,
    }
    return Ledger(**{**usual, **given})


@pytest.mark.parametrize(
    ("query", "view"),
    [
        ({}, View()),
        ({"run": " 7 "}, View(run="7")),
        ({"state": "waiting", "butler": "home", "runs": "abc"}, View(state="waiting", butler="home", runs="abc")),
        ({"state": "<b>"}, View()),
    ],
)
def test_an_address_says_what_is_shown(query: dict[str, str], view: View) -> None:
    """A state that there is not is none."""
    assert view_from(query) == view


@pytest.mark.parametrize(
    ("run", "came", "shown"),
    [
        (RUN, CameTo(outcomes={"refused": 1, "created": 2}), (["2 new", "1 refused"], False, "1,000 tokens, $0.0200")),
        (RUN, CameTo(), ([], True, "1,000 tokens, $0.0200")),
        (replace(RUN, state="failed", input_tokens=0, output_tokens=0, cost_microdollars=0), CameTo(), ([], False, "")),
    ],
)
def test_a_run_is_told_by_what_came_of_it(run: Run, came: CameTo, shown: tuple[list[str], bool, str]) -> None:
    """Outcomes in their order, whether there was anything worth keeping, and the cost."""
    [row] = distilling.run_rows([run], {run.id: came})
    assert ([one["label"] for one in row["outcomes"]], row["nothing"], row["cost"]) == shown
    assert row["href"] == f"/consolidation?run={run.id}"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (DiffLine(place=0, kind="fact", outcome="proposed", content="a"), "would be new"),
        (DiffLine(place=0, kind="fact", outcome="proposed", content="a", old_content="b"), "would update"),
        (DiffLine(place=0, kind="fact", outcome="proposed", content="a", old_content="a"), "would confirm"),
        (DiffLine(place=0, kind="confirmation", outcome="proposed", content="a"), "would confirm"),
    ],
)
def test_a_proposal_says_what_it_would_do(line: DiffLine, words: str) -> None:
    """As things stand now."""
    assert distilling.would_words(line) == words


def test_items_are_grouped_and_link_only_to_memories() -> None:
    """What a proposal names may be anything: only what can be a memory becomes a link. A refusal says why."""
    lines = [
        DiffLine(place=0, kind="fact", outcome="refused", content="x", said="it is not in the episodes"),
        DiffLine(
            place=1, kind="fact", outcome="created", ref="fact:k3f7", evidence=("episode:aaaa", "javascript:alert(1)")
        ),
        DiffLine(place=2, kind="rule", outcome="refused", reason="harmful_rule", evidence=("fact:../x",)),
    ]
    [new, refused] = distilling.groups(lines, decides=False)
    assert (new["title"], [row["place"] for row in refused["rows"]]) == ("New", [0, 2])
    assert [one["href"] for one in new["rows"][0]["evidence"]] == ["/memory/episode/aaaa"]
    assert [row["why"] for row in refused["rows"]] == ["It is not in the episodes.", "Harmful rule."]
    assert not any(row["decides"] for group in (new, refused) for row in group["rows"])


def test_an_undo_is_told_before_it_is_done() -> None:
    """What would go and what would stay, with the reason; of many the first, and how many more."""
    gone = [
        TakenBack(ref=f"fact:{n}", event_id=UUID(int=n), what="created", validity=None, maturity=None, remark=None)
        for n in range(10)
    ]
    stays = [LeftAlone(ref="fact:z", event_id=UUID(int=99), what="created", reason="it changed since")]
    report = UndoReport(
        id=UUID(int=7),
        kind="run",
        undo_id=None,
        dry_run=True,
        undone=10,
        already_undone=0,
        skipped=1,
        taken_back=tuple(gone),
        left_alone=tuple(stays),
        remarks={},
        not_brought_back=(),
    )
    back, left = distilling.undo_lines(report)
    assert (len(back), back[0], back[-1]) == (9, "fact:0: created", "and 2 more")
    assert left == ["fact:z: created stays, because it changed since"]


@pytest.mark.parametrize(
    ("reports", "words"),
    [
        ([], "Nothing could be distilled now: nothing waits, or somebody else is at it."),
        (
            [RunReport(run=UUID(int=1), butler="b", distiller="d", state="applied", episodes=("a", "b"))],
            "2 episodes: nothing worth keeping.",
        ),
        (
            [RunReport(run=UUID(int=1), butler="b", distiller="d", state="failed", episodes=("a",))],
            "1 episode: 1 run failed.",
        ),
    ],
)
def test_what_distilling_came_to_is_said(reports: list[RunReport], words: str) -> None:
    """In one sentence, also if it came to nothing."""
    assert distilling.came_to_words(reports) == words


def test_cost_is_told_in_dollars_where_they_are_known() -> None:
    """A bar for each day, and the budget as a line if there is one."""
    days = (Day(day=START, tokens=500, dollars=0.5), Day(day=START + timedelta(days=1), tokens=100, dollars=0.25))
    dear = _ledger(days=days, daily_dollars=1.0, daily_tokens=1_000)
    assert distilling.cost_options(dear)["series"][0]["data"] == [0.5, 0.25]
    assert distilling.cost_options(dear)["series"][0]["markLine"]["data"] == [{"yAxis": 1.0}]
    assert list(distilling.budget_lines(dear)) == [("100 of 1,000 tokens today", 10.0), ("$0.25 of $1.00 today", 25.0)]
    assert distilling.spent_words(days) == "600 tokens, $0.75 in 2 days"
    counted = _ledger(days=(Day(day=START, tokens=500),))
    assert distilling.cost_options(counted)["series"][0]["data"] == [500]
    assert "markLine" not in distilling.cost_options(counted)["series"][0]
    assert (list(distilling.budget_lines(_ledger())), distilling.spent_words(_ledger().days)) == ([], "")


@pytest.mark.parametrize(
    ("name", "alone", "words"),
    [
        ("built-in", True, "costs nothing"),
        ("agent", False, "Connected agents distil"),
        ("off", False, "switched off"),
        ("claude-code", True, "claude-code works by itself"),
    ],
)
def test_who_distils_is_said(name: str, alone: bool, words: str) -> None:
    """Whoever it is, in a sentence."""
    assert words in distilling.distiller_words(_ledger(distiller=name, works_by_itself=alone))


async def test_a_run_without_items_and_of_each_episode(butler: Butler, tenant: str) -> None:
    """What can be undone is offered, and what came to nothing is not."""
    told = with_distiller(butler, Scripted(proposal(), of_each()))
    seen = []
    for content in ("Hello.", "I like tea."):
        await say(told, content)
        report = await consolidate.run_once(told, shard_of(tenant, "main"))
        assert report
        seen.append(await review.show(told, str(report.run)))
    assert [distilling.can_undo(one) for one in seen] == [False, True]
    assert [one["ref"] for one in distilling.episode_links(seen[1])] == [f"episode:{seen[1].episodes[0]}"]
