"""Undoing many events that belong together: a sweep, a forgetting of everything about somebody."""

import uuid
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import sql
from tests.support.sweeping import (
    SMALL_TIERS,
    Life,
    Row,
    contents,
    copy_of,
    eventful,
    with_lifecycle,
)

from memory_butler.errors import Conflict, PermissionDenied
from memory_butler.models import Caller, NewFact, Principal, Role, Stored, UndoReport
from memory_butler.operations.history import undo as undoing
from memory_butler.operations.history.replay import replay
from memory_butler.operations.history.undo import undo, would_undo
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.trust import forget_about
from memory_butler.operations.writing import feedback, remember, restore
from memory_butler.policy.history import undo as policy
from memory_butler.policy.lifecycle.sweep import Duty
from memory_butler.resources import Resources
from memory_butler.store.history import undo as store

Everything = Callable[[], dict[str, list[str]]]
MEMORIES = ("facts", "rules", "episodes")


@pytest.fixture
def life(resources: Resources, clock: Any, owner: psycopg.Connection[Any]) -> Life:
    return Life(with_lifecycle(resources, **SMALL_TIERS), clock, owner)


LEFT_ALONE = ("tenant_id", "decay_rate")


def revived(life: Life) -> set[str]:
    """The references of memories that a sweep made active again."""
    rows = life.owner.execute(
        "SELECT DISTINCT entity_type || ':' || (payload #>> '{state,ref}') FROM memory.memory_events"
        " WHERE tenant_id = %s AND event_type LIKE '%%.revived'",
        (life.tenant,),
    )
    return {ref for (ref,) in rows}


def states(life: Life) -> dict[str, Row]:
    """Every memory by its reference, without its references and its decay rate, which an undo leaves alone."""
    found = {}
    for table in MEMORIES:
        query = sql.SQL("SELECT to_jsonb(m) FROM {} m WHERE tenant_id = %s").format(sql.Identifier("memory", table))
        for (row,) in life.owner.execute(query, (life.tenant,)):
            kept = {key: value for key, value in row.items() if "reference" not in key and key not in LEFT_ALONE}
            found[f"{table.removesuffix('s')}:{row['ref']}"] = kept
    return found


async def about(life: Life, *names: str) -> list[Stored]:
    return [
        await remember.fact(life.resources, NewFact(subject="Anna", predicate=name, content=f"her {name}"))
        for name in names
    ]


async def test_a_sweep_is_undone_and_done_again(life: Life) -> None:
    """All its duties: what can be is as before, what cannot is said, deleted episodes are named, and it replays."""
    await eventful(life)
    before = states(life)
    report = await sweep.sweep(life.resources, only_butler="main")
    after = states(life)
    gone = sorted(set(before) - set(after))
    assert gone and all(ref.startswith("episode:") for ref in gone)
    group = report.shards[0].group_id
    assert group
    rehearsed = await undo(life.resources, group, dry_run=True)
    assert (rehearsed.dry_run, rehearsed.undo_id, states(life)) == (True, None, after)

    done = await undo(life.resources, group)
    assert (done.undone, done.remarks, done.not_brought_back) == (
        rehearsed.undone,
        rehearsed.remarks,
        rehearsed.not_brought_back,
    )
    assert sorted(done.not_brought_back) == gone
    exempt = {duty.duty: duty.changed for duty in report.shards[0].duties if duty.duty in (Duty.RATES, Duty.KEYS)}
    assert exempt[Duty.RATES] > 10
    assert done.undone == report.changed - sum(exempt.values()) - len(gone) > 10
    remarked = {line.ref for line in done.taken_back if line.remark}
    restored = states(life)
    # A memory that was revived and then evicted is renewed by the first undo, and as before after the second.
    assert {ref for ref in restored if restored[ref] != before[ref]} == remarked - revived(life)
    assert set(done.remarks) == {policy.RENEWED}
    assert (await replay(life.resources)).equal

    with pytest.raises(Conflict, match="The group is already undone"):
        await undo(life.resources, group)
    assert done.undo_id
    again = await undo(life.resources, done.undo_id)
    assert again.undone == done.undone
    assert states(life) == after
    assert (await replay(life.resources)).equal


async def test_what_a_sweep_expired_and_undo_brought_back_is_there_the_next_day(life: Life) -> None:
    """However many duties would have it: the following sweep leaves alone what was brought back from it."""
    await eventful(life)
    first = await sweep.sweep(life.resources, only_butler="main")
    expired = {ref for ref, state in states(life).items() if state["validity"] == "expired"}
    await undo(life.resources, str(first.shards[0].group_id))
    life.clock.move(hours=1)
    roomy = with_lifecycle(life.resources, mid={"stale_after_days": 300}, decay=SMALL_TIERS["decay"])
    await sweep.sweep(roomy, only_butler="main")
    assert {state["validity"] for ref, state in states(life).items() if ref in expired} == {"active"}


async def test_several_events_of_a_group_on_one_memory_are_undone_in_turn(life: Life) -> None:
    """Faded by one duty and evicted by the next: both are undone, and it is active."""
    fact, other = await life.fact("a", "ephemeral"), await life.fact("b")
    life.clock.move(days=20)
    await life.refer([other])
    full = with_lifecycle(life.resources, mid={"capacity": 1})
    group = (await sweep.sweep(full)).shards[0].group_id
    assert group
    assert life.events(fact) == ["created", "faded", "expired"]
    done = await undo(life.resources, group)
    assert done.undone == 2
    assert life.validity(fact, other) == ["active", "active"]
    assert (await replay(life.resources)).equal
    assert done.undo_id
    again = await undo(life.resources, done.undo_id)
    assert life.validity(fact) == ["expired"]
    assert again.undo_id
    await undo(life.resources, again.undo_id)
    assert life.validity(fact) == ["active"]
    with pytest.raises(Conflict, match="already undone"):
        await undo(life.resources, group)
    assert (await replay(life.resources)).equal


async def test_a_line_of_supersessions_in_one_group_is_undone_step_by_step(life: Life) -> None:
    """At no moment are two values of a property live, so the first is back and the others are retracted."""
    first = await remember.fact(life.resources, NewFact(subject="user", predicate="tea", content="black"))
    others = [
        await remember.fact(life.resources, NewFact(subject="user", predicate="tea", content=value))
        for value in ("green", "white", "red")
    ]
    group = uuid.uuid4()
    life.owner.execute("SET session_replication_role = replica")
    life.owner.execute(
        "UPDATE memory.memory_events SET group_id = %s WHERE tenant_id = %s AND group_id IS NOT NULL",
        (group, life.tenant),
    )
    life.owner.execute("RESET session_replication_role")
    done = await undo(life.resources, group)
    assert done.undone == 6
    assert life.validity(first, *others) == ["active", "retracted", "retracted", "retracted"]
    assert done.undo_id
    await undo(life.resources, done.undo_id)
    assert life.validity(first, *others) == ["superseded", "superseded", "superseded", "active"]
    assert (await replay(life.resources)).equal


async def test_it_ends_the_same_whatever_the_batches_and_however_often_it_was_killed(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All at once, one by one, or killed after every batch and called again: what was undone stays undone."""
    await eventful(life)
    group = (await sweep.sweep(life.resources, only_butler="main")).shards[0].group_id
    assert group
    at_once, one_by_one = copy_of(life), copy_of(life)
    whole = await undo(at_once.resources, group)
    monkeypatch.setattr(undoing, "PAGE", 1)
    assert (await undo(one_by_one.resources, group)).undone == whole.undone
    assert _without_log(one_by_one) == _without_log(at_once)

    monkeypatch.setattr(undoing, "PAGE", 5)
    stops = range(5, whole.undone, 5)
    for stop in stops:

        def die(doing: str, done: int, total: int, stop: int = stop) -> None:
            assert done <= total
            if doing == "Undoing" and done >= stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await undo(life.resources, group, progress=die)
        assert states(life) != states(at_once)
    rest = await undo(life.resources, group)
    assert rest.undone + rest.already_undone == whole.undone
    assert (rest.already_undone >= len(stops), rest.not_brought_back) == (True, whole.not_brought_back)
    assert states(life) == states(at_once)
    assert (await replay(life.resources)).equal


def _without_log(life: Life) -> dict[str, list[str]]:
    return {name: rows for name, rows in contents(life).items() if name != "memory_events"}


async def test_what_was_forgotten_about_somebody_comes_back_as_a_group(life: Life) -> None:
    """Facts, rules and episodes alike."""
    facts = await about(life, "tea", "dog")
    rule, episode = await life.rule("ask Anna"), await life.episode("Anna")
    done = await forget_about.forget_about(life.resources, text="Anna", dry_run=False)
    assert set(life.validity(*facts, rule, episode)) == {"retracted"}
    report = await undo(life.resources, str(done.group_id))
    assert report.undone == 4
    assert set(life.validity(*facts, rule, episode)) == {"active"}
    assert (await replay(life.resources)).equal


async def test_what_has_changed_since_stops_a_group_or_is_skipped(life: Life, everything: Everything) -> None:
    """All or nothing; with skip_changed the rest is undone, and what was left alone is named with its reason."""
    changed, moved, free, taken = await about(life, "tea", "dog", "car", "job")
    done = await forget_about.forget_about(life.resources, subject="Anna", dry_run=False)
    await restore.restore(life.resources, "fact", changed.ref)
    await restore.restore(life.resources, "fact", moved.ref)
    await feedback.confirm(life.resources, "fact", moved.ref)
    newer = await remember.fact(life.resources, NewFact(subject="Anna", predicate="job", content="another"))
    before = everything()
    with pytest.raises(Conflict) as refused:
        await undo(life.resources, str(done.group_id))
    said = refused.value.message
    assert f"because fact:{newer.ref} is now the current value" in said
    assert f"on fact:{changed.ref}, because it was changed later by the restore of 2026-03-01 by main" in said
    assert "--skip-changed" in refused.value.recovery
    shown = await undo(life.resources, str(done.group_id), dry_run=True)
    assert (shown.undone, shown.skipped) == (1, 3)
    assert everything() == before

    report = await undo(life.resources, str(done.group_id), skip_changed=True)
    assert [line.ref for line in report.taken_back] == [f"fact:{free.ref}"]
    assert {line.ref for line in report.left_alone} == {f"fact:{ref}" for ref in (changed.ref, moved.ref, taken.ref)}
    assert life.validity(free, taken) == ["active", "retracted"]
    with pytest.raises(Conflict, match=r"Not undone: .* on fact:"):
        await undo(life.resources, str(done.group_id), skip_changed=True)
    assert (await replay(life.resources)).equal


async def test_an_episode_that_was_deleted_since_is_named(life: Life) -> None:
    """The rest of its group is undone without further ado: nothing can ever bring it back."""
    (fact,) = await about(life, "tea")
    episode = await life.episode("Anna")
    done = await forget_about.forget_about(life.resources, text="Anna", dry_run=False)
    life.clock.move(days=8)
    await sweep.sweep(life.resources)
    assert life.validity(episode) == ["deleted"]
    report = await undo(life.resources, str(done.group_id))
    assert report.not_brought_back == (f"episode:{episode.ref}",)
    assert (report.undone, life.validity(fact)) == (1, ["active"])


async def test_of_many_lines_the_first_are_shown_and_all_are_counted(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report of thousands of changes stays readable."""
    monkeypatch.setattr(undoing, "SHOWN", 2)
    facts = await about(life, "tea", "dog", "car", "job", "hat", "cup")
    done = await forget_about.forget_about(life.resources, subject="Anna", dry_run=False)
    for fact in facts[:3]:
        await restore.restore(life.resources, "fact", fact.ref)
    report: UndoReport = await undo(life.resources, str(done.group_id), skip_changed=True)
    assert (report.undone, len(report.taken_back), report.skipped, len(report.left_alone)) == (3, 2, 3, 2)


async def test_what_an_undo_would_take_back_is_asked_without_looking_through_many(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group up to a number is looked through; of a larger one not a single event is read. What would be refused, as
    a whole or in part, is nothing that can be taken back."""
    tea, city, _ = await about(life, "tea", "city", "dog")
    gone = await forget_about.forget_about(life.resources, subject="Anna", dry_run=False)
    group = gone.group_id
    assert group
    event = life.history(tea)[-1]["id"]
    assert [await would_undo(life.resources, one, most=3) for one in (group, event)] == [3, 1]

    async def unwanted(*given: Any) -> list[Any]:
        raise AssertionError("a group that is too large is not looked through")

    with monkeypatch.context() as patched:
        patched.setattr(store, "examine", unwanted)
        assert await would_undo(life.resources, group, most=2) == 0
    assert await would_undo(life.resources, uuid.uuid4(), most=3) == 0
    await restore.restore(life.resources, "fact", city.ref)
    assert await would_undo(life.resources, group, most=3) == 0
    with pytest.raises(PermissionDenied):
        await would_undo(life.resources, group, Caller(Principal(life.tenant, "main", Role.AGENT)), most=3)
