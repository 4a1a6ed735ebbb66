"""Cursors of the activity log, and sentences about its events."""

import hashlib
import re
from collections.abc import Mapping

from memory_butler.errors import InvalidInput
from memory_butler.models import Event, MemoryType
from memory_butler.policy.history import narrative
from memory_butler.policy.memories.text import one_line

# Before the first event.
START = "start"
NAME_CHARACTERS = 200
_VERSION = "a1"
_CURSOR = re.compile(r"a1-([0-9a-f]{1,16})-([0-9a-f]{12})", re.ASCII)


def encode_cursor(tenant: str, seq: int) -> str:
    """Returns the cursor after event number `seq` of a tenant's log. It is not valid for another tenant."""
    return f"{_VERSION}-{seq:x}-{_seal(tenant, seq)}"


def decode_cursor(tenant: str, cursor: str) -> int:
    """Returns the number of the event before the cursor."""
    text = cursor.strip()
    if text.casefold() == START:
        return 0
    match = _CURSOR.fullmatch(text)
    seq = int(match[1], 16) if match else -1
    if match is None or match[2] != _seal(tenant, seq):
        raise InvalidInput(
            "since is not a cursor of this log.",
            recovery=f"Pass the `cursor` of an earlier answer unchanged, {START!r} for the whole log, or leave it out.",
        )
    return seq


def _seal(tenant: str, seq: int) -> str:
    return hashlib.sha256(f"{_VERSION}\n{tenant}\n{seq}".encode()).hexdigest()[:12]


def reference_of(event: Event) -> str | None:
    """Reference of the event's memory, in the form that all tools take."""
    if event.entity_type not in tuple(MemoryType):
        return None
    payload = event.payload
    ref = payload.get("state", {}).get("ref") or payload.get("tombstone", {}).get("ref")
    return f"{event.entity_type}:{ref}" if ref else None


def butler_of(event: Event) -> str | None:
    """The butler that the event's memory belongs to."""
    state = event.payload.get("state") or event.payload.get("tombstone") or {}
    return state.get("butler") or state.get("source_butler")


def describe(event: Event, context: narrative.EventContext) -> str:
    """One event in one or two sentences, including events that belong to no memory."""
    actor, payload = one_line(event.actor, NAME_CHARACTERS), event.payload
    if event.entity_type == "reference":
        count = len(payload.get("ids", ()))
        return f"{actor} read {count} memor{'y' if count == 1 else 'ies'} ({payload.get('read', 'a read')})."
    if event.event_type in _STORE_EVENTS:
        return _STORE_EVENTS[event.event_type].format(actor=actor)
    if event.entity_type == "access":
        home = one_line(str(payload.get("home", "another tenant")), NAME_CHARACTERS)
        return f"{actor} of the tenant {home} used {payload.get('operation', 'an operation')} here."
    text = narrative.describe(event, context)
    return f"Alias: {text[:1].lower()}{text[1:]}" if event.entity_type == "alias" else text


_STORE_EVENTS = {
    "store.imported": "{actor} imported an export file.",
    "store.references_dropped": "{actor} dropped the record of old reads.",
    "store.purged": "{actor} erased memories for good.",
    "keys.rotated": "{actor} rotated the encryption keys.",
    "keys.destroyed": "{actor} destroyed the encryption keys: texts encrypted until then are unreadable.",
}
_PARTICIPLES = {
    "created": "stored",
    "retracted": "forgotten",
    "helpful": "marked helpful",
    "harmful": "marked harmful",
    "matured": "changed in maturity",
    "reversed": "reset to candidate",
    "rate_changed": "changed in decay rate",
    "set_back": "failed and to be retried",
    "dead_lettered": "dead-lettered",
    "failed": "dead-lettered",
}
_NOUNS = {
    "alias": ("alias", "aliases"),
    "memory": ("read", "reads"),
    "keys": ("set of encryption keys", "sets of encryption keys"),
}


def summarize(counts: Mapping[str, int]) -> str:
    """Counts of event types in words, the most frequent first: `3 facts stored, 1 rule forgotten`."""
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(_counted(event_type, count) for event_type, count in ordered)


def past_participle(action: str) -> str:
    """The participle that names an action to users: `retracted` is `forgotten`."""
    return _PARTICIPLES.get(action, action.replace("_", " "))


def actions_with_same_label(action: str) -> tuple[str, ...]:
    """All actions with the participle of this one: `dead_lettered` and `failed` are both `dead-lettered`."""
    label = past_participle(action)
    return tuple(dict.fromkeys((action, *(name for name, words in _PARTICIPLES.items() if words == label))))


def _counted(event_type: str, count: int) -> str:
    kind, _, action = event_type.partition(".")
    singular, plural = _NOUNS.get(kind, (kind, f"{kind}s"))
    return f"{count:,} {singular if count == 1 else plural} {past_participle(action)}"
