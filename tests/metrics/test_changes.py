"""Changes are counted when they are committed, under the name that the log gives them."""

from collections.abc import Callable

import pytest
from tests.conftest import MovingClock

from memory_butler.errors import MemoryButlerError
from memory_butler.metrics.registry import REGISTRY
from memory_butler.models import Caller, NewFact, NewRule, Outcome
from memory_butler.operations.lifecycle.sweep import sweep
from memory_butler.operations.writing import feedback, remember
from memory_butler.resources import Resources
from memory_butler.store.history import events
from memory_butler.store.history.events import Change


def count(change: str) -> float:
    return REGISTRY.get_sample_value("memory_butler_changes_total", {"change": change}) or 0


async def test_what_is_committed_is_counted(
    resources: Resources, clock: MovingClock, agent: Callable[..., Caller]
) -> None:
    """A supersession, a fading, an inversion; each once."""
    names = ("fact.created", "fact.superseded", "fact.faded", "rule.inverted")
    before = [count(name) for name in names]
    for drink in ("tea", "coffee"):
        await remember.fact(resources, NewFact(subject="Ana", predicate="drink", content=drink))
    rule = await remember.rule(resources, NewRule(content="Serve it cold."))
    for session in ("one", "two", "three"):
        caller = agent("main", session_id=session)
        await feedback.mark(resources, rule.ref, Outcome.HARMFUL, reason="too cold", caller=caller)
        clock.move(days=1)
    clock.move(days=250)
    await sweep(resources)
    assert [count(name) - then for name, then in zip(names, before, strict=True)] == [2, 1, 1, 1]


async def test_what_is_rolled_back_is_not(resources: Resources) -> None:
    before = count("fact.confirmed")
    stored = await remember.fact(resources, NewFact(subject="Ana", predicate="drink", content="tea"))
    with pytest.raises(MemoryButlerError):
        async with resources.database.write(resources.settings.tenant, resources.clock()) as transaction:
            trail = events.AuditTrail(
                now=resources.clock(), actor="main", lineage=resources.local_caller().lineage, make_id=resources.make_id
            )
            await events.record(transaction, trail, [Change(stored.type, stored.id, "confirmed")])
            raise MemoryButlerError("no")
    assert count("fact.confirmed") == before
