"""The cost of storing a fact, in turns with another version: `python -m benchmarks.writes --before FOLDER`.

FOLDER is a checkout of the other version. Both versions stay open, each in a process and on a store of its own, and
take short turns, so that other work on the machine meets both alike. Processor time is that of program and database.
"""

import argparse
import asyncio
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import psutil

HERE = Path(__file__).parents[1]
CASES = ("with embedding", "without embedding")
TENANTS = 8
TURN = 40
ROUNDS = 20
WARM_UP = 200
SEED = 20_260_101


class Version:
    """A checkout at work in a process of its own."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self.figures: dict[str, list[dict[str, Any]]] = {case: [] for case in CASES}
        self._process = opened.enter_context(
            subprocess.Popen(
                [sys.executable, str(Path(__file__).resolve()), "--worker"],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(folder / "src")])},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
            )
        )
        opened.callback(self._end)

    def _end(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()

    def turn(self, case: str, count: int) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([case, count]) + "\n")
        self._process.stdin.flush()
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def measure(self, case: str, count: int) -> Self:
        self.figures[case].append(self.turn(case, count))
        return self


async def work() -> None:
    """Store facts of the version that is first on the path, as many as the lines of the input ask for."""
    throughput = importlib.import_module("benchmarks.consolidation.throughput")
    sentences = _first_module("benchmarks.support.sentences", "benchmarks.sentences").sentences
    remember = _first_module("memory_butler.operations.writing.remember", "memory_butler.operations.remember")
    opener = getattr(throughput, "open_resources", None) or vars(throughput)["open_butler"]
    texts = iter(sentences(2 * (WARM_UP + ROUNDS * TURN) * 4, SEED))
    with throughput.machine.scratch_store() as server:
        async with opener(throughput.load_settings(home=server.home)) as opened:
            places = {CASES[0]: opened, CASES[1]: replace(opened, embedder=throughput.FakeEmbedder())}
            await opened.embedder.start()
            done = 0
            while line := await asyncio.to_thread(sys.stdin.readline):
                case, count = json.loads(line)
                waited, used = [], _processor_seconds(server.pid)
                for _ in range(count):
                    done += 1
                    tenant, text = f"writer-{done % TENANTS}", next(texts)
                    new = _fact(done, text)
                    began = time.perf_counter()
                    await remember.fact(places[case], new, throughput.shard_of(tenant, throughput.BUTLER))
                    waited.append(time.perf_counter() - began)
                spent = [after - before for after, before in zip(_processor_seconds(server.pid), used, strict=True)]
                print(json.dumps({"waited": waited, "program": spent[0], "database": spent[1]}), flush=True)


def _fact(number: int, text: str) -> Any:
    models = importlib.import_module("memory_butler.models")
    return models.NewFact(subject="user", predicate=f"said:{number}:{len(text)}:{text[:40]}", content=text)


def _first_module(*names: str) -> Any:
    for name in names[:-1]:
        with suppress(ModuleNotFoundError):
            return importlib.import_module(name)
    return importlib.import_module(names[-1])


def _processor_seconds(server_pid: int | None) -> tuple[float, float]:
    """Of this process, and of the database's connections (its background processes work for both cases)."""
    assert server_pid
    database = 0.0
    for one in psutil.Process(server_pid).children():
        times = one.cpu_times()
        database += times.user + times.system
    return time.process_time(), database


def report(versions: dict[str, Version], count: int) -> None:
    for case in CASES:
        found: dict[str, dict[str, float]] = {}
        for name, version in versions.items():
            rows = version.figures[case]
            waited = sorted(seconds for row in rows for seconds in row["waited"])
            found[name] = {
                "p50": 1000 * waited[len(waited) // 2],
                "p95": 1000 * waited[int(0.95 * len(waited))],
                "program": 1000 * statistics.median(row["program"] for row in rows) / count,
                "database": 1000 * statistics.median(row["database"] for row in rows) / count,
            }
            found[name]["cpu"] = found[name]["program"] + found[name]["database"]
            print(f"{case}, {name}: " + ", ".join(f"{key} {value:.2f} ms" for key, value in found[name].items()))
        if "before" in found:
            shares = {key: found["now"][key] / found["before"][key] for key in found["now"]}
            print(f"{case}, now / before: " + ", ".join(f"{key} {value:.2f}" for key, value in shares.items()))


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.writes", description=__doc__)
    parser.add_argument("--before", type=Path, help="checkout of the other version")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(given)
    if arguments.worker:
        asyncio.run(work())
        return 0
    folders = {"now": HERE, **({"before": arguments.before.resolve()} if arguments.before else {})}
    with ExitStack() as opened:
        versions = {name: Version(folder, opened) for name, folder in folders.items()}
        for version in versions.values():
            for case in CASES:
                version.turn(case, WARM_UP)
        for _ in range(arguments.rounds):
            for case in CASES:
                for version in versions.values():
                    version.measure(case, TURN)
    report(versions, TURN)
    return 0


if __name__ == "__main__":
    sys.exit(main())
