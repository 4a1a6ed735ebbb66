"""The cost of reads, in turns with another version: `python -m benchmarks.reads --before FOLDER`.

FOLDER is a checkout of the other version, with a `.venv` if it needs other packages. Each version has a process and a
store of its own with the same memories, and both take short turns, so that other work on the machine meets both alike.
Processor time is that of program and database; of all turns the lower quartile counts, because other work only adds.
"""

import argparse
import asyncio
import gc
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

HERE = Path(__file__).parents[1]
CASES = ("search, small tenant", "context, small tenant", "search, large tenant", "context, large tenant")
WARM_UP, TURN, ROUNDS = 20, 20, 8
MOST_QUESTIONS = 4000
# The garbage collector works as in a server of either version.
GC_THRESHOLD = 10_000

Figures = dict[str, float]


class Version:
    """A checkout at work in a process of its own."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self.figures: dict[str, list[Figures]] = {case: [] for case in CASES}
        own = folder / ".venv" / "bin" / "python"
        self._process = opened.enter_context(
            subprocess.Popen(
                [str(own) if own.exists() else sys.executable, str(Path(__file__).resolve()), "--worker"],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(folder / "src")])},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
            )
        )
        assert self._process.stdin
        opened.callback(self._process.stdin.close)

    def turn(self, case: str, first: int, count: int) -> Figures:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([case, first, count]) + "\n")
        found: Figures = json.loads(self._process.stdout.readline())
        return found


async def work() -> None:
    """Answer questions with the version that is first on the path, as many as the lines of the input ask for."""
    machine = _first_module("benchmarks.support.machine", "benchmarks.machine")
    speed = importlib.import_module("benchmarks.speed")
    settings = importlib.import_module("memory_butler.settings")
    opener = _opener()
    asked = _first_module("benchmarks.support.sentences", "benchmarks.sentences").questions(MOST_QUESTIONS, speed.SEED)
    with machine.scratch_store({"autovacuum": "off"}) as server:
        async with opener(settings.load_settings(home=server.home)) as opened:
            await opened.embedder.start()
            await _fill(opened, speed)
            with psycopg.connect(server.dsn("postgres", "memory"), autocommit=True) as connection:
                connection.execute("VACUUM (ANALYZE)")
            gc.freeze()
            gc.set_threshold(GC_THRESHOLD)
            while line := await asyncio.to_thread(sys.stdin.readline):
                case, first, count = json.loads(line)
                tenants = speed.small_tenants() if "small" in case else [speed.LARGE_TENANT]
                waited, before = [], _processor_seconds(server.pid)
                for number in range(first, first + count):
                    began = time.perf_counter()
                    await _ask(opened, case, asked[number], speed.caller_of(tenants[number % len(tenants)]))
                    waited.append(time.perf_counter() - began)
                spent = [
                    1000 * (now - then) / count
                    for now, then in zip(_processor_seconds(server.pid), before, strict=True)
                ]
                found = {"program": spent[0], "database": spent[1], "sum": sum(spent)}
                print(json.dumps({**found, "waited": 1000 * statistics.median(waited)}), flush=True)


async def _fill(opened: Any, speed: Any) -> None:
    """The tenants of benchmarks.speed."""
    loading = _first_module("benchmarks.support.load_store", "benchmarks.load_store")
    texts = _first_module("benchmarks.support.sentences", "benchmarks.sentences").sentences(2000, speed.SEED)
    sizes = {**dict.fromkeys(speed.small_tenants(), speed.SMALL), speed.LARGE_TENANT: speed.LARGE}
    await loading.load_store(opened, sizes, loading.Pool(texts, await opened.embedder.embed(texts)), speed.SEED)


async def _ask(opened: Any, case: str, text: str, caller: Any) -> None:
    models = importlib.import_module("memory_butler.models")
    if case.startswith("search"):
        search = _first_module("memory_butler.operations.retrieval.search", "memory_butler.operations.recall").search
        await search(opened, models.Question(query=text), caller)
    else:
        brief = _first_module("memory_butler.operations.briefing.brief", "memory_butler.operations.brief").brief
        await brief(opened, models.BriefRequest(trigger_prompt=text, butler="main"), caller)


def _opener() -> Any:
    """Earlier versions have another name for it."""
    module = _first_module("memory_butler.resources", "memory_butler.butler")
    return getattr(module, "open_resources", None) or module.open_butler


def _first_module(*names: str) -> Any:
    for name in names[:-1]:
        with suppress(ModuleNotFoundError):
            return importlib.import_module(name)
    return importlib.import_module(names[-1])


def _processor_seconds(server_pid: int | None) -> tuple[float, float]:
    """Of this process, and of the connections of the database, which Linux counts in nanoseconds."""
    assert server_pid
    connections = (Path(f"/proc/{one.pid}/schedstat") for one in psutil.Process(server_pid).children())
    return time.process_time(), sum(int(one.read_text().split()[0]) for one in connections) / 1e9


def report(versions: dict[str, Version]) -> None:
    for case in CASES:
        found: dict[str, Figures] = {}
        for name, version in versions.items():
            rows = version.figures[case]
            found[name] = {key: statistics.quantiles([row[key] for row in rows], n=4)[0] for key in rows[0]}
            print(f"{case}, {name}: " + ", ".join(f"{key} {value:.2f} ms" for key, value in found[name].items()))
        if "before" in found:
            shares = {key: found["now"][key] / found["before"][key] for key in found["now"]}
            print(f"{case}, now / before: " + ", ".join(f"{key} {value:.2f}" for key, value in shares.items()))


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reads", description=__doc__)
    parser.add_argument("--before", type=Path, help="checkout of the other version")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(given)
    if arguments.worker:
        asyncio.run(work())
        return 0
    folders = {"now": HERE, **({"before": arguments.before.resolve()} if arguments.before else {})}
    first = 0
    with ExitStack() as opened:
        versions = {name: Version(folder, opened) for name, folder in folders.items()}
        for count in (WARM_UP, *[TURN] * arguments.rounds):
            for case in CASES:
                for version in versions.values():
                    figures = version.turn(case, first, count)
                    if first >= WARM_UP * len(CASES):
                        version.figures[case].append(figures)
                first += count
    report(versions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
