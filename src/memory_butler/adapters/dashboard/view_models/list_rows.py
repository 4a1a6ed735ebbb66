"""Memories as rows of the list pages."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from memory_butler import models
from memory_butler.adapters.dashboard.actions.memory_actions import Action
from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.server.routes import memory_path
from memory_butler.adapters.dashboard.view_models.phrases import state_of, truncate
from memory_butler.english.text.normalize import as_words
from memory_butler.models.listings import ListedMemory, Sort
from memory_butler.operations.browse.listings import SORTS, SORTS_OF_ALL
from memory_butler.policy.memories.sentence import property_words
from memory_butler.policy.memories.text import is_note
from memory_butler.policy.retrieval.highlight import highlighted
from memory_butler.policy.trust.origin import mark

Row = dict[str, Any]
MAX_CHARACTERS = 420
MAX_TAGS = 6

_MATURITY = {
    models.Maturity.CANDIDATE: "info",
    models.Maturity.ESTABLISHED: "good",
    models.Maturity.PROVEN: "good",
    models.Maturity.ANTI_PATTERN: "bad",
}
_CONSOLIDATION = {
    models.ConsolidationStatus.PENDING: ("waiting", "info", "Waiting for consolidation"),
    models.ConsolidationStatus.CONSOLIDATED: ("processed", "good", "Consolidation has processed it"),
    models.ConsolidationStatus.FAILED: ("failed", "bad", "It cannot be processed"),
    models.ConsolidationStatus.DEAD_LETTER: ("failed", "bad", "All attempts to process it failed"),
}
IN_REVIEW = ("in review", "warn", "Facts and rules from it are waiting for review")
# Label and sort order of each column.
_COLUMNS: dict[str, tuple[str, Sort | None]] = {
    "scope": ("Scope", None),
    "tags": ("Tags", None),
    "record": ("Helpful / harmful", None),
    "confidence": ("Confidence", Sort.CONFIDENCE),
    "importance": ("Importance", Sort.IMPORTANCE),
    "happened": ("Happened", Sort.OBSERVED),
    "stored": ("Stored", Sort.CREATED),
    "used": ("Last used", Sort.LAST_REFERENCED),
}
# The columns of each type beside the text. The viewer chooses among them; those of HIDDEN are off at first.
COLUMNS_OF: dict[models.MemoryType | None, tuple[str, ...]] = {
    None: ("tags", "scope", "confidence", "importance", "stored", "used"),
    models.MemoryType.FACT: ("tags", "scope", "confidence", "importance", "happened", "stored", "used"),
    models.MemoryType.RULE: ("tags", "scope", "record", "confidence", "stored", "used"),
    models.MemoryType.EPISODE: ("tags", "scope", "importance", "happened", "stored", "used"),
}
HIDDEN = ("happened", "used")


def columns_of(kind: models.MemoryType | None) -> list[Row]:
    sorts = SORTS[kind] if kind else SORTS_OF_ALL
    columns = {name: _COLUMNS[name] for name in COLUMNS_OF[kind]}
    return [
        {
            "name": name,
            "label": "Butler" if (kind, name) == (models.MemoryType.EPISODE, "scope") else label,
            "sort": str(sort) if sort in sorts else None,
            "is_shown": name not in HIDDEN,
        }
        for name, (label, sort) in columns.items()
    ]


def memory_row(
    listed: ListedMemory,
    actions: Iterable[Action],
    *,
    fading_below: float,
    is_changed: bool = False,
    in_review: str | None = None,
    query: str = "",
) -> Row:
    """The row of a memory. `in_review` is the URL of the run under review that an episode belongs to, empty for users
    who may not open it."""
    memory = listed.memory
    return {
        "id": str(memory.id),
        "ref": f"{memory.type}:{memory.ref}",
        "type": str(memory.type),
        "href": memory_path(memory.type, memory.ref),
        "text": truncate(memory.content, MAX_CHARACTERS),
        "pieces": _pieces(truncate(memory.content, MAX_CHARACTERS), query),
        "pinned": memory.pinned,
        "chips": [
            {"text": text, "kind": kind, "title": title, "href": (in_review or "") if text == IN_REVIEW[0] else ""}
            for text, kind, title in _chips(memory, is_in_review=in_review is not None)
        ],
        "tags": [{"value": tag, "text": visible_text(tag)} for tag in memory.tags[:MAX_TAGS]],
        "more_tags": max(0, len(memory.tags) - MAX_TAGS),
        "stored": _iso(memory.created_at),
        "used": _iso(memory.last_referenced_at),
        "actions": [action.name for action in actions],
        "is_inactive": memory.validity not in (models.Validity.ACTIVE, models.Validity.FADING),
        "is_changed": is_changed,
        **_type_fields(listed, fading_below, query),
    }


def _pieces(text: str, query: str) -> list[list[bool | str]]:
    """Text in pieces, marked where the search asked for them; none without a search."""
    return [[is_marked, piece] for is_marked, piece in highlighted(text, query)] if query else []


def listed_from(portrait: models.MemoryDetails) -> ListedMemory:
    return ListedMemory(memory=portrait.memory, tier=portrait.tier, effective_confidence=portrait.effective_confidence)


def _type_fields(listed: ListedMemory, fading_below: float, query: str) -> Row:
    memory = listed.memory
    if isinstance(memory, models.Episode):
        return {
            "owner": {"name": "butler", "value": memory.butler, "text": visible_text(memory.butler)},
            "importance": memory.importance,
            "happened": _iso(memory.observed_at),
        }
    common = {
        "owner": {"name": "scope", "value": memory.scope, "text": visible_text(memory.scope)},
        "by": visible_text(memory.source_butler),
        "confidence": round(listed.effective_confidence * 100),
        "is_low": listed.effective_confidence < fading_below,
    }
    if isinstance(memory, models.Rule):
        return {**common, "helped": memory.success_count, "harmed": memory.harmful_count}
    return {
        **common,
        "about": [
            {
                "name": name,
                "value": label,
                "text": visible_text(words),
                "pieces": _pieces(visible_text(words), query),
            }
            for name, label, words in (
                ("subject", memory.subject_label, as_words(memory.subject_label)),
                ("predicate", memory.predicate_label, property_words(memory.predicate_label, memory.content)),
            )
            # The predicate of a note is a hash.
            if name == "subject" or not is_note(label)
        ],
        "importance": memory.importance,
        "happened": _iso(memory.valid_at or memory.created_at),
    }


def _chips(memory: models.Memory, *, is_in_review: bool) -> Iterable[tuple[str, str, str]]:
    if memory.validity is not models.Validity.ACTIVE:
        yield *state_of(memory), "State"
    if marked := mark(memory.origin):
        yield "unverified", "warn", f"Origin: {marked}"
    if memory.pinned:
        yield "pinned", "", "Pinned: it does not decay"
    if isinstance(memory, models.Fact) and memory.permanence is not models.Permanence.STANDARD:
        yield str(memory.permanence), "", "Permanence: how slowly it decays"
    if isinstance(memory, models.Rule):
        is_warning = memory.maturity is models.Maturity.ANTI_PATTERN
        yield "warning" if is_warning else str(memory.maturity), _MATURITY[models.Maturity(memory.maturity)], "Maturity"
    if isinstance(memory, models.Episode):
        yield IN_REVIEW if is_in_review else _CONSOLIDATION[models.ConsolidationStatus(memory.consolidation_status)]


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
