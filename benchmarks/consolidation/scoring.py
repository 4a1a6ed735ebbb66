"""Scoring what was distilled against labels: each label is found once, and what matches no label is wrong."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

FOLDER = Path(__file__).parent
HALVES = ("development", "held_out")
# Messy notes are labelled for what is kept in any form (merged.py).
MESSY_HALVES = ("messy_development", "messy_held_out")
# Notes of invented people as they come, labelled before anything read them; the first half has noise, too.
LIFE_HALVES = ("lives_development", "lives_held_out")
# Kinds that the other sets have little of: dictation, family chats, stand-ups, tickets, lists, eight languages, noise.
KIND_HALVES = ("kinds_development", "kinds_held_out")
ALL_HALVES = (*HALVES, *MESSY_HALVES, *LIFE_HALVES, *KIND_HALVES)


class Distilled(Protocol):
    """What scoring needs to know of a fact or rule."""

    @property
    def kind(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def predicate(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def valid_at(self) -> datetime | None: ...


Distiller = Callable[[str, datetime], Sequence[Distilled]]


@dataclass(frozen=True, slots=True)
class Labelled:
    """One episode with what a person would write down from it."""

    id: str
    kind: str
    observed_at: datetime
    content: str
    facts: list[dict[str, Any]]
    rules: list[dict[str, Any]]
    source: str = ""
    language: str = "en"
    inversions: list[dict[str, Any]] = field(default_factory=list)
    misattributions: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_silent(self) -> bool:
        return not self.facts and not self.rules


@dataclass(slots=True)
class Tally:
    """Counts of one kind of thing, and which ones went wrong."""

    right: int = 0
    wrong: list[tuple[str, str]] = field(default_factory=list)
    missed: list[tuple[str, str]] = field(default_factory=list)
    expected_found: int = 0

    @property
    def precision(self) -> float:
        given = self.right + len(self.wrong)
        return self.right / given if given else 1.0

    @property
    def recall(self) -> float:
        expected = self.expected_found + len(self.missed)
        return self.expected_found / expected if expected else 1.0

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(slots=True)
class Report:
    episodes: int
    facts: Tally
    rules: Tally
    silent: int
    kept_silent: int

    @property
    def silence(self) -> float:
        return self.kept_silent / self.silent if self.silent else 1.0


def labelled(half: str) -> list[Labelled]:
    path = FOLDER / f"{half}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [
        Labelled(
            row["id"],
            row["kind"],
            datetime.fromisoformat(row["observed_at"]),
            row["content"],
            row["facts"],
            row["rules"],
            row.get("source", ""),
            row.get("language", "en"),
            row.get("inversions", []),
            row.get("misattributions", []),
        )
        for row in rows
    ]


def score(episodes: Iterable[Labelled], distiller: Distiller) -> Report:
    """Run the distiller over the episodes and count."""
    report = Report(0, Tally(), Tally(), 0, 0)
    for episode in episodes:
        found = distiller(episode.content, episode.observed_at)
        report.episodes += 1
        if episode.is_silent:
            report.silent += 1
            report.kept_silent += not found
        facts = [one for one in found if one.kind == "fact"]
        rules = [one for one in found if one.kind == "rule"]
        _count(report.facts, episode, facts, episode.facts, fits_fact)
        _count(report.rules, episode, rules, episode.rules, fits_rule)
    return report


def fits_fact(found: Distilled, label: dict[str, Any]) -> bool:
    """Subject, class of predicate, key words of the content and the day all agree."""
    subjects = label["subject"] if isinstance(label["subject"], list) else [label["subject"]]
    if found.subject.casefold() not in {subject.casefold() for subject in subjects}:
        return False
    if found.predicate.split(":")[0] not in label["predicate"]:
        return False
    return _says(found.content, label["keys"]) and _agrees_on_day(found.valid_at, label)


def fits_rule(found: Distilled, label: dict[str, Any]) -> bool:
    return _says(found.content, label["keys"])


def _says(content: str, keys: Sequence[str]) -> bool:
    return all(key.casefold() in content.casefold() for key in keys)


def _agrees_on_day(valid_at: datetime | None, label: dict[str, Any]) -> bool:
    if label.get("anytime"):
        return True
    expected = label.get("valid_at")
    if expected is None or valid_at is None:
        return expected is None and valid_at is None
    return valid_at.date() == datetime.fromisoformat(expected).date()


Fits = Callable[[Distilled, dict[str, Any]], bool]


def _count(
    tally: Tally, episode: Labelled, found: Sequence[Distilled], labels: Sequence[dict[str, Any]], fits: Fits
) -> None:
    """Pair what was found with labels, demanded ones before optional ones, each label once."""
    order = sorted(range(len(labels)), key=lambda index: bool(labels[index].get("optional")))
    fitting = [[index for index in order if fits(one, labels[index])] for one in found]
    taken: dict[int, int] = {}
    for number in range(len(found)):
        _place(number, fitting, taken, set())
    placed = set(taken.values())
    tally.right += len(placed)
    tally.wrong += [(episode.id, _shown(one)) for number, one in enumerate(found) if number not in placed]
    for index, label in enumerate(labels):
        if label.get("optional"):
            continue
        if index in taken:
            tally.expected_found += 1
        else:
            tally.missed.append((episode.id, json.dumps(label, ensure_ascii=False)))


def _place(number: int, fitting: Sequence[Sequence[int]], taken: dict[int, int], tried: set[int]) -> bool:
    """Give this one a label, moving an earlier one to another label where that helps (augmenting paths)."""
    for index in fitting[number]:
        if index in tried:
            continue
        tried.add(index)
        if index not in taken or _place(taken[index], fitting, taken, tried):
            taken[index] = number
            return True
    return False


def _shown(one: Distilled) -> str:
    day = f" @{one.valid_at.date()}" if one.valid_at else ""
    return f"{one.subject} · {one.predicate}: {one.content}{day}" if one.kind == "fact" else f"rule: {one.content}"
