"""Labelled conversations: read from a folder, stored as memories, asked about."""

import argparse
import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from rich.progress import Progress

from memory_butler.models import Caller, NewEpisode, NewFact, Principal
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

NEEDS = """This measurement needs a folder with labelled conversations:

  FOLDER/locomo-dev/turns.jsonl             conversation, session, id, speaker, timestamp, text
  FOLDER/locomo-dev/questions.jsonl         conversation, question, category, evidence (turn ids)
  FOLDER/locomo-dev/observations.jsonl      conversation, session, speaker, text, evidence (optional)
  FOLDER/longmemeval-dev/turns.jsonl        session, id, timestamp, text
  FOLDER/longmemeval-dev/questions.jsonl    question, category, evidence (turn ids)

Either of the two may be missing. Then:  make eval DATA=FOLDER   or   python -m benchmarks.{module} --data FOLDER
"""
LOCOMO, LONGMEMEVAL = "locomo", "longmemeval"
SETS = {LOCOMO: "locomo-dev", LONGMEMEVAL: "longmemeval-dev"}
APART = "adversarial"
BUTLER = "reader"
STORED_AT_ONCE = 32
# Fewer than there are connections, so that none waits in vain for one on a busy machine.
ASKED_AT_ONCE = 6
# One moment for storing and for asking: recency and confidence are then the same for all, and only finding counts.
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Turn:
    id: str
    session: str
    timestamp: datetime
    text: str
    speaker: str = ""


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

    @property
    def speakers(self) -> tuple[str, ...]:
        """The two who speak most."""
        return tuple(name for name, _ in Counter(turn.speaker for turn in self.turns if turn.speaker).most_common(2))


Sets = dict[str, list[Conversation]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What every measurement on these conversations understands."""
    parser.add_argument("--data", type=Path, help="folder with the labelled conversations")
    parser.add_argument("--set", choices=SETS, dest="only", help="only one of the two sets")
    parser.add_argument("--limit", type=int, help="only the first conversations (or questions, where there is one)")
    parser.add_argument("--set-option", action="append", default=[], metavar="GROUP.NAME=VALUE", dest="options")


def load_sets(arguments: argparse.Namespace) -> Sets:
    """The sets that are in the folder and were not left out."""
    folders = {name: arguments.data / folder for name, folder in SETS.items()} if arguments.data else {}
    return {
        name: load(path, name, arguments.limit)
        for name, path in folders.items()
        if (path / "turns.jsonl").exists() and arguments.only in (None, name)
    }


def load(folder: Path, name: str, limit: int | None = None) -> list[Conversation]:
    """The conversations of one set; `limit` keeps the first few conversations, or questions if there is but one."""
    found: dict[str, Conversation] = {}
    for row in _rows(folder / "turns.jsonl"):
        key = row.get("conversation", name)
        here = found.setdefault(key, Conversation(f"{name}-{key}".lower()))
        moment = datetime.fromisoformat(row["timestamp"])
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        here.turns.append(Turn(row["id"], str(row["session"]), moment, row["text"], row.get("speaker", "")))
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


async def store_all(resources: Resources, sets: Sets, progress: Progress) -> None:
    for name, conversations in sets.items():
        total = sum(len(one.turns) + len(one.observations) for one in conversations)
        storing = progress.add_task(f"{name}: storing", total=total)
        for conversation in conversations:
            await store(resources, conversation, partial(progress.advance, storing))


async def store(resources: Resources, conversation: Conversation, tick: Callable[[], None]) -> None:
    """Every turn one episode, those of a session in their order; every observation one fact, from its first turn."""
    sessions: dict[str, list[Turn]] = {}
    told: dict[str, str] = {}
    for turn in conversation.turns:
        sessions.setdefault(turn.session, []).append(turn)

    async def session(turns: list[Turn]) -> None:
        for turn in turns:
            new = NewEpisode(content=turn.text, butler=BUTLER, session_id=turn.session, observed_at=turn.timestamp)
            stored = await remember.episode(resources, new, conversation.caller)
            conversation.carries[stored.id] = frozenset({turn.id})
            told[turn.id] = str(stored.id)
            tick()

    async def fact(observation: Observation) -> None:
        note = hashlib.sha256(observation.text.encode()).hexdigest()[:12]
        source = next((told[turn] for turn in sorted(observation.evidence) if turn in told), None)
        new = NewFact(
            subject=observation.speaker, predicate=f"note:{note}", content=observation.text, source_episode=source
        )
        stored = await remember.fact(resources, new, conversation.caller)
        known = conversation.carries.get(stored.id, frozenset())
        conversation.carries[stored.id] = known | observation.evidence
        tick()

    await bounded((session(turns) for turns in sessions.values()), STORED_AT_ONCE)
    await bounded((fact(observation) for observation in conversation.observations), STORED_AT_ONCE)


async def bounded(work: Iterable[Awaitable[Any]], at_once: int = ASKED_AT_ONCE) -> list[Any]:
    """All of it, so many at a time, in order."""
    gate = asyncio.Semaphore(at_once)

    async def through(one: Awaitable[Any]) -> Any:
        async with gate:
            return await one

    return list(await asyncio.gather(*(through(one) for one in work)))


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
