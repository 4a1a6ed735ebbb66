"""The curve of a memory's confidence: the store's own formula, drawn."""

from typing import Any

import pytest

from memory_butler.adapters.dashboard import decay
from memory_butler.butler import Butler
from memory_butler.models import NewEpisode, NewFact, NewRule, Outcome
from memory_butler.operations import forget, judge, look, pin, remember, sweep


async def portrait(butler: Butler, kind: str, ref: str) -> Any:
    return await look.look(butler, kind, ref, bump=False)


async def test_the_curve_goes_from_the_last_confirmation_to_after_the_end(butler: Butler, clock: Any) -> None:
    """It begins where decay is counted from, passes through what the memory is worth today, and ends below the end."""
    fact = await remember.fact(butler, NewFact(subject="Ana", predicate="tea", content="green", permanence="volatile"))
    clock.move(days=5)
    await judge.confirm(butler, "fact", fact.ref)
    begun = clock.now
    clock.move(days=10)
    seen = await portrait(butler, "fact", fact.ref)
    curve = decay.curve(seen, clock.now)
    assert curve is not None
    assert curve.points[0] == (begun, 100.0)
    assert curve.worth == pytest.approx(100 * seen.effective_confidence, abs=0.01)
    assert curve.points[-1][0] > seen.expires_at
    assert curve.points[-1][1] < 5 < curve.points[0][1]
    assert dict(curve.marks) == {"fades": seen.fades_at, "expires": seen.expires_at}
    worths = [worth for _, worth in curve.points]
    assert worths == sorted(worths, reverse=True)


async def test_an_expired_memory_still_has_its_curve(butler: Butler, clock: Any) -> None:
    """Today lies behind the end, and the curve goes on to it."""
    fact = await remember.fact(butler, NewFact(subject="A", predicate="b", content="c", permanence="ephemeral"))
    clock.move(days=200)
    await sweep.sweep(butler)
    curve = decay.curve(await portrait(butler, "fact", fact.ref), clock.now)
    assert curve is not None
    assert dict(curve.marks)["expires"] < clock.now <= curve.points[-1][0]


async def test_what_does_not_fade_says_why(butler: Butler) -> None:
    """Pinned, permanent, a warning, out of use, an episode: no curve, but a reason."""
    facts = {
        name: await remember.fact(butler, NewFact(subject="Ana", predicate=name, content=name, **given))
        for name, given in {"kept": {}, "lasting": {"permanence": "permanent"}, "gone": {}}.items()  # type: ignore[arg-type]
    }
    await pin.pin(butler, "fact", facts["kept"].ref)
    await forget.forget(butler, "fact", facts["gone"].ref)
    rule = await remember.rule(butler, NewRule(content="Book the cheapest"))
    for _ in range(3):
        await judge.mark(butler, rule.ref, Outcome.HARMFUL, reason="it went wrong")
    episode = await remember.episode(butler, NewEpisode(content="hello", butler="main"))
    told = {
        ("fact", facts["kept"].ref): "pinned",
        ("fact", facts["lasting"].ref): "permanent",
        ("fact", facts["gone"].ref): "out of use",
        ("rule", rule.ref): "warning",
        ("episode", episode.ref): "what was said",
    }
    for (kind, ref), word in told.items():
        seen = await portrait(butler, kind, ref)
        assert word in decay.why_flat(seen.memory)
        assert decay.curve(seen, butler.clock()) is None
