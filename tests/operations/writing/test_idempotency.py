"""Idempotency: a repeat gets the first answer and changes nothing."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from memory_butler.errors import Conflict
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Outcome
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.operations.writing.idempotency import Fingerprint
from memory_butler.resources import Resources

Everything = Callable[[], dict[str, list[str]]]


def tea(content: str = "green", key: str | None = "k1", **given: Any) -> NewFact:
    return NewFact(subject="User", predicate="tea", content=content, idempotency_key=key, **given)


async def test_every_write_answers_a_repeat_with_its_first_answer(resources: Resources, everything: Everything) -> None:
    """Each of the writes, repeated with its key: the same answer, not a row more or less."""
    rule = await remember.rule(resources, NewRule(content="Ask first."))
    fact = await remember.fact(resources, tea(key=None))
    writes: list[Callable[[], Any]] = [
        lambda: remember.fact(resources, tea("black", metadata={1: 2, "a": 3})),
        lambda: remember.rule(resources, NewRule(content="Be brief.", idempotency_key="k2")),
        lambda: remember.episode(resources, NewEpisode(content="Met Bo.", butler="health", idempotency_key="k3")),
        lambda: feedback.mark(resources, rule.ref, Outcome.HELPFUL, idempotency_key="k4"),
        lambda: feedback.confirm(resources, "rule", rule.ref, idempotency_key="k5"),
        lambda: forget.forget(resources, "rule", rule.ref, reason="wrong", idempotency_key="k6"),
    ]
    for write in writes:
        first = await write()
        before = everything()
        assert await write() == first
        assert everything() == before
    assert fact.outcome == "created"


async def test_a_repeat_is_answered_even_after_the_state_has_moved_on(resources: Resources) -> None:
    """The first answer stands although the fact has been superseded since."""
    first = await remember.fact(resources, tea("green"))
    await remember.fact(resources, tea("black", key=None))
    assert await remember.fact(resources, tea("green")) == first


async def test_the_same_key_for_another_request_is_a_conflict(resources: Resources, everything: Everything) -> None:
    """Another content, another operation: refused, nothing changed."""
    await remember.fact(resources, tea("green"))
    before = everything()
    with pytest.raises(Conflict, match="'k1' was used before"):
        await remember.fact(resources, tea("black"))
    with pytest.raises(Conflict):
        await remember.rule(resources, NewRule(content="green", idempotency_key="k1"))
    assert everything() == before


async def test_a_key_belongs_to_its_butler(resources: Resources, agent: Callable[..., Caller]) -> None:
    """Two butlers may use the same key for different things."""
    await remember.fact(resources, tea("green"), agent("health"))
    done = await remember.fact(resources, tea("black"), agent("finance"))
    assert done.outcome == "superseded"


async def test_a_key_is_forgotten_after_its_time(resources: Resources, clock: Any) -> None:
    """Just before seven days it answers, at seven days it is free again; the time is a setting."""
    first = await remember.fact(resources, tea("green"))
    clock.move(days=7, seconds=-1)
    assert await remember.fact(resources, tea("green")) == first
    clock.move(seconds=1)
    assert (await remember.fact(resources, tea("black"))).outcome == "superseded"
    shorter = replace(resources, settings=resources.settings.model_copy(update={"idempotency_days": 1.0}))
    await remember.fact(shorter, tea("white", key="k9"))
    clock.move(days=1)
    assert (await remember.fact(shorter, tea("red", key="k9"))).outcome == "superseded"


async def test_a_failed_write_keeps_no_key(resources: Resources) -> None:
    """After a refusal the same key can be used for the corrected request."""
    with pytest.raises(Exception, match="There is no episode:zzzz"):
        await remember.fact(resources, tea("green", source_episode="zzzz"))
    assert (await remember.fact(resources, tea("green"))).outcome == "created"


async def test_repeats_at_the_same_instant_are_one_write(resources: Resources, everything: Everything) -> None:
    """Ten copies of a request sent at once store one memory and get one answer."""
    new = NewEpisode(content="Met Bo.", butler="health", idempotency_key="k")
    done = await asyncio.gather(*(remember.episode(resources, new) for _ in range(10)))
    assert len(set(done)) == 1
    assert len(everything()["episodes"]) == 1


@dataclass(frozen=True)
class _OldRequest:
    content: str
    importance: int = 5
    idempotency_key: str | None = None


@dataclass(frozen=True)
class _NewRequest(_OldRequest):
    labels: tuple[str, ...] = ()
    source_url: str | None = None
    weight: float = 1.0


def test_a_new_optional_field_changes_no_earlier_fingerprint() -> None:
    """A field with its default is left out, in requests and in parameters; a field that is set counts."""
    old, new = Fingerprint("rule", _OldRequest("x", 7, "k1")), Fingerprint("rule", _NewRequest("x", 7, "k2"))
    assert (old.digest, old.legacy) == (new.digest, new.legacy)
    assert Fingerprint("rule", _NewRequest("x", 7, weight=0.0)).digest != new.digest
    with_defaults = Fingerprint("undo", {"id": "1", "quietly": False, "only": None})
    assert with_defaults.digest == Fingerprint("undo", {"id": "1"}).digest
    assert Fingerprint("undo", {"id": "1"}).digest != Fingerprint("mark", {"id": "1"}).digest
