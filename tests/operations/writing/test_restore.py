"""Restoring: what was forgotten, expired or superseded comes back, and no two live facts share a place."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from psycopg import sql

from memory_butler.errors import Conflict, InvalidInput, NotFound
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Outcome, Question, Stored
from memory_butler.operations.history.replay import replay
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.trust import forget_about
from memory_butler.operations.writing import correct, feedback, forget, pin, remember
from memory_butler.operations.writing.restore import find_conflict, restore, reverse
from memory_butler.resources import Resources

Rows = Callable[[str], list[dict[str, Any]]]
Everything = Callable[[], dict[str, list[str]]]
Put = Callable[[Stored, str], None]
KINDS = ["fact", "rule", "episode"]
LUNCH = datetime(2026, 2, 1, 12, tzinfo=UTC)


@pytest.fixture
def put(owner: Any) -> Put:
    """Put a fact or rule into a state, as a sweep would."""

    def move(done: Stored, validity: str) -> None:
        table = sql.Identifier("memory", f"{done.type}s")
        owner.execute(sql.SQL("UPDATE {} SET validity = %s WHERE id = %s").format(table), [validity, done.id])

    return move


async def store(resources: Resources, kind: str, words: str = "green tea", **given: Any) -> Stored:
    if kind == "fact":
        return await remember.fact(resources, NewFact(subject="u", predicate="tea", content=words, **given))
    if kind == "rule":
        return await remember.rule(resources, NewRule(content=words, **given))
    return await remember.episode(resources, NewEpisode(content=words, butler="main"))


async def found(resources: Resources, words: str = "green tea") -> list[str]:
    answer = await search.search(resources, Question(query=words, min_confidence=0.0), bump=False)
    return [entry.hit.ref for entry in answer.results]


def last_events(rows: Rows, count: int) -> list[dict[str, Any]]:
    return sorted(rows("memory_events"), key=lambda event: event["seq"])[-count:]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_forgotten_memory_comes_back_into_every_read(
    resources: Resources, kind: str, rows: Rows, agent: Callable[..., Caller]
) -> None:
    """Active again and found again; one event says who restored it, and the reason is kept apart."""
    done = await store(resources, kind)
    await forget.forget(resources, kind, done.ref)
    assert await found(resources) == []
    back = await restore(resources, kind, done.ref, agent("main", request_id="r1"), reason="It was no joke.")
    assert (back.outcome, back.id, back.superseded_ref) == ("restored", done.id, None)
    assert await found(resources) == [done.ref]
    (event,) = last_events(rows, 1)
    assert (event["event_type"], event["actor"], event["request_id"]) == (f"{kind}.restored", "main", "r1")
    assert (event["payload"]["state"]["validity"], event["group_id"]) == ("active", None)
    assert "joke" not in str(event["payload"])
    assert any("It was no joke." in text["body"] for text in rows("texts"))


@pytest.mark.parametrize("kind", ["fact", "rule"])
async def test_restoring_renews_what_expired(resources: Resources, kind: str, clock: Any, put: Put, rows: Rows) -> None:
    """Decay starts again from now, so that the next sweep does not take it away again."""
    done = await store(resources, kind)
    put(done, "expired")
    clock.move(days=500)
    assert (await restore(resources, kind, done.ref)).outcome == "restored"
    (row,) = rows(f"{kind}s")
    assert (row["validity"], row["last_confirmed_at"]) == ("active", clock.now)
    seen = await get.get(resources, kind, done.ref)
    assert seen.effective_confidence == row["confidence"]


async def test_an_episode_comes_back_with_its_days_before_it(resources: Resources, clock: Any, rows: Rows) -> None:
    """It is kept for another week; one that had longer to go keeps that."""
    seen = await store(resources, "episode")
    await forget.forget(resources, "episode", seen.ref)
    clock.move(days=6)
    await restore(resources, "episode", seen.ref)
    assert rows("episodes")[0]["expires_at"] == clock.now + timedelta(days=7)
    await forget.forget(resources, "episode", seen.ref)
    clock.move(days=-3)
    await restore(resources, "episode", seen.ref)
    assert rows("episodes")[0]["expires_at"] == clock.now + timedelta(days=10)


async def test_a_butlers_own_days_count(resources: Resources, clock: Any, rows: Rows) -> None:
    """The time an episode gets is that of its own butler, not of whoever restores it."""
    own = type(resources.settings).model_validate(
        {**resources.settings.model_dump(), "butlers": {"health": {"lifecycle": {"eden": {"ttl_days": 30}}}}}
    )
    resources = replace(resources, settings=own)
    seen = await remember.episode(resources, NewEpisode(content="slept badly", butler="health"))
    await forget.forget(resources, "episode", seen.ref)
    clock.move(days=20)
    await restore(resources, "episode", seen.ref)
    assert rows("episodes")[0]["expires_at"] == clock.now + timedelta(days=30)


@pytest.mark.parametrize("kind", KINDS)
async def test_restoring_twice_is_harmless(resources: Resources, kind: str, everything: Everything) -> None:
    """What is active is said to be so, and nothing is written."""
    done = await store(resources, kind)
    before = everything()
    assert (await restore(resources, kind, done.ref)).outcome == "already_active"
    assert everything() == before


@pytest.mark.parametrize("kind", ["fact", "rule"])
async def test_a_fading_memory_is_restored_too(
    resources: Resources, kind: str, put: Put, rows: Rows, clock: Any
) -> None:
    """Whoever asks for a fading memory back gets it active and renewed."""
    done = await store(resources, kind)
    put(done, "fading")
    clock.move(days=2)
    assert (await restore(resources, kind, done.ref)).outcome == "restored"
    (row,) = rows(f"{kind}s")
    assert (row["validity"], row["last_confirmed_at"]) == ("active", clock.now)


async def test_a_taken_place_is_named_and_left_alone(resources: Resources, everything: Everything) -> None:
    """A superseded fact does not come back beside the live one: the error names that and says what would help."""
    old = await store(resources, "fact", "green tea")
    new = await store(resources, "fact", "black tea")
    before = everything()
    with pytest.raises(Conflict, match=f"fact:{new.ref} is now the current value") as problem:
        await restore(resources, "fact", old.ref)
    assert "supersede=true" in problem.value.recovery and "--supersede" in problem.value.recovery
    assert everything() == before


@pytest.mark.parametrize("kind", ["fact", "rule"])
async def test_what_would_have_to_give_way_is_told_before(
    resources: Resources, kind: str, everything: Everything
) -> None:
    """Of a fact that stands there or a rule that says the same; nothing is written, and a free place has nobody."""
    old = await store(resources, kind)
    assert await find_conflict(resources, kind, old.ref) is None
    await forget.forget(resources, kind, old.ref)
    assert await find_conflict(resources, kind, old.ref) is None
    new = await store(resources, kind)
    before = everything()
    there = await find_conflict(resources, kind, old.ref)
    assert there is not None and there.ref == new.ref != old.ref
    assert await find_conflict(resources, kind, new.ref) is None
    assert everything() == before


async def test_a_place_is_taken_over_when_asked_for(resources: Resources, rows: Rows) -> None:
    """The live fact is superseded, the restored one is active, and both changes are one group."""
    old = await store(resources, "fact", "green tea")
    new = await store(resources, "fact", "black tea")
    back = await restore(resources, "fact", old.ref, supersede=True, reason="The tin said green.")
    assert (back.outcome, back.id, back.superseded_ref) == ("restored", old.id, new.ref)
    assert {row["ref"]: row["validity"] for row in rows("facts")} == {old.ref: "active", new.ref: "superseded"}
    made_way, restored = last_events(rows, 2)
    assert [made_way["event_type"], restored["event_type"]] == ["fact.superseded", "fact.restored"]
    assert made_way["group_id"] == restored["group_id"] is not None
    assert made_way["payload"]["restored"] == str(old.id)
    assert restored["payload"]["supersedes"] == str(new.id)
    assert made_way["payload"]["reason_hash"] and restored["payload"]["reason_hash"]


async def test_a_free_place_needs_no_superseding(resources: Resources, rows: Rows) -> None:
    """Superseded by a fact that was forgotten since: it comes back, and nothing has to make way."""
    old = await store(resources, "fact", "green tea")
    new = await store(resources, "fact", "black tea")
    await forget.forget(resources, "fact", new.ref)
    assert (await restore(resources, "fact", old.ref, supersede=True)).superseded_ref is None
    assert {row["ref"]: row["validity"] for row in rows("facts")} == {old.ref: "active", new.ref: "retracted"}


async def test_events_of_other_times_or_words_take_no_place(resources: Resources) -> None:
    """Facts that happened at a time stand side by side; only the same occurrence, stored again, is in the way."""
    eaten = await store(resources, "fact", "soup", valid_at=LUNCH)
    await store(resources, "fact", "bread", valid_at=LUNCH)
    await store(resources, "fact", "soup", valid_at=LUNCH + timedelta(days=1))
    await store(resources, "fact", "soup")
    await forget.forget(resources, "fact", eaten.ref)
    assert (await restore(resources, "fact", eaten.ref)).outcome == "restored"
    await forget.forget(resources, "fact", eaten.ref)
    again = await store(resources, "fact", "soup", valid_at=LUNCH)
    with pytest.raises(Conflict, match=f"fact:{again.ref}"):
        await restore(resources, "fact", eaten.ref)
    assert (await restore(resources, "fact", eaten.ref, supersede=True)).superseded_ref == again.ref


@pytest.mark.parametrize("supersede", [False, True])
async def test_a_rule_does_not_come_back_beside_its_twin(
    resources: Resources, supersede: bool, everything: Everything
) -> None:
    """Rules are never superseded: with the same words live in the same scope, the old one stays where it is."""
    old = await store(resources, "rule")
    await forget.forget(resources, "rule", old.ref)
    twin = await store(resources, "rule")
    before = everything()
    with pytest.raises(Conflict, match=f"rule:{twin.ref} says the same"):
        await restore(resources, "rule", old.ref, supersede=supersede)
    assert everything() == before


async def test_a_rule_of_another_scope_is_no_twin(resources: Resources) -> None:
    """The same words in another scope take no place."""
    old = await store(resources, "rule")
    await forget.forget(resources, "rule", old.ref)
    await store(resources, "rule", scope="health")
    assert (await restore(resources, "rule", old.ref)).outcome == "restored"


async def test_a_repeat_with_the_same_key_restores_once(resources: Resources, rows: Rows) -> None:
    """The first answer comes back, also after the memory was forgotten again; another request is a conflict."""
    done = await store(resources, "fact")
    await forget.forget(resources, "fact", done.ref)
    first = await restore(resources, "fact", done.ref, idempotency_key="k")
    await forget.forget(resources, "fact", done.ref)
    assert await restore(resources, "fact", done.ref, idempotency_key="k") == first
    assert rows("facts")[0]["validity"] == "retracted"
    with pytest.raises(Conflict, match="another request"):
        await restore(resources, "fact", done.ref, supersede=True, idempotency_key="k")


async def test_a_deleted_episode_stays_deleted(
    resources: Resources, agent: Callable[..., Caller], owner: Any, everything: Everything
) -> None:
    """The error says that it was deleted and cannot be restored; a stranger does not even learn that it existed."""
    seen = await store(resources, "episode")
    owner.execute("DELETE FROM memory.episodes WHERE id = %s", [seen.id])
    owner.execute(
        "INSERT INTO memory.episode_tombstones (tenant_id, episode_id, ref, butler, observed_at, created_at,"
        " deleted_at, reason) VALUES (%s, %s, %s, 'main', now(), now(), '2026-03-09', 'expired')",
        [resources.settings.tenant, seen.id, seen.ref],
    )
    before = everything()
    with pytest.raises(NotFound, match="was deleted on 2026-03-09 \\(expired\\) and cannot be restored"):
        await restore(resources, "episode", seen.ref)
    with pytest.raises(NotFound, match=f"There is no episode:{seen.ref}"):
        await restore(resources, "episode", seen.ref, agent("health"))
    assert everything() == before


async def test_bad_requests_change_nothing(
    resources: Resources, agent: Callable[..., Caller], everything: Everything
) -> None:
    """Unknown, of another type, another butler's, a bad reason: each its own error, and every table as before."""
    fact = await store(resources, "fact", scope="finance")
    seen = await store(resources, "episode")
    await forget.forget(resources, "fact", fact.ref)
    await forget.forget(resources, "episode", seen.ref)
    before = everything()
    for kind, ref, caller, error, words in [
        ("fact", "zzzz", None, NotFound, "There is no fact:zzzz"),
        ("rule", fact.ref, None, InvalidInput, "is a fact, not a rule"),
        ("episode", str(fact.id), None, InvalidInput, "is a fact, not an episode"),
        ("thing", fact.ref, None, InvalidInput, "Unknown type 'thing'"),
        ("fact", "no such thing", None, InvalidInput, "neither an id nor a short reference"),
        ("fact", fact.ref, agent("health"), NotFound, "There is no"),
        ("rule", fact.ref, agent("health"), NotFound, "There is no"),
        ("episode", seen.ref, agent("health"), NotFound, "There is no"),
    ]:
        with pytest.raises(error, match=words):
            await restore(resources, kind, ref, caller)
    with pytest.raises(InvalidInput, match="reason"):
        await restore(resources, "fact", fact.ref, reason="")
    assert everything() == before


async def test_an_agent_restores_what_it_may_write(resources: Resources, agent: Callable[..., Caller]) -> None:
    """Global facts, those of its own scope, and its own episodes."""
    caller = agent("main")
    for kind, given in (("fact", {}), ("rule", {"scope": "main"}), ("episode", {})):
        done = await store(resources, kind, **given)
        await forget.forget(resources, kind, done.ref)
        assert (await restore(resources, kind, done.ref, caller)).outcome == "restored"


async def test_everything_that_is_taken_back_is_in_the_log(resources: Resources, clock: Any) -> None:
    """Restored, taken over, corrected, pinned, reversed and forgotten together: the log alone gives the same rows."""
    tea = await store(resources, "fact", "green tea")
    await store(resources, "fact", "black tea")
    await restore(resources, "fact", tea.ref, supersede=True, reason="it was green")
    clock.move(hours=1)
    await pin.pin(resources, "fact", tea.ref)
    right = await correct.correct(resources, tea.ref, "green tea with milk", reason="milk")
    await pin.unpin(resources, "fact", right.ref)
    rule = await store(resources, "rule", "Serve it cold")
    for _ in range(3):
        await feedback.mark(resources, rule.ref, Outcome.HARMFUL, reason="nobody drank it")
    await reverse(resources, rule.ref, reason="it was winter")
    await feedback.mark(resources, rule.ref, Outcome.HELPFUL)
    seen = await store(resources, "episode", "u had tea with anna@x.org.")
    await forget_about.forget_about(resources, text="anna@x.org", dry_run=False, reason="she asked")
    await restore(resources, "episode", seen.ref)
    report = await replay(resources)
    assert report.equal, report
    assert report.removed_texts == ()
