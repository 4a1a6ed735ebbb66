"""A sweep that is killed, wherever it is, and run again ends where one that was left alone ends."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.support.sweeping import SMALL_TIERS, Life, contents, copy_of, eventful, with_lifecycle

import memory_butler
from memory_butler.operations.history.replay import replay
from memory_butler.operations.lifecycle import sweep_duties, sweep_shard
from memory_butler.operations.lifecycle.sweep import Progress, sweep
from memory_butler.resources import Resources

SIZES = {"SCANNED": 14, "CHANGED": 4, "DELETED": 2}
CHILD = """
import asyncio, itertools, json, os, signal, sys, threading, time
from datetime import datetime
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.resources import open_resources
from memory_butler.operations.lifecycle import sweep_duties, sweep_shard
from memory_butler.operations.lifecycle.sweep import sweep

given = json.loads(sys.argv[1])
now = datetime.fromisoformat(given["now"])
sweep_duties.SCANNED = sweep_duties.CHANGED = sweep_duties.DELETED = 1
sweep_shard.SELECTED = 2
changes = itertools.count(1)

def tell(step):
    if not step.changed:
        return
    number = next(changes)
    if number == given["changes"]:
        threading.Timer(given["seconds"], os.kill, (os.getpid(), signal.SIGKILL)).start()
    elif number == given["changes"] + 3:
        time.sleep(60)  # It is to die before it is done.

async def main():
    async with open_resources(embedder=FakeEmbedder(), clock=lambda: now, **given["settings"]) as resources:
        await sweep(resources, progress=tell)

asyncio.run(main())
"""


class Killed(Exception):
    """Stands in for whatever ends a process between two batches."""


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small batches, so that there are many boundaries between them."""
    for name, size in SIZES.items():
        monkeypatch.setattr(sweep_duties, name, size)
    monkeypatch.setattr(sweep_shard, "SELECTED", 5)


@pytest.fixture
async def life(resources: Resources, clock: Any, owner: psycopg.Connection[Any]) -> Life:
    made = Life(with_lifecycle(resources, **SMALL_TIERS), clock, owner)
    await eventful(made, ["main"])
    return made


async def boundaries(life: Life) -> tuple[list[Progress], dict[str, list[str]]]:
    """All the moments at which a sweep tells how far it is, and the store that it leaves behind, undisturbed."""
    steps: list[Progress] = []
    undisturbed = copy_of(life)
    await sweep(undisturbed.resources, progress=steps.append)
    return steps, contents(undisturbed)


async def test_a_sweep_that_ends_at_any_boundary_and_is_run_again_ends_the_same(life: Life, few_at_once: None) -> None:
    """After every batch and after every duty: killed there, or cancelled in the middle of what it does next."""
    steps, expected = await boundaries(life)
    assert len({(step.duty, step.duties_done) for step in steps}) == 2 * 11
    for place, step in enumerate(steps[:-1]):
        store = copy_of(life)
        with pytest.raises((Killed, asyncio.CancelledError)):
            await asyncio.create_task(sweep(store.resources, progress=_at(place, _cancel if place % 2 else _kill)))
        await sweep(store.resources)
        assert contents(store) == expected, f"ended at {step}"


async def test_a_sweep_that_dies_again_and_again_gets_done(life: Life, few_at_once: None) -> None:
    """Each attempt is killed three batches after it has changed something; the one that finds nothing to do ends."""
    _, expected = await boundaries(life)
    attempts = 0
    while attempts < 100:
        attempts += 1
        try:
            await sweep(life.resources, progress=_soon_after_a_change(3))
            break
        except Killed:
            continue
    assert 5 < attempts < 100
    assert contents(life) == expected
    found = await replay(life.resources)
    assert found.equal, found


def _at(place: int, act: Any) -> Any:
    told: Iterator[int] = iter(range(10**6))

    def tell(step: Progress) -> None:
        if next(told) == place:
            act()

    return tell


def _kill() -> None:
    raise Killed


def _cancel() -> None:
    task = asyncio.current_task()
    assert task
    task.cancel()


def _soon_after_a_change(batches: int) -> Any:
    left = [batches]

    def tell(step: Progress) -> None:
        left[0] -= bool(step.changed)
        if left[0] == 0:
            raise Killed

    return tell


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_a_process_that_is_killed_at_a_random_moment_leaves_nothing_half_done(life: Life, seed: int) -> None:
    """SIGKILL, in the middle of whatever it is doing: run again, it ends where an undisturbed one ends."""
    _, expected = await boundaries(life)
    store, chance = copy_of(life), random.Random(seed)
    given = {
        "now": life.clock().isoformat(),
        "settings": {"home": str(life.resources.settings.home), "tenant": store.tenant, "lifecycle": SMALL_TIERS},
        "changes": chance.randrange(1, 60),
        "seconds": chance.uniform(0, 0.02),
    }
    environment = {**os.environ, "PYTHONPATH": str(Path(memory_butler.__file__).parents[1])}
    command = [sys.executable, "-c", CHILD, json.dumps(given)]
    child = await asyncio.to_thread(subprocess.run, command, env=environment, check=False)
    assert child.returncode == -signal.SIGKILL
    assert contents(life) != contents(store) != expected
    await sweep(store.resources)
    assert contents(store) == expected
    found = await replay(store.resources)
    assert found.equal, found
