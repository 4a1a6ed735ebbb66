"""The curve of a memory's confidence: the store's own formula, drawn."""

from typing import Any

import pytest
from tests.support.lifecycle_rules import DECAY

from memory_butler.adapters.dashboard.view_models import decay_curve
from memory_butler.models import NewEpisode, NewFact, NewRule, Outcome
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.retrieval import get
from memory_butler.operations.writing import feedback, forget, pin, remember
from memory_butler.resources import Resources


async def portrait(resources: Resources, kind: str, ref: str) -> Any:
    return await get.get(resources, kind, ref, bump=False)


async def test_the_curve_goes_from_the_last_confirmation_to_after_the_end(resources: Resources, clock: Any) -> None:
    """It begins where decay is counted from, passes through what the memory is worth today, and ends below the end."""
    fact = await remember.fact(
        resources, NewFact(subject="Ana", predicate="tea", content="green", permanence="volatile")
    )
    clock.move(days=5)
    await feedback.confirm(resources, "fact", fact.ref)
    begun = clock.now
    clock.move(days=10)
    seen = await portrait(resources, "fact", fact.ref)
    curve = decay_curve.curve(seen, clock.now, DECAY)
    assert curve is not None
    assert curve.points[0] == (begun, 100.0)
    assert curve.percent == pytest.approx(100 * seen.effective_confidence, abs=0.01)
    assert curve.points[-1][0] > seen.expires_at
    assert curve.points[-1][1] < 5 < curve.points[0][1]
    assert dict(curve.marks) == {"fades": seen.fades_at, "expires": seen.expires_at}
    worths = [worth for _, worth in curve.points]
    assert worths == sorted(worths, reverse=True)


async def test_an_expired_memory_still_has_its_curve(resources: Resources, clock: Any) -> None:
    """Today lies behind the end, and the curve goes on to it."""
    fact = await remember.fact(resources, NewFact(subject="A", predicate="b", content="c", permanence="ephemeral"))
    clock.move(days=200)
    await sweep.sweep(resources)
    curve = decay_curve.curve(await portrait(resources, "fact", fact.ref), clock.now, DECAY)
    assert curve is not None
    assert dict(curve.marks)["expires"] < clock.now <= curve.points[-1][0]


async def test_what_does_not_fade_says_why(resources: Resources) -> None:
    """Pinned, permanent, a warning, out of use, an episode: no curve, but a reason."""
    options: dict[str, dict[str, Any]] = {"kept": {}, "lasting": {"permanence": "permanent"}, "gone": {}}
    facts = {
        name: await remember.fact(resources, NewFact(subject="Ana", predicate=name, content=name, **more))
        for name, more in options.items()
    }
    await pin.pin(resources, "fact", facts["kept"].ref)
    await forget.forget(resources, "fact", facts["gone"].ref)
    rule = await remember.rule(resources, NewRule(content="Book the cheapest"))
    for _ in range(3):
        await feedback.mark(resources, rule.ref, Outcome.HARMFUL, reason="it went wrong")
    episode = await remember.episode(resources, NewEpisode(content="hello", butler="main"))
    told = {
        ("fact", facts["kept"].ref): "pinned",
        ("fact", facts["lasting"].ref): "permanent",
        ("fact", facts["gone"].ref): "no longer in use",
        ("rule", rule.ref): "warning",
        ("episode", episode.ref): "Episodes do not decay",
    }
    for (kind, ref), word in told.items():
        seen = await portrait(resources, kind, ref)
        assert word in decay_curve.no_decay_reason(seen.memory)
        assert decay_curve.curve(seen, resources.clock(), DECAY) is None
