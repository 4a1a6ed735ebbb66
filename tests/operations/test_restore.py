"""Restoring: what was forgotten, expired or superseded comes back, and no two live facts share a place."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from psycopg import sql

from memory_butler.butler import Butler
from memory_butler.errors import Conflict, InvalidInput, NotFound
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Outcome, Question, Stored
from memory_butler.operations import correct, forget, forget_about, judge, look, pin, recall, remember
from memory_butler.operations.replay import replay
from memory_butler.operations.restore import in_its_place, restore, reverse

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


async def store(butler: Butler, kind: str, words: str = "green tea", **given: Any) -> Stored:
    if kind == "fact":
        return await remember.fact(butler, NewFact(subject="u", predicate="tea", content=words, **given))
    if kind == "rule":
        return await remember.rule(butler, NewRule(content=words, **given))
    return await remember.episode(butler, NewEpisode(content=words, butler="main"))


async def found(butler: Butler, words: str = "green tea") -> list[str]:
    answer = await recall.search(butler, Question(query=words, min_confidence=0.0), bump=False)
    return [entry.hit.ref for entry in answer.results]


def last_events(rows: Rows, count: int) -> list[dict[str, Any]]:
    return sorted(rows("memory_events"), key=lambda event: event["seq"])[-count:]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_forgotten_memory_comes_back_into_every_read(
    butler: Butler, kind: str, rows: Rows, agent: Callable[..., Caller]
) -> None:
    """Active again and found again; one event says who restored it, and the reason is kept apart."""
    done = await store(butler, kind)
    await forget.forget(butler, kind, done.ref)
    assert await found(butler) == []
    back = await restore(butler, kind, done.ref, agent("main", request_id="r1"), reason="It was no joke.")
    assert (back.outcome, back.id, back.superseded_ref) == ("restored", done.id, None)
    assert await found(butler) == [done.ref]
    (event,) = last_events(rows, 1)
    assert (event["event_type"], event["actor"], event["request_id"]) == (f"{kind}.restored", "main", "r1")
    assert (event["payload"]["state"]["validity"], event["group_id"]) == ("active", None)
    assert "joke" not in str(event["payload"])
    assert any("It was no joke." in text["body"] for text in rows("texts"))


@pytest.mark.parametrize("kind", ["fact", "rule"])
async def test_restoring_renews_what_expired(butler: Butler, kind: str, clock: Any, put: Put, rows: Rows) -> None:
    """Decay starts again from now, so that the next sweep does not take it away again."""
    done = await store(butler, kind)
    put(done, "expired")
    clock.move(days=500)
    assert (await restore(butler, kind, done.ref)).outcome == "restored"
    (row,) = rows(f"{kind}s")
    assert (row["validity"], row["last_confirmed_at"]) == ("active", clock.now)
    seen = await look.look(butler, kind, done.ref)
    assert seen.effective_confidence == row["confidence"]


async def test_an_episode_comes_back_with_its_days_before_it(butler: Butler, clock: Any, rows: Rows) -> None:
    """It is kept for another week; one that had longer to go keeps that."""
    seen = await store(butler, "episode")
    await forget.forget(butler, "episode", seen.ref)
    clock.move(days=6)
    await restore(butler, "episode", seen.ref)
    assert rows("episodes")[0]["expires_at"] == clock.now + timedelta(days=7)
    await forget.forget(butler, "episode", seen.ref)
    clock.move(days=-3)
    await restore(butler, "episode", seen.ref)
    assert rows("episodes")[0]["expires_at"] == clock.now + timedelta(days=10)


async def test_a_butlers_own_days_count(butler: Butler, clock: Any, rows: Rows) -> None:
    """The time an episode gets is that of its own butler, not of whoever restores it."""
    own = type(butler.settings).model_validate(
        {**butler.settings.model_dump(), "butlers": {"health": {"lifecycle": {"eden": {"ttl_days": 30}}}}}
    )
    butler = replace(butler, settings=own)
    seen = await remember.episode(butler, NewEpisode(content="slept badly", butler="health"))
    await forget.forget(butler, "episode", seen.ref)
    clock.move(days=20)
    await restore(butler, "episode", seen.ref)
    assert rows("episodes")[0]["expires_at"] == clock.now + timedelta(days=30)


@pytest.mark.parametrize("kind", KINDS)
async def test_restoring_twice_is_harmless(butler: Butler, kind: str, everything: Everything) -> None:
    """What is active is said to be so, and nothing is written."""
    done = await store(butler, kind)
    before = everything()
    assert (await restore(butler, kind, done.ref)).outcome == "already_active"
    assert everything() == before


@pytest.mark.parametrize("kind", ["fact", "rule"])
async def test_a_fading_memory_is_restored_too(butler: Butler, kind: str, put: Put, rows: Rows, clock: Any) -> None:
    """Whoever asks for a fading memory back gets it active and renewed."""
    done = await store(butler, kind)
    put(done, "fading")
    clock.move(days=2)
    assert (await restore(butler, kind, done.ref)).outcome == "restored"
    (row,) = rows(f"{kind}s")
    assert (row["validity"], row["last_confirmed_at"]) == ("active", clock.now)


async def test_a_taken_place_is_named_and_left_alone(butler: Butler, everything: Everything) -> None:
    """A superseded fact does not come back beside the live one: the error names that and says what would help."""
    old = await store(butler, "fact", "green tea")
    new = await store(butler, "fact", "black tea")
    before = everything()
    with pytest.raises(Conflict, match=f"taken by fact:{new.ref}") as problem:
        await restore(butler, "fact", old.ref)
    assert "supersede=true" in problem.value.recovery and "--supersede" in problem.value.recovery
    assert everything() == before


@pytest.mark.parametrize("kind", ["fact", "rule"])
async def test_what_would_have_to_give_way_is_told_before(butler: Butler, kind: str, everything: Everything) -> None:
    """Of a fact that stands there or a rule that says the same; nothing is written, and a free place has nobody."""
    old = await store(butler, kind)
    assert await in_its_place(butler, kind, old.ref) is None
    await forget.forget(butler, kind, old.ref)
    assert await in_its_place(butler, kind, old.ref) is None
    new = await store(butler, kind)
    before = everything()
    there = await in_its_place(butler, kind, old.ref)
    assert there is not None and there.ref == new.ref != old.ref
    assert await in_its_place(butler, kind, new.ref) is None
    assert everything() == before


async def test_a_place_is_taken_over_when_asked_for(butler: Butler, rows: Rows) -> None:
    """The live fact is superseded, the restored one is active, and both changes are one group."""
    old = await store(butler, "fact", "green tea")
    new = await store(butler, "fact", "black tea")
    back = await restore(butler, "fact", old.ref, supersede=True, reason="The tin said green.")
    assert (back.outcome, back.id, back.superseded_ref) == ("restored", old.id, new.ref)
    assert {row["ref"]: row["validity"] for row in rows("facts")} == {old.ref: "active", new.ref: "superseded"}
    made_way, restored = last_events(rows, 2)
    assert [made_way["event_type"], restored["event_type"]] == ["fact.superseded", "fact.restored"]
    assert made_way["group_id"] == restored["group_id"] is not None
    assert made_way["payload"]["restored"] == str(old.id)
    assert restored["payload"]["supersedes"] == str(new.id)
    assert made_way["payload"]["reason_hash"] == restored["payload"]["reason_hash"]


async def test_a_free_place_needs_no_superseding(butler: Butler, rows: Rows) -> None:
    """Superseded by a fact that was forgotten since: it comes back, and nothing has to make way."""
    old = await store(butler, "fact", "green tea")
    new = await store(butler, "fact", "black tea")
    await forget.forget(butler, "fact", new.ref)
    assert (await restore(butler, "fact", old.ref, supersede=True)).superseded_ref is None
    assert {row["ref"]: row["validity"] for row in rows("facts")} == {old.ref: "active", new.ref: "retracted"}


async def test_events_of_other_times_or_words_take_no_place(butler: Butler) -> None:
    """Facts that happened at a time stand side by side; only the same occurrence, stored again, is in the way."""
    eaten = await store(butler, "fact", "soup", valid_at=LUNCH)
    await store(butler, "fact", "bread", valid_at=LUNCH)
    await store(butler, "fact", "soup", valid_at=LUNCH + timedelta(days=1))
    await store(butler, "fact", "soup")
    await forget.forget(butler, "fact", eaten.ref)
    assert (await restore(butler, "fact", eaten.ref)).outcome == "restored"
    await forget.forget(butler, "fact", eaten.ref)
    again = await store(butler, "fact", "soup", valid_at=LUNCH)
    with pytest.raises(Conflict, match=f"fact:{again.ref}"):
        await restore(butler, "fact", eaten.ref)
    assert (await restore(butler, "fact", eaten.ref, supersede=True)).superseded_ref == again.ref


@pytest.mark.parametrize("supersede", [False, True])
async def test_a_rule_does_not_come_back_beside_its_twin(
    butler: Butler, supersede: bool, everything: Everything
) -> None:
    """Rules are never superseded: with the same words live in the same scope, the old one stays where it is."""
    old = await store(butler, "rule")
    await forget.forget(butler, "rule", old.ref)
    twin = await store(butler, "rule")
    before = everything()
    with pytest.raises(Conflict, match=f"rule:{twin.ref} says the same"):
        await restore(butler, "rule", old.ref, supersede=supersede)
    assert everything() == before


async def test_a_rule_of_another_scope_is_no_twin(butler: Butler) -> None:
    """The same words in another scope take no place."""
    old = await store(butler, "rule")
    await forget.forget(butler, "rule", old.ref)
    await store(butler, "rule", scope="health")
    assert (await restore(butler, "rule", old.ref)).outcome == "restored"


async def test_a_repeat_with_the_same_key_restores_once(butler: Butler, rows: Rows) -> None:
    """The first answer comes back, also after the memory was forgotten again; another request is a conflict."""
    done = await store(butler, "fact")
    await forget.forget(butler, "fact", done.ref)
    first = await restore(butler, "fact", done.ref, idempotency_key="k")
    await forget.forget(butler, "fact", done.ref)
    assert await restore(butler, "fact", done.ref, idempotency_key="k") == first
    assert rows("facts")[0]["validity"] == "retracted"
    with pytest.raises(Conflict, match="another request"):
        await restore(butler, "fact", done.ref, supersede=True, idempotency_key="k")


async def test_a_deleted_episode_stays_deleted(
    butler: Butler, agent: Callable[..., Caller], owner: Any, everything: Everything
) -> None:
    """The error says that it was deleted and cannot be restored; a stranger does not even learn that it existed."""
    seen = await store(butler, "episode")
    owner.execute("DELETE FROM memory.episodes WHERE id = %s", [seen.id])
    owner.execute(
        "INSERT INTO memory.episode_tombstones (tenant_id, episode_id, ref, butler, observed_at, created_at,"
        " deleted_at, reason) VALUES (%s, %s, %s, 'main', now(), now(), '2026-03-09', 'expired')",
        [butler.settings.tenant, seen.id, seen.ref],
    )
    before = everything()
    with pytest.raises(NotFound, match="was deleted on 2026-03-09 \\(expired\\) and cannot be restored"):
        await restore(butler, "episode", seen.ref)
    with pytest.raises(NotFound, match=f"There is no episode:{seen.ref}"):
        await restore(butler, "episode", seen.ref, agent("health"))
    assert everything() == before


async def test_bad_requests_change_nothing(
    butler: Butler, agent: Callable[..., Caller], everything: Everything
) -> None:
    """Unknown, of another type, another butler's, a bad reason: each its own error, and every table as before."""
    fact = await store(butler, "fact", scope="finance")
    seen = await store(butler, "episode")
    await forget.forget(butler, "fact", fact.ref)
    await forget.forget(butler, "episode", seen.ref)
    before = everything()
    for kind, ref, caller, error, words in [
        ("fact", "zzzz", None, NotFound, "There is no fact:zzzz"),
        ("rule", fact.ref, None, InvalidInput, "is a fact, not a rule"),
        ("episode", str(fact.id), None, InvalidInput, "is a fact, not an episode"),
        ("thing", fact.ref, None, InvalidInput, "type 'thing' is not known"),
        ("fact", "no such thing", None, InvalidInput, "neither an id nor a short reference"),
        ("fact", fact.ref, agent("health"), NotFound, "There is no"),
        ("rule", fact.ref, agent("health"), NotFound, "There is no"),
        ("episode", seen.ref, agent("health"), NotFound, "There is no"),
    ]:
        with pytest.raises(error, match=words):
            await restore(butler, kind, ref, caller)
    with pytest.raises(InvalidInput, match="reason"):
        await restore(butler, "fact", fact.ref, reason="")
    assert everything() == before


async def test_an_agent_restores_what_it_may_write(butler: Butler, agent: Callable[..., Caller]) -> None:
    """Global facts, those of its own scope, and its own episodes."""
    caller = agent("main")
    for kind, given in (("fact", {}), ("rule", {"scope": "main"}), ("episode", {})):
        done = await store(butler, kind, **given)
        await forget.forget(butler, kind, done.ref)
        assert (await restore(butler, kind, done.ref, caller)).outcome == "restored"


async def test_everything_that_is_taken_back_is_in_the_log(butler: Butler, clock: Any) -> None:
    """Restored, taken over, corrected, pinned, reversed and forgotten together: the log alone gives the same rows."""
    tea = await store(butler, "fact", "green tea")
    await store(butler, "fact", "black tea")
    await restore(butler, "fact", tea.ref, supersede=True, reason="it was green")
    clock.move(hours=1)
    await pin.pin(butler, "fact", tea.ref)
    right = await correct.correct(butler, tea.ref, "green tea with milk", reason="milk")
    await pin.unpin(butler, "fact", right.ref)
    rule = await store(butler, "rule", "Serve it cold")
    for _ in range(3):
        await judge.mark(butler, rule.ref, Outcome.HARMFUL, reason="nobody drank it")
    await reverse(butler, rule.ref, reason="it was winter")
    await judge.mark(butler, rule.ref, Outcome.HELPFUL)
    seen = await store(butler, "episode", "u had tea with anna@x.org.")
    await forget_about.forget_about(butler, text="anna@x.org", dry_run=False, reason="she asked")
    await restore(butler, "episode", seen.ref)
    report = await replay(butler)
    assert report.equal, report
    assert report.removed_texts == ()
