"""The log as something to follow: places in it, and its events in words."""

import hashlib
import re
from collections.abc import Mapping

from memory_butler.errors import InvalidInput
from memory_butler.models import Event, MemoryType
from memory_butler.policy import story
from memory_butler.policy.wording import one_line

# Before the first event.
START = "start"
NAME_CHARACTERS = 200
_VERSION = "a1"
_CURSOR = re.compile(r"a1-([0-9a-f]{1,16})-([0-9a-f]{12})", re.ASCII)


def cursor_at(tenant: str, seq: int) -> str:
    """A place in a tenant's log, right after the event of this number. It means nothing in another tenant's."""
    return f"{_VERSION}-{seq:x}-{_seal(tenant, seq)}"


def place_of(tenant: str, cursor: str) -> int:
    """The number of the event that a cursor stands right after."""
    text = cursor.strip()
    if text.casefold() == START:
        return 0
    found = _CURSOR.fullmatch(text)
    seq = int(found[1], 16) if found else -1
    if found is None or found[2] != _seal(tenant, seq):
        raise InvalidInput(
            "since is not a cursor of this log.",
            recovery=f"Pass the `cursor` of an earlier answer as it was, {START!r} for the whole log, or leave it out.",
        )
    return seq


def _seal(tenant: str, seq: int) -> str:
    return hashlib.sha256(f"{_VERSION}\n{tenant}\n{seq}".encode()).hexdigest()[:12]


def reference_of(event: Event) -> str | None:
    """The memory that an event speaks of, as all tools take it."""
    if event.entity_type not in tuple(MemoryType):
        return None
    payload = event.payload
    ref = payload.get("state", {}).get("ref") or payload.get("tombstone", {}).get("ref")
    return f"{event.entity_type}:{ref}" if ref else None


def butler_of(event: Event) -> str | None:
    """Whose memory an event speaks of."""
    kept = event.payload.get("state") or event.payload.get("tombstone") or {}
    return kept.get("butler") or kept.get("source_butler")


def tell(event: Event, around: story.Around) -> str:
    """One event as one sentence or two, also where it speaks of no memory."""
    who, payload = one_line(event.actor, NAME_CHARACTERS), event.payload
    if event.entity_type == "reference":
        count = len(payload.get("ids", ()))
        return f"{who} was shown {count} memor{'y' if count == 1 else 'ies'} ({payload.get('read', 'a read')})."
    if event.entity_type == "access":
        home = one_line(str(payload.get("home", "another tenant")), NAME_CHARACTERS)
        return f"{who} of the tenant {home} used {payload.get('operation', 'something')} here."
    said = story.tell(event, around)
    return f"Another name of a subject: {said[:1].lower()}{said[1:]}" if event.entity_type == "alias" else said


_DONE = {
    "created": "stored",
    "retracted": "forgotten",
    "restored": "brought back",
    "helpful": "marked helpful",
    "harmful": "marked harmful",
    "matured": "given another maturity",
    "reversed": "given another chance",
    "promoted": "moved up",
    "undone": "changed back",
    "consolidated": "distilled",
    "set_back": "not distilled",
    "dead_lettered": "given up",
    "failed": "given up",
    "requeued": "put in line again",
}


def sum_up(counts: Mapping[str, int]) -> str:
    """What happened together, in short: how many of which kind were what."""
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(_counted(event_type, count) for event_type, count in ordered)


def done_to(action: str) -> str:
    """What has been done to a memory when this happened: `retracted` is `forgotten`."""
    return _DONE.get(action, action.replace("_", " "))


def said_alike(action: str) -> tuple[str, ...]:
    """Everything that people call the same: what is `given up` was tried too often, or cannot be distilled at all."""
    called = done_to(action)
    return tuple(dict.fromkeys((action, *(name for name, words in _DONE.items() if words == called))))


def _counted(event_type: str, count: int) -> str:
    kind, _, action = event_type.partition(".")
    noun = {"alias": "other name", "memory": "read"}.get(kind, kind)
    return f"{count:,} {noun}{'s' * (count != 1)} {done_to(action)}"
