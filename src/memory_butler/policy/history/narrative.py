"""Sentences about the events of a memory and about its outlook."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from memory_butler.models import LIVE, Episode, Event, Fact, Maturity, Memory, Rule, Validity
from memory_butler.policy.lifecycle.confidence import anchor
from memory_butler.policy.lifecycle.transitions import is_exempt
from memory_butler.policy.memories.text import day, one_line
from memory_butler.policy.trust.reasons import describe_reason

REASON_CHARACTERS = 300
_MATURITIES = {
    Maturity.CANDIDATE: "a candidate",
    Maturity.ESTABLISHED: "established",
    Maturity.PROVEN: "proven",
    Maturity.ANTI_PATTERN: "a warning",
}
_RANK = {Maturity.CANDIDATE: 0, Maturity.ESTABLISHED: 1, Maturity.PROVEN: 2}
_OUT_OF_USE = {
    Validity.RETRACTED: "forgotten",
    Validity.EXPIRED: "expired",
    Validity.SUPERSEDED: "superseded",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventContext:
    """Context of an event: the state before it, the text of its reason, and another fact it names."""

    before: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None
    other: str | None = None


NO_CONTEXT = EventContext()


def name_event(event_type: str, at: datetime) -> str:
    """A noun phrase for an event, such as: the forgetting of 2026-03-12."""
    action = _action(event_type)
    noun = _EVENTS[action][0] if action in _EVENTS else f"the event “{_spelled(action)}”"
    return f"{noun} of {day(at)}"


def _quarantined(reason: str, origin: str) -> str:
    return f"It is quarantined: {describe_reason(reason, origin)}. It is not in use until a person approves it."


def describe(event: Event, context: EventContext = NO_CONTEXT) -> str:
    """One event in one or two sentences. An unknown event type is described by its name."""
    action = _action(event.event_type)
    description = _EVENTS[action][1] if action in _EVENTS else None
    if description is None:
        text = f"{_spelled(action).capitalize()} by {_who(event)}"
    else:
        text = _formatted(description, event) if isinstance(description, str) else description(event, context)
    if context.reason:
        text += f": “{one_line(context.reason, REASON_CHARACTERS).rstrip('.')}”"
    maturity = _maturity_change(event, context) if action not in ("matured", "reversed", "created") else ""
    return f"{text}.{maturity}{_redactions(event)}"


def _redactions(event: Event) -> str:
    counts = event.payload.get("redacted")
    if not isinstance(counts, dict) or not counts:
        return ""
    return f" Redacted: {', '.join(f'{count} {kind}' for kind, count in sorted(counts.items()))}."


def outlook(
    memory: Memory,
    now: datetime,
    *,
    fades_at: datetime | None,
    expires_at: datetime | None,
    stale_at: datetime | None = None,
    is_kept: bool = False,
    gave_nothing: bool = False,
) -> str:
    """The outlook of a memory that is not used again.

    `stale_at` is the time of its eviction, if that is configured; `is_kept` means that an episode is kept beyond its
    TTL until it is consolidated; `gave_nothing` that it was consolidated and nothing was kept.
    """
    if isinstance(memory, Episode):
        nothing = "Nothing was kept of it. " if gave_nothing else ""
        return nothing + _outlook_of_episode(memory, now, is_kept=is_kept)
    unused = f" Without use it expires on {day(stale_at)}." if stale_at else ""
    if memory.validity not in LIVE or is_exempt(memory):
        return _why_it_stays(memory)
    if expires_at is None:
        return f"It does not fade.{unused}"
    sooner = unused if stale_at and stale_at < expires_at else ""
    ends = f"expires on {day(expires_at)}"
    if expires_at <= now:
        since = day(anchor(memory.created_at, memory.last_confirmed_at))
        return f"Not confirmed since {since}: the next sweep expires it."
    if fades_at and fades_at <= now:
        return f"It has been fading since {day(fades_at)}, and {ends} unless it is confirmed.{sooner}"
    name, at, rest = ("Fades", fades_at, f", and {ends}") if fades_at else ("Expires", expires_at, "")
    return f"{name} in {_span(at - now)} ({day(at)}) unless confirmed{rest}.{sooner}"


def _span(left: timedelta) -> str:
    """A span in its largest unit: 3 days, 5 weeks, 8 months, 2 years."""
    days = left.total_seconds() / 86400
    for unit, length, least in (("year", 365.25, 700), ("month", 30.44, 60), ("week", 7, 14)):
        if days >= least:
            return f"{round(days / length)} {unit}s"
    count = max(1, round(days))
    return f"{count} day{'s' * (count > 1)}"


def _why_it_stays(memory: Fact | Rule) -> str:
    if memory.quarantine_reason:
        return _quarantined(memory.quarantine_reason, memory.origin)
    if memory.validity not in LIVE:
        return f"{_OUT_OF_USE[memory.validity].capitalize()}. Not used any more; it can be restored."
    if memory.pinned:
        return "It is pinned: it does not fade until it is unpinned."
    return "It is a warning: it does not fade."


def _outlook_of_episode(episode: Episode, now: datetime, *, is_kept: bool) -> str:
    hidden = "It is forgotten and not in use. " if episode.validity not in LIVE else ""
    if episode.quarantine_reason:
        hidden = f"{_quarantined(episode.quarantine_reason, episode.origin)} "
    end = day(episode.expires_at)
    if episode.pinned:
        return f"{hidden}It is pinned: it is kept until it is unpinned."
    if is_kept:
        return f"It was referenced often: it is kept until it is consolidated, even after {end}."
    if episode.expires_at <= now:
        return f"{hidden}Its retention period ended on {end}: the next sweep deletes it."
    return f"{hidden}Deleted in {_span(episode.expires_at - now)} ({end}) unless it is referenced or pinned."


# --- one function for each type of event ----------------------------------------------------------


def _created(event: Event, context: EventContext) -> str:
    if "correction" in event.payload:
        return f"Stored by {_who(event)} as a correction of {context.other or 'an earlier fact'}"
    waits = (
        "; quarantined until a person approves it" if event.payload.get("state", {}).get("quarantine_reason") else ""
    )
    return f"Stored by {_who(event)}{waits}"


def _approved(event: Event, context: EventContext) -> str:
    superseded = f"; it supersedes {context.other}" if context.other else ""
    return f"Approved by {_who(event)}{superseded}"


def _confirmed(event: Event, context: EventContext) -> str:
    revived = "; it was fading" if context.before.get("validity") == Validity.FADING else ""
    return f"Confirmed by {_who(event)}{revived}"


def _restored(event: Event, context: EventContext) -> str:
    was = _OUT_OF_USE.get(context.before.get("validity", ""))
    replaced = f", replacing {context.other}" if context.other else ""
    return f"Restored by {_who(event)}" + (f" (was {was})" if was else "") + replaced


def _superseded(event: Event, context: EventContext) -> str:
    by = context.other or "another fact"
    if "correction" in event.payload:
        return f"Corrected by {_who(event)} and replaced by {by}"
    return f"Superseded by {by}" + (", which was restored" if "restored" in event.payload else "")


def _expired(event: Event, context: EventContext) -> str:
    cause = event.payload.get("cause")
    if cause == "capacity":
        return "Expired: its tier was full, and other memories were used more recently"
    if cause == "stale":
        state = event.payload.get("state", {})
        used = max(filter(None, (_moment(state, name) for name in _USES)), default=None)
        return f"Expired: not used since {day(used)}" if used else "Expired: not used for too long"
    return f"Expired: {_unconfirmed(event)}"


def _promoted(event: Event, context: EventContext) -> str:
    promotion = event.payload.get("promotion", {})
    text = f"Promoted from {promotion.get('from', 'its permanence')} to {promotion.get('to', 'the next permanence')}"
    first, last = _moment(promotion, "first"), _moment(promotion, "last")
    if not (first and last):
        return text
    return f"{text}: referenced {promotion.get('references', 'many')} times from {day(first)} to {day(last)}"


def _updated(event: Event, context: EventContext) -> str:
    changes = sorted(event.payload.get("changed", {}).items())
    parts = [name if values is None else f"{name} from {values[0]} to {values[1]}" for name, values in changes]
    return f"Updated by {_who(event)}: {', '.join(parts)}"


def _matured(event: Event, context: EventContext) -> str:
    start, end = event.payload.get("from", ""), event.payload.get("to", "")
    if end == Maturity.ANTI_PATTERN:
        return "Became a warning: it was marked harmful too often"
    if _RANK.get(end, 0) > _RANK.get(start, 0):
        return f"Became {_MATURITIES[Maturity(end)]}: its evidence is sufficient"
    return f"Demoted to {end or 'an earlier maturity'}: its evidence is no longer sufficient"


def _deleted(event: Event, context: EventContext) -> str:
    reason = event.payload.get("tombstone", {}).get("reason")
    texts = {"expired": "Deleted: its retention period ended", "capacity": "Deleted: the tier was full"}
    return texts.get(str(reason), "Deleted")


def _undone(event: Event, context: EventContext) -> str:
    undone = event.payload.get("undone", {})
    at = _moment(undone, "at")
    change = name_event(str(undone.get("event", "")), at) if at else "an earlier change"
    return f"{'Redone' if undone.get('again') else 'Undone'} by {_who(event)}: {change}"


def _linked(event: Event, context: EventContext) -> str:
    relations = dict.fromkeys(link.get("relation", "") for link in event.payload.get("links", ()))
    return f"Linked by {_who(event)}: {', '.join(relations).replace('_', ' ')} another memory"


def _consolidated(event: Event, context: EventContext) -> str:
    # Events of earlier versions do not tell if the run stored anything, so the sentence claims no facts or rules.
    run = event.payload.get("run")
    kept = "; nothing was kept" if event.payload.get("nothing_kept") else ""
    return "Consolidated" + (f" (run {run})" if run else "") + kept


def _set_back(event: Event, context: EventContext) -> str:
    again = _moment(event.payload.get("state", {}), "next_consolidation_retry_at")
    return f"Consolidation failed: {_error(event)}; it will be retried{f' on {day(again)}' if again else ''}"


def _dead_lettered(event: Event, context: EventContext) -> str:
    attempts = event.payload.get("state", {}).get("consolidation_attempts", "several")
    return f"Dead-lettered after {attempts} failed attempts to consolidate it: {_error(event)}"


def _formatted(description: str, event: Event) -> str:
    change = {name: event.payload.get(name) for name in ("from", "to")}
    return description.format(who=_who(event), error=_error(event), unconfirmed=_unconfirmed(event), **change)


def _error(event: Event) -> str:
    error = event.payload.get("state", {}).get("last_consolidation_error") or "the reason is unknown"
    return one_line(str(error), REASON_CHARACTERS).rstrip(".")


_USES = ("last_referenced_at", "last_confirmed_at", "created_at")
# For each action a noun, and a description: a function, or a format for those that need no more than a few values.
_EVENTS: dict[str, tuple[str, str | Callable[[Event, EventContext], str]]] = {
    "created": ("the creation", _created),
    "confirmed": ("the confirmation", _confirmed),
    "helpful": ("the helpful mark", "Marked helpful by {who}"),
    "harmful": ("the harmful mark", "Marked harmful by {who}"),
    "retracted": ("the forgetting", "Forgotten by {who}"),
    "restored": ("the restore", _restored),
    "superseded": ("the supersession", _superseded),
    "faded": ("the fading", "Faded: {unconfirmed}"),
    "revived": ("the revival", "Active again: under the current settings its confidence is above the fading threshold"),
    "rate_changed": ("the change of decay rate", "Decay rate changed from {from} to {to} per day (settings changed)"),
    "expired": ("the expiry", _expired),
    "pinned": ("the pinning", "Pinned by {who}"),
    "updated": ("the update", _updated),
    "reworded": ("the rewording", "Reworded by {who}: another rule took its place"),
    "unpinned": ("the unpinning", "Unpinned by {who}"),
    "linked": ("the linking", _linked),
    "promoted": ("the promotion", _promoted),
    "matured": ("the change of maturity", _matured),
    "reversed": ("the reversal", "Reset to candidate by {who}; only later feedback counts"),
    "deleted": ("the deletion", _deleted),
    "purged": ("the purge", "Purged by {who}: its text was erased for good"),
    "cut_off": ("the purge of an earlier version", "The fact that it replaced was purged"),
    "undone": ("the undo", _undone),
    "consolidated": ("the consolidation", _consolidated),
    "set_back": ("the failed consolidation", _set_back),
    "dead_lettered": ("the dead-lettering", _dead_lettered),
    "failed": ("the permanent failure", "Consolidation failed permanently: {error}"),
    "requeued": ("the requeue", "Requeued for consolidation by {who}"),
    "quarantined": ("the quarantine", "Quarantined: it is not used until a person approves it"),
    "approved": ("the approval", _approved),
    "rejected": ("the rejection", "Rejected by {who}: it stays out of use"),
}


def _maturity_change(event: Event, context: EventContext) -> str:
    """The change of maturity that came with an event."""
    was, became = context.before.get("maturity"), event.payload.get("state", {}).get("maturity")
    if not was or not became or was == became or became not in _MATURITIES:
        return ""
    return f" It became {_MATURITIES[Maturity(became)]}."


def _unconfirmed(event: Event) -> str:
    state = event.payload.get("state", {})
    confirmed, stored = _moment(state, "last_confirmed_at"), _moment(state, "created_at")
    if confirmed:
        return f"not confirmed since {day(confirmed)}"
    return f"not confirmed since it was stored on {day(stored)}" if stored else "not confirmed"


def _moment(values: Mapping[str, Any], name: str) -> datetime | None:
    value = values.get(name)
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def _who(event: Event) -> str:
    return one_line(event.actor, REASON_CHARACTERS)


def _action(event_type: str) -> str:
    return event_type.partition(".")[2]


def _spelled(action: str) -> str:
    return action.replace("_", " ") or "event"
