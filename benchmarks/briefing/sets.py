"""Labelled sets: the memories of a person, and tasks with what a good briefing tells."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memory_butler.models import NewEpisode, NewFact, NewRule, Outcome
from memory_butler.operations.writing import feedback, remember
from memory_butler.resources import Resources

PERSONAS = Path(__file__).parent / "personas"
_RELATIVE = re.compile(r"([+-]\d+)([dh])")
FACT_FIELDS = ("subject", "predicate", "content", "importance", "permanence", "scope")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledSet:
    name: str
    memories: list[dict[str, Any]]
    tasks: list[dict[str, Any]]
    # What the person asks: a question, and the key of its answer; none for what was never mentioned.
    questions: list[dict[str, Any]]

    @property
    def groups(self) -> dict[str, str]:
        """For each key the key of the memory that says the same."""
        return {memory["key"]: memory.get("same_as", memory["key"]) for memory in self.memories}


def load(folder: Path) -> LabelledSet:
    asked = folder / "questions.jsonl"
    return LabelledSet(
        name=folder.name,
        memories=_rows(folder / "memories.jsonl"),
        tasks=_rows(folder / "tasks.jsonl"),
        questions=_rows(asked) if asked.exists() else [],
    )


def load_all(data: Path | None) -> list[LabelledSet]:
    """The project's own personas and, with a data folder, its set of briefings."""
    folders = sorted(path for path in PERSONAS.iterdir() if path.is_dir())
    if data and (data / "briefing-dev").is_dir():
        folders.insert(0, data / "briefing-dev")
    return [load(folder) for folder in folders]


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


async def store(resources: Resources, labelled: LabelledSet) -> dict[str, str]:
    """Store the memories of a set in order and apply the marks; returns the key of each reference."""
    now = resources.clock()
    refs: dict[str, str] = {}
    for row in labelled.memories:
        refs[row["key"]] = (await _store_one(resources, row, now)).ref
    for row in labelled.memories:
        for _ in range(row.get("helpful", 0)):
            await feedback.mark(resources, f"rule:{refs[row['key']]}", Outcome.HELPFUL)
        for reason in row.get("harmful", []):
            await feedback.mark(resources, f"rule:{refs[row['key']]}", Outcome.HARMFUL, reason=reason)
    return {ref: key for key, ref in refs.items()}


async def _store_one(resources: Resources, row: Mapping[str, Any], now: datetime) -> Any:
    tags = tuple(row.get("tags") or ())
    if row["type"] == "fact":
        given = {name: row[name] for name in FACT_FIELDS if row.get(name) is not None}
        fact = NewFact(**given, tags=tags, aliases=tuple(row.get("aliases") or ()))
        if row.get("valid_at"):
            fact = replace(fact, valid_at=_moment(row["valid_at"], now))
        return await remember.fact(resources, fact)
    if row["type"] == "rule":
        rule = NewRule(content=row["content"], tags=tags)
        return await remember.rule(resources, replace(rule, scope=row["scope"]) if row.get("scope") else rule)
    observed = _moment(row["observed_at"], now) if row.get("observed_at") else None
    given = {name: row[name] for name in ("importance", "session_id") if row.get(name) is not None}
    episode = NewEpisode(content=row["content"], butler=row["butler"], observed_at=observed, tags=tags, **given)
    return await remember.episode(resources, episode)


def _moment(text: str, now: datetime) -> datetime:
    """ "-2d" and "+5h" are relative to now."""
    match = _RELATIVE.fullmatch(text)
    if not match:
        return datetime.fromisoformat(text)
    return now + (timedelta(days=int(match[1])) if match[2] == "d" else timedelta(hours=int(match[1])))
