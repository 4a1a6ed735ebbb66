"""Details, sources, versions and history of one memory, for its page."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from memory_butler import models
from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.components.vue_components import Group
from memory_butler.adapters.dashboard.server.routes import memory_path
from memory_butler.adapters.dashboard.view_models.phrases import (
    origin_text,
    sentence,
    state_label,
    state_of,
    truncate,
)
from memory_butler.adapters.dashboard.view_models.word_diff import differences
from memory_butler.models.explanation import Explanation, Term
from memory_butler.models.graph import LinkedNode, MemoryLinks, Node
from memory_butler.policy.history.undo import EXEMPT_ACTION
from memory_butler.policy.memories.sentence import fact_sentence, memory_sentence
from memory_butler.policy.trust.origin import mark
from memory_butler.policy.trust.reasons import describe_reason

_DAY = re.compile(r"(\d{4}-\d\d-\d\d)")
HEADING_CHARACTERS = 90
OUT, IN = "out", "in"
RELATIONS: dict[tuple[models.Relation, str], str] = {
    (models.Relation.DERIVED_FROM, OUT): "Learned from",
    (models.Relation.SUPPORTS, IN): "Supported by",
    (models.Relation.CONTRADICTS, IN): "Contradicted by",
    (models.Relation.SUPPORTS, OUT): "Supports",
    (models.Relation.CONTRADICTS, OUT): "Contradicts",
    (models.Relation.SUPERSEDES, OUT): "Replaces",
    (models.Relation.SUPERSEDES, IN): "Replaced by",
    (models.Relation.DERIVED_FROM, IN): "Led to",
    (models.Relation.RELATED_TO, OUT): "Related to",
    (models.Relation.RELATED_TO, IN): "Related to",
}
DELETED = {
    "expired": "The episode has expired and was deleted. What was learned from it, if anything, is kept.",
    "unknown": "Expired and deleted.",
}
TIERS = {"eden": "Eden: recent episodes", "mid": "Mid-term", "long": "Long-term"}
TERMS = {
    "fit": "match with the question, relative to the other candidates",
    "importance": "stored importance",
    "recency": "time since it was last used",
    "confidence": "current confidence",
}
CONSOLIDATION = "Consolidation"
MAX_QUERY_CHARACTERS = 600
MIN_CONTRIBUTION = 0.0005


@dataclass(frozen=True, slots=True)
class Detail:
    """A named value; `at` is shown in the viewer's time zone."""

    name: str
    text: str = ""
    at: datetime | None = None
    href: str = ""


def owner_of(memory: models.Memory) -> str | None:
    """The only butler that sees a memory; None if all do."""
    if isinstance(memory, models.Episode):
        return memory.butler
    return None if memory.scope == models.GLOBAL_SCOPE else memory.scope


def chips(portrait: models.MemoryDetails) -> list[tuple[str, str]]:
    """Type and state, each with its colour."""
    memory = portrait.memory
    labels = [(str(memory.type), str(memory.type)), state_of(memory)]
    if isinstance(memory, models.Rule):
        is_warning = memory.maturity == "anti_pattern"
        labels.append(("warning" if is_warning else str(memory.maturity), "bad" if is_warning else "info"))
    if memory.pinned:
        labels.append(("pinned", "warn"))
    if mark(memory.origin):
        labels.append(("unverified", "warn"))
    return labels


def details(portrait: models.MemoryDetails, in_review: str | None = None) -> list[Detail]:
    """All values of a memory except its text; empty ones are omitted. `in_review` is the URL of the run under review
    that an episode belongs to, empty for users who may not open it."""
    lines = [*_common(portrait), *_special(portrait.memory)]
    if in_review is not None:
        reviewed = Detail(CONSOLIDATION, "in review", href=in_review)
        lines = [reviewed if line.name == CONSOLIDATION else line for line in lines]
    return [line for line in lines if line.text or line.at]


def _common(portrait: models.MemoryDetails) -> Iterator[Detail]:
    memory = portrait.memory
    yield Detail("State", state_of(memory)[0])
    if memory.quarantine_reason:
        yield Detail("Reason", visible_text(sentence(describe_reason(memory.quarantine_reason, memory.origin))))
    yield Detail("Origin", origin_text(memory.origin))
    yield Detail("Tier", TIERS.get(portrait.tier, str(portrait.tier)))
    if isinstance(memory, models.Episode):
        yield Detail("Butler", visible_text(memory.butler))
    else:
        yield Detail("Learned by", visible_text(memory.source_butler))
    yield Detail("Aliases", visible_text(", ".join(portrait.aliases)))
    yield Detail("Stored", at=memory.created_at)
    yield Detail("Used", _times_text(memory.reference_count))
    yield Detail("Last used", at=memory.last_referenced_at)


def _special(memory: models.Memory) -> Iterator[Detail]:
    if isinstance(memory, models.Fact):
        yield Detail("Valid from", at=memory.valid_at)
    if isinstance(memory, models.Fact | models.Rule):
        yield Detail("Last confirmed", at=memory.last_confirmed_at)
    if isinstance(memory, models.Rule):
        yield Detail("Maturity", "warning" if memory.maturity == "anti_pattern" else str(memory.maturity))
        yield Detail("Applied", _record_text(memory))
        yield Detail("Last applied", at=memory.last_applied_at)
        yield Detail("Harm reported", visible_text("; ".join(memory.harmful_reasons)))
    if isinstance(memory, models.Episode):
        yield Detail("Agent session", visible_text(memory.session_id or ""))
        yield Detail("Observed", at=memory.observed_at)
        yield Detail(CONSOLIDATION, str(memory.consolidation_status).replace("_", " "))
        yield Detail("Last error", visible_text(memory.last_consolidation_error or ""))
        yield Detail("Kept until", at=None if memory.pinned else memory.expires_at)


def metadata_of(memory: models.Memory) -> str:
    """The metadata as indented JSON; empty if there is none."""
    if not memory.metadata:
        return ""
    return visible_text(json.dumps(memory.metadata, ensure_ascii=False, indent=2, sort_keys=True, default=str))


# --- sources --------------------------------------------------------------------------------------


def evidence(beside: MemoryLinks, portrait: models.MemoryDetails) -> list[Group]:
    """The links of a memory in both directions, grouped by relation, without those that the versions show."""
    versions_shown = {fact.id for fact in portrait.chain}
    groups: dict[str, list[LinkedNode]] = {title: [] for title in RELATIONS.values()}
    for joined in beside.joined:
        if joined.link.relation is models.Relation.SUPERSEDES and joined.other.id in versions_shown:
            continue
        direction = OUT if joined.link.source_id == beside.memory else IN
        groups[RELATIONS[joined.link.relation, direction]].append(joined)
    return [{"title": title, "entries": [_linked(one) for one in links]} for title, links in groups.items() if links]


def _linked(joined: LinkedNode) -> dict[str, Any]:
    deleted = DELETED.get(joined.link.availability)
    entry = spot_entry(joined.other)
    return {
        **entry,
        "key": f"{joined.link.source_id} {joined.link.relation} {joined.link.target_id}",
        "chips": [["expired", "expired"]] if deleted else entry["chips"],
        "note": deleted or "",
    }


def spot_entry(spot: Node) -> dict[str, Any]:
    ref = spot.ref or str(spot.id)
    said = fact_sentence(spot.subject_label, spot.predicate_label, spot.content or "")
    return {
        "key": spot.key,
        "kind": str(spot.kind),
        "ref": f"{spot.kind}:{ref}",
        "href": None if spot.is_gone else memory_path(spot.kind, ref),
        "segments": [["same", visible_text(said)]] if said else [],
        "chips": [] if spot.validity in (None, "active") else [[state_label(spot.validity), spot.validity]],
        "at": spot.at.isoformat() if spot.at else None,
    }


# --- versions -------------------------------------------------------------------------------------


def versions(portrait: models.MemoryDetails) -> list[Group]:
    """All versions of a fact, oldest first, each with its changes."""
    entries = []
    before: models.Fact | None = None
    for fact in portrait.chain:
        segments = differences(before.content, fact.content) if before else [("same", fact.content)]
        entries.append(
            {
                "key": fact.ref,
                "kind": "fact",
                "href": memory_path(models.MemoryType.FACT, fact.ref),
                "ref": f"fact:{fact.ref}",
                "current": fact.id == portrait.memory.id,
                "segments": [[kind, visible_text(text)] for kind, text in segments],
                "chips": [[state_label(fact.validity), str(fact.validity)]],
                "at": fact.created_at.isoformat(),
                "by": visible_text(f"learned by {fact.source_butler}"),
            }
        )
        before = fact
    return [{"title": "", "entries": entries}] if entries else []


def replacement(portrait: models.MemoryDetails) -> models.Fact | None:
    """The newest version, if this one is superseded."""
    newest = portrait.chain[-1] if portrait.chain and portrait.memory.validity is models.Validity.SUPERSEDED else None
    return newest if newest and newest.id != portrait.memory.id else None


# --- history --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Undoable:
    """The event that can be undone now, the id to undo it with, and the number of changes undone together."""

    event_id: UUID
    undo_id: UUID
    changes: int = 1


def history(lines: Sequence[models.HistoryLine], undoable: Undoable | None) -> list[Group]:
    """The events of a memory, newest first; undone ones are struck through."""
    entries = [
        {
            "key": str(line.event.id),
            "kind": line.event.event_type,
            "segments": [["same", visible_text(line.words)]],
            "at": line.event.occurred_at.isoformat(),
            "by": visible_text(line.event.actor),
            "undone": line.undone,
            "chips": [["undone", "superseded"]] if line.undone else [],
            "actions": _undo_actions(undoable) if undoable and line.event.id == undoable.event_id else [],
        }
        for line in reversed(lines)
    ]
    return [{"title": "", "entries": entries}]


def newest_event(lines: Sequence[models.HistoryLine]) -> models.HistoryLine | None:
    """The newest event that is not undone: the only one that can be undone alone."""
    changes = (line for line in reversed(lines) if not line.event.event_type.endswith(f".{EXEMPT_ACTION}"))
    return next((line for line in changes if not line.undone), None)


def _undo_actions(undoable: Undoable) -> list[dict[str, str]]:
    title = f"Undo {undoable.changes} changes made together" if undoable.changes > 1 else "Undo this change"
    return [{"name": "undo", "label": "Undo", "title": title}]


# --- retrieval test -------------------------------------------------------------------------------


def score_rows(explanation: Explanation) -> list[list[str]]:
    """The terms of the score: meaning, value, weight and contribution of each."""
    return [_row(term, TERMS.get(term.name, "")) for term in explanation.scoring.terms] if explanation.scoring else []


def signal_rows(explanation: Explanation) -> list[list[str]]:
    """The reranker's signals, strongest first, without negligible ones."""
    signals = explanation.second_look.signals if explanation.second_look else ()
    significant = [term for term in signals if abs(term.contribution) >= MIN_CONTRIBUTION]
    return [_row(term, "") for term in sorted(significant, key=lambda term: -abs(term.contribution))]


def _row(term: Term, meaning: str) -> list[str]:
    name = term.name.replace("_", " ").capitalize()
    return [name, meaning, f"{term.value:.3f}", f"{term.weight:g}", f"{term.contribution:+.3f}"]


def _times_text(count: int) -> str:
    return "never" if not count else "once" if count == 1 else f"{count:,} times"


def _record_text(rule: models.Rule) -> str:
    if not rule.applied_count:
        return "never"
    share = f", {rule.effectiveness_score:.0%} effective" if rule.effectiveness_score is not None else ""
    return f"{_times_text(rule.applied_count)}: {rule.success_count} helpful, {rule.harmful_count} harmful{share}"


def query_from(query: Mapping[str, str]) -> str:
    return query.get("q", "").strip()[:MAX_QUERY_CHARACTERS]


def forecast(portrait: models.MemoryDetails) -> list[tuple[str, datetime | None]]:
    """The outlook of the memory, in pieces: words, and days that the browser writes in its own format."""
    pieces = _DAY.split(visible_text(portrait.outlook))
    return [
        ("", datetime.fromisoformat(piece).replace(hour=12, tzinfo=UTC)) if index % 2 else (piece, None)
        for index, piece in enumerate(pieces)
        if piece
    ]


def heading_of(memory: models.Memory) -> str:
    """The memory as the title of its page: a fact as a sentence, the first words of others."""
    return truncate(memory_sentence(memory).partition("\n")[0], HEADING_CHARACTERS)


def is_told(memory: models.Memory) -> bool:
    """True if the title says all of it."""
    return heading_of(memory) == visible_text(memory_sentence(memory))
