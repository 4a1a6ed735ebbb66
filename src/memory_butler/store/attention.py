"""What somebody should look at."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory_butler.models import Fact, Rule
from memory_butler.store.database import Row, Session
from memory_butler.store.facts import as_fact
from memory_butler.store.rules import as_rule


@dataclass(frozen=True, slots=True)
class Pile:
    """How many wait, and since when the first does."""

    count: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Episodes that wait to be distilled and since when, those whose proposals await a decision, those given up."""

    waiting: int
    oldest: datetime | None
    deciding: int
    given_up: int


async def fading(
    session: Session, *, scopes: Sequence[str] | None, importance: int, by: datetime, below: float, limit: int
) -> tuple[list[Fact], int]:
    """Important facts that are worth less than that by a moment, and how many there are in all."""
    rows = await session.all(
        "attention.fading", scopes=_some(scopes), importance=importance, by=by, below=below, limit=limit
    )
    total = rows[0]["total"] if rows else 0
    return [as_fact(_without(row, "total")) for row in rows], total


async def warnings(
    session: Session, *, scopes: Sequence[str] | None, since: datetime, limit: int
) -> tuple[list[tuple[Rule, datetime]], int]:
    """Rules that turned into warnings since then, each with when it did, and how many there are in all."""
    rows = await session.all("attention.warnings", scopes=_some(scopes), since=since, limit=limit)
    total = rows[0]["total"] if rows else 0
    return [(as_rule(_without(row, "total", "since")), row["since"]) for row in rows], total


async def given_up(session: Session) -> Pile:
    return _pile(await session.one("attention.given_up"))


async def proposals(session: Session) -> Pile:
    return _pile(await session.one("attention.proposals"))


async def line(session: Session, butlers: Sequence[str] | None) -> Line:
    row = await session.one("attention.episodes", butlers=_some(butlers))
    assert row
    return Line(**row)


def _pile(row: Row | None) -> Pile:
    assert row
    return Pile(row["count"], row["oldest"])


def _some(names: Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)


def _without(row: Row, *names: str) -> Row:
    return {name: value for name, value in row.items() if name not in names}
