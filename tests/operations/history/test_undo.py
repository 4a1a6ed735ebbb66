"""Undoing one event, or the few that belong together: everything is as before, and can be done again."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from tests.support.sweeping import Life, Row

from memory_butler.errors import Conflict
from memory_butler.models import Caller, Lineage, NewFact, Outcome, Principal, Question, Role, Stored
from memory_butler.operations.history.replay import replay_into_scratch
from memory_butler.operations.history.undo import undo
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import correct, feedback, forget, pin, remember, restore
from memory_butler.policy.history import undo as policy
from memory_butler.resources import Resources
from memory_butler.store.history.replay import scratch_schema

Snapshot = dict[str, list[dict[str, Any]]]
Everything = Callable[[], dict[str, list[str]]]


@pytest.fixture(scope="module", autouse=True)
async def scratch(shared_resources: Resources) -> AsyncIterator[None]:
    """Where replays rebuild: made once."""
    async with scratch_schema(shared_resources.database):
        yield


@pytest.fixture
def life(resources: Resources, clock: Any, owner: psycopg.Connection[Any]) -> Life:
    return Life(resources, clock, owner)


def memories(rows: Callable[[str], list[Row]]) -> Snapshot:
    """All memories, but for how often they were referred to."""
    return {
        table: sorted(
            ({key: value for key, value in row.items() if "reference" not in key} for row in rows(table)),
            key=lambda row: str(row["id"]),
        )
        for table in ("facts", "rules", "episodes")
    }


async def assert_replays(resources: Resources) -> None:
    report = await replay_into_scratch(resources, resources.local_caller())
    assert report.equal, report


def last(life: Life, memory: Stored) -> Row:
    return life.history(memory)[-1]


def tea(content: str = "green", **given: Any) -> NewFact:
    return NewFact(subject="User", predicate="tea", content=content, **given)


# --- everything that can happen to a memory ---------------------------------------------------------

Case = Callable[[Life], Awaitable[tuple[Callable[[], Awaitable[Any]], Stored]]]


async def _confirmed(life: Life) -> Any:
    fact = await life.fact("a")
    return lambda: feedback.confirm(life.resources, "fact", fact.ref), fact


async def _revived(life: Life) -> Any:
    fact = await life.fact("a", "ephemeral")
    life.clock.move(days=20)
    await sweep.sweep(life.resources)
    assert life.validity(fact) == ["fading"]
    return lambda: feedback.confirm(life.resources, "fact", fact.ref), fact


async def _helpful(life: Life) -> Any:
    rule = await life.rule("a", helpful=4)
    return lambda: feedback.mark(life.resources, rule.ref, Outcome.HELPFUL), rule


async def _harmful(life: Life) -> Any:
    rule = await life.rule("a", helpful=2, harmful=1)
    return lambda: feedback.mark(life.resources, rule.ref, Outcome.HARMFUL, reason="it was late"), rule


async def _inverted(life: Life) -> Any:
    rule = await life.rule("a", harmful=2)
    return lambda: feedback.mark(life.resources, rule.ref, Outcome.HARMFUL, reason="it was late"), rule


async def _forgotten_fact(life: Life) -> Any:
    fact = await life.fact("a")
    return lambda: forget.forget(life.resources, "fact", fact.ref, reason="a joke"), fact


async def _forgotten_rule(life: Life) -> Any:
    rule = await life.rule("a", helpful=5)
    return lambda: forget.forget(life.resources, "rule", rule.ref), rule


async def _forgotten_episode(life: Life) -> Any:
    episode = await life.episode("a")
    return lambda: forget.forget(life.resources, "episode", episode.ref), episode


async def _restored(life: Life) -> Any:
    fact = await life.fact("a")
    await forget.forget(life.resources, "fact", fact.ref)
    return lambda: restore.restore(life.resources, "fact", fact.ref), fact


async def _restored_episode(life: Life) -> Any:
    episode = await life.episode("a")
    await forget.forget(life.resources, "episode", episode.ref)
    return lambda: restore.restore(life.resources, "episode", episode.ref), episode


async def _restored_over_another(life: Life) -> Any:
    old = await remember.fact(life.resources, tea("black"))
    await remember.fact(life.resources, tea("green"))
    return lambda: restore.restore(life.resources, "fact", old.ref, supersede=True), old


async def _pinned(life: Life) -> Any:
    rule = await life.rule("a")
    return lambda: pin.pin(life.resources, "rule", rule.ref), rule


async def _unpinned(life: Life) -> Any:
    fact = await life.fact("a", "ephemeral")
    await pin.pin(life.resources, "fact", fact.ref)
    life.clock.move(days=100)
    return lambda: pin.unpin(life.resources, "fact", fact.ref), fact


async def _unpinned_episode(life: Life) -> Any:
    episode = await life.episode("a")
    await pin.pin(life.resources, "episode", episode.ref)
    return lambda: pin.unpin(life.resources, "episode", episode.ref), episode


async def _reversed(life: Life) -> Any:
    rule = await life.rule("a", harmful=3)
    return lambda: restore.reverse(life.resources, rule.ref, reason="it was fixed"), rule


async def _promoted(life: Life) -> Any:
    fact = await life.fact("a", "volatile")
    for _ in range(11):
        await life.refer([fact])
        life.clock.move(days=1)
    return lambda: sweep.sweep(life.resources), fact


async def _proven(life: Life) -> Any:
    rule = await life.rule("a", helpful=15)
    life.clock.move(days=31)
    return lambda: sweep.sweep(life.resources), rule


async def _faded(life: Life) -> Any:
    fact = await life.fact("a", "ephemeral")
    life.clock.move(days=20)
    return lambda: sweep.sweep(life.resources), fact


CASES: tuple[Case, ...] = (
    _confirmed, _revived, _helpful, _harmful, _inverted, _forgotten_fact, _forgotten_rule, _forgotten_episode,
    _restored, _restored_episode, _restored_over_another, _pinned, _unpinned, _unpinned_episode, _reversed, _promoted,
    _proven, _faded,
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.strip("_"))
async def test_undone_it_is_as_before_and_done_again_as_after(
    life: Life, rows: Callable[[str], list[Row]], everything: Everything, case: Case
) -> None:
    """Every kind of change: undone, refused a second time, done again, undone again; the log replays each time."""
    act, memory = await case(life)
    life.clock.move(minutes=1)
    before = memories(rows)
    await act()
    after = memories(rows)
    assert before != after
    event = last(life, memory)
    life.clock.move(minutes=1)
    # A reference in between changes nothing about it, and is not taken back.
    await life.refer([memory])
    counted = life.row(memory)["reference_count"]

    done = await undo(life.resources, event["group_id"] or event["id"])
    assert done.undone == len(done.taken_back) >= 1
    assert memories(rows) == before
    undoing = last(life, memory)
    assert (undoing["event_type"], undoing["undoes"]) == (f"{memory.type}.undone", event["id"])
    assert (undoing["group_id"], undoing["actor"]) == (done.undo_id, "main")
    await assert_replays(life.resources)

    unchanged = everything()
    with pytest.raises(Conflict, match="is already undone"):
        await undo(life.resources, event["id"])
    assert everything() == unchanged

    life.clock.move(minutes=1)
    again = await undo(life.resources, str(done.undo_id))
    assert _without_reasons(memories(rows)) == _without_reasons(after)
    await assert_replays(life.resources)
    life.clock.move(minutes=1)
    assert again.undo_id
    await undo(life.resources, again.undo_id)
    assert memories(rows) == before
    assert life.row(memory)["reference_count"] == counted
    await assert_replays(life.resources)


def _without_reasons(found: Snapshot) -> Snapshot:
    """A report that is made again is a new one, so the order of the reasons may be another."""
    return {table: [{**row, "harmful_reasons": None} for row in kept] for table, kept in found.items()}


@pytest.mark.parametrize("kind", ["fact", "rule", "episode"])
async def test_what_is_undone_into_nothing_is_retracted(life: Life, kind: str) -> None:
    """Undoing that a memory was stored withdraws it from use; done again it is there again."""
    memory = await getattr(life, kind)("a")
    event = last(life, memory)["id"]
    assert (await search.search(life.resources, Question(query="a"))).results
    done = await undo(life.resources, event)
    assert life.validity(memory) == ["retracted"]
    assert [line.validity for line in done.taken_back] == ["retracted"]
    assert not (await search.search(life.resources, Question(query="a"))).results
    assert done.undo_id
    await undo(life.resources, done.undo_id)
    assert life.validity(memory) == ["active"]
    await assert_replays(life.resources)


@pytest.mark.parametrize("how", ["stored anew", "corrected"])
async def test_a_supersession_is_undone_as_a_whole(life: Life, how: str) -> None:
    """The new fact is retracted, the old one active again, though a property has one live value at any moment."""
    old = await remember.fact(life.resources, tea("black"))
    if how == "corrected":
        new = await correct.correct(life.resources, old.ref, "green", reason="a slip")
    else:
        new = await remember.fact(life.resources, tea("green"))
    group = last(life, old)["group_id"]
    done = await undo(life.resources, group)
    assert life.validity(old, new) == ["active", "retracted"]
    assert [line.ref for line in done.taken_back] == [f"fact:{new.ref}", f"fact:{old.ref}"]
    await assert_replays(life.resources)
    assert done.undo_id
    await undo(life.resources, done.undo_id)
    assert life.validity(old, new) == ["superseded", "active"]
    await assert_replays(life.resources)


async def test_a_log_from_before_there_were_pins_can_be_undone(life: Life, rows: Callable[[str], list[Row]]) -> None:
    """What says nothing of a pin was not pinned, whether it is to be compared or brought back."""
    rule = await life.rule("a", helpful=1)
    life.owner.execute("SET session_replication_role = replica")
    life.owner.execute(
        "UPDATE memory.memory_events SET payload = jsonb_set(payload, '{state}',"
        " (payload -> 'state') - '{pinned,judged_from}'::text[])"
        " WHERE tenant_id = %s",
        (life.tenant,),
    )
    life.owner.execute("RESET session_replication_role")
    before = memories(rows)
    old = last(life, rule)["id"]
    await feedback.confirm(life.resources, "rule", rule.ref)
    await undo(life.resources, last(life, rule)["id"])
    assert memories(rows) == before
    await undo(life.resources, old)
    assert (life.row(rule)["success_count"], life.row(rule)["pinned"]) == (0, False)
    await assert_replays(life.resources)


# --- rules and their evidence -----------------------------------------------------------------------


async def test_a_mark_is_withdrawn_and_made_again(life: Life, rows: Callable[[str], list[Row]]) -> None:
    """No application is deleted: another withdraws it, and a third, with the same words, takes its place."""
    rule = await life.rule("a", helpful=1)
    coder = Caller(Principal(life.tenant, "coder", Role.ADMIN), Lineage(session_id="s7"))
    life.clock.move(minutes=1)
    await feedback.mark(life.resources, rule.ref, Outcome.HARMFUL, coder, reason="it was late")
    event = last(life, rule)
    life.clock.move(minutes=1)
    done = await undo(life.resources, event["id"])
    row = life.row(rule)
    assert (row["success_count"], row["harmful_count"], row["effectiveness_score"]) == (1, 0, 1.0)
    assert row["harmful_reasons"] == []
    life.clock.move(minutes=1)
    assert done.undo_id
    await undo(life.resources, done.undo_id)
    row = life.row(rule)
    assert (row["harmful_count"], row["effectiveness_score"], row["harmful_reasons"]) == (1, 0.2, ["it was late"])
    first, harmful, withdrawn, again = sorted(rows("rule_applications"), key=lambda row: str(row["id"]))
    assert (first["outcome"], harmful["outcome"]) == ("helpful", "harmful")
    assert (withdrawn["outcome"], withdrawn["withdraws"], withdrawn["butler"]) == ("withdrawn", harmful["id"], "main")
    same = ("outcome", "reason", "butler", "session_id", "rule_id")
    assert [again[name] for name in same] == [harmful[name] for name in same]
    assert (again["withdraws"], again["created_at"]) == (None, life.clock())
    await assert_replays(life.resources)


@pytest.mark.parametrize(
    ("became", "gets", "remark"),
    [("anti_pattern", "candidate", policy.BACK_TO_CANDIDATE), ("candidate", "established", policy.ONE_STEP)],
)
async def test_a_maturity_out_of_reach_comes_as_near_as_is_allowed(
    life: Life, became: str, gets: str, remark: str
) -> None:
    """It was proven; what it gets and why is said, and its evidence takes it up again a step at a time."""
    rule = await life.rule("a", helpful=15)
    life.clock.move(days=31)
    await sweep.sweep(life.resources)
    assert life.row(rule)["maturity"] == "proven"
    life.owner.execute(
        "UPDATE memory.rules SET maturity = %s WHERE tenant_id = %s AND id = %s", (became, life.tenant, rule.id)
    )
    await life.log("matured", [rule])
    done = await undo(life.resources, last(life, rule)["id"])
    assert life.row(rule)["maturity"] == gets
    assert (done.taken_back[0].remark, done.remarks) == (remark, {remark: 1})
    await sweep.sweep(life.resources)
    assert life.row(rule)["maturity"] == "proven"
    await assert_replays(life.resources)


async def test_marks_are_taken_back_one_by_one(life: Life) -> None:
    """Harm took a proven rule down to a candidate; without each report it is what the rest supports."""
    rule = await life.rule("a", helpful=15)
    life.clock.move(days=31)
    await sweep.sweep(life.resources)
    for _ in range(3):
        await feedback.mark(life.resources, rule.ref, Outcome.HARMFUL)
    marks = [event["id"] for event in life.history(rule) if event["event_type"] == "rule.harmful"]
    earned = []
    for mark in reversed(marks):
        earned.append(life.row(rule)["maturity"])
        await undo(life.resources, mark)
    assert [*earned, life.row(rule)["maturity"]] == ["candidate", "established", "established", "proven"]
    assert life.row(rule)["harmful_count"] == 0
    await assert_replays(life.resources)


# --- what is brought back stays ---------------------------------------------------------------------


@pytest.mark.parametrize(("permanence", "days"), [("ephemeral", 60), ("standard", 500)])
async def test_an_expiry_that_is_undone_is_not_repeated_by_the_next_sweep(
    life: Life, permanence: str, days: int
) -> None:
    """What comes back is renewed as if confirmed, and that is said."""
    fact = await life.fact("a", permanence)
    life.clock.move(days=days)
    await sweep.sweep(life.resources)
    assert life.validity(fact) == ["expired"]
    done = await undo(life.resources, last(life, fact)["id"])
    assert done.remarks == {policy.RENEWED: 1}
    assert (life.row(fact)["validity"], life.row(fact)["last_confirmed_at"]) == ("active", life.clock())
    assert (await sweep.sweep(life.resources)).changed == 0
    await assert_replays(life.resources)


async def test_a_fading_fact_that_was_forgotten_comes_back_active_and_can_be_undone_further(life: Life) -> None:
    """Retracted cannot become fading: it is active until the sweep comes. The fading before it can be undone, too."""
    fact = await life.fact("a", "ephemeral")
    life.clock.move(days=20)
    await sweep.sweep(life.resources)
    fading = last(life, fact)
    await forget.forget(life.resources, "fact", fact.ref)
    done = await undo(life.resources, last(life, fact)["id"])
    assert (life.row(fact)["validity"], life.row(fact)["last_confirmed_at"]) == ("active", None)
    assert done.remarks == {policy.FADES_AGAIN: 1}
    await undo(life.resources, fading["id"])
    assert life.validity(fact) == ["active"]
    assert (await sweep.sweep(life.resources)).changed == 1
    assert life.validity(fact) == ["fading"]
    await assert_replays(life.resources)


async def test_an_episode_whose_time_is_over_comes_back_with_its_days_anew(life: Life) -> None:
    """Otherwise undoing would bring it back for an hour, and then it would be gone for good."""
    episode = await life.episode("a")
    await forget.forget(life.resources, "episode", episode.ref)
    life.clock.move(days=8)
    done = await undo(life.resources, last(life, episode)["id"])
    assert done.remarks == {policy.RETENTION_RESTARTED: 1}
    assert life.row(episode)["expires_at"] == life.clock() + timedelta(days=7)
    await sweep.sweep(life.resources)
    assert life.validity(episode) == ["active"]
    await assert_replays(life.resources)
