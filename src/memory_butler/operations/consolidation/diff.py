"""Diff of a run: the items that it adds, changes, confirms and refuses, each beside the previous content."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from memory_butler.english.text.normalize import normal_name
from memory_butler.models import GLOBAL_SCOPE, Caller, ItemKind, ItemResult
from memory_butler.resources import Resources, on_replica
from memory_butler.store.consolidation import runs
from memory_butler.store.consolidation.runs import KnownFact
from memory_butler.store.gate.database import Row, Transaction

UNDECIDED = ("proposed", "approved")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """One item of a proposal with its content, the content it replaces, and its outcome."""

    place: int
    kind: str
    outcome: str
    ref: str | None = None
    subject: str | None = None
    predicate: str | None = None
    content: str | None = None
    valid_at: str | None = None
    replaced: str | None = None
    old_content: str | None = None
    evidence: tuple[str, ...] = ()
    reason: str | None = None
    said: str | None = None


@dataclass(slots=True)
class _Memories:
    """The memories that the items name, by id and by reference; `current` holds live facts by property."""

    rows: dict[str, Row] = field(default_factory=dict)
    current: dict[tuple[str, str], KnownFact] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        self.rows[str(row["id"])] = self.rows[row["ref"]] = row

    def get(self, handle: str | None) -> Row | None:
        return self.rows.get(_bare(handle)) if handle else None

    def name(self, handle: str) -> str:
        """Returns the short reference, or the handle itself if the memory no longer exists."""
        row = self.get(handle)
        return f"{row['type']}:{row['ref']}" if row else handle


@on_replica
async def diff(resources: Resources, caller: Caller, butler: str, lines: Iterable[ItemResult]) -> tuple[DiffLine, ...]:
    """Returns the items of a run with the content of the memories they name.

    Only memories that the run's butler may see are loaded, so that a proposal cannot reveal those of another butler.
    """
    lines = tuple(lines)
    named = {_bare(handle) for line in lines for handle in _handles(line)}
    memories = _Memories()
    if named:
        async with resources.database.read(caller.principal.tenant) as transaction:
            for row in await runs.named(transaction, butler, *_ids_and_refs(named)):
                memories.add(row)
            memories.current = await _current_facts(transaction, butler, lines)
    return tuple(_diff_line(line, memories) for line in lines)


async def _current_facts(
    transaction: Transaction, butler: str, lines: Iterable[ItemResult]
) -> dict[tuple[str, str], KnownFact]:
    """Returns the live facts that undecided proposed facts would replace, by subject and predicate."""
    places = [place for line in lines if (place := _place(line))]
    if not places:
        return {}
    near = {(subject, predicate.partition(":")[0]) for subject, predicate in places}
    exact = {predicate for _, predicate in places}
    known = await runs.alike(transaction, near, exact, (butler, GLOBAL_SCOPE))
    return {(one.subject, one.predicate): one for one in reversed(known) if one.valid_at is None}


def _place(line: ItemResult) -> tuple[str, str] | None:
    """Returns the subject and predicate of an undecided property fact."""
    subject, predicate = _text(line, "subject"), _text(line, "predicate")
    if line.kind != ItemKind.FACT or line.outcome not in UNDECIDED or _text(line, "valid_at"):
        return None
    return (normal_name(subject), normal_name(predicate)) if subject and predicate else None


def _diff_line(line: ItemResult, memories: _Memories) -> DiffLine:
    written = memories.get(line.memory)
    about = memories.get(_text(line, "target")) or written or {}
    old = _old(line, memories)
    return DiffLine(
        place=line.place,
        kind=line.kind,
        outcome=line.outcome,
        ref=_ref(line, memories),
        subject=_text(line, "subject") or about.get("subject"),
        predicate=_text(line, "predicate") or about.get("predicate"),
        content=_text(line, "content") or about.get("content"),
        valid_at=_text(line, "valid_at"),
        replaced=f"fact:{old['ref']}" if old else line.replaced,
        old_content=old.get("content"),
        evidence=tuple(memories.name(one) for one in _evidence(line)),
        reason=line.reason,
        said=line.said,
    )


def _old(line: ItemResult, memories: _Memories) -> Mapping[str, Any]:
    """Returns the memory that an item replaced or would replace."""
    if line.outcome == "superseded":
        written = memories.get(line.memory)
        if written and written["old_ref"]:
            return {"ref": written["old_ref"], "content": written["old_content"]}
        return memories.get(line.replaced) or {}
    if line.outcome in UNDECIDED and line.kind == ItemKind.UPDATE:
        return memories.get(_text(line, "target")) or {}
    place = _place(line)
    current = memories.current.get(place) if place else None
    return {"ref": current.ref, "content": current.content} if current else {}


def _ref(line: ItemResult, memories: _Memories) -> str | None:
    if line.memory:
        return memories.name(line.memory)
    target = _text(line, "target")
    return memories.name(target) if target else None


def _text(line: ItemResult, name: str) -> str | None:
    """Returns a text field of an item. A refused item may hold any JSON value; anything but text is ignored."""
    value = line.shown.get(name)
    return value if isinstance(value, str) and value else None


def _evidence(line: ItemResult) -> list[str]:
    evidence = line.shown.get("evidence")
    return [one for one in evidence if isinstance(one, str)] if isinstance(evidence, list) else []


def _handles(line: ItemResult) -> list[str]:
    return [one for one in (line.memory, line.replaced, _text(line, "target"), *_evidence(line)) if one]


def _bare(handle: str) -> str:
    """Returns a handle without its type: `k3f7` for `fact:k3f7`."""
    return handle.rpartition(":")[2]


def _ids_and_refs(named: Iterable[str]) -> tuple[list[UUID], list[str]]:
    ids, refs = [], []
    for one in named:
        try:
            ids.append(UUID(one))
        except ValueError:
            refs.append(one)
    return ids, refs
