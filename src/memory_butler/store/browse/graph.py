"""Links of memories and subjects, with the first words of the linked memories."""

from collections.abc import Sequence
from dataclasses import fields
from uuid import UUID

from memory_butler.models import Link
from memory_butler.models.graph import LinkedNode, MapMemory, Node, NodeKind, Subject
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.memories.links import as_link

CHARACTERS = 600
MAP_CHARACTERS = 120
_LINK = tuple(field.name for field in fields(Link))


async def links(
    transaction: Transaction, ids: Sequence[UUID], eyes: str | None, each: int
) -> dict[UUID, list[LinkedNode]]:
    """The newest links of each memory whose other end a butler may see; all of them if `butler` is None."""
    found: dict[UUID, list[LinkedNode]] = {one: [] for one in ids}
    if ids:
        rows = await transaction.all("graph.links", ids=list(found), eyes=eyes, each=each, characters=CHARACTERS)
        for row in rows:
            found[row["one_id"]].append(_joined(row))
    return found


async def facts(
    transaction: Transaction, subjects: Sequence[str], scopes: Sequence[str] | None, each: int
) -> list[Node]:
    """Facts of each subject, those in use first."""
    rows = await transaction.all(
        "graph.facts", subjects=list(subjects), scopes=scopes, each=each, characters=CHARACTERS
    )
    return [Node(kind=NodeKind.FACT, **row | {"content": _beginning(row["content"])}) for row in rows]


async def subjects(
    transaction: Transaction, words: str | None, scopes: Sequence[str] | None, limit: int
) -> list[Subject]:
    """The subjects with the most facts in use."""
    rows = await transaction.all("graph.subjects", words=words, scopes=scopes, limit=limit)
    return [Subject(**row) for row in rows]


async def map_memories(
    transaction: Transaction,
    subjects: Sequence[str],
    scopes: Sequence[str] | None,
    *,
    each: int,
    limit: int,
    rules: int,
) -> list[MapMemory]:
    """The most important facts of these subjects, and the newest rules."""
    common = {"scopes": scopes, "characters": MAP_CHARACTERS}
    facts = await transaction.send("graph.map_facts", subjects=list(subjects), each=each, limit=limit, **common)
    newest = await transaction.send("graph.map_rules", limit=rules, **common)
    rows = [*await facts.fetchall(), *await newest.fetchall()]
    return [
        MapMemory(**row | {"kind": NodeKind(row["kind"]), "content": row["content"][:MAP_CHARACTERS]}) for row in rows
    ]


async def map_totals(transaction: Transaction, scopes: Sequence[str] | None) -> Row:
    return await transaction.row("graph.map_totals", scopes=scopes)


async def map_aliases(transaction: Transaction, subjects: Sequence[str]) -> dict[str, str]:
    """Subjects by their other names."""
    rows = await transaction.all("graph.map_aliases", subjects=list(subjects))
    return {row["alias"]: row["subject"] for row in rows}


def _beginning(text: str | None) -> str | None:
    """An encrypted text comes whole."""
    return None if text is None else text[:CHARACTERS]


def _joined(row: Row) -> LinkedNode:
    link = as_link({name: row[name] for name in _LINK})
    other = Node(
        kind=NodeKind(row["other_type"]),
        id=row["other_id"],
        ref=row["other_ref"],
        content=_beginning(row["other_content"]),
        **{name: row[name] for name in ("subject", "subject_label", "predicate_label", "validity", "at")},
    )
    return LinkedNode(link=link, other=other)
