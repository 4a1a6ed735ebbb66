"""Why a memory is as it is, and what becomes of it: its events and its prospects as plain sentences."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory_butler.models import LIVE, Episode, Event, Fact, Maturity, Memory, Rule, Validity
from memory_butler.policy.confidence import anchor
from memory_butler.policy.lifecycle import is_exempt
from memory_butler.policy.wording import day, one_line

REASON_CHARACTERS = 300
_NOUNS = {
    "created": "the storing",
    "confirmed": "the confirmation",
    "helpful": "the helpful mark",
    "harmful": "the harmful mark",
    "retracted": "the forgetting",
    "restored": "the bringing back",
    "superseded": "the supersession",
    "faded": "the fading",
    "expired": "the expiry",
    "pinned": "the pinning",
    "unpinned": "the unpinning",
    "promoted": "the promotion",
    "matured": "the change of maturity",
    "reversed": "the reversal",
    "deleted": "the deletion",
    "undone": "the undoing",
    "consolidated": "the consolidation",
    "set_back": "the failed consolidation",
    "dead_lettered": "the giving up",
    "failed": "the giving up",
    "requeued": "the requeueing",
}
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
class Around:
    """What is known around an event and not in it: the state before, the words of a reason, another fact it names."""

    before: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None
    other: str | None = None


NOTHING_AROUND = Around()


def name_event(event_type: str, at: datetime) -> str:
    """An event as something one can speak of: the forgetting of 2026-03-12."""
    action = _action(event_type)
    return f"{_NOUNS.get(action, f'the event “{_spelled(action)}”')} of {day(at)}"


def tell(event: Event, around: Around = NOTHING_AROUND) -> str:
    """One event as one sentence or two. An event of a kind that is not known here is told by its name."""
    action = _action(event.event_type)
    teller = _TELLERS.get(action)
    said = teller(event, around) if teller else f"{_spelled(action).capitalize()} by {_who(event)}"
    if around.reason:
        said += f": “{one_line(around.reason, REASON_CHARACTERS).rstrip('.')}”"
    turned = _turned(event, around) if action not in ("matured", "reversed", "created") else ""
    return f"{said}.{turned}"


def outlook(
    memory: Memory,
    now: datetime,
    *,
    fades_at: datetime | None,
    expires_at: datetime | None,
    stale_at: datetime | None = None,
    is_kept: bool = False,
) -> str:
    """What becomes of a memory if nothing happens.

    `stale_at` is when it is evicted for want of use, where that is configured; `is_kept` says of an episode that it
    outlives its time until it has been consolidated.
    """
    if isinstance(memory, Episode):
        return _outlook_of_episode(memory, now, is_kept=is_kept)
    unused = f" If nobody uses it, it expires on {day(stale_at)}." if stale_at else ""
    if memory.validity not in LIVE or is_exempt(memory):
        return _why_it_stays(memory)
    if expires_at is None:
        return f"It does not fade.{unused}"
    sooner = unused if stale_at and stale_at < expires_at else ""
    ends = f"expires on {day(expires_at)}"
    if expires_at <= now:
        since = day(anchor(memory.created_at, memory.last_confirmed_at))
        return f"Nobody has confirmed it since {since}: the next sweep expires it."
    if fades_at and fades_at <= now:
        return f"It has been fading since {day(fades_at)}, and {ends} unless it is confirmed.{sooner}"
    return f"If nothing happens it {f'fades on {day(fades_at)} and ' if fades_at else ''}{ends}.{sooner}"


def _why_it_stays(memory: Fact | Rule) -> str:
    if memory.validity not in LIVE:
        return f"It is {_OUT_OF_USE[memory.validity]} and out of use; it stays so, and can be brought back."
    if memory.pinned:
        return "It is pinned: it does not fade until it is unpinned."
    return "It is a warning: it does not fade."


def _outlook_of_episode(episode: Episode, now: datetime, *, is_kept: bool) -> str:
    hidden = "It is forgotten and out of use. " if episode.validity not in LIVE else ""
    over = day(episode.expires_at)
    if episode.pinned:
        return f"{hidden}It is pinned: it is kept until it is unpinned."
    if is_kept:
        return f"It was referred to often: it is kept until it has been distilled, also after {over}."
    if episode.expires_at <= now:
        return f"{hidden}Its time was over on {over}: the next sweep deletes it."
    return f"{hidden}If nothing happens it is deleted on {over}."


# --- one teller for each kind of event ------------------------------------------------------------


def _created(event: Event, around: Around) -> str:
    if "correction" in event.payload:
        return f"Stored by {_who(event)} as a correction of {around.other or 'an earlier fact'}"
    return f"Stored by {_who(event)}"


def _confirmed(event: Event, around: Around) -> str:
    revived = "; it had been fading" if around.before.get("validity") == Validity.FADING else ""
    return f"Confirmed by {_who(event)}{revived}"


def _retracted(event: Event, around: Around) -> str:
    return f"Forgotten by {_who(event)}"


def _restored(event: Event, around: Around) -> str:
    was = _OUT_OF_USE.get(around.before.get("validity", ""))
    instead = f", in the place of {around.other}" if around.other else ""
    return f"Brought back by {_who(event)}" + (f" after it was {was}" if was else "") + instead


def _superseded(event: Event, around: Around) -> str:
    by = around.other or "another fact"
    if "correction" in event.payload:
        return f"Corrected by {_who(event)}, with {by} in its place"
    return f"Superseded by {by}" + (", which was brought back" if "restored" in event.payload else "")


def _faded(event: Event, around: Around) -> str:
    return f"Faded: {_unconfirmed(event)}"


def _expired(event: Event, around: Around) -> str:
    cause = event.payload.get("cause")
    if cause == "capacity":
        return "Expired: its tier was full, and others had been used more recently"
    if cause == "stale":
        state = event.payload.get("state", {})
        used = max(filter(None, (_moment(state, name) for name in _USES)), default=None)
        return f"Expired: nobody had used it since {day(used)}" if used else "Expired: nobody had used it for long"
    return f"Expired: {_unconfirmed(event)}"


def _promoted(event: Event, around: Around) -> str:
    how = event.payload.get("promotion", {})
    said = f"Moved up from {how.get('from', 'what it was')} to {how.get('to', 'the next permanence')}"
    first, last = _moment(how, "first"), _moment(how, "last")
    if not (first and last):
        return said
    return f"{said}: referred to {how.get('references', 'many')} times from {day(first)} to {day(last)}"


def _matured(event: Event, around: Around) -> str:
    start, end = event.payload.get("from", ""), event.payload.get("to", "")
    if end == Maturity.ANTI_PATTERN:
        return "Became a warning: it had done harm too often"
    if _RANK.get(end, 0) > _RANK.get(start, 0):
        return f"Became {_MATURITIES[Maturity(end)]}: its evidence says so"
    return f"Went back to being {_MATURITIES.get(end, 'what it was')}: its evidence no longer holds"


def _reversed(event: Event, around: Around) -> str:
    return f"Given another chance by {_who(event)}, as a candidate that is judged by what is reported from then on"


def _deleted(event: Event, around: Around) -> str:
    why = event.payload.get("tombstone", {}).get("reason")
    return {"expired": "Deleted: its time was over", "capacity": "Deleted to make room"}.get(str(why), "Deleted")


def _undone(event: Event, around: Around) -> str:
    what = event.payload.get("undone", {})
    at = _moment(what, "at")
    named = name_event(str(what.get("event", "")), at) if at else "an earlier change"
    return f"{'Done again' if what.get('again') else 'Undone'} by {_who(event)}: {named}"


def _consolidated(event: Event, around: Around) -> str:
    run = event.payload.get("run")
    return "Distilled: anything worth keeping of it is in facts and rules" + (f" (run {run})" if run else "")


def _set_back(event: Event, around: Around) -> str:
    again = _moment(event.payload.get("state", {}), "next_consolidation_retry_at")
    return f"Not distilled: {_trouble(event)}; it is tried again{f' on {day(again)}' if again else ''}"


def _dead_lettered(event: Event, around: Around) -> str:
    tries = event.payload.get("state", {}).get("consolidation_attempts", "several")
    return f"Given up after {tries} tries to distil it: {_trouble(event)}"


def _trouble(event: Event) -> str:
    said = event.payload.get("state", {}).get("last_consolidation_error") or "the reason is not known"
    return one_line(str(said), REASON_CHARACTERS).rstrip(".")


_USES = ("last_referenced_at", "last_confirmed_at", "created_at")
_TELLERS: dict[str, Callable[[Event, Around], str]] = {
    "created": _created,
    "confirmed": _confirmed,
    "helpful": lambda event, around: f"Marked helpful by {_who(event)}",
    "harmful": lambda event, around: f"Marked harmful by {_who(event)}",
    "retracted": _retracted,
    "restored": _restored,
    "superseded": _superseded,
    "faded": _faded,
    "expired": _expired,
    "pinned": lambda event, around: f"Pinned by {_who(event)}",
    "unpinned": lambda event, around: f"Unpinned by {_who(event)}",
    "promoted": _promoted,
    "matured": _matured,
    "reversed": _reversed,
    "deleted": _deleted,
    "undone": _undone,
    "consolidated": _consolidated,
    "set_back": _set_back,
    "dead_lettered": _dead_lettered,
    "failed": lambda event, around: f"Given up, as it cannot be distilled: {_trouble(event)}",
    "requeued": lambda event, around: f"Put in line for consolidation again by {_who(event)}",
}


def _turned(event: Event, around: Around) -> str:
    """What the event made of the rule beside what it says."""
    was, became = around.before.get("maturity"), event.payload.get("state", {}).get("maturity")
    if not was or not became or was == became or became not in _MATURITIES:
        return ""
    return f" It became {_MATURITIES[Maturity(became)]}."


def _unconfirmed(event: Event) -> str:
    state = event.payload.get("state", {})
    confirmed, stored = _moment(state, "last_confirmed_at"), _moment(state, "created_at")
    if confirmed:
        return f"nobody had confirmed it since {day(confirmed)}"
    return f"nobody had confirmed it since it was stored on {day(stored)}" if stored else "nobody had confirmed it"


def _moment(values: Mapping[str, Any], name: str) -> datetime | None:
    given = values.get(name)
    return datetime.fromisoformat(given) if isinstance(given, str) else given


def _who(event: Event) -> str:
    return one_line(event.actor, REASON_CHARACTERS)


def _action(event_type: str) -> str:
    return event_type.partition(".")[2]


def _spelled(action: str) -> str:
    return action.replace("_", " ") or "something"
