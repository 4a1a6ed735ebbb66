"""Pinning: a memory that time does not touch, until it is unpinned."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from psycopg import sql
from tests.operations.conftest import KINDS, store_tea

from memory_butler.errors import Conflict, InvalidInput, NotFound
from memory_butler.models import Caller, NewEpisode, NewFact, Question, Stored
from memory_butler.operations.retrieval import get, search
from memory_butler.operations.writing import forget, remember
from memory_butler.operations.writing.pin import pin, unpin
from memory_butler.resources import Resources

Rows = Callable[[str], list[dict[str, Any]]]
Everything = Callable[[], dict[str, list[str]]]
Fade = Callable[[Stored], None]


@pytest.fixture
def fade(owner: Any) -> Fade:
    """Make a fact or rule fading, as a sweep would."""

    def make(done: Stored) -> None:
        table = sql.Identifier("memory", f"{done.type}s")
        owner.execute(sql.SQL("UPDATE {} SET validity = 'fading' WHERE id = %s").format(table), [done.id])

    return make


def last_event(rows: Rows) -> dict[str, Any]:
    return max(rows("memory_events"), key=lambda event: event["seq"])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_pin_is_set_and_taken_off(
    resources: Resources, kind: str, rows: Rows, agent: Callable[..., Caller]
) -> None:
    """Each way the row says so, and one event with who and what after."""
    done = await store_tea(resources, kind)
    for act, outcome, pinned in ((pin, "pinned", True), (unpin, "unpinned", False)):
        assert (await act(resources, kind, done.ref, agent("main", request_id="r1"))).outcome == outcome
        (row,) = rows(f"{kind}s")
        assert (row["pinned"], row["validity"]) == (pinned, "active")
        event = last_event(rows)
        assert (event["event_type"], event["actor"], event["request_id"]) == (f"{kind}.{outcome}", "main", "r1")
        assert event["payload"]["state"]["pinned"] is pinned


@pytest.mark.parametrize("kind", KINDS)
async def test_twice_is_once(resources: Resources, kind: str, everything: Everything) -> None:
    """Pinning what is pinned and unpinning what is not say so and write nothing."""
    done = await store_tea(resources, kind)
    before = everything()
    assert (await unpin(resources, kind, done.ref)).outcome == "already_unpinned"
    assert everything() == before
    await pin(resources, kind, done.ref)
    before = everything()
    assert (await pin(resources, kind, done.ref)).outcome == "already_pinned"
    assert everything() == before


async def test_a_pinned_fact_is_found_after_years_as_on_the_first_day(resources: Resources, clock: Any) -> None:
    """It keeps its confidence and never says when it will fade; its neighbour has faded out of the default search."""
    kept = await store_tea(resources, "fact")
    left = await remember.fact(resources, NewFact(subject="u", predicate="cup", content="green cup"))
    await pin(resources, "fact", kept.ref)
    clock.move(days=365 * 3)
    refs = [entry.hit.ref for entry in (await search.search(resources, Question(query="green"))).results]
    assert refs == [kept.ref]
    seen = await get.get(resources, "fact", kept.ref)
    assert (seen.effective_confidence, seen.fades_at, seen.expires_at) == (1.0, None, None)
    assert (await get.get(resources, "fact", left.ref)).effective_confidence < 0.2


@pytest.mark.parametrize("kind", ["fact", "rule"])
async def test_pinning_revives_what_fades(resources: Resources, kind: str, fade: Fade, rows: Rows, clock: Any) -> None:
    """What does not decay does not fade; the confirmation is left as it was."""
    done = await store_tea(resources, kind)
    fade(done)
    clock.move(days=300)
    await pin(resources, kind, done.ref)
    (row,) = rows(f"{kind}s")
    assert (row["validity"], row["last_confirmed_at"]) == ("active", None)


async def test_pinning_what_was_never_sure_does_not_make_it_so(resources: Resources, owner: Any, rows: Rows) -> None:
    """A fact stored with less confidence than fading takes stays fading under its pin."""
    done = await store_tea(resources, "fact")
    owner.execute("UPDATE memory.facts SET validity = 'fading', confidence = 0.1 WHERE id = %s", [done.id])
    await pin(resources, "fact", done.ref)
    assert (rows("facts")[0]["pinned"], rows("facts")[0]["validity"]) == (True, "fading")


@pytest.mark.parametrize("kind", ["fact", "rule"])
async def test_unpinning_renews(resources: Resources, kind: str, clock: Any, rows: Rows) -> None:
    """After years under a pin it starts to fade from now, not from when it was stored."""
    done = await store_tea(resources, kind)
    await pin(resources, kind, done.ref)
    clock.move(days=1000)
    await unpin(resources, kind, done.ref)
    (row,) = rows(f"{kind}s")
    assert row["last_confirmed_at"] == clock.now
    assert (await get.get(resources, kind, done.ref)).effective_confidence == row["confidence"]


async def test_a_pinned_episode_is_found_after_its_time(resources: Resources, clock: Any) -> None:
    """Kept means found: past its days it is in answers and briefings, and its neighbour is not."""
    kept = await remember.episode(resources, NewEpisode(content="They planted the oak.", butler="main"))
    await remember.episode(resources, NewEpisode(content="They planted the elm.", butler="main"))
    await pin(resources, "episode", kept.ref)
    clock.move(days=8)
    found = await search.search(resources, Question(query="planted the oak and the elm"))
    assert [entry.hit.ref for entry in found.results] == [kept.ref]


async def test_an_unpinned_episode_has_its_days_anew(resources: Resources, clock: Any, rows: Rows) -> None:
    """One that outlived its week under a pin is not due for deletion the moment the pin is off."""
    seen = await store_tea(resources, "episode")
    await pin(resources, "episode", seen.ref)
    clock.move(days=60)
    await unpin(resources, "episode", seen.ref)
    assert rows("episodes")[0]["expires_at"] == clock.now + timedelta(days=7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("act", [pin, unpin])
async def test_what_is_out_of_use_cannot_be_pinned(
    resources: Resources, kind: str, act: Any, everything: Everything
) -> None:
    """A retracted memory refuses both ways and says what to do first."""
    done = await store_tea(resources, kind)
    await forget.forget(resources, kind, done.ref)
    before = everything()
    with pytest.raises(Conflict, match=r"is retracted; only memories in use can be (un)?pinned") as problem:
        await act(resources, kind, done.ref)
    assert "Restore it first" in problem.value.recovery
    assert everything() == before


@pytest.mark.parametrize("act", [pin, unpin])
async def test_bad_requests_change_nothing(
    resources: Resources, act: Any, agent: Callable[..., Caller], everything: Everything
) -> None:
    """Unknown, of another type, or another butler's: each its own error, and every table as before."""
    fact = await store_tea(resources, "fact", scope="finance")
    seen = await store_tea(resources, "episode")
    before = everything()
    for kind, ref, caller, error, words in [
        ("rule", "zzzz", None, NotFound, "There is no rule:zzzz"),
        ("rule", str(fact.id), None, InvalidInput, "is a fact, not a rule"),
        ("fact", seen.ref, None, InvalidInput, "is an episode, not a fact"),
        ("fact", fact.ref, agent("health"), NotFound, "There is no"),
        ("episode", seen.ref, agent("health"), NotFound, "There is no"),
    ]:
        with pytest.raises(error, match=words):
            await act(resources, kind, ref, caller)
    assert everything() == before


async def test_a_key_pins_once(resources: Resources, rows: Rows) -> None:
    """A repeat gets the first answer even after the pin is off again, and pinning and unpinning share no key."""
    done = await store_tea(resources, "rule")
    first = await pin(resources, "rule", done.ref, idempotency_key="k")
    await unpin(resources, "rule", done.ref)
    assert await pin(resources, "rule", done.ref, idempotency_key="k") == first
    assert rows("rules")[0]["pinned"] is False
    with pytest.raises(Conflict, match="another request"):
        await unpin(resources, "rule", done.ref, idempotency_key="k")
