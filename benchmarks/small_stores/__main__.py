"""How well facts of small stores are found: `python -m benchmarks.small_stores`.

Six invented stores of 26 to 28 facts, each asked in other words than those that were stored ("?"), in the same words
("!"), and for things that were never mentioned. The relevance of facts in small stores was fitted to the first three;
the others are held out.
"""

import argparse
import asyncio
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.ranking.report import Sheet, printed
from benchmarks.support import machine
from benchmarks.support.conversations import overridden
from memory_butler.models import Caller, MemoryType, NewFact, Principal, Question, Role
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings, load_settings

STORES = Path(__file__).parent / "stores"
FITTED = ("illustrator", "household", "engineering")
LIMIT = 3
PARAPHRASE, LITERAL, NEVER = "other words", "same words", "never mentioned"
_FACT = re.compile(r"(\d+)\. (.+?) \| (.+?) \| (.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Facts by number (subject, predicate, content), and questions with their class and the number of the answer."""

    name: str
    facts: Mapping[str, tuple[str, str, str]]
    questions: Sequence[tuple[str, str, str]]


def read(path: Path) -> Store:
    facts: dict[str, tuple[str, str, str]] = {}
    questions: list[tuple[str, str, str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if found := _FACT.fullmatch(line):
            facts[found[1]] = (found[2], found[3], found[4])
        else:
            text, _, answer = line[2:].partition(" => ")
            kind = NEVER if not answer else LITERAL if line[0] == "!" else PARAPHRASE
            questions.append((text, kind, answer))
    return Store(name=path.stem, facts=facts, questions=questions)


async def ask(resources: Resources, store: Store) -> Counter[tuple[str, str]]:
    """Store the facts in a tenant of their own, ask everything, and count by class of question."""
    caller = Caller(Principal(f"small-{store.name}", "main", Role.ADMIN))
    numbers = {}
    for number, (subject, predicate, content) in store.facts.items():
        new = NewFact(subject=subject, predicate=predicate, content=content)
        numbers[(await remember.fact(resources, new, caller)).id] = number
    counts: Counter[tuple[str, str]] = Counter()
    for text, kind, answer in store.questions:
        question = Question(query=text, types=(MemoryType.FACT,), limit=LIMIT)
        found = await search.search(resources, question, caller, bump=False)
        got = [numbers[entry.hit.id] for entry in found.results]
        counts += Counter({
            (kind, "asked"): 1,
            (kind, "hit@1"): got[:1] == [answer],
            (kind, "hit@3"): answer in got,
            (kind, "nothing"): not got,
        })  # fmt: skip
    return counts


async def measure(settings: Settings) -> dict[str, Any]:
    async with open_resources(settings) as resources:
        counts = {path.stem: await ask(resources, read(path)) for path in sorted(STORES.glob("*.txt"))}
    halves = {"fitted": [name for name in counts if name in FITTED], "held out": [*counts.keys() - {*FITTED}]}
    totals = {half: sum((counts[name] for name in names), Counter()) for half, names in halves.items()}
    return {half: _shares(total) for half, total in totals.items()}


def _shares(total: Counter[tuple[str, str]]) -> dict[str, Any]:
    return {
        kind: {"asked": asked} | {name: round(total[kind, name] / asked, 3) for name in ("hit@1", "hit@3", "nothing")}
        for kind in (PARAPHRASE, LITERAL, NEVER)
        if (asked := total[kind, "asked"])
    }


def show(result: Mapping[str, Any]) -> Sheet:
    sheet = Sheet("Small stores of facts", ("half: question", "asked", "hit@1", "hit@3", "nothing returned"))
    for half, kinds in result.items():
        for kind, row in kinds.items():
            sheet.add(f"{half}: {kind}", [str(value) for value in row.values()])
    return sheet


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small_stores", description=__doc__)
    parser.add_argument("--set-option", dest="options", action="append", default=[], metavar="GROUP.NAME=VALUE")
    parser.add_argument(
        "--json", type=Path, default=machine.RESULTS / "small_stores.json", help="where the result goes"
    )
    arguments = parser.parse_args(given)
    console = machine.wide_console()
    with machine.scratch_store({"fsync": "off"}) as server:
        settings = load_settings(home=server.home, **overridden(arguments.options))
        measured = asyncio.run(measure(settings))
        result = {**machine.header(server, settings, 0), "results": measured}
    printed(show(measured), console)
    machine.write_json(arguments.json, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
