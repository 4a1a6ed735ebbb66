"""This version and another one in turns: `python -m benchmarks.consolidation.turns --before FOLDER`.

Consolidation is measured. FOLDER is a checkout of the other version. The versions alternate, each round in a process
and on a store of its own, with and without the embedding model. The processor time counts the program, the extraction
process and the database; it depends less on other work on the machine than the rate does.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

HERE = Path(__file__).parents[2]
EPISODES = 512
SEED = 20_260_101
CASES = ("with embedding", "without embedding")


def processor_seconds(server_pid: int | None) -> dict[str, float]:
    """Of the program, of its extraction process, and of the database with all its processes so far."""
    assert server_pid
    database = psutil.Process(server_pid)
    family = {server_pid, *(one.pid for one in database.children(recursive=True))}
    own = [one for one in psutil.Process().children(recursive=True) if one.pid not in family]
    finished = database.cpu_times()
    return {
        "program": time.process_time(),
        "extraction": sum(_used(one) for one in own),
        "database": finished.children_user
        + finished.children_system
        + sum(_used(one) for one in map(psutil.Process, family)),
    }


def _used(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return times.user + times.system


async def work(count: int) -> dict[str, Any]:
    """One round of the version that is first on the path."""
    from benchmarks.consolidation import throughput  # noqa: PLC0415 (the version under test decides which one)

    found: dict[str, Any] = {}
    # Earlier versions have other names for it.
    opener = getattr(throughput, "open_resources", None) or vars(throughput)["open_butler"]
    with throughput.machine.scratch_store() as server:
        async with opener(throughput.load_settings(home=server.home)) as opened:
            for case in CASES:
                used = opened if case == CASES[0] else replace(opened, embedder=throughput.FakeEmbedder())
                for name, size in ((f"warm-{CASES.index(case)}", 64), (f"run-{CASES.index(case)}", count)):
                    await throughput.observe(opened, name, size, SEED)
                    before, began = processor_seconds(server.pid), time.perf_counter()
                    reports = await throughput.consolidate(used, throughput.shard_of(name, throughput.BUTLER))
                    seconds, after = time.perf_counter() - began, processor_seconds(server.pid)
                done = sum(len(report.episodes) for report in reports if report.state == "applied")
                cost = {part: 1000 * (after[part] - before[part]) / done for part in after}
                items = sum(len(report.lines) for report in reports)
                found[case] = {"rate": done / seconds, "items": items / done, **cost, "cpu": sum(cost.values())}
    return found


def turn(folder: Path, count: int) -> dict[str, Any]:
    path = os.pathsep.join([str(folder), str(folder / "src")])
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), "--worker", "--episodes", str(count)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        check=True,
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.consolidation.turns", description=__doc__)
    parser.add_argument("--before", type=Path, help="checkout of the other version")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=EPISODES)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(given)
    if arguments.worker:
        print(json.dumps(asyncio.run(work(arguments.episodes))))
        return 0
    folders = {"now": HERE, **({"before": arguments.before.resolve()} if arguments.before else {})}
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in folders}
    for _ in range(arguments.rounds):
        for name, folder in folders.items():
            rounds[name].append(turn(folder, arguments.episodes))
    for case in CASES:
        median = {
            name: {key: statistics.median(one[case][key] for one in found) for key in found[0][case]}
            for name, found in rounds.items()
        }
        for name, figures in median.items():
            best = max(one[case]["rate"] for one in rounds[name])
            parts = ", ".join(f"{part} {figures[part]:.2f}" for part in ("program", "extraction", "database"))
            print(
                f"{case}, {name}: {figures['cpu']:.2f} ms of processor time an episode ({parts}),"
                f" {figures['items']:.2f} items, {figures['rate']:.0f} episodes a second, at best {best:.0f}"
            )
        if "before" in median:
            share = median["before"]["cpu"] / median["now"]["cpu"]
            print(f"{case}: {share:.2f} of the speed before, by processor time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
