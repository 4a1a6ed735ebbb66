"""Other names of subjects, and which names in a question the tenant knows."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models import GLOBAL_SCOPE, Reach
from memory_butler.store.database import Row, Session

SHOWN = 200
PAGE = 10_000


@dataclass(frozen=True, slots=True)
class KnownName:
    """A name in a question: `lexeme` is what stands for it among the postings, `is_name` that it is a proper name."""

    asked: str
    lexeme: str
    is_name: bool


async def insert(session: Session, **given: Any) -> UUID | None:
    """Give a subject another name, or back one that was withdrawn, whose id comes back; None if it has it already."""
    row = await session.one("aliases.insert", **given)
    return row["id"] if row else None


async def unknown_in(session: Session, scope: str, *, subject: str, alias: str) -> UUID | None:
    """The name of a subject, if it was not given yet with anything that is seen from this scope."""
    row = await session.one("aliases.unknown_in", scopes=[GLOBAL_SCOPE, scope], subject=subject, alias=alias)
    return row["id"] if row else None


async def of_subject(session: Session, subject: str, scopes: Sequence[str] | None) -> list[str]:
    """The other names of a subject that are known in these scopes, as they were written."""
    rows = await session.all("aliases.of_subject", subject=subject, scopes=_listed(scopes), limit=SHOWN)
    return [row["alias_label"] for row in rows]


async def each(session: Session, reach: Reach) -> AsyncIterator[Row]:
    """Every name of a subject beside its own."""
    after: UUID | None = UUID(int=0)
    while after:
        rows = await session.all("aliases.after", after=after, scopes=_listed(reach.scopes), limit=PAGE)
        for row in rows:
            yield row
        after = rows[-1]["id"] if len(rows) == PAGE else None


async def ids_of_subjects(session: Session, subjects: Sequence[str], reach: Reach, limit: int) -> list[UUID]:
    rows = await session.all(
        "aliases.ids_of_subjects", subjects=list(subjects), scopes=_listed(reach.scopes), limit=limit
    )
    return [row["id"] for row in rows]


async def retract(session: Session, ids: Sequence[UUID]) -> list[UUID]:
    """Withdraw names; returns those that were still in use."""
    return [row["id"] for row in await session.all("aliases.retract", ids=list(ids))] if ids else []


async def asked(session: Session, keys: Sequence[str], reach: Reach, now: datetime) -> list[KnownName]:
    """Which of these keys are names of what may be seen, and under what to look for them."""
    rows = await session.all(
        "aliases.asked",
        names=list(keys),
        scopes=_listed(reach.scopes),
        butlers=None if reach.butlers is None else list(reach.butlers),
        now=now,
    )
    return [KnownName(**row) for row in rows]


def _listed(scopes: Sequence[str] | None) -> list[str] | None:
    return None if scopes is None else list(scopes)
