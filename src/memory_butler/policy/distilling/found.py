"""What distilling finds: facts and rules, and what follows from the class of a fact alone."""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, NamedTuple

from memory_butler.models import Permanence
from memory_butler.policy.distilling.words import spaced

P = Permanence
SLUG_WORDS = 5
SLUG_CHARACTERS = 48
CONTENT_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Found:
    """One fact or rule with the sentence it came from, as start and end in the episode."""

    kind: Literal["fact", "rule"]
    subject: str
    predicate: str
    content: str
    permanence: Permanence
    importance: int
    tags: tuple[str, ...]
    valid_at: datetime | None
    span: tuple[int, int]


class Draft(NamedTuple):
    """A fact before it knows its sentence: whose, which class, the value, and the key where several hold together."""

    subject: str
    kind: str
    content: str
    key: str = ""
    valid_at: datetime | None = None
    permanence: Permanence | None = None


class Nature(NamedTuple):
    """How long a class of fact lasts and how much it matters."""

    permanence: Permanence
    importance: int
    theme: str


NATURES = {
    "name": Nature(P.PERMANENT, 8, "identity"),
    "nickname": Nature(P.STABLE, 8, "identity"),
    "age": Nature(P.STABLE, 8, "identity"),
    "birthday": Nature(P.PERMANENT, 8, "identity"),
    "pronouns": Nature(P.STABLE, 8, "identity"),
    "nationality": Nature(P.PERMANENT, 8, "identity"),
    "from": Nature(P.PERMANENT, 8, "identity"),
    "marital_status": Nature(P.STABLE, 7, "relationships"),
    "relationship": Nature(P.STABLE, 7, "relationships"),
    "lives_in": Nature(P.STABLE, 7, "home"),
    "address": Nature(P.STABLE, 7, "home"),
    "timezone": Nature(P.STABLE, 7, "home"),
    "works_as": Nature(P.STABLE, 7, "work"),
    "works_at": Nature(P.STABLE, 7, "work"),
    "studies": Nature(P.STABLE, 7, "work"),
    "email": Nature(P.STABLE, 7, "contacts"),
    "phone": Nature(P.STABLE, 7, "contacts"),
    "contact": Nature(P.STABLE, 7, "contacts"),
    "speaks": Nature(P.STABLE, 6, "skills"),
    "skill": Nature(P.STABLE, 5, "skills"),
    "likes": Nature(P.STANDARD, 5, "tastes"),
    "dislikes": Nature(P.STANDARD, 5, "tastes"),
    "prefers": Nature(P.STANDARD, 6, "tastes"),
    "favorite": Nature(P.STANDARD, 6, "tastes"),
    "allergic_to": Nature(P.PERMANENT, 9, "health"),
    "health": Nature(P.STABLE, 9, "health"),
    "diet": Nature(P.STABLE, 8, "health"),
    "owns": Nature(P.STANDARD, 5, "possessions"),
    "drives": Nature(P.STANDARD, 5, "possessions"),
    "pet": Nature(P.STANDARD, 6, "possessions"),
    "uses": Nature(P.STANDARD, 5, "tools"),
    "habit": Nature(P.STANDARD, 5, "habits"),
    "project": Nature(P.VOLATILE, 5, "projects"),
    "plan": Nature(P.VOLATILE, 5, "plans"),
    "deadline": Nature(P.VOLATILE, 6, "plans"),
    "event": Nature(P.VOLATILE, 5, "events"),
    "note": Nature(P.STANDARD, 7, "notes"),
}
# Classes of which several hold together: their predicate names the value.
KEYED = spaced("""
likes dislikes prefers allergic_to health relationship owns pet habit speaks uses skill plan event deadline note
project diet contact
""")
RULE_IMPORTANCE = 7

_WORDS = re.compile(r"\w+")
_UNNAMED = spaced("""
a an the my our his her their your some any to of in on at for with and or is are was really very new old
""")
_OWN = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
_OWNED = re.compile(r"\b(?:mine|ours)\b", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


def slug(value: str) -> str:
    """A short key for a value: "a really old Volvo" → volvo."""
    words = [word.casefold() for word in _WORDS.findall(value)]
    kept = [word for word in words if word not in _UNNAMED] or words
    return "_".join(kept[:SLUG_WORDS])[:SLUG_CHARACTERS].strip("_")


def told(content: str) -> str:
    """A value as the memory words it: one line, and what was "my" is theirs."""
    text = _OWNED.sub("theirs", _OWN.sub("their", content))
    if text.count('"') == 1:
        text = text.replace('"', "")
    return _SPACES.sub(" ", text).strip(" ,;:–—-")[:CONTENT_CHARACTERS].strip()


def fact(draft: Draft, span: tuple[int, int]) -> Found | None:
    """The fact that a draft stands for; None when nothing is left of its value."""
    content = told(draft.content)
    if not content or not draft.subject:
        return None
    nature = NATURES["favorite" if draft.kind.startswith("favorite_") else draft.kind]
    predicate = draft.kind
    if draft.kind in KEYED:
        key = slug(draft.key or content)
        if not key:
            return None
        predicate = f"{draft.kind}:{key}"
    permanence = draft.permanence or nature.permanence
    tags = (nature.theme,)
    return Found("fact", draft.subject, predicate, content, permanence, nature.importance, tags, draft.valid_at, span)


def rule(content: str, span: tuple[int, int]) -> Found:
    return Found("rule", "", "", content, P.STANDARD, RULE_IMPORTANCE, ("rules",), None, span)


def settled(found: list[Found]) -> list[Found]:
    """Each thing once; where an episode corrects itself, the last word on a property stands."""
    last: dict[tuple[object, ...], Found] = {}
    for one in found:
        if one.predicate.startswith("relationship") and one.content.lower().startswith(("favorite ", "favourite ")):
            # A favourite editor is a program as likely as not.
            continue
        if one.kind == "rule":
            key: tuple[object, ...] = ("rule", one.content.casefold())
        elif one.valid_at is None:
            key = ("property", one.subject.casefold(), one.predicate)
        else:
            key = ("event", one.subject.casefold(), one.content.casefold(), one.valid_at)
        before = last.pop(key, None)
        last[key] = one if before is None or before.content != one.content else replace(one, span=before.span)
    return list(last.values())
