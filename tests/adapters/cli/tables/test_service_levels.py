"""The service levels at the terminal."""

import json
from collections.abc import Callable
from typing import Any

from memory_butler.metrics.service_levels import Measurements
from memory_butler.operations.system import objectives
from memory_butler.resources import Resources

Terminal = Callable[[Resources], Callable[..., Any]]


async def test_each_objective_has_a_line(alone: Resources, terminal: Terminal) -> None:
    """Goal, value, share and verdict; exit code 1 once one is missed."""
    run = terminal(alone)
    empty = await run("slo")
    assert empty.exit_code == 0 and empty.stdout.count("no data") == 10
    measured = Measurements()
    for seconds in (0.04, 0.06, 0.09):
        measured.call("memory_context", "ok", seconds)
    measured.value("sweep_duration", 90)
    await objectives.keep(alone, measured)
    good = await run("slo", "--days", "1")
    assert good.exit_code == 0 and "The last day" in good.stdout
    (line,) = [line.split() for line in good.stdout.splitlines() if line.startswith("Briefing latency")]
    assert line[2:5] == ["p95", "≤", "250"] and line[-6:] == ["100", "%", "3", "100", "%", "met"]
    measured.call("memory_store_episode", "target_unavailable", 5)
    await objectives.keep(alone, measured)
    missed = await run("slo")
    assert missed.exit_code == 1 and "missed" in missed.stdout


async def test_a_program_gets_the_same_as_json(alone: Resources, terminal: Terminal) -> None:
    """Also what the scale cannot tell, which JSON has no number for."""
    measured = Measurements()
    measured.call("memory_search", "timeout", 5)
    await objectives.keep(alone, measured)
    done = await terminal(alone)("slo", "--json")
    said = json.loads(done.stdout)
    assert (done.exit_code, said["is_met"], said["days"]) == (1, False, 7)
    search = next(one for one in said["objectives"] if one["objective"] == "search_latency")
    assert (search["measurements"], search["good"], search["value"], search["is_met"]) == (1, 0, None, False)
    assert search["error_budget_left"] < -1 and search["limit_seconds"] == 0.35
