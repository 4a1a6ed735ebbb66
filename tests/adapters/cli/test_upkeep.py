"""The sweep at the terminal: a table for a person, JSON for a program, and one block where it cannot be done."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from memory_butler.errors import NotFound
from memory_butler.models import NewEpisode, NewFact, NewRule
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

Run = Callable[..., Any]


@pytest.fixture
def run(resources: Resources, terminal: Callable[[Resources], Run]) -> Run:
    """Run a command on the test's own store."""
    return terminal(resources)


async def _store(resources: Resources, clock: Any) -> None:
    for number in range(3):
        new = NewFact(subject=f"x{number}", predicate="is", content="here", permanence="ephemeral")
        await remember.fact(resources, new)
    await remember.rule(resources, NewRule(content="Stay"))
    clock.move(days=40)


async def test_a_person_sees_what_was_done_and_how_to_take_it_back(resources: Resources, clock: Any, run: Run) -> None:
    """A line a duty that fits the terminal, the sum, and the command that undoes it; first as a rehearsal."""
    await _store(resources, clock)
    rehearsed = await run("sweep", "--dry-run")
    assert rehearsed.exit_code == 0
    assert "would change" in rehearsed.stdout
    assert "memory-butler undo" not in rehearsed.stdout
    done = await run("sweep")
    assert done.exit_code == 0
    [line] = [line for line in done.stdout.splitlines() if line.startswith("expire")]
    assert line.split() == ["expire", "4", "3", line.split()[3], "facts", "3"]
    assert "3 changed, in" in done.stdout
    assert "To undo: memory-butler undo " in done.stdout
    assert all(line == line.rstrip() and "\x1b" not in line for line in done.stdout.splitlines())
    again = await run("sweep")
    assert "0 changed, in" in again.stdout


async def test_a_program_gets_the_report_as_one_line(resources: Resources, clock: Any, run: Run) -> None:
    """With the group, the duties in their order, and examples that can be looked up."""
    await _store(resources, clock)
    done = await run("sweep", "--json", "--butler", "main")
    [line] = done.stdout.splitlines()
    report = json.loads(line)
    assert (report["changed"], report["dry_run"]) == (3, False)
    [shard] = report["butlers"]
    assert shard["butler"] == "main"
    assert [duty["duty"] for duty in shard["duties"]][:2] == ["promote_facts", "mature_rules"]
    [expire] = [duty for duty in shard["duties"] if duty["duty"] == "expire"]
    assert expire["outcomes"] == {"facts": 3}
    looked = await run("get", expire["examples"][0], "--json")
    assert json.loads(looked.stdout)["memory"]["validity"] == "expired"
    assert json.loads(looked.stdout)["events"][-1]["group_id"] == shard["group_id"]


async def test_an_empty_store_and_an_unknown_butler_are_said_to_be_so(
    resources: Resources, clock: Any, run: Run
) -> None:
    """Nothing stored is no error; a name nobody has is one, and it says which names there are."""
    assert (await run("sweep")).stdout.strip() == "The store is empty."
    await _store(resources, clock)
    failed = await run("sweep", "--butler", "nobody")
    assert isinstance(failed.exception, NotFound)
    assert "main" in failed.exception.recovery


async def test_a_sweep_by_hand_is_on_record(resources: Resources, clock: Any, run: Run) -> None:
    """After it nobody calls the sweep overdue, and its record names the group; a rehearsal leaves no record."""
    await _store(resources, clock)
    await run("sweep", "--dry-run")
    before = {one.job: one.status for one in await job_status.statuses(resources)}
    assert before["sweep"] == "never"
    done = json.loads((await run("sweep", "--json")).stdout)
    (after,) = [one for one in await job_status.statuses(resources) if one.job == "sweep"]
    assert (after.status, after.outcome) == ("ok", "succeeded")
    assert after.report["group_id"] == done["butlers"][0]["group_id"] is not None


async def test_a_person_is_warned_before_an_important_episode_expires(
    resources: Resources, clock: Any, run: Run
) -> None:
    """By the sweep and by the statistics, with the reference and what to do."""
    ref = (await remember.episode(resources, NewEpisode(content="We met Ana.", butler="main", importance=8))).ref
    clock.move(days=6)
    told = " ".join((await run("sweep")).stdout.split())
    assert f"! 1 important episode expires soon and nothing was kept: episode:{ref}." in told
    assert "memory-butler consolidate --again-empty" in told
    figures = " ".join((await run("stats")).stdout.split())
    assert "1 important episode expires soon and nothing was kept of it" in figures
    assert f"episode:{ref}" in figures and "We met Ana." in figures
