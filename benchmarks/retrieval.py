"""How well memories are found: `python -m benchmarks.retrieval --data FOLDER`."""

import argparse
import asyncio
import hashlib
import json
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks import machine, metrics
from benchmarks.metrics import Judged
from memory_butler.butler import Butler, open_butler
from memory_butler.models import Caller, Hit, MemoryType, Mode, NewEpisode, NewFact, Principal, Question
from memory_butler.operations import recall, remember
from memory_butler.policy.ranking import rank
from memory_butler.settings import Settings, load_settings
from memory_butler.store import search_index

NEEDS = """This measurement needs a folder with labelled conversations:

  FOLDER/locomo-dev/turns.jsonl             conversation, session, id, speaker, timestamp, text
  FOLDER/locomo-dev/questions.jsonl         conversation, question, category, evidence (turn ids)
  FOLDER/locomo-dev/observations.jsonl      conversation, session, speaker, text, evidence (optional)
  FOLDER/longmemeval-dev/turns.jsonl        session, id, timestamp, text
  FOLDER/longmemeval-dev/questions.jsonl    question, category, evidence (turn ids)

Either of the two may be missing. Then:  make eval DATA=FOLDER   or   python -m benchmarks.retrieval --data FOLDER
"""
SETS = {"locomo": "locomo-dev", "longmemeval": "longmemeval-dev"}
APART = "adversarial"
BUTLER = "reader"
RESULTS_WANTED = 20
AT_ONCE = 32
SEED = 0
# One moment for storing and for asking: recency and confidence are then the same for all, and only finding counts.
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SWEEP = [(semantic, 1.0) for semantic in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0)] + [(1.0, 0.0)]


@dataclass(frozen=True, slots=True)
class Turn:
    id: str
    session: str
    timestamp: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Observation:
    speaker: str
    text: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Asked:
    question: str
    category: str
    evidence: frozenset[str]


@dataclass(slots=True)
class Conversation:
    """What goes into one tenant, and what is asked of it."""

    tenant: str
    turns: list[Turn] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    questions: list[Asked] = field(default_factory=list)
    carries: dict[UUID, frozenset[str]] = field(default_factory=dict)
    """Which turns a stored memory stands for."""

    @property
    def caller(self) -> Caller:
        return Caller(Principal(self.tenant, BUTLER))


def load(folder: Path, name: str, limit: int | None = None) -> list[Conversation]:
    """The conversations of one set; `limit` keeps the first few conversations, or questions if there is but one."""
    found: dict[str, Conversation] = {}
    for row in _rows(folder / "turns.jsonl"):
        key = row.get("conversation", name)
        here = found.setdefault(key, Conversation(f"{name}-{key}".lower()))
        moment = datetime.fromisoformat(row["timestamp"])
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        here.turns.append(Turn(row["id"], str(row["session"]), moment, row["text"]))
    for row in _rows(folder / "questions.jsonl"):
        asked = Asked(row["question"], row["category"], frozenset(row["evidence"]))
        found[row.get("conversation", name)].questions.append(asked)
    if (folder / "observations.jsonl").exists():
        for row in _rows(folder / "observations.jsonl"):
            observation = Observation(row["speaker"], row["text"], frozenset(row["evidence"]))
            found[row.get("conversation", name)].observations.append(observation)
    kept = list(found.values())
    if limit is not None and len(kept) > 1:
        return kept[:limit]
    return [replace(one, questions=one.questions[:limit]) for one in kept]


async def store(butler: Butler, conversation: Conversation, tick: Callable[[], None]) -> None:
    """Every turn one episode, every observation one fact."""

    async def episode(turn: Turn) -> None:
        new = NewEpisode(content=turn.text, butler=BUTLER, session_id=turn.session, observed_at=turn.timestamp)
        stored = await remember.episode(butler, new, conversation.caller)
        conversation.carries[stored.id] = frozenset({turn.id})
        tick()

    async def fact(observation: Observation) -> None:
        note = hashlib.sha256(observation.text.encode()).hexdigest()[:12]
        new = NewFact(subject=observation.speaker, predicate=f"note:{note}", content=observation.text)
        stored = await remember.fact(butler, new, conversation.caller)
        known = conversation.carries.get(stored.id, frozenset())
        conversation.carries[stored.id] = known | observation.evidence
        tick()

    await bounded(episode(turn) for turn in conversation.turns)
    await bounded(fact(observation) for observation in conversation.observations)


async def ask(
    butler: Butler, conversation: Conversation, kind: MemoryType, mode: Mode, tick: Callable[[], None]
) -> list[Judged]:
    """Every question of a conversation, answered by the search itself."""

    async def one(asked: Asked) -> Judged:
        question = Question(query=asked.question, types=(kind,), mode=mode, limit=RESULTS_WANTED)
        answer = await recall.search(butler, question, conversation.caller, bump=False)
        tick()
        return judge(conversation, asked, kind, [entry.hit for entry in answer.results])

    return await bounded(one(asked) for asked in conversation.questions)


def judge(conversation: Conversation, asked: Asked, kind: MemoryType, hits: Sequence[Hit]) -> Judged:
    found = [conversation.carries[hit.id] & asked.evidence for hit in hits]
    if kind is MemoryType.EPISODE:
        relevant = len(asked.evidence)
    else:
        relevant = sum(bool(one.evidence & asked.evidence) for one in conversation.observations)
    return Judged(asked.category, asked.evidence, found, relevant)


async def candidates(butler: Butler, conversation: Conversation, asked: Asked, kind: MemoryType) -> list[Hit]:
    """What the database returns before it is ranked."""
    question = Question(query=asked.question, types=(kind,))
    probe, _ = await recall.probe_for(butler, conversation.caller, question)
    hits, _ = await search_index.search(butler.database, conversation.tenant, probe)
    return hits


async def sweep(butler: Butler, conversations: Sequence[Conversation]) -> dict[str, dict[str, float]]:
    """The same candidates, ranked under other votes of the two lists."""
    pairs = [(conversation, asked) for conversation in conversations for asked in headline(conversation.questions)]
    found = await bounded(candidates(butler, *pair, MemoryType.EPISODE) for pair in pairs)
    rules = recall.ranking_rules(butler.settings.retrieval)
    result = {}
    for semantic, keyword in SWEEP:
        voted = replace(rules, semantic_weight=semantic, keyword_weight=keyword)
        judged = []
        for (conversation, asked), hits in zip(pairs, found, strict=True):
            best = [entry.hit for entry in rank(hits, Mode.HYBRID, voted, NOW)[:RESULTS_WANTED]]
            judged.append(judge(conversation, asked, MemoryType.EPISODE, best))
        result[f"{semantic:g}:{keyword:g}"] = metrics.mean(judged)
    return result


def headline(questions: Sequence[Any]) -> list[Any]:
    return [one for one in questions if one.category != APART]


async def bounded(work: Iterable[Awaitable[Any]]) -> list[Any]:
    """All of it, AT_ONCE at a time, in order."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def through(one: Awaitable[Any]) -> Any:
        async with gate:
            return await one

    return list(await asyncio.gather(*(through(one) for one in work)))


async def measure(
    settings: Settings, sets: dict[str, list[Conversation]], console: Console, *, with_sweep: bool
) -> dict[str, Any]:
    """Store everything, ask everything in every mode, and average."""
    results: dict[str, Any] = {}
    with Progress(console=console, transient=True) as progress:
        async with open_butler(settings, clock=lambda: NOW) as butler:
            for name, conversations in sets.items():
                total = sum(len(one.turns) + len(one.observations) for one in conversations)
                storing = progress.add_task(f"{name}: storing", total=total)
                for conversation in conversations:
                    await store(butler, conversation, lambda task=storing: progress.advance(task))
                results[name] = {}
                for kind in (MemoryType.EPISODE, MemoryType.FACT):
                    if kind is MemoryType.FACT and not any(one.observations for one in conversations):
                        continue
                    total = len(Mode) * sum(len(one.questions) for one in conversations)
                    asking = progress.add_task(f"{name}: asking for {kind}s", total=total)
                    results[name][f"{kind}s"] = {}
                    for mode in Mode:
                        judged: list[Judged] = []
                        for one in conversations:
                            judged += await ask(butler, one, kind, mode, lambda task=asking: progress.advance(task))
                        results[name][f"{kind}s"][mode] = {
                            "all": metrics.mean(headline(judged)),
                            "categories": metrics.by_category(judged),
                        }
                if with_sweep:
                    results[name]["sweep"] = await sweep(butler, conversations)
    return results


def show(results: dict[str, Any], console: Console) -> None:
    columns = ("recall@5", "recall@10", "recall@20", "strict@10", "hit@10", "ndcg@10", "questions")
    for name, kinds in results.items():
        for kind, modes in kinds.items():
            table = Table(title=f"{name}, {kind}", title_justify="left")
            table.add_column("votes semantic:keyword" if kind == "sweep" else "mode / category")
            for column in columns:
                table.add_column(column, justify="right")
            for mode, result in modes.items():
                rows = {mode: result} if kind == "sweep" else {mode: result["all"], **result["categories"]}
                for label, row in rows.items():
                    cells = [f"{row[column]:.3f}" for column in columns[:-1]]
                    name_cell = label if label == mode else f"  {label}"
                    table.add_row(name_cell, *cells, str(row["questions"]), style="bold" if label == mode else "dim")
                table.add_section()
            console.print(table)


def overridden(options: Sequence[str]) -> dict[str, Any]:
    """`retrieval.semantic_weight=0.5` as nested settings."""
    nested: dict[str, Any] = {}
    for option in options:
        path, equals, value = option.partition("=")
        if not equals:
            raise SystemExit(f"--set-option {option!r} is not of the form group.name=value")
        *groups, leaf = path.split(".")
        here = nested
        for group in groups:
            here = here.setdefault(group, {})
        here[leaf] = value
    return nested


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the labelled conversations")
    parser.add_argument("--set", choices=SETS, dest="only", help="measure one of the two sets")
    parser.add_argument("--limit", type=int, help="only the first conversations (or questions, where there is one)")
    parser.add_argument("--set-option", action="append", default=[], metavar="GROUP.NAME=VALUE", dest="options")
    parser.add_argument("--sweep", action="store_true", help="also rank under other votes of the two lists")
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "retrieval.json", help="where the result goes")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    arguments = _arguments(given)
    folders = {name: arguments.data / folder for name, folder in SETS.items()} if arguments.data else {}
    chosen = {name: path for name, path in folders.items() if (path / "turns.jsonl").exists()}
    if arguments.only:
        chosen = {name: path for name, path in chosen.items() if name == arguments.only}
    if not chosen:
        print(NEEDS, file=sys.stderr)
        return 2
    console = machine.wide_console()
    with machine.scratch_store({"fsync": "off"}) as server:
        settings = load_settings(home=server.home, **overridden(arguments.options))
        sets = {name: load(path, name, arguments.limit) for name, path in chosen.items()}
        results = asyncio.run(measure(settings, sets, console, with_sweep=arguments.sweep))
        result = {**machine.header(server, settings, SEED), "results": results}
    show(results, console)
    machine.write_json(arguments.json, result)
    console.print(f"Written to {arguments.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
