"""Memories as rows of a list: what is shown of each. Words that steer how text runs are shown as what they are."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from memory_butler.adapters.dashboard.acting import Action
from memory_butler.adapters.dashboard.elements import text_of
from memory_butler.adapters.dashboard.places import memory_path
from memory_butler.adapters.dashboard.saying import short_of, state_of
from memory_butler.models import (
    ConsolidationStatus,
    Episode,
    Fact,
    Maturity,
    Memory,
    MemoryType,
    Permanence,
    Portrait,
    Rule,
    Validity,
)
from memory_butler.models.listings import Listed, Sort
from memory_butler.policy.confidence import FADING_BELOW
from memory_butler.policy.wording import spoken

Row = dict[str, Any]
WORDS = 420
TAGS = 6

_MATURITY = {
    Maturity.CANDIDATE: "info",
    Maturity.ESTABLISHED: "good",
    Maturity.PROVEN: "good",
    Maturity.ANTI_PATTERN: "bad",
}
_CONSOLIDATION = {
    ConsolidationStatus.PENDING: ("waiting", "info", "Waits to be distilled"),
    ConsolidationStatus.CONSOLIDATED: ("distilled", "good", "Facts and rules were distilled from it"),
    ConsolidationStatus.FAILED: ("given up", "bad", "It cannot be distilled"),
    ConsolidationStatus.DEAD_LETTER: ("given up", "bad", "It was tried too often"),
}
IN_REVIEW = ("in review", "warn", "What was distilled from it awaits a decision")
# Beside its words, what a row of each type shows, and by what it can be sorted there.
COLUMNS: dict[MemoryType, tuple[tuple[str, str, Sort | None], ...]] = {
    MemoryType.FACT: (
        ("confidence", "Confidence", Sort.CONFIDENCE),
        ("importance", "Importance", Sort.IMPORTANCE),
        ("happened", "Happened", Sort.OBSERVED),
        ("stored", "Stored", Sort.CREATED),
        ("used", "Last used", Sort.LAST_REFERENCED),
    ),
    MemoryType.RULE: (
        ("record", "Helped / harmed", None),
        ("confidence", "Confidence", Sort.CONFIDENCE),
        ("stored", "Stored", Sort.CREATED),
        ("used", "Last used", Sort.LAST_REFERENCED),
    ),
    MemoryType.EPISODE: (
        ("importance", "Importance", Sort.IMPORTANCE),
        ("happened", "Happened", Sort.OBSERVED),
        ("stored", "Stored", Sort.CREATED),
        ("used", "Last used", Sort.LAST_REFERENCED),
    ),
}


def columns_of(kind: MemoryType) -> list[Row]:
    return [{"name": name, "label": label, "sort": sort and str(sort)} for name, label, sort in COLUMNS[kind]]


def row_of(listed: Listed, actions: Iterable[Action], *, is_changed: bool = False, in_review: str | None = None) -> Row:
    """What the list shows of a memory. `in_review` is the address of the proposal that an episode is part of, empty
    for whoever may not look at it."""
    memory = listed.memory
    return {
        "id": str(memory.id),
        "ref": f"{memory.type}:{memory.ref}",
        "href": memory_path(memory.type, memory.ref),
        "words": short_of(memory.content, WORDS),
        "chips": [
            {"text": text, "kind": kind, "title": title, "href": (in_review or "") if text == IN_REVIEW[0] else ""}
            for text, kind, title in _chips(memory, is_in_review=in_review is not None)
        ],
        "tags": [{"value": tag, "text": text_of(tag)} for tag in memory.tags[:TAGS]],
        "more_tags": max(0, len(memory.tags) - TAGS),
        "stored": _iso(memory.created_at),
        "used": _iso(memory.last_referenced_at),
        "actions": [action.name for action in actions],
        "is_out": memory.validity not in (Validity.ACTIVE, Validity.FADING),
        "is_changed": is_changed,
        **_own(listed),
    }


def listed_of(found: Portrait) -> Listed:
    """One memory as a list has it."""
    return Listed(memory=found.memory, tier=found.tier, effective_confidence=found.effective_confidence)


def _own(listed: Listed) -> Row:
    """What only its type has."""
    memory = listed.memory
    if isinstance(memory, Episode):
        return {
            "owner": {"name": "butler", "value": memory.butler, "text": text_of(memory.butler)},
            "importance": memory.importance,
            "happened": _iso(memory.observed_at),
        }
    common = {
        "owner": {"name": "scope", "value": memory.scope, "text": text_of(memory.scope)},
        "by": text_of(memory.source_butler),
        "confidence": round(listed.effective_confidence * 100),
        "is_low": listed.effective_confidence < FADING_BELOW,
    }
    if isinstance(memory, Rule):
        return {**common, "helped": memory.success_count, "harmed": memory.harmful_count}
    return {
        **common,
        "about": [
            {"name": "subject", "value": memory.subject_label, "text": text_of(spoken(memory.subject_label))},
            {"name": "predicate", "value": memory.predicate_label, "text": text_of(spoken(memory.predicate_label))},
        ],
        "importance": memory.importance,
        "happened": _iso(memory.valid_at or memory.created_at),
    }


def _chips(memory: Memory, *, is_in_review: bool) -> Iterable[tuple[str, str, str]]:
    if memory.validity is not Validity.ACTIVE:
        yield state_of(memory.validity), str(memory.validity), "State"
    if memory.pinned:
        yield "pinned", "good", "Pinned: it does not fade"
    if isinstance(memory, Fact) and memory.permanence is not Permanence.STANDARD:
        yield str(memory.permanence), "", "How slowly it fades"
    if isinstance(memory, Rule):
        is_warning = memory.maturity is Maturity.ANTI_PATTERN
        yield "warning" if is_warning else str(memory.maturity), _MATURITY[Maturity(memory.maturity)], "Maturity"
    if isinstance(memory, Episode):
        yield IN_REVIEW if is_in_review else _CONSOLIDATION[ConsolidationStatus(memory.consolidation_status)]


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
