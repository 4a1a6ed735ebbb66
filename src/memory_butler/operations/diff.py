"""The diff of a run: what it adds, changes, confirms and leaves out, each beside what was there before."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.models import GLOBAL_SCOPE, Caller, ItemKind, Line
from memory_butler.policy.admission import normal_name
from memory_butler.store import consolidation
from memory_butler.store.consolidation import KnownFact
from memory_butler.store.database import Row, Session

UNDECIDED = ("proposed", "approved")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """One item of a proposal, in full: what it says and of what, what stood there before, and what became of it."""

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
    """What the lines name, by id and by reference."""

    rows: dict[str, Row] = field(default_factory=dict)
    holding: dict[tuple[str, str], KnownFact] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        self.rows[str(row["id"])] = self.rows[row["ref"]] = row

    def get(self, handle: str | None) -> Row | None:
        return self.rows.get(_bare(handle)) if handle else None

    def name(self, handle: str) -> str:
        """The short reference, or what was given where nothing of it is left."""
        row = self.get(handle)
        return f"{row['type']}:{row['ref']}" if row else handle


async def diff(butler: Butler, caller: Caller, whose: str, lines: Iterable[Line]) -> tuple[DiffLine, ...]:
    """The lines of a run of the butler `whose`, with the words of what they speak of.

    Only what that butler may see is looked up: a proposal that names somebody else's memory learns nothing of it.
    """
    lines = tuple(lines)
    named = {_bare(handle) for line in lines for handle in _handles(line)}
    memories = _Memories()
    if named:
        async with butler.database.read(caller.principal.tenant) as session:
            for row in await consolidation.named(session, whose, *_ids_and_refs(named)):
                memories.add(row)
            memories.holding = await _holding(session, whose, lines)
    return tuple(_told(line, memories) for line in lines)


async def _holding(session: Session, whose: str, lines: Iterable[Line]) -> dict[tuple[str, str], KnownFact]:
    """What stands now where proposed facts would go."""
    places = [place for line in lines if (place := _place(line))]
    if not places:
        return {}
    near = {(subject, predicate.partition(":")[0]) for subject, predicate in places}
    exact = {predicate for _, predicate in places}
    found = await consolidation.alike(session, near, exact, (whose, GLOBAL_SCOPE))
    return {(one.subject, one.predicate): one for one in reversed(found) if one.valid_at is None}


def _place(line: Line) -> tuple[str, str] | None:
    """The property that a fact on which somebody has yet to decide would be the value of."""
    subject, predicate = _text(line, "subject"), _text(line, "predicate")
    if line.kind != ItemKind.FACT or line.outcome not in UNDECIDED or _text(line, "valid_at"):
        return None
    return (normal_name(subject), normal_name(predicate)) if subject and predicate else None


def _told(line: Line, memories: _Memories) -> DiffLine:
    kept = memories.get(line.memory)
    about = memories.get(_text(line, "target")) or kept or {}
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


def _old(line: Line, memories: _Memories) -> Mapping[str, Any]:
    """What an item took the place of, or would."""
    if line.outcome == "superseded":
        kept = memories.get(line.memory)
        if kept and kept["old_ref"]:
            return {"ref": kept["old_ref"], "content": kept["old_content"]}
        return memories.get(line.replaced) or {}
    if line.outcome in UNDECIDED and line.kind == ItemKind.UPDATE:
        return memories.get(_text(line, "target")) or {}
    place = _place(line)
    holds = memories.holding.get(place) if place else None
    return {"ref": holds.ref, "content": holds.content} if holds else {}


def _ref(line: Line, memories: _Memories) -> str | None:
    if line.memory:
        return memories.name(line.memory)
    target = _text(line, "target")
    return memories.name(target) if target else None


def _text(line: Line, name: str) -> str | None:
    """What a refused item has there may be anything; only text is shown."""
    value = line.shown.get(name)
    return value if isinstance(value, str) and value else None


def _evidence(line: Line) -> list[str]:
    given = line.shown.get("evidence")
    return [one for one in given if isinstance(one, str)] if isinstance(given, list) else []


def _handles(line: Line) -> list[str]:
    return [one for one in (line.memory, line.replaced, _text(line, "target"), *_evidence(line)) if one]


def _bare(handle: str) -> str:
    """A handle without its type: `fact:k3f7` and `k3f7` name the same."""
    return handle.rpartition(":")[2]


def _ids_and_refs(named: Iterable[str]) -> tuple[list[UUID], list[str]]:
    ids, refs = [], []
    for one in named:
        try:
            ids.append(UUID(one))
        except ValueError:
            refs.append(one)
    return ids, refs
