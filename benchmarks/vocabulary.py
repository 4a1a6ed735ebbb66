"""How many memories have a question's words, in conversations and in the made-up store of the speed measurement, and
how fast a context is in such a store of what was said in those conversations, for the questions asked about them:
`python -m benchmarks.vocabulary --data FOLDER`."""

import argparse
import asyncio
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.progress import Progress
from rich.table import Table

from benchmarks.speed import LARGE_TENANT, QUICK, SEED, SMALL, WARM_UP, Bench, Plan, caller_of, read_latencies
from benchmarks.support import machine
from benchmarks.support.conversations import BUTLER, NEEDS, NOW, Sets, add_arguments, load_sets, overridden, store_all
from benchmarks.support.latency import percentile
from benchmarks.support.load_store import BUTLER as MADE_UP_BUTLER
from benchmarks.support.load_store import Pool, load_store
from benchmarks.support.sentences import FEW, USUAL, questions, sentences
from benchmarks.support.speed_report import Figures
from memory_butler.models import Caller, MemoryType, Question
from memory_butler.operations.retrieval import ranked_candidates
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings

ASKED = 400
# Context, search and floor.
KINDS_OF_CALL = 3
LONGEST_TEXT = 200
COUNT = b"""
SELECT count(p.memory_id)::float8 / max(t.documents) AS postings,
    count(DISTINCT p.memory_id)::float8 / max(t.documents) AS memories,
    cardinality(tsvector_to_array(to_tsvector('english', %(words)s))) AS words
FROM memory.tenants t
LEFT JOIN memory.postings p ON p.tenant_id = t.tenant_id
    AND p.lexeme = ANY(tsvector_to_array(to_tsvector('english', %(words)s)))
WHERE t.tenant_id = %(tenant)s
"""


class Touched(NamedTuple):
    """What a question's words lead to, as a share of the tenant's memories, and how many words they are."""

    postings: float
    memories: float
    words: int


async def touched(resources: Resources, caller: Caller, whose: str, text: str) -> Touched:
    """By the words that a search looks for, without names, which have postings of their own, and what tells nothing."""
    question = Question(query=text, types=tuple(MemoryType), butler=whose)
    found = await ranked_candidates.rank_candidates(resources, caller, question)
    async with resources.database.read(caller.principal.tenant) as transaction:
        values = {"tenant": caller.principal.tenant, "words": found.query.words}
        row = await (await transaction._connection.execute(COUNT, values)).fetchone()
    assert row
    return Touched(row["postings"], row["memories"], row["words"])


async def speed_of_real_words(resources: Resources, sets: Sets, plan: Plan) -> Figures:
    """Contexts, searches and their floor where the large tenant's memories and the questions are people's own."""
    conversations = [one for found in sets.values() for one in found]
    said = [turn.text for one in conversations for turn in one.turns]
    said += [observation.text for one in conversations for observation in one.observations]
    texts = list(dict.fromkeys(text[:LONGEST_TEXT] for text in said))
    asked = list(dict.fromkeys(each.question for one in conversations for each in one.questions))
    random.Random(SEED).shuffle(asked)
    if len(asked) < KINDS_OF_CALL * (WARM_UP + plan.reads):
        return {}
    sizes = {f"small-{number:04d}": SMALL for number in range(plan.tenants)} | {LARGE_TENANT: plan.large}
    await load_store(resources, sizes, Pool(texts, await resources.embedder.embed(texts)), SEED)
    bench = Bench(resources, plan, asked)
    await read_latencies(bench, 1, large_tenant=(resources, [LARGE_TENANT]))
    return {name: latency.as_ms() for name, latency in bench.latencies.items()}


async def measure(
    arguments: argparse.Namespace, plan: Plan, progress: Progress
) -> tuple[dict[str, list[Touched]], Figures]:
    sets = load_sets(arguments)
    results: dict[str, list[Touched]] = {}
    with machine.scratch_store({"fsync": "off"}) as server:
        settings = load_settings(home=server.home, **overridden(arguments.options))
        async with open_resources(settings, clock=lambda: NOW) as resources:
            await store_all(resources, sets, progress)
            for name, conversations in sets.items():
                asked = [(one.caller, BUTLER, each.question) for one in conversations for each in one.questions]
                some = random.Random(SEED).sample(asked, min(ASKED, len(asked)))
                results[name] = [await touched(resources, *one) for one in some]
    for name, words in (("made up", USUAL), ("made up, few words", FEW)):
        with machine.scratch_store({"fsync": "off"}) as server:
            async with open_resources(load_settings(home=server.home)) as resources:
                texts = sentences(plan.pool, SEED, words)
                pool = Pool(texts, await resources.embedder.embed(texts))
                await load_store(resources, {LARGE_TENANT: plan.large}, pool, SEED)
                asked = [(caller_of(LARGE_TENANT), MADE_UP_BUTLER, text) for text in questions(ASKED, SEED, words)]
                results[name] = [await touched(resources, *one) for one in asked]
    with machine.scratch_store() as server:
        async with open_resources(load_settings(home=server.home)) as resources:
            return results, await speed_of_real_words(resources, sets, plan)


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vocabulary", description=__doc__)
    add_arguments(parser)
    parser.add_argument("--quick", action="store_true", help="a small made-up store, to see that it works")
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "vocabulary.json", help="where the result goes")
    arguments = parser.parse_args(given)
    if not arguments.data or not load_sets(arguments):
        print(NEEDS.format(module="vocabulary"), file=sys.stderr)
        return 2
    console = machine.wide_console()
    with Progress(console=console) as progress:
        results, latency = asyncio.run(measure(arguments, QUICK if arguments.quick else Plan(), progress))
    table = Table("questions", "words", "postings p50", "p95", "memories p50", "p95", title="For each memory there is")
    for name, found in results.items():
        shares = [
            f"{percentile(sorted(getattr(one, kind) for one in found), share):.2f}"
            for kind in ("postings", "memories")
            for share in (0.5, 0.95)
        ]
        table.add_row(name, f"{sum(one.words for one in found) / len(found):.1f}", *shares)
    console.print(table)
    touched = {name: [one._asdict() for one in found] for name, found in results.items()}
    machine.write_json(arguments.json, {"touched": touched, "latency_ms": latency})
    for name, row in latency.items():
        console.print(f"{name}: {row['p50']:.1f} ms at the median, {row['p95']:.1f} at p95")
    if latency:
        context, floor = (latency[f"{what}, large tenant, 1 client"]["p95"] for what in ("context", "floor"))
        console.print(f"context p95 as a multiple of the floor: {context / floor:.2f}")
    console.print(f"Written to {arguments.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
