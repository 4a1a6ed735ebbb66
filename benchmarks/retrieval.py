"""How well memories are found: `python -m benchmarks.retrieval --data FOLDER`."""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.progress import Progress

from benchmarks.ranking import report
from benchmarks.ranking.ablation import (
    Averages,
    ablation,
    ask_otherwise,
    diversity,
    held_out,
    vote_sweep,
    worth_of_sources,
)
from benchmarks.ranking.candidates import RESULTS_WANTED, Collected, Tick, collect, headline
from benchmarks.ranking.wrong_conversation import ask_wrongly, how_many, trade_off
from benchmarks.support import machine, metrics
from benchmarks.support.conversations import (
    APART,
    NEEDS,
    NOW,
    Asked,
    Conversation,
    Sets,
    add_arguments,
    bounded,
    load_sets,
    overridden,
    store_all,
)
from benchmarks.support.metrics import Judged
from memory_butler.models import MemoryType, Mode, Question
from memory_butler.operations.retrieval import search
from memory_butler.operations.retrieval.ranked_candidates import ranking_rules
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings, load_settings

SEED = 0
SWEEP = [(semantic, 1.0) for semantic in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0)] + [(1.0, 0.0)]
OTHER_MODES = (Mode.SEMANTIC, Mode.KEYWORD)
KINDS = (MemoryType.EPISODE, MemoryType.FACT)


async def measure(settings: Settings, sets: Sets, progress: Progress, *, with_sweep: bool) -> dict[str, Any]:
    """Store everything, ask everything, and work out what can be learned from it."""
    async with open_resources(settings, clock=lambda: NOW) as resources:
        await store_all(resources, sets, progress)
        results: dict[str, Any] = {name: {} for name in sets}
        collection: dict[str, list[Collected]] = {}
        modes: dict[str, Averages] = {mode: {} for mode in OTHER_MODES}
        collapsed: dict[str, Any] = {}
        sources: dict[str, Any] = {}
        for name, conversations in sets.items():
            for kind in KINDS:
                if kind is MemoryType.FACT and not any(one.observations for one in conversations):
                    continue
                tick = _counter(progress, f"{name}: asking for {kind}s", 3 * _questions(conversations))
                by_mode, found = await _every_mode(resources, conversations, kind, tick)
                results[name][f"{kind}s"] = {mode: _summary(judged) for mode, judged in by_mode.items()}
                collapsed[f"{name} {kind}s"] = diversity(found)
                if kind is MemoryType.FACT:
                    sources = worth_of_sources(found)
                else:
                    collection[name] = found
                    for mode in OTHER_MODES:
                        modes[mode][name] = metrics.mean(_headline(by_mode[mode]))
            if with_sweep:
                results[name]["sweep"] = vote_sweep(collection[name], SWEEP)
        wrong = await ask_wrongly(resources, sets, _counter(progress, "asking the wrong conversation", how_many(sets)))
        total = 2 * sum(len(headline(found)) for found in collection.values())
        otherwise = await ask_otherwise(resources, sets, collection, _counter(progress, "names otherwise", total))
        progress.add_task("fitting to other conversations", total=None)
        return {
            "results": results,
            "held_out": held_out(collection),
            "wrong_conversation": trade_off(collection, wrong, settings.retrieval.min_relevance),
            "diversity": collapsed,
            "sources": sources,
            "ablation": ablation(collection, otherwise, modes, ranking_rules(settings.retrieval)),
        }


async def _every_mode(
    resources: Resources, conversations: Sequence[Conversation], kind: MemoryType, tick: Tick
) -> tuple[dict[str, list[Judged]], list[Collected]]:
    """What each mode returns; of the default also everything it looked at."""
    found: list[Collected] = []
    by_mode: dict[str, list[Judged]] = {Mode.HYBRID: [], **{mode: [] for mode in OTHER_MODES}}
    for conversation in conversations:
        collected = await collect(resources, conversation, conversation.questions, kind, tick)
        found += collected
        by_mode[Mode.HYBRID] += [one.judged(one.returned) for one in collected]
        for mode in OTHER_MODES:
            by_mode[mode] += await _ask(resources, conversation, collected, tick, kind=kind, mode=mode)
    return by_mode, found


async def _ask(
    resources: Resources,
    conversation: Conversation,
    collected: Sequence[Collected],
    tick: Tick,
    *,
    kind: MemoryType,
    mode: Mode,
) -> list[Judged]:
    """Every question of a conversation, answered by the search in another mode."""

    async def one(asked: Asked, relevant: int) -> Judged:
        question = Question(query=asked.question, types=(kind,), mode=mode, limit=RESULTS_WANTED, min_relevance=0)
        answer = await search.search(resources, question, conversation.caller, bump=False)
        tick()
        found = [conversation.carries[entry.hit.id] & asked.evidence for entry in answer.results]
        return Judged(asked.category, asked.evidence, found, relevant)

    return await bounded(one(each.asked, each.relevant_results) for each in collected)


def _summary(judged: Sequence[Judged]) -> dict[str, Any]:
    return {"all": metrics.mean(_headline(judged)), "categories": metrics.by_category(judged)}


def _headline(judged: Sequence[Judged]) -> list[Judged]:
    return [one for one in judged if one.category != APART]


def _questions(conversations: Sequence[Conversation]) -> int:
    return sum(len(one.questions) for one in conversations)


def _counter(progress: Progress, what: str, total: int) -> Tick:
    task = progress.add_task(what, total=total)
    return lambda: progress.advance(task)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description=__doc__)
    add_arguments(parser)
    parser.add_argument("--sweep", action="store_true", help="also fuse under other votes of the two lists")
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/concepts/retrieval.md")
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "retrieval.json", help="where the result goes")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    arguments = _arguments(given)
    sets = load_sets(arguments)
    if not sets:
        print(NEEDS.format(module="retrieval"), file=sys.stderr)
        return 2
    console = machine.wide_console()
    started = time.monotonic()
    with machine.scratch_store({"fsync": "off"}) as server, Progress(console=console, transient=True) as progress:
        settings = load_settings(home=server.home, **overridden(arguments.options))
        measured = asyncio.run(measure(settings, sets, progress, with_sweep=arguments.sweep))
        result = {**machine.header(server, settings, SEED), **measured}
    result["seconds"] = round(time.monotonic() - started)
    if arguments.markdown:
        print(report.all_markdown(result))
    else:
        report.show(result, console)
    machine.write_json(arguments.json, result)
    console.print(f"Written to {arguments.json}, after {result['seconds']} seconds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
