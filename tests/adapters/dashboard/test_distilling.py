"""How consolidation is told, and work that goes on in the background."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.conftest import START
from tests.operations.distillers import Scripted, of_each, proposal, say, with_distiller

from memory_butler.adapters.dashboard import distilling
from memory_butler.adapters.dashboard.distilling import View, view_from
from memory_butler.adapters.dashboard.errands import Errand, Errands
from memory_butler.butler import Butler
from memory_butler.errors import Conflict, DistillerUnavailable
from memory_butler.models import ItemKind, LeftAlone, Line, RunReport, TakenBack, UndoReport
from memory_butler.operations import consolidate, review
from memory_butler.operations.dead_letters import Requeued
from memory_butler.operations.diff import DiffLine
from memory_butler.operations.ledger import CameTo, Day, Ledger
from memory_butler.operations.review import Reviewed
from memory_butler.operations.upkeep import shard_of
from memory_butler.store.consolidation import Run

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
    assert distilling.cost_options(dear)["yAxis"]["max"] == 1.0
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


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1, ["proposal awaits a decision", "run under way", "episode given up"]),
        (2, ["proposals await a decision", "runs under way", "episodes given up"]),
    ],
)
def test_open_ends_lead_to_where_they_are(number: int, words: list[str]) -> None:
    """One or several, each with the place where it is dealt with."""
    ends = distilling.open_ends(_ledger(proposals=number, claimed=number, dead_letters=number))
    assert ([one for _, one, _ in ends], {count for count, _, _ in ends}) == (words, {number})
    places = [where for _, _, where in ends]
    assert places == ["/consolidation?state=waiting", "/consolidation?state=claimed", "#given-up"]


@pytest.mark.parametrize(
    ("outcomes", "place", "is_last", "stored"),
    [
        (["proposed", "proposed"], 0, False, "Nothing of this proposal"),
        (["proposed", "rejected"], 0, True, "Nothing of this proposal"),
        (["proposed", "approved"], 0, True, "1 item that was approved is stored"),
        (["approved", "rejected"], 0, True, "Nothing of this proposal"),
    ],
)
def test_what_a_rejection_means_is_said_before(outcomes: list[str], place: int, is_last: bool, stored: str) -> None:
    """Whether all is decided with it, and what is stored then; an approval that is taken back does not count."""
    lines = [DiffLine(place=at, kind="fact", outcome=outcome, content="a") for at, outcome in enumerate(outcomes)]
    seen = Reviewed(
        run=replace(RUN, state="waiting"),
        episodes=(),
        lines=tuple(
            Line(place=at, kind=ItemKind.FACT, outcome=outcome, shown={}) for at, outcome in enumerate(outcomes)
        ),
        undone=None,
    )
    assert seen.settled_by([place]) == is_last
    assert distilling.rejected_means(lines, place)[0].startswith(stored)


def test_after_a_decision_one_goes_on_at_an_item() -> None:
    """What was approved stays where it is; what was rejected leaves its place to the next, and the last is its own."""
    outcomes = ["proposed", "refused", "approved", "rejected"]
    lines = [DiffLine(place=at, kind="fact", outcome=one, content=f"item {at}") for at, one in enumerate(outcomes)]

    def after(place: int, how: str) -> str:
        return distilling.places_after(lines, place, how)[0].removeprefix(".mb-changes ")

    assert after(0, "approve") == '[data-place="0"]'
    assert after(0, "reject") == '[data-place="2"]'
    assert after(2, "reject") == '[data-place="2"]'
    assert distilling.decision_words(lines, 2, "reject") == "Rejected: item 2"


def test_what_waits_again_and_what_does_not_is_said() -> None:
    """How many, that nothing is lost, and why the others stay."""
    done = Requeued(again=("a", "b"), left=(("c", "episode:c waits already."), ("d", "episode:d waits already.")))
    assert distilling.requeued_words(done).startswith("2 episodes wait to be distilled again. Nothing is lost")
    assert distilling.left_words(done) == "episode:c waits already. 1 more stays as it is."
    assert distilling.left_words(replace(done, left=done.left[:1])) == "episode:c waits already."


async def test_a_run_without_items_and_of_each_episode(butler: Butler, tenant: str) -> None:
    """What can be undone is offered, and what came to nothing is not."""
    told = with_distiller(butler, Scripted(proposal(), of_each()))
    seen = []
    for content in ("Hello.", "I like tea."):
        await say(told, content)
        report = await consolidate.run_once(told, shard_of(tenant, "main"))
        assert report
        seen.append(await review.show(told, str(report.run)))
    assert [one.can_undo for one in seen] == [False, True]
    assert [one["ref"] for one in distilling.episode_links(seen[1])] == [f"episode:{seen[1].episodes[0]}"]
