"""Does search find less during re-embedding? `python -m benchmarks.reembedding --data FOLDER --models FOLDER`.

Stores labelled conversations with one model, changes to another one, and asks all questions before, at quarters of the
re-embedding, and after. `--models` is a folder with the fetched model (`memory-butler models get`). With `--kills N` a
process that re-embeds is killed N times at random moments; each time every memory must still have its vectors.
"""

import argparse
import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.ranking.candidates import RESULTS_WANTED
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
from memory_butler.ai.earlier_models import EarlierModels
from memory_butler.models import Caller, MemoryType, Mode, Principal, Question, Role
from memory_butler.operations.retrieval import reembedding, search
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings, load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres
from memory_butler.store.retrieval.embedding_versions import KnownVersions

SEED = 0
QUARTERS = 4
MODES = (Mode.HYBRID, Mode.SEMANTIC)
SHOWN = ("recall@10", "strict@10", "ndcg@10")


def admin_of(conversation: Conversation) -> Caller:
    return Caller(Principal(conversation.tenant, conversation.caller.principal.butler, Role.ADMIN))


async def ask_all(resources: Resources, sets: Sets) -> dict[str, dict[str, float]]:
    """The measures of all questions, by set and mode."""

    async def one(conversation: Conversation, asked: Asked, mode: Mode) -> Judged:
        question = Question(
            query=asked.question, types=(MemoryType.EPISODE,), mode=mode, limit=RESULTS_WANTED, min_relevance=0
        )
        answer = await search.search(resources, question, conversation.caller, bump=False)
        found = [conversation.carries[entry.hit.id] & asked.evidence for entry in answer.results]
        return Judged(asked.category, asked.evidence, found, len(asked.evidence))

    measured = {}
    for name, conversations in sets.items():
        for mode in MODES:
            questions = [(each, asked) for each in conversations for asked in each.questions if asked.category != APART]
            measured[f"{name} {mode}"] = metrics.mean(await bounded(one(*each, mode) for each in questions))
    return measured


async def measure(before: Settings, after: Settings, sets: Sets, progress: Progress) -> dict[str, Any]:
    """The measures at each stage."""
    conversations = [one for each in sets.values() for one in each]
    stages: dict[str, Any] = {}
    stage = progress.add_task("asking", total=QUARTERS + 4)

    async def note(name: str, resources: Resources) -> None:
        progress.update(stage, description=f"asking: {name}")
        stages[name] = await ask_all(resources, sets)
        progress.advance(stage)

    async with open_resources(before, clock=lambda: NOW) as old:
        await store_all(old, sets, progress)
        await note("before", old)
        async with open_resources(after, clock=lambda: NOW) as new:
            without = EarlierModels(new.embedder, lambda name, digest: None)
            blind = replace(new, earlier_models=without, known_versions=KnownVersions())
            await note("0 %, without the earlier model", blind)
            for quarter in range(QUARTERS + 1):
                for conversation in conversations:
                    state = await reembedding.embedding_state(new, admin_of(conversation))
                    most = round(state.memories * quarter / QUARTERS) - (state.memories - state.earlier)
                    if most > 0:
                        await reembedding.reembed(new, conversation.tenant, most=most)
                await note(f"{100 * quarter // QUARTERS} %", new)
                if quarter == QUARTERS // 2:
                    await note("50 %, the program before", old)
    return stages


def kill_campaign(server: EmbeddedPostgres, tenants: Sequence[str], environment: dict[str, str], kills: int) -> int:
    """Kill `memory-butler index reembed` at random moments, with a model in turns; returns the number of memories that
    were found without the vectors of exactly one version, which must be 0."""
    chance, damaged = random.Random(SEED), 0
    with psycopg.connect(server.dsn("postgres", "memory"), autocommit=True) as owner:
        query = "SELECT tenant_id, memory_id, count(DISTINCT embedding_version), max(ordinal) + 1 - count(*)"
        passages = f"{query} FROM memory.passages GROUP BY 1, 2"
        whole = {(tenant, memory) for tenant, memory, *_ in owner.execute(passages.encode())}
        for number in range(kills):
            own = environment | {"MEMORY_BUTLER_TENANT": chance.choice(tenants)}
            if number % 2:
                own["MEMORY_BUTLER_EMBEDDING__MODEL"] = ""
            command = [sys.executable, "-m", "memory_butler.adapters.cli.app", "index", "reembed", "--json"]
            child = subprocess.Popen(command, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                child.wait(chance.uniform(1, 6))
            except subprocess.TimeoutExpired:
                os.kill(child.pid, signal.SIGKILL)
                child.wait()
            rows = owner.execute(passages.encode()).fetchall()
            damaged += len(whole.symmetric_difference((tenant, memory) for tenant, memory, *_ in rows))
            damaged += sum((versions, gaps) != (1, 0) for *_, versions, gaps in rows)
    return damaged


def show(stages: dict[str, Any], console: Console) -> None:
    for name in next(iter(stages.values())):
        table = Table("stage", *SHOWN, "questions", title=name)
        for stage, measured in stages.items():
            table.add_row(stage, *(f"{measured[name][one]:.3f}" for one in SHOWN), str(measured[name]["questions"]))
        console.print(table)


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reembedding", description=__doc__)
    add_arguments(parser)
    parser.add_argument("--models", type=Path, required=True, help="the models folder of a home with the fetched model")
    parser.add_argument("--to", default="bge-small-en-v1.5", help="the model to change to; the default model is before")
    parser.add_argument("--kills", type=int, default=0, help="kill a process that re-embeds so many times")
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "reembedding.json", help="where the result goes")
    arguments = parser.parse_args(given)
    sets = load_sets(arguments)
    if not sets:
        print(NEEDS.format(module="reembedding"), file=sys.stderr)
        return 2
    console = machine.wide_console()
    with machine.scratch_store({"fsync": "off"}) as server, Progress(console=console, transient=True) as progress:
        shutil.copytree(arguments.models / arguments.to, server.home / "models" / arguments.to)
        options = overridden(arguments.options)
        before = load_settings(home=server.home, **options)
        after = load_settings(home=server.home, **{**options, "embedding": {"model": arguments.to}})
        stages = asyncio.run(measure(before, after, sets, progress))
        result = {**machine.header(server, after, SEED), "to": arguments.to, "stages": stages}
        if arguments.kills:
            tenants = [one.tenant for each in sets.values() for one in each]
            own = {"MEMORY_BUTLER_HOME": str(server.home), "MEMORY_BUTLER_EMBEDDING__MODEL": arguments.to}
            result["kills"] = arguments.kills
            result["damaged"] = kill_campaign(server, tenants, {**os.environ, **own}, arguments.kills)
    show(stages, console)
    if arguments.kills:
        console.print(f"{result['kills']} times killed: {result['damaged']} memories damaged")
    machine.write_json(arguments.json, result)
    console.print(f"Written to {arguments.json}")
    return 1 if result.get("damaged") else 0


if __name__ == "__main__":
    sys.exit(main())
