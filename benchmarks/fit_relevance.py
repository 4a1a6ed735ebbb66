"""Fits the judge to labelled questions: `python -m benchmarks.fit_relevance --data FOLDER`.

Prints the weights and the calibration as they stand in policy/judge.py. What they are worth on conversations they were
not fitted to is measured by `python -m benchmarks.retrieval`.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from benchmarks.ranking.ablation import average
from benchmarks.ranking.candidates import Collected, Collection, collect, headline
from benchmarks.ranking.fitting import (
    SHIPPED,
    WEIGHT_OF_SET,
    examples,
    fit_calibration,
    fit_weights,
    reliability,
    votes_to_calibrate,
)
from benchmarks.ranking.report import Sheet, averages_sheet, printed
from benchmarks.ranking.wrong_conversation import ask_wrongly, how_many
from benchmarks.support import machine
from benchmarks.support.conversations import NEEDS, NOW, Sets, add_arguments, load_sets, overridden, store_all
from memory_butler.models import MemoryType
from memory_butler.policy.retrieval import relevance
from memory_butler.resources import open_resources
from memory_butler.settings import Settings, load_settings

WEIGHT_DIGITS = 2


async def collect_everything(
    settings: Settings, sets: Sets, progress: Progress
) -> tuple[dict[str, list[Collected]], dict[str, list[Collected]]]:
    """The candidates of every question, in its own conversation and in others."""
    async with open_resources(settings, clock=lambda: NOW) as resources:
        await store_all(resources, sets, progress)
        total = sum(len(one.questions) for each in sets.values() for one in each)
        asking = progress.add_task("asking", total=total + how_many(sets))

        def tick() -> None:
            progress.advance(asking)

        right = {
            name: [
                found
                for one in conversations
                for found in await collect(resources, one, one.questions, MemoryType.EPISODE, tick)
            ]
            for name, conversations in sets.items()
        }
        return right, await ask_wrongly(resources, sets, tick)


def fitted(right: Collection, wrong: Collection) -> dict[str, Any]:
    """Weights, calibration, and how far the probabilities can be believed."""
    weights = np.round(fit_weights(examples(right)), WEIGHT_DIGITS)
    looked_at = [
        votes_to_calibrate(headline(collected), weights, WEIGHT_OF_SET.get(name, 1.0))
        for name, collected in right.items()
    ] + [votes_to_calibrate(collected, weights) for collected in wrong.values()]
    votes, labels, counts = (np.concatenate(parts) for parts in zip(*looked_at, strict=True))
    slope, offset = fit_calibration(votes, labels, counts)
    calibration = (round(slope, 3), round(offset, 2))
    return {
        "weights": dict(zip(relevance.Signals._fields, weights.tolist(), strict=True)),
        "calibration": {"slope": calibration[0], "offset": calibration[1]},
        "reliability": reliability(votes, labels, counts, calibration),
        "measures": {
            "shipped weights": average(right, lambda one: one.by_votes(SHIPPED)),
            "these weights": average(right, lambda one: one.by_votes(weights)),
        },
    }


def block(result: dict[str, Any]) -> str:
    """What to paste into policy/judge.py."""
    lines = ["WEIGHTS = Signals("]
    lines += [f"    {name}={weight:g}," for name, weight in result["weights"].items()]
    lines.append(")")
    return "\n".join(lines) + "\n\n" + "\n".join(f"{k.upper()} = {v}" for k, v in result["calibration"].items())


def show(result: dict[str, Any], console: Console) -> None:
    console.print(block(result), markup=False, highlight=False)
    table = Sheet("Reliability", ("relevance", "candidates", "predicted", "observed"))
    for row in result["reliability"]:
        cells = [str(row["candidates"]), f"{row['predicted']:.3f}", f"{row['observed']:.3f}"]
        table.add(f"{row['from']:g} to {row['to']:g}", cells)
    printed(table, console)
    printed(averages_sheet("On the questions it was fitted to", "weights", result["measures"]), console)


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fit_relevance", description=__doc__)
    add_arguments(parser)
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "judge.json", help="where the result goes")
    arguments = parser.parse_args(given)
    sets = load_sets(arguments)
    if not sets:
        print(NEEDS.format(module="fit_judge"), file=sys.stderr)
        return 2
    console = machine.wide_console()
    with machine.scratch_store({"fsync": "off"}) as server, Progress(console=console, transient=True) as progress:
        settings = load_settings(home=server.home, **overridden(arguments.options))
        right, wrong = asyncio.run(collect_everything(settings, sets, progress))
        result = {**machine.header(server, settings, 0), **fitted(right, wrong)}
    show(result, console)
    machine.write_json(arguments.json, result)
    console.print(f"Written to {arguments.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
