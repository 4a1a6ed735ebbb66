"""The texts of the demo: two TOML files beside this module, read when the demo runs."""

import tomllib
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from typing import Literal, TypeVar

from pydantic import TypeAdapter

from memory_butler.models import NewFact

Script = TypeVar("Script")


@dataclass
class DemoClock:
    """A clock that the demo sets: it starts weeks ago and ends today."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


@dataclass(frozen=True)
class Feedback:
    """Feedback on a rule: helpful, or harmful for the reason given."""

    days: int
    reason: str = ""


@dataclass(frozen=True)
class StoryMemory:
    days: int
    type: Literal["fact", "rule", "episode"]
    content: str
    predicate: str = ""
    importance: int = 5
    permanence: str = "standard"
    harmful: bool = False


@dataclass(frozen=True)
class Story:
    butler: str
    subject: str
    intro: str
    question: str
    prompt: str
    token_budget: int
    chapters: tuple[str, ...]
    memories: tuple[StoryMemory, ...]
    harm: tuple[Feedback, ...]
    # The fact that supersedes another one.
    move: NewFact


@dataclass(frozen=True)
class EpisodeLine:
    """An episode; a key identifies it for other lines and for the code."""

    days: int
    butler: str
    content: str
    importance: int = 5
    key: str = ""


@dataclass(frozen=True)
class FactLine:
    """A fact that an agent stored itself; `source` is the key of the episode it came from."""

    days: int
    butler: str
    subject: str
    predicate: str
    content: str
    importance: int
    permanence: str
    tag: str
    pinned: bool = False
    source: str = ""


@dataclass(frozen=True)
class RuleLine:
    days: int
    butler: str
    content: str
    feedback: tuple[Feedback, ...] = ()


@dataclass(frozen=True)
class CorrectionLine:
    """A person's correction of a fact; without content the fact is withdrawn."""

    days: int
    subject: str
    predicate: str
    reason: str
    content: str = ""


@dataclass(frozen=True)
class SearchLine:
    days: int
    butler: str
    query: str


@dataclass(frozen=True)
class CallLine:
    """A briefing, or a search, that an agent asks for."""

    butler: str
    prompt: str
    search: bool = False


@dataclass(frozen=True)
class EightWeeks:
    facts: tuple[FactLine, ...]
    corrections: tuple[CorrectionLine, ...]
    searches: tuple[SearchLine, ...]
    calls: tuple[CallLine, ...]
    episodes: tuple[EpisodeLine, ...]
    rules: tuple[RuleLine, ...]

    def episode(self, key: str) -> EpisodeLine:
        return next(line for line in self.episodes if line.key == key)


def read_story() -> Story:
    return _read("story.toml", Story)


def read_eight_weeks() -> EightWeeks:
    return _read("eight_weeks.toml", EightWeeks)


def _read(name: str, kind: type[Script]) -> Script:
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return TypeAdapter(kind).validate_python(tomllib.loads(text))
