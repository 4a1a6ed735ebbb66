"""Decay rates of single butlers: written with a memory, and updated by the sweep of that butler alone."""

from dataclasses import replace
from typing import Any

import psycopg
from tests.support.sweeping import Life

from memory_butler.operations.history.replay import replay
from memory_butler.operations.lifecycle.sweep import sweep
from memory_butler.policy.lifecycle.sweep import Duty
from memory_butler.resources import Resources
from memory_butler.settings import ButlerSettings


async def test_a_butler_writes_and_sweeps_with_its_own_rates(
    resources: Resources, clock: Any, owner: psycopg.Connection[Any]
) -> None:
    """A fact and a rule carry the rate of their butler; when that setting goes, its sweep writes the general rate."""
    own = {"coder": ButlerSettings(lifecycle={"decay": {"standard_per_day": 0.5}})}
    life = Life(replace(resources, settings=resources.settings.model_copy(update={"butlers": own})), clock, owner)
    memories = [await life.fact("a", of="coder"), await life.rule("a", of="coder"), await life.fact("b")]

    def rates() -> list[float]:
        return [life.history(memory)[-1]["payload"]["state"]["decay_rate"] for memory in memories]

    assert rates() == [0.5, 0.5, 0.008]
    assert (await sweep(life.resources)).changed == 0
    report = await sweep(resources)
    changed = {
        shard.butler: duty.outcomes for shard in report.shards for duty in shard.duties if duty.duty is Duty.RATES
    }
    assert changed == {"coder": {"facts": 1, "rules": 1}, "main": {}}
    assert rates() == [0.008, 0.008, 0.008]
    assert life.events(memories[0]) == ["created", "rate_changed"]
    assert (await replay(resources)).equal
