"""One memory as its page shows it: pure functions from what operations say to what is drawn."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.adapters.dashboard.differences import differences
from memory_butler.adapters.dashboard.elements import text_of
from memory_butler.adapters.dashboard.entries import Group
from memory_butler.adapters.dashboard.places import memory_path
from memory_butler.adapters.dashboard.saying import state_of
from memory_butler.models import (
    GLOBAL_SCOPE,
    Episode,
    Fact,
    Memory,
    MemoryType,
    Portrait,
    Relation,
    Rule,
    StoryLine,
    Validity,
)
from memory_butler.models.explanation import Explanation, Term
from memory_butler.models.neighbourhood import Beside, Joined, Spot
from memory_butler.policy.wording import about_of

OUT, IN = "out", "in"
RELATIONS: dict[tuple[Relation, str], str] = {
    (Relation.DERIVED_FROM, OUT): "It was learned from",
    (Relation.SUPPORTS, IN): "Supported by",
    (Relation.CONTRADICTS, IN): "Contradicted by",
    (Relation.SUPPORTS, OUT): "It supports",
    (Relation.CONTRADICTS, OUT): "It contradicts",
    (Relation.SUPERSEDES, OUT): "It took the place of",
    (Relation.SUPERSEDES, IN): "Its place was taken by",
    (Relation.DERIVED_FROM, IN): "Learned from it",
    (Relation.RELATED_TO, OUT): "Related to",
    (Relation.RELATED_TO, IN): "Related to",
}
GONE = {
    "expired": "Expired: the episode itself was deleted when its time was over; what was learned from it stays.",
    "unknown": "Expired: nothing is known of it any more.",
}
TIERS = {"eden": "Eden: fresh episodes", "mid": "Mid term", "long": "Long term"}
TERMS = {
    "fit": "how well it fits the question, among all that come into question",
    "importance": "how important it is",
    "recency": "how recently it was of use",
    "confidence": "how certain it is by now",
}
CONSOLIDATION = "Consolidation"
WORDS_SHOWN = 600
TINY = 0.0005


@dataclass(frozen=True, slots=True)
class Line:
    """One thing to know at a glance; `at` is a moment, to be told in the viewer's own zone."""

    name: str
    words: str = ""
    at: datetime | None = None
    href: str = ""


def title_of(memory: Memory) -> str:
    """What it is about, in few words."""
    if isinstance(memory, Fact):
        return text_of(about_of(memory.subject_label, memory.predicate_label))
    if isinstance(memory, Episode):
        return text_of(f"Said to {memory.butler}")
    return "How to act"


def owner_of(memory: Memory) -> str | None:
    """The one butler that sees it; none if all do."""
    if isinstance(memory, Episode):
        return memory.butler
    return None if memory.scope == GLOBAL_SCOPE else memory.scope


def chips(portrait: Portrait) -> list[tuple[str, str]]:
    """State, tier and the like: a word with its colour each."""
    memory = portrait.memory
    found = [(str(memory.type), str(memory.type)), (state_of(memory.validity), str(memory.validity))]
    if isinstance(memory, Rule):
        is_warning = memory.maturity == "anti_pattern"
        found.append(("warning" if is_warning else str(memory.maturity), "bad" if is_warning else "info"))
    found.append((f"{portrait.tier} tier", ""))
    if memory.pinned:
        found.append(("pinned", "warn"))
    return found


def glance(portrait: Portrait, in_review: str | None = None) -> list[Line]:
    """What is known of it beside what it says; what there is nothing to say about is left out. `in_review` is the
    address of the proposal that an episode is part of, empty for whoever may not look at it."""
    lines = [*_common(portrait), *_special(portrait.memory)]
    if in_review is not None:
        reviewed = Line(CONSOLIDATION, "in review", href=in_review)
        lines = [reviewed if line.name == CONSOLIDATION else line for line in lines]
    return [line for line in lines if line.words or line.at]


def _common(portrait: Portrait) -> Iterator[Line]:
    memory = portrait.memory
    yield Line("State", state_of(memory.validity))
    yield Line("Tier", TIERS.get(portrait.tier, str(portrait.tier)))
    if isinstance(memory, Episode):
        yield Line("Butler", text_of(memory.butler))
    else:
        everybody = memory.scope == GLOBAL_SCOPE
        yield Line(
            "Scope", "global: every butler sees it" if everybody else text_of(f"{memory.scope}: that butler alone")
        )
        yield Line("Learned by", text_of(memory.source_butler))
    if not isinstance(memory, Rule):
        yield Line("Importance", f"{memory.importance} of 10")
    yield Line("Also called", text_of(", ".join(portrait.aliases)))
    yield Line("Stored", at=memory.created_at)
    yield Line("Used", _times(memory.reference_count))
    yield Line("Last used", at=memory.last_referenced_at)


def _special(memory: Memory) -> Iterator[Line]:
    if isinstance(memory, Fact):
        yield Line("Permanence", str(memory.permanence))
        yield Line("True at", at=memory.valid_at)
    if isinstance(memory, Fact | Rule):
        yield Line("Last confirmed", at=memory.last_confirmed_at)
    if isinstance(memory, Rule):
        yield Line("Maturity", "a warning" if memory.maturity == "anti_pattern" else str(memory.maturity))
        yield Line("Tried", _tried(memory))
        yield Line("Last tried", at=memory.last_applied_at)
        yield Line("Harm it did", text_of("; ".join(memory.harmful_reasons)))
    if isinstance(memory, Episode):
        yield Line("Session", text_of(memory.session_id or ""))
        yield Line("Observed", at=memory.observed_at)
        yield Line(CONSOLIDATION, str(memory.consolidation_status).replace("_", " "))
        yield Line("What went wrong", text_of(memory.last_consolidation_error or ""))
        yield Line("Kept until", at=None if memory.pinned else memory.expires_at)


def metadata_of(memory: Memory) -> str:
    """What was stored with it, as it was given; empty if nothing was."""
    if not memory.metadata:
        return ""
    return text_of(json.dumps(memory.metadata, ensure_ascii=False, indent=2, sort_keys=True, default=str))


# --- where it came from ---------------------------------------------------------------------------


def evidence(beside: Beside, portrait: Portrait) -> list[Group]:
    """The links of a memory, both ways, under what they mean. What its line of wordings shows is not repeated."""
    told = {fact.id for fact in portrait.chain}
    found: dict[str, list[Joined]] = {title: [] for title in RELATIONS.values()}
    for joined in beside.joined:
        if joined.link.relation is Relation.SUPERSEDES and joined.other.id in told:
            continue
        way = OUT if joined.link.source_id == beside.memory else IN
        found[RELATIONS[joined.link.relation, way]].append(joined)
    return [{"title": title, "entries": [_linked(one) for one in links]} for title, links in found.items() if links]


def _linked(joined: Joined) -> dict[str, Any]:
    other, gone = joined.other, GONE.get(joined.link.availability)
    entry = spot_entry(other)
    return {
        **entry,
        "key": f"{joined.link.source_id} {joined.link.relation} {joined.link.target_id}",
        "chips": [["expired", "expired"]] if gone else entry["chips"],
        "note": gone or "",
    }


def spot_entry(spot: Spot) -> dict[str, Any]:
    """A memory in a list of others."""
    ref, words = spot.ref or str(spot.id), spot.content or ""
    about = about_of(spot.subject_label, spot.predicate_label) if spot.subject_label else ""
    return {
        "key": spot.key,
        "kind": str(spot.kind),
        "name": f"{spot.kind}:{ref}",
        "href": None if spot.is_gone else memory_path(spot.kind, ref),
        "label": text_of(about),
        "segments": [["same", text_of(words)]] if words else [],
        "chips": [] if spot.validity in (None, "active") else [[state_of(spot.validity), spot.validity]],
        "at": spot.at.isoformat() if spot.at else None,
    }


# --- what it was before ---------------------------------------------------------------------------


def chain(portrait: Portrait) -> list[Group]:
    """The line of wordings, the oldest first, each with what it changed of the one before."""
    entries = []
    before: Fact | None = None
    for fact in portrait.chain:
        words = differences(before.content, fact.content) if before else [("same", fact.content)]
        entries.append(
            {
                "key": fact.ref,
                "kind": "fact",
                "name": f"fact:{fact.ref}",
                "href": memory_path(MemoryType.FACT, fact.ref),
                "here": fact.id == portrait.memory.id,
                "segments": [[kind, text_of(text)] for kind, text in words],
                "chips": [[state_of(fact.validity), str(fact.validity)]],
                "at": fact.created_at.isoformat(),
                "by": text_of(f"learned by {fact.source_butler}"),
            }
        )
        before = fact
    return [{"title": "", "entries": entries}] if entries else []


def replacement(portrait: Portrait) -> Fact | None:
    """What stands in its place, if something does."""
    newest = portrait.chain[-1] if portrait.chain and portrait.memory.validity is Validity.SUPERSEDED else None
    return newest if newest and newest.id != portrait.memory.id else None


# --- what happened to it --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Undoable:
    """The one event that can be taken back now: by which id, and how many changes go with it."""

    event_id: UUID
    undo_id: UUID
    changes: int = 1


def story(lines: Sequence[StoryLine], undoable: Undoable | None) -> list[Group]:
    """What happened, the newest first; what was undone is struck through."""
    entries = [
        {
            "key": str(line.event.id),
            "kind": line.event.event_type,
            "segments": [["same", text_of(line.words)]],
            "at": line.event.occurred_at.isoformat(),
            "by": text_of(line.event.actor),
            "struck": line.undone,
            "chips": [["undone", "superseded"]] if line.undone else [],
            "actions": _take_back(undoable) if undoable and line.event.id == undoable.event_id else [],
        }
        for line in reversed(lines)
    ]
    return [{"title": "", "entries": entries}]


def candidate(lines: Sequence[StoryLine]) -> StoryLine | None:
    """The event that could be taken back: only the newest that still counts leaves the memory as it is now."""
    return next((line for line in reversed(lines) if not line.undone), None)


def _take_back(undoable: Undoable) -> list[dict[str, str]]:
    together = f"Takes back {undoable.changes} changes that belong together" if undoable.changes > 1 else ""
    return [{"name": "undo", "label": "Undo", "title": together or "Takes this back"}]


# --- what a question makes of it ------------------------------------------------------------------


def score_rows(told: Explanation) -> list[list[str]]:
    """The summands of its score: what each is, its value, its weight and what it adds."""
    return [_row(term, TERMS.get(term.name, "")) for term in told.scoring.terms] if told.scoring else []


def signal_rows(told: Explanation) -> list[list[str]]:
    """What the second look made of it, the strongest first; what says nothing is left out."""
    signals = told.second_look.signals if told.second_look else ()
    heard = [term for term in signals if abs(term.contribution) >= TINY]
    return [_row(term, "") for term in sorted(heard, key=lambda term: -abs(term.contribution))]


def _row(term: Term, words: str) -> list[str]:
    name = term.name.replace("_", " ").capitalize()
    return [name, words, f"{term.value:.3f}", f"{term.weight:g}", f"{term.contribution:+.3f}"]


def _times(count: int) -> str:
    return "never" if not count else "once" if count == 1 else f"{count:,} times"


def _tried(rule: Rule) -> str:
    if not rule.applied_count:
        return "never"
    share = f", {rule.effectiveness_score:.0%} effective" if rule.effectiveness_score is not None else ""
    return f"{_times(rule.applied_count)}: helped {rule.success_count}, did harm {rule.harmful_count}{share}"


def wanted_query(query: Mapping[str, str]) -> str:
    return query.get("q", "").strip()[:WORDS_SHOWN]
