"""Memories, episodes and proposals that need attention."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory_butler.models import Episode, Fact, Outcome, Rule
from memory_butler.settings import EdenTier
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.lifecycle.sweep import FIRST_MOMENT
from memory_butler.store.memories.episodes import as_episode
from memory_butler.store.memories.facts import as_fact
from memory_butler.store.memories.rules import as_rule


@dataclass(frozen=True, slots=True)
class OpenItems:
    """The number of waiting items, and the time of the oldest."""

    count: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeCounts:
    """Episodes that wait to be distilled and since when, those whose proposals await a decision, those given up."""

    waiting: int
    oldest: datetime | None
    deciding: int
    given_up: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkBurst:
    """A rule that one agent session marked repeatedly within an hour: how, by which butler, how often and when."""

    rule: Rule
    outcome: Outcome
    butler: str
    marks: int
    at: datetime


async def fading(
    transaction: Transaction,
    *,
    scopes: Sequence[str] | None,
    importance: int,
    by: datetime,
    below: Mapping[str | None, float],
    limit: int,
) -> tuple[list[Fact], int]:
    """Important facts whose effective confidence is below the threshold by a moment, and their total number.

    `below` has the threshold of each butler with one of its own, and under None the threshold of all others.
    """
    own = {butler: threshold for butler, threshold in below.items() if butler is not None}
    rows = await transaction.all(
        "alerts.fading",
        scopes=scopes,
        importance=importance,
        by=by,
        below=below[None],
        butlers=list(own),
        thresholds=list(own.values()),
        limit=limit,
    )
    total = rows[0]["total"] if rows else 0
    return [as_fact(_without(row, "total")) for row in rows], total


async def warnings(
    transaction: Transaction, *, scopes: Sequence[str] | None, since: datetime, limit: int
) -> tuple[list[tuple[Rule, datetime]], int]:
    """Rules that became warnings since a time, each with that time, and their total number."""
    rows = await transaction.all("alerts.warnings", scopes=scopes, since=since, limit=limit)
    total = rows[0]["total"] if rows else 0
    return [(as_rule(_without(row, "total", "since")), row["since"]) for row in rows], total


async def bursts(
    transaction: Transaction, *, scopes: Sequence[str] | None, since: datetime, marks: int, limit: int
) -> tuple[list[MarkBurst], int]:
    """Rules that one agent session marked at least `marks` times within an hour, and their total number."""
    rows = await transaction.all("alerts.bursts", scopes=scopes, since=since, marks=marks, limit=limit)
    total = rows[0]["total"] if rows else 0
    extra = ("burst_outcome", "burst_butler", "burst_marks", "burst_at", "total")
    found = [
        MarkBurst(
            rule=as_rule(_without(row, *extra)),
            outcome=Outcome(row["burst_outcome"]),
            butler=row["burst_butler"],
            marks=row["burst_marks"],
            at=row["burst_at"],
        )
        for row in rows
    ]
    return found, total


async def dead_letters(transaction: Transaction) -> OpenItems:
    return OpenItems(**await transaction.row("alerts.dead_letters"))


async def proposals(transaction: Transaction) -> OpenItems:
    return OpenItems(**await transaction.row("alerts.proposals"))


async def episode_counts(transaction: Transaction, butlers: Sequence[str] | None) -> EpisodeCounts:
    return EpisodeCounts(**await transaction.row("alerts.episodes", butlers=butlers))


async def expiring(
    transaction: Transaction,
    rules: Mapping[str | None, EdenTier],
    now: datetime,
    *,
    butlers: Sequence[str] | None,
    limit: int,
) -> tuple[list[Episode], int]:
    """Important episodes that expire soon and of which nothing was kept, and their total number.

    `rules` has the settings of each butler with its own, and under None those of all others.
    """
    own = {butler: eden for butler, eden in rules.items() if butler is not None}
    rows = await transaction.all(
        "alerts.expiring",
        butlers=butlers,
        own=list(own),
        untils=[_until(eden, now) for eden in own.values()],
        importances=[eden.warn_importance for eden in own.values()],
        references=[eden.protected_from for eden in own.values()],
        until=_until(rules[None], now),
        importance=rules[None].warn_importance,
        protected_from=rules[None].protected_from,
        limit=limit,
    )
    total = rows[0]["total"] if rows else 0
    return [as_episode(_without(row, "total")) for row in rows], total


def _until(eden: EdenTier, now: datetime) -> datetime:
    return now + timedelta(days=eden.warn_days) if eden.warn_days else FIRST_MOMENT


def _without(row: Row, *names: str) -> Row:
    return {name: value for name, value in row.items() if name not in names}
