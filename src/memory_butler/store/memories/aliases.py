"""Aliases of subjects, and the lookup of names in a question."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models import GLOBAL_SCOPE, Reach
from memory_butler.store.gate.database import Row, Transaction

SHOWN = 200
PAGE = 10_000


@dataclass(frozen=True, slots=True)
class KnownName:
    """A name in a question: `lexeme` is what stands for it among the postings, `is_name` that it is a proper name."""

    asked: str
    lexeme: str
    is_name: bool


async def insert(transaction: Transaction, **given: Any) -> UUID | None:
    """Add an alias, or restore a withdrawn one and return its id; None if the subject has it already."""
    row = await transaction.one("aliases.insert", **given)
    return row["id"] if row else None


async def unknown_in(transaction: Transaction, scope: str, *, subject: str, alias: str) -> UUID | None:
    """The alias, if no event visible from this scope added it."""
    row = await transaction.one("aliases.unknown_in", scopes=[GLOBAL_SCOPE, scope], subject=subject, alias=alias)
    return row["id"] if row else None


async def of_subject(transaction: Transaction, subject: str, scopes: Sequence[str] | None) -> list[str]:
    """Aliases of a subject that are known in these scopes, as written."""
    return await transaction.column("aliases.of_subject", subject=subject, scopes=scopes, limit=SHOWN)


async def each(transaction: Transaction, reach: Reach, *, every_state: bool = False) -> AsyncIterator[Row]:
    """All aliases in use, or also the withdrawn ones."""
    after: UUID | None = UUID(int=0)
    while after:
        rows = await transaction.all(
            "aliases.after", after=after, scopes=reach.scopes, limit=PAGE, every_state=every_state
        )
        for row in rows:
            yield row
        after = rows[-1]["id"] if len(rows) == PAGE else None


async def ids_of_subjects(
    transaction: Transaction, subjects: Sequence[str], reach: Reach, limit: int, *, every_state: bool = False
) -> list[UUID]:
    return await transaction.column(
        "aliases.ids_of_subjects", subjects=list(subjects), scopes=reach.scopes, limit=limit, every_state=every_state
    )


async def retract(transaction: Transaction, ids: Sequence[UUID]) -> list[UUID]:
    """Withdraw aliases; returns those that were active."""
    return await transaction.column("aliases.retract", ids=list(ids)) if ids else []


async def asked(transaction: Transaction, keys: Sequence[str], reach: Reach, now: datetime) -> list[KnownName]:
    """Those of these keys that name a visible subject, with their postings."""
    rows = await transaction.all(
        "aliases.asked",
        names=list(keys),
        scopes=reach.scopes,
        butlers=reach.butlers,
        now=now,
    )
    return [KnownName(**row) for row in rows]
