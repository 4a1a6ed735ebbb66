"""Statements that facts, rules and episodes share."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.models import Memory, MemoryType, NewEpisode, NewFact, NewRule, Validity
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.gate.recordsets import recordset
from memory_butler.store.memories.episodes import as_episode
from memory_butler.store.memories.facts import as_fact
from memory_butler.store.memories.rules import as_rule

_READ: dict[MemoryType, Callable[[Row], Memory]] = {
    MemoryType.FACT: as_fact,
    MemoryType.RULE: as_rule,
    MemoryType.EPISODE: as_episode,
}
_INSERT = {
    MemoryType.FACT: "facts.insert",
    MemoryType.RULE: "rules.insert",
    MemoryType.EPISODE: "episodes.insert",
}
_SET_FIELDS = {
    MemoryType.FACT: "facts.set_fields",
    MemoryType.RULE: "rules.set_fields",
    MemoryType.EPISODE: "episodes.set_fields",
}


def as_memory(kind: MemoryType, row: Row) -> Memory:
    return _READ[kind](row)


def as_row(new: NewFact | NewRule | NewEpisode, **given: Any) -> Row:
    """The row of a new memory: the fields of the request and these columns. The insert ignores fields without one."""
    return {field.name: getattr(new, field.name) for field in fields(new)} | given


async def insert(transaction: Transaction, kind: MemoryType, rows: Sequence[Row]) -> None:
    if transaction.vault:
        rows = [transaction.vault.sealed(row) for row in rows]
    await transaction.send(_INSERT[kind], rows=recordset(rows))


async def set_validity(transaction: Transaction, kind: MemoryType, memory_id: UUID, validity: Validity) -> None:
    await transaction.send(f"memories.set_validity:{kind}", id=memory_id, validity=validity)


async def set_pinned(transaction: Transaction, kind: MemoryType, memory_id: UUID, pinned: bool) -> None:
    await transaction.send(f"memories.set_pinned:{kind}", id=memory_id, pinned=pinned)


async def set_fields(transaction: Transaction, kind: MemoryType, memory_id: UUID, values: Row) -> None:
    """Write the fields of a type that can change in place; None leaves a field as it is."""
    await transaction.send(_SET_FIELDS[kind], id=memory_id, **values)


async def raise_origin(transaction: Transaction, kind: MemoryType, ids: Sequence[UUID], origin: str) -> None:
    await transaction.send(f"memories.raise_origin:{kind}", ids=list(ids), origin=origin)


async def release(transaction: Transaction, kind: MemoryType, memory_id: UUID, origin: str | None) -> None:
    """End the quarantine of a memory, which is still out of use; `origin` is its new one, if it changes."""
    await transaction.send(f"memories.release:{kind}", id=memory_id, origin=origin)


async def hold(transaction: Transaction, kind: MemoryType, memory_id: UUID, reason: str) -> None:
    """Quarantine a memory that is in use."""
    await transaction.send(f"memories.hold:{kind}", id=memory_id, reason=reason)


async def confirm(transaction: Transaction, kind: MemoryType, ids: Sequence[UUID], now: datetime) -> None:
    await transaction.send(f"memories.confirm:{kind}", ids=list(ids), now=now)


async def restore(transaction: Transaction, kind: MemoryType, memory_id: UUID, now: datetime) -> None:
    await transaction.send(f"memories.restore:{kind}", id=memory_id, now=now)


async def get(transaction: Transaction, kind: MemoryType, memory_id: UUID | None, ref: str | None) -> Memory | None:
    row = await transaction.one(f"memories.get:{kind}", id=memory_id, ref=ref)
    return as_memory(kind, row) if row else None
