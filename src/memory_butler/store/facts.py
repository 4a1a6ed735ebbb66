"""Facts, as they are stored."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models import Fact, NewFact, Permanence, Validity
from memory_butler.store.database import Row, Session
from memory_butler.store.recordsets import recordset

CHAIN_EACH_WAY = 100


def as_fact(row: Row) -> Fact:
    row.pop("content_hash")
    return Fact(**{**row, "validity": Validity(row["validity"]), "permanence": Permanence(row["permanence"])})


async def find_known(session: Session, new: NewFact, *, subject: str, predicate: str, digest: bytes) -> Fact | None:
    """The live fact of the same property or, for an event, the live record of the same occurrence."""
    if new.valid_at is None:
        row = await session.one("facts.find_live_property", scope=new.scope, subject=subject, predicate=predicate)
    else:
        row = await session.one(
            "facts.find_live_occurrence",
            scope=new.scope,
            subject=subject,
            predicate=predicate,
            valid_at=new.valid_at,
            content_hash=digest,
        )
    return as_fact(row) if row else None


def as_row(new: NewFact, **given: Any) -> Row:
    """A new fact with what else its row holds."""
    return {
        "subject_label": new.subject,
        "predicate_label": new.predicate,
        "content": new.content,
        "scope": new.scope,
        "importance": new.importance,
        "tags": new.tags,
        "permanence": new.permanence,
        "valid_at": new.valid_at,
        "metadata": new.metadata,
        **given,
    }


async def insert(session: Session, rows: Sequence[Row]) -> None:
    await session.send("facts.insert", facts=recordset(rows))


async def set_validity(session: Session, fact_id: UUID, validity: Validity) -> None:
    await session.send("facts.set_validity", id=fact_id, validity=validity)


async def supersede(session: Session, ids: Sequence[UUID]) -> None:
    await session.send("facts.supersede", ids=list(ids))


async def confirm(session: Session, ids: Sequence[UUID], now: datetime) -> None:
    await session.send("facts.confirm", ids=list(ids), now=now)


async def restore(session: Session, fact_id: UUID, now: datetime) -> None:
    await session.send("facts.restore", id=fact_id, now=now)


async def set_pinned(session: Session, fact_id: UUID, pinned: bool) -> None:
    await session.send("facts.set_pinned", id=fact_id, pinned=pinned)


async def find_occupant(session: Session, fact_id: UUID) -> Fact | None:
    """The live fact that stands where this one would stand if it were live."""
    row = await session.one("facts.find_occupant", id=fact_id)
    return as_fact(row) if row else None


async def get(session: Session, memory_id: UUID | None, ref: str | None) -> Fact | None:
    row = await session.one("facts.get", id=memory_id, ref=ref)
    return as_fact(row) if row else None


async def chain(session: Session, fact_id: UUID) -> list[Fact]:
    return [as_fact(row) for row in await session.all("facts.chain", id=fact_id, each_way=CHAIN_EACH_WAY)]
