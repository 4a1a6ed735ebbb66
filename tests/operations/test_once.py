"""Idempotency: a repeat gets the first answer and changes nothing."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memory_butler.butler import Butler
from memory_butler.errors import Conflict
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Outcome
from memory_butler.operations import forget, judge, remember

Everything = Callable[[], dict[str, list[str]]]


def tea(content: str = "green", key: str | None = "k1", **given: Any) -> NewFact:
    return NewFact(subject="User", predicate="tea", content=content, idempotency_key=key, **given)


async def test_every_write_answers_a_repeat_with_its_first_answer(butler: Butler, everything: Everything) -> None:
    """Each of the writes, repeated with its key: the same answer, not a row more or less."""
    rule = await remember.rule(butler, NewRule(content="Ask first."))
    fact = await remember.fact(butler, tea(key=None))
    writes: list[Callable[[], Any]] = [
        lambda: remember.fact(butler, tea("black", metadata={1: 2, "a": 3})),
        lambda: remember.rule(butler, NewRule(content="Be brief.", idempotency_key="k2")),
        lambda: remember.episode(butler, NewEpisode(content="Met Bo.", butler="health", idempotency_key="k3")),
        lambda: judge.mark(butler, rule.ref, Outcome.HELPFUL, idempotency_key="k4"),
        lambda: judge.confirm(butler, "rule", rule.ref, idempotency_key="k5"),
        lambda: forget.forget(butler, "rule", rule.ref, reason="wrong", idempotency_key="k6"),
    ]
    for write in writes:
        first = await write()
        before = everything()
        assert await write() == first
        assert everything() == before
    assert fact.outcome == "created"


async def test_a_repeat_is_answered_even_after_the_state_has_moved_on(butler: Butler) -> None:
    """The first answer stands although the fact has been superseded since."""
    first = await remember.fact(butler, tea("green"))
    await remember.fact(butler, tea("black", key=None))
    assert await remember.fact(butler, tea("green")) == first


async def test_the_same_key_for_another_request_is_a_conflict(butler: Butler, everything: Everything) -> None:
    """Another content, another operation: refused, nothing changed."""
    await remember.fact(butler, tea("green"))
    before = everything()
    with pytest.raises(Conflict, match="'k1' was used before"):
        await remember.fact(butler, tea("black"))
    with pytest.raises(Conflict):
        await remember.rule(butler, NewRule(content="green", idempotency_key="k1"))
    assert everything() == before


async def test_a_key_belongs_to_its_butler(butler: Butler, agent: Callable[..., Caller]) -> None:
    """Two butlers may use the same key for different things."""
    await remember.fact(butler, tea("green"), agent("health"))
    done = await remember.fact(butler, tea("black"), agent("finance"))
    assert done.outcome == "superseded"


async def test_a_key_is_forgotten_after_its_time(butler: Butler, clock: Any) -> None:
    """Just before seven days it answers, at seven days it is free again; the time is a setting."""
    first = await remember.fact(butler, tea("green"))
    clock.move(days=7, seconds=-1)
    assert await remember.fact(butler, tea("green")) == first
    clock.move(seconds=1)
    assert (await remember.fact(butler, tea("black"))).outcome == "superseded"
    shorter = replace(butler, settings=butler.settings.model_copy(update={"idempotency_days": 1.0}))
    await remember.fact(shorter, tea("white", key="k9"))
    clock.move(days=1)
    assert (await remember.fact(shorter, tea("red", key="k9"))).outcome == "superseded"


async def test_a_failed_write_keeps_no_key(butler: Butler) -> None:
    """After a refusal the same key can be used for the corrected request."""
    with pytest.raises(Exception, match="There is no episode:zzzz"):
        await remember.fact(butler, tea("green", source_episode="zzzz"))
    assert (await remember.fact(butler, tea("green"))).outcome == "created"


async def test_repeats_at_the_same_instant_are_one_write(butler: Butler, everything: Everything) -> None:
    """Ten copies of a request sent at once store one memory and get one answer."""
    new = NewEpisode(content="Met Bo.", butler="health", idempotency_key="k")
    done = await asyncio.gather(*(remember.episode(butler, new) for _ in range(10)))
    assert len(set(done)) == 1
    assert len(everything()["episodes"]) == 1
