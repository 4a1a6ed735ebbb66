"""How good briefings are: `python -m benchmarks.briefing [--data FOLDER] [--show] [--fit] [--questions]`."""

import argparse
import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.briefing import sets
from benchmarks.briefing.fitting import Example, fit
from benchmarks.briefing.questions import ask
from benchmarks.briefing.scoring import Told, figures
from benchmarks.briefing.sets import LabelledSet
from benchmarks.support.machine import new_home, wide_console
from memory_butler.models import BriefRequest
from memory_butler.operations.briefing import brief
from memory_butler.policy.briefing import evidence
from memory_butler.policy.briefing.evidence import Evidence, evidence_of
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

REFERENCE = re.compile(r"\[(?:fact|rule|episode):([a-z0-9-]+)\]")
THRESHOLDS = (0.12, 0.15, 0.18, 0.2, 0.22, 0.25, 0.28, 0.32, 0.36, 0.4)
MAX_NOISE = 0.36

Keys = Mapping[str, str]
Stores = dict[str, tuple[Resources, Keys]]


async def tell(resources: Resources, keys: Keys, labelled: LabelledSet) -> list[Told]:
    """Brief every task at each of its budgets."""
    told = []
    for task in labelled.tasks:
        for budget in task["budgets"]:
            request = BriefRequest(trigger_prompt=task["trigger_prompt"], butler=task["butler"], token_budget=budget)
            text = (await brief.brief(resources, request)).text
            told.append(Told(task, budget, [keys[ref] for ref in REFERENCE.findall(text) if ref in keys]))
    return told


async def examples_of(resources: Resources, keys: Keys, labelled: LabelledSet) -> list[Example]:
    examples = []
    for task in labelled.tasks:
        request = BriefRequest(trigger_prompt=task["trigger_prompt"], butler=task["butler"])
        found, _ = await brief.find_candidates(resources, request, resources.local_caller())
        hits = [entry.hit for entry in found.ranked]
        evidence = evidence_of(hits, found.candidates.profiles, brief.task_of(resources, found))
        outdated = {memory["key"] for memory in labelled.memories if memory.get("outdated")}
        known = {keys[hit.ref]: one for hit, one in zip(hits, evidence, strict=True) if hit.ref in keys}
        examples.append(Example(task, {key: one for key, one in known.items() if key not in outdated}))
    return examples


async def at_noise(
    stores: Stores, labelled: LabelledSet, weights: tuple[float, Evidence]
) -> tuple[float, dict[str, float]]:
    """The figures at the lowest threshold that keeps the noise in bounds."""
    resources, keys = stores[labelled.name]
    result: dict[str, float] = {}
    for threshold in THRESHOLDS:
        briefing = resources.settings.briefing.model_copy(update={"min_usefulness": threshold})
        settings = resources.settings.model_copy(update={"briefing": briefing})
        with patch.multiple(evidence, OFFSET=weights[0], WEIGHTS=weights[1]):
            told = await tell(replace(resources, settings=settings), keys, labelled)
        result = figures(labelled, told)
        if result["noise"] <= MAX_NOISE:
            break
    return threshold, result


async def cross_validate(stores: Stores, labelled: Sequence[LabelledSet], console: Console) -> None:
    """Fit to all persons but one and measure on that one; then fit to all."""
    by_name = {one.name: one for one in labelled}
    examples = {one.name: await examples_of(*stores[one.name], one) for one in labelled}
    rows = []
    for one in labelled:
        weights = fit({name: part for name, part in examples.items() if name != one.name}, by_name)
        threshold, result = await at_noise(stores, one, weights)
        rows.append((f"{one.name} (held out, from {threshold})", result))
    fitted = fit(examples, by_name)
    console.print(f"OFFSET = {fitted[0]:.2f}", Evidence(*(round(value, 2) for value in fitted[1])))
    for one in labelled:
        threshold, result = await at_noise(stores, one, fitted)
        rows.append((f"{one.name} (fitted, from {threshold})", result))
    console.print(_table(rows))


def _table(rows: Sequence[tuple[str, Mapping[str, float]]]) -> Table:
    table = Table("set", *rows[0][1])
    for name, result in rows:
        table.add_row(name, *(f"{value:g}" for value in result.values()))
    return table


def show(labelled: LabelledSet, told: Sequence[Told], console: Console) -> None:
    """The misses and the noise of each task."""
    groups = labelled.groups
    for one in told:
        seen = {groups[key] for key in one.keys}
        musts = one.task.get("must_at_300") if one.budget <= 300 else [must["key"] for must in one.task["must"]]
        missed = [key for key in musts or () if groups[key] not in seen]
        fine = {groups[key] for key in (*one.task.get("may", ()), *(must["key"] for must in one.task["must"]))}
        noise = [key for key in one.keys if groups[key] not in fine]
        if missed or noise:
            console.print(f"{one.task['id']} {one.budget} {one.task['trigger_prompt'][:70]!r}", highlight=False)
            console.print(f"    missed {', '.join(missed) or '-'}; noise {', '.join(noise) or '-'}", highlight=False)


async def search_all(stores: Stores, labelled: Sequence[LabelledSet], console: Console, *, with_wrong: bool) -> None:
    rows = []
    for one in labelled:
        if one.questions:
            counts, wrong = await ask(*stores[one.name], one)
            rows.append((one.name, counts))
            for line in wrong if with_wrong else ():
                console.print(f"{one.name}: {line}", highlight=False)
    console.print(_table(rows))


async def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, help="folder with a set briefing-dev")
    arguments.add_argument("--only", help="name of one set")
    arguments.add_argument("--show", action="store_true", help="misses and noise of each task")
    arguments.add_argument("--fit", action="store_true", help="fit the weights, cross-validated by person")
    arguments.add_argument("--questions", action="store_true", help="searches with the questions of each person")
    options = arguments.parse_args()
    console, home = wide_console(), new_home()
    labelled = [one for one in sets.load_all(options.data) if options.only in (None, one.name)]
    server = EmbeddedPostgres(home)
    try:
        async with open_resources(load_settings(home=home)) as opened:
            stores: Stores = {}
            with Progress(console=console) as progress:
                for one in progress.track(labelled, description="Storing"):
                    own = opened.settings.model_copy(update={"tenant": one.name})
                    resources = replace(opened, settings=own)
                    stores[one.name] = resources, await sets.store(resources, one)
            if options.fit:
                await cross_validate(stores, labelled, console)
                return
            if options.questions:
                await search_all(stores, labelled, console, with_wrong=options.show)
                return
            rows = []
            for one in labelled:
                told = await tell(*stores[one.name], one)
                rows.append((one.name, figures(one, told)))
                if options.show:
                    show(one, told, console)
            console.print(_table(rows))
    finally:
        server.stop()


if __name__ == "__main__":
    asyncio.run(main())
