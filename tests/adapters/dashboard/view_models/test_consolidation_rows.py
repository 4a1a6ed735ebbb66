"""How consolidation is told, and work that goes on in the background."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.conftest import START
from tests.support.distillers import Scripted, of_each, proposal, say, with_distiller

from memory_butler.adapters.dashboard.actions.background_tasks import BackgroundTask, BackgroundTasks
from memory_butler.adapters.dashboard.view_models import consolidation_rows
from memory_butler.adapters.dashboard.view_models.consolidation_rows import ConsolidationQuery, query_from
from memory_butler.errors import Conflict, DistillerUnavailable
from memory_butler.models import ItemKind, ItemResult, RunReport, SkippedEvent, UndoneEvent, UndoReport
from memory_butler.operations.consolidation import consolidate, review
from memory_butler.operations.consolidation.dead_letters import RequeueResult
from memory_butler.operations.consolidation.diff import DiffLine
from memory_butler.operations.consolidation.overview import ConsolidationOverview, DailyCost, RunOutcomes
from memory_butler.operations.consolidation.review import RunReview
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.resources import Resources
from memory_butler.store.consolidation.runs import Run

# --- work in the background -----------------------------------------------------------------------


async def test_a_background_task_runs_once_at_a_time_and_has_a_summary() -> None:
    """A second one of its kind is refused while it runs, in the same tenant alone; trouble is kept in words."""
    tasks, gate = BackgroundTasks(), asyncio.Event()

    async def wait(task: BackgroundTask) -> str:
        await gate.wait()
        return "done"

    async def fail(task: BackgroundTask) -> str:
        raise DistillerUnavailable("Nobody is there.", recovery="Wait.")

    first = tasks.start("a", "tidy", wait)
    with pytest.raises(Conflict):
        tasks.start("a", "tidy", wait)
    other = tasks.start("b", "tidy", fail)
    assert first.task and other.task and tasks.get("a", "tidy") is first
    gate.set()
    await asyncio.wait({first.task, other.task})
    assert (first.is_running, first.summary, other.problem) == (False, "done", "Nobody is there. Wait.")
    assert tasks.start("a", "tidy", wait).is_running
    await tasks.close()


async def test_background_tasks_end_with_the_server(caplog: pytest.LogCaptureFixture) -> None:
    """What is under way is stopped, and what failed for no known reason is in the log."""
    tasks = BackgroundTasks()

    async def forever(task: BackgroundTask) -> str:
        await asyncio.Event().wait()
        return ""

    async def broken(task: BackgroundTask) -> str:
        raise ZeroDivisionError

    under_way, failed = tasks.start("a", "tidy", forever), tasks.start("a", "count", broken)
    assert failed.task
    await asyncio.wait({failed.task})
    assert failed.problem and "unexpected" in failed.problem and "ZeroDivisionError" in caplog.text
    await tasks.close()
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


def _ledger(**given: Any) -> ConsolidationOverview:
    days = tuple(DailyCost(day=START + timedelta(days=number)) for number in range(2))
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
    return ConsolidationOverview(**{**usual, **given})


@pytest.mark.parametrize(
    ("query", "view"),
    [
        ({}, ConsolidationQuery()),
        ({"run": " 7 "}, ConsolidationQuery(run="7")),
        (
            {"state": "waiting", "butler": "home", "runs": "abc"},
            ConsolidationQuery(state="waiting", butler="home", runs="abc"),
        ),
        ({"state": "<b>"}, ConsolidationQuery()),
    ],
)
def test_an_address_says_what_is_shown(query: dict[str, str], view: ConsolidationQuery) -> None:
    """A state that there is not is none."""
    assert query_from(query) == view


@pytest.mark.parametrize(
    ("run", "came", "shown"),
    [
        (
            RUN,
            RunOutcomes(outcomes={"refused": 1, "created": 2}),
            (["2 new", "1 refused"], False, "1,000 tokens, $0.0200"),
        ),
        (RUN, RunOutcomes(), ([], True, "1,000 tokens, $0.0200")),
        (
            replace(RUN, state="failed", input_tokens=0, output_tokens=0, cost_microdollars=0),
            RunOutcomes(),
            ([], False, ""),
        ),
    ],
)
def test_a_run_is_told_by_what_came_of_it(run: Run, came: RunOutcomes, shown: tuple[list[str], bool, str]) -> None:
    """Outcomes in their order, whether there was anything worth keeping, and the cost."""
    [row] = consolidation_rows.run_rows([run], {run.id: came})
    assert ([one["label"] for one in row["outcomes"]], row["nothing"], row["cost"]) == shown
    assert row["href"] == f"/consolidation?run={run.id}"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (DiffLine(place=0, kind="fact", outcome="proposed", content="a"), "new"),
        (DiffLine(place=0, kind="fact", outcome="proposed", content="a", old_content="b"), "updates"),
        (DiffLine(place=0, kind="fact", outcome="proposed", content="a", old_content="a"), "confirms"),
        (DiffLine(place=0, kind="confirmation", outcome="proposed", content="a"), "confirms"),
    ],
)
def test_a_proposal_says_what_it_would_do(line: DiffLine, words: str) -> None:
    """As things stand now."""
    assert consolidation_rows.proposal_label(line) == words


def test_items_are_grouped_and_link_only_to_memories() -> None:
    """What a proposal names may be anything: only what can be a memory becomes a link. A refusal says why."""
    lines = [
        DiffLine(place=0, kind="fact", outcome="refused", content="x", said="it is not in the episodes"),
        DiffLine(
            place=1, kind="fact", outcome="created", ref="fact:k3f7", evidence=("episode:aaaa", "javascript:alert(1)")
        ),
        DiffLine(place=2, kind="rule", outcome="refused", reason="harmful_rule", evidence=("fact:../x",)),
    ]
    [new, refused] = consolidation_rows.item_groups(lines, can_decide=False)
    assert (new["title"], [row["place"] for row in refused["rows"]]) == ("New", [0, 2])
    assert [one["href"] for one in new["rows"][0]["evidence"]] == ["/memory/episode/aaaa"]
    assert [row["reason"] for row in refused["rows"]] == ["It is not in the episodes.", "Harmful rule."]
    assert not any(row["can_decide"] for group in (new, refused) for row in group["rows"])


def test_an_undo_is_told_before_it_is_done() -> None:
    """What would go and what would stay, with the reason; of many the first, and how many more."""
    gone = [UndoneEvent(ref=f"fact:{n}", event_id=UUID(int=n), what="created", validity="retracted") for n in range(10)]
    stays = [SkippedEvent(ref="fact:z", event_id=UUID(int=99), what="created", reason="it was changed later")]
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
    back, left = consolidation_rows.undo_lines(report)
    assert (len(back), back[0], back[-1]) == (9, "fact:0: created", "and 2 more")
    assert left == ["fact:z: created stays, because it was changed later"]


@pytest.mark.parametrize(
    ("reports", "words"),
    [
        ([], "There was nothing to process: no episode is waiting, or another worker has claimed them."),
        (
            [RunReport(run=UUID(int=1), butler="b", distiller="d", state="applied", episodes=("a", "b"))],
            "2 episodes: nothing to store.",
        ),
        (
            [RunReport(run=UUID(int=1), butler="b", distiller="d", state="failed", episodes=("a",))],
            "1 episode: 1 run failed.",
        ),
    ],
)
def test_what_distilling_came_to_is_said(reports: list[RunReport], words: str) -> None:
    """In one sentence, also if it came to nothing."""
    assert consolidation_rows.summary_text(reports) == words


def test_cost_is_told_in_dollars_where_they_are_known() -> None:
    """A bar for each day, and the budget as a line if there is one."""
    days = (
        DailyCost(day=START, tokens=500, dollars=0.5),
        DailyCost(day=START + timedelta(days=1), tokens=100, dollars=0.25),
    )
    dear = _ledger(days=days, daily_dollars=1.0, daily_tokens=1_000)
    assert consolidation_rows.cost_chart(dear)["series"][0]["data"] == [0.5, 0.25]
    assert consolidation_rows.cost_chart(dear)["series"][0]["markLine"]["data"] == [{"yAxis": 1.0}]
    assert list(consolidation_rows.budget_lines(dear)) == [
        ("100 of 1,000 tokens today", 10.0),
        ("$0.25 of $1.00 today", 25.0),
    ]
    assert consolidation_rows.cost_chart(dear)["yAxis"]["max"] == 1.0
    assert consolidation_rows.spent_text(days) == "600 tokens, $0.75 in 2 days"
    counted = _ledger(days=(DailyCost(day=START, tokens=500),))
    assert consolidation_rows.cost_chart(counted)["series"][0]["data"] == [500]
    assert "markLine" not in consolidation_rows.cost_chart(counted)["series"][0]
    assert (list(consolidation_rows.budget_lines(_ledger())), consolidation_rows.spent_text(_ledger().days)) == ([], "")


@pytest.mark.parametrize(
    ("name", "alone", "words"),
    [
        ("built-in", True, "free of charge"),
        ("agent", False, "Connected agents process"),
        ("off", False, "Consolidation is off"),
        ("claude-code", True, "claude-code runs automatically"),
    ],
)
def test_who_distils_is_said(name: str, alone: bool, words: str) -> None:
    """Whoever it is, in a sentence."""
    assert words in consolidation_rows.distiller_text(_ledger(distiller=name, works_by_itself=alone))


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1, ["run to review", "run in progress", "failed episode"]),
        (2, ["runs to review", "runs in progress", "failed episodes"]),
    ],
)
def test_open_ends_lead_to_where_they_are(number: int, words: list[str]) -> None:
    """One or several, each with the place where it is dealt with."""
    ends = consolidation_rows.todo_counts(_ledger(proposals=number, claimed=number, dead_letters=number))
    assert ([one for _, one, _ in ends], {count for count, _, _ in ends}) == (words, {number})
    places = [where for _, _, where in ends]
    assert places == ["/consolidation?state=waiting", "/consolidation?state=claimed", "#failed-episodes"]


@pytest.mark.parametrize(
    ("outcomes", "place", "is_last", "stored"),
    [
        (["proposed", "proposed"], 0, False, "Nothing of this run"),
        (["proposed", "rejected"], 0, True, "Nothing of this run"),
        (["proposed", "approved"], 0, True, "1 approved item is stored"),
        (["approved", "rejected"], 0, True, "Nothing of this run"),
    ],
)
def test_what_a_rejection_means_is_said_before(outcomes: list[str], place: int, is_last: bool, stored: str) -> None:
    """Whether all is decided with it, and what is stored then; an approval that is taken back does not count."""
    lines = [DiffLine(place=at, kind="fact", outcome=outcome, content="a") for at, outcome in enumerate(outcomes)]
    seen = RunReview(
        run=replace(RUN, state="waiting"),
        episodes=(),
        lines=tuple(
            ItemResult(place=at, kind=ItemKind.FACT, outcome=outcome, shown={}) for at, outcome in enumerate(outcomes)
        ),
        undone=None,
    )
    assert seen.settled_by([place]) == is_last
    assert consolidation_rows.rejection_effects(lines, place)[0].startswith(stored)


def test_after_a_decision_one_goes_on_at_an_item() -> None:
    """What was approved stays where it is; what was rejected leaves its place to the next, and the last is its own."""
    outcomes = ["proposed", "refused", "approved", "rejected"]
    lines = [DiffLine(place=at, kind="fact", outcome=one, content=f"item {at}") for at, one in enumerate(outcomes)]

    def after(place: int, how: str) -> str:
        return consolidation_rows.focus_after(lines, place, how)[0].removeprefix(".mb-changes ")

    assert after(0, "approve") == '[data-place="0"]'
    assert after(0, "reject") == '[data-place="2"]'
    assert after(2, "reject") == '[data-place="2"]'
    assert consolidation_rows.decision_text(lines, 2, "reject") == "Rejected: item 2"


def test_what_waits_again_and_what_does_not_is_said() -> None:
    """How many, that nothing is lost, and why the others stay."""
    done = RequeueResult(again=("a", "b"), left=(("c", "episode:c waits already."), ("d", "episode:d waits already.")))
    assert consolidation_rows.requeued_text(done).startswith("Requeued 2 episodes. Stored facts and rules stay")
    assert consolidation_rows.not_requeued_text(done) == "episode:c waits already. 1 more was not requeued."
    assert consolidation_rows.not_requeued_text(replace(done, left=done.left[:1])) == "episode:c waits already."


async def test_a_run_without_items_and_of_each_episode(resources: Resources, tenant: str) -> None:
    """What can be undone is offered, and what came to nothing is not."""
    told = with_distiller(resources, Scripted(proposal(), of_each()))
    seen = []
    for content in ("Hello.", "I like tea."):
        await say(told, content)
        report = await consolidate.run_once(told, shard_of(tenant, "main"))
        assert report
        seen.append(await review.get_run(told, str(report.run)))
    assert [one.can_undo for one in seen] == [False, True]
    assert [one["ref"] for one in consolidation_rows.episode_links(seen[1])] == [f"episode:{seen[1].episodes[0]}"]
