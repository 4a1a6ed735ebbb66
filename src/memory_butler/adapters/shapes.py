"""How answers look outside: plain JSON values, the same through every door."""

from dataclasses import asdict, fields
from datetime import datetime
from enum import Enum
from typing import Any
from uuid import UUID

from memory_butler.models import (
    Activities,
    Activity,
    Answer,
    Briefing,
    Link,
    Maturity,
    Memory,
    MemoryType,
    Neighbour,
    Portrait,
    Ranked,
    Stored,
    StoryLine,
    UndoReport,
)
from memory_butler.models.explanation import Explanation
from memory_butler.operations.forget_about import Forgetting
from memory_butler.policy.maturity import warning
from memory_butler.policy.tiers import tier_of

Shape = dict[str, Any]
NAMED_GONE = 200
NAMED_FORGOTTEN = 200


def plain(value: Any) -> Any:
    """Any value of ours as JSON: times in ISO form, ids as text."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {str(plain(key)): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value


def with_request(shape: Shape, request_id: str | None) -> Shape:
    """Echo the caller's request id, if it gave one."""
    return {**shape, "request_id": request_id} if request_id else shape


def stored(done: Stored) -> Shape:
    shape = {
        "type": done.type.value,
        "id": str(done.id),
        "ref": f"{done.type}:{done.ref}",
        "outcome": done.outcome,
    }
    return {**shape, "supersedes": f"fact:{done.superseded_ref}"} if done.superseded_ref else shape


def answer(found: Answer) -> Shape:
    results = [{**ranked(entry), **beside(found, entry.hit.id)} for entry in found.results]
    shape: Shape = {"results": results, "count": len(results)}
    return {**shape, "degraded": list(found.degraded)} if found.degraded else shape


def beside(found: Answer, result: UUID) -> Shape:
    """The neighbours of a result, if they were asked for."""
    return {"neighbours": [neighbour(entry) for entry in found.neighbours[result]]} if found.neighbours else {}


def neighbour(entry: Neighbour) -> Shape:
    """What stands beside a result; one that the answer holds at another place is named only."""
    shape: Shape = {"ref": f"{entry.type}:{entry.ref}", "type": entry.type, "relation": entry.relation}
    if entry.content is not None:
        shape |= {
            "content": entry.content,
            "subject": entry.subject_label,
            "predicate": entry.predicate_label,
            "created_at": entry.created_at,
            "observed_at": entry.observed_at,
            "valid_at": entry.valid_at,
        }
    return {key: plain(value) for key, value in shape.items() if value is not None}


def ranked(entry: Ranked) -> Shape:
    """One result: what it says, how it stands, and why it is where it is."""
    hit = entry.hit
    shape = {
        "ref": f"{hit.type}:{hit.ref}",
        "type": hit.type,
        "id": hit.id,
        "content": hit.content,
        "subject": hit.subject_label,
        "predicate": hit.predicate_label,
        "validity": hit.validity,
        "maturity": hit.maturity,
        "permanence": hit.permanence,
        "tier": tier_of(hit.type, permanence=hit.permanence, maturity=hit.maturity),
        "scope": hit.scope if hit.type is not MemoryType.EPISODE else None,
        "butler": hit.butler,
        "session_id": hit.session_id,
        "tags": hit.tags or None,
        "created_at": hit.created_at,
        "observed_at": hit.observed_at,
        "valid_at": hit.valid_at,
        "last_confirmed_at": hit.last_confirmed_at,
        "last_referenced_at": hit.last_referenced_at,
    }
    if hit.maturity == Maturity.ANTI_PATTERN:
        shape["warning"] = warning(hit.content, hit.harmful_reasons or [])
    return {
        **{key: plain(value) for key, value in shape.items() if value is not None},
        "relevance": entry.parts.relevance,
        "score": entry.parts.score,
        **({"also": list(entry.also)} if entry.also else {}),
        "parts": entry.parts._asdict(),
    }


def memory(kept: Memory) -> Shape:
    """A memory as it is stored."""
    shape = {field.name: plain(getattr(kept, field.name)) for field in fields(kept) if field.name != "tenant_id"}
    shape = {"type": kept.type.value, **shape, "ref": f"{kept.type}:{kept.ref}"}
    if getattr(kept, "maturity", None) is Maturity.ANTI_PATTERN:
        shape["warning"] = warning(kept.content, getattr(kept, "harmful_reasons", []))
    return shape


def portrait(seen: Portrait) -> Shape:
    return {
        "memory": memory(seen.memory),
        **({"aliases": list(seen.aliases)} if seen.aliases else {}),
        "tier": seen.tier.value,
        "effective_confidence": seen.effective_confidence,
        "fades_at": plain(seen.fades_at),
        "expires_at": plain(seen.expires_at),
        "outlook": seen.outlook,
        "links": [link(one, seen.memory.id) for one in seen.links],
        **({"hidden_links": seen.hidden_links} if seen.hidden_links else {}),
        "chain": [
            {
                "ref": f"fact:{fact.ref}",
                "content": fact.content,
                "validity": fact.validity.value,
                "created_at": plain(fact.created_at),
            }
            for fact in seen.chain
        ],
        "events": [told(line) for line in seen.story],
    }


def forgetting(report: Forgetting) -> Shape:
    """What would be forgotten or was; of very many memories the first are named, and all are counted."""
    touched = [
        {
            "ref": f"{entry.type}:{entry.ref}",
            "why": ", ".join(entry.why),
            **({"line": entry.line} if entry.line is not None else {}),
        }
        for entry in report.touched[:NAMED_FORGOTTEN]
    ]
    more = {
        "group_id": plain(report.group_id),
        "names": list(report.names) or None,
        "aliases": len(report.aliases) or None,
        "mentions": report.mentions,
    }
    return {
        "dry_run": report.dry_run,
        "count": len(report.touched),
        "touched": touched,
        **{name: value for name, value in more.items() if value is not None},
    }


def undone(report: UndoReport) -> Shape:
    """What an undo did; of very many deleted episodes the first are named, and all are counted."""
    shape = plain(asdict(report))
    gone = shape.pop("not_brought_back")
    return {**shape, "not_brought_back": gone[:NAMED_GONE], "not_brought_back_count": len(gone)}


def explanation(told: Explanation) -> Shape:
    """Every step that it got to."""
    shape = {key: value for key, value in plain(asdict(told)).items() if value is not None}
    return {**shape, "ref": f"{told.type}:{told.ref}"}


def briefing(built: Briefing) -> Shape:
    receipt = built.receipt
    said = _fields(receipt) | {
        "sections": [_fields(section) for section in receipt.sections],
        "left_out": list(receipt.left_out),
        "degraded": list(receipt.degraded),
    }
    return {"context": built.text, "receipt": said}


def _fields(value: Any) -> Shape:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def activities(found: Activities) -> Shape:
    return {"events": [activity(item) for item in found.items], "cursor": found.cursor, "more": found.more}


def activity(item: Activity) -> Shape:
    """One event; of the memory it speaks of no more than its reference."""
    event = item.event
    shape = {
        "event": event.event_type,
        "ref": item.ref,
        "words": item.words,
        "at": event.occurred_at,
        "actor": event.actor,
        "id": event.id,
        "group_id": event.group_id,
        "undoes": event.undoes,
        **asdict(item.lineage),
    }
    return {key: plain(value) for key, value in shape.items() if value is not None}


def link(link: Link, here: UUID) -> Shape:
    outward = link.source_id == here
    other_type, other_id = (link.target_type, link.target_id) if outward else (link.source_type, link.source_id)
    return {
        "direction": "out" if outward else "in",
        "relation": link.relation.value,
        "ref": f"{other_type}:{link.other_ref}" if link.other_ref else None,
        "id": str(other_id),
        "availability": link.availability,
        "created_at": plain(link.created_at),
    }


def told(line: StoryLine) -> Shape:
    event = line.event
    shape = {
        "seq": event.seq,
        "id": plain(event.id),
        "event": event.event_type,
        "words": line.words,
        "at": plain(event.occurred_at),
        "actor": event.actor,
        "request_id": event.request_id,
        "group_id": plain(event.group_id),
        "undoes": plain(event.undoes),
        "undone": line.undone or None,
    }
    return {key: value for key, value in shape.items() if value is not None}
