"""Results of extraction: facts and rules, with the defaults of each class of facts."""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, NamedTuple

from memory_butler.english.text.word_sets import caseless, word_set
from memory_butler.models import Permanence

P = Permanence
SLUG_WORDS = 5
SLUG_CHARACTERS = 48
CONTENT_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Finding:
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


class FactClass(NamedTuple):
    """Default permanence and importance of a class of facts."""

    permanence: Permanence
    importance: int
    topic: str


FACT_CLASSES = {
    "name": FactClass(P.PERMANENT, 8, "identity"),
    "nickname": FactClass(P.STABLE, 8, "identity"),
    "age": FactClass(P.STABLE, 8, "identity"),
    "birthday": FactClass(P.PERMANENT, 8, "identity"),
    "pronouns": FactClass(P.STABLE, 8, "identity"),
    "nationality": FactClass(P.PERMANENT, 8, "identity"),
    "from": FactClass(P.PERMANENT, 8, "identity"),
    "marital_status": FactClass(P.STABLE, 7, "relationships"),
    "relationship": FactClass(P.STABLE, 7, "relationships"),
    "lives_in": FactClass(P.STABLE, 7, "home"),
    "address": FactClass(P.STABLE, 7, "home"),
    "timezone": FactClass(P.STABLE, 7, "home"),
    "works_as": FactClass(P.STABLE, 7, "work"),
    "works_at": FactClass(P.STABLE, 7, "work"),
    "studies": FactClass(P.STABLE, 7, "work"),
    "email": FactClass(P.STABLE, 7, "contacts"),
    "phone": FactClass(P.STABLE, 7, "contacts"),
    "contact": FactClass(P.STABLE, 7, "contacts"),
    "speaks": FactClass(P.STABLE, 6, "skills"),
    "skill": FactClass(P.STABLE, 5, "skills"),
    "likes": FactClass(P.STANDARD, 5, "tastes"),
    "dislikes": FactClass(P.STANDARD, 5, "tastes"),
    "prefers": FactClass(P.STANDARD, 6, "tastes"),
    "favorite": FactClass(P.STANDARD, 6, "tastes"),
    "allergic_to": FactClass(P.PERMANENT, 9, "health"),
    "health": FactClass(P.STABLE, 9, "health"),
    "diet": FactClass(P.STABLE, 8, "health"),
    "owns": FactClass(P.STANDARD, 5, "possessions"),
    "drives": FactClass(P.STANDARD, 5, "possessions"),
    "pet": FactClass(P.STANDARD, 6, "possessions"),
    "uses": FactClass(P.STANDARD, 5, "tools"),
    "habit": FactClass(P.STANDARD, 5, "habits"),
    "project": FactClass(P.VOLATILE, 5, "projects"),
    "plan": FactClass(P.VOLATILE, 5, "plans"),
    "deadline": FactClass(P.VOLATILE, 6, "plans"),
    "event": FactClass(P.VOLATILE, 5, "events"),
    "note": FactClass(P.STANDARD, 7, "notes"),
}
# Classes of which several hold together: their predicate names the value.
KEYED = word_set("""
likes dislikes prefers allergic_to health relationship owns pet habit speaks uses skill plan event deadline note
project diet contact
""")
RULE_IMPORTANCE = 7
# A person follows one of these diets: the next one replaces it. What is not eaten can be several things.
_DIETS = caseless(
    r"(?:no longer |not |mostly |strictly |fully )?(?:an? )?(?:vegan|vegetarian|pescatarian|pescetarian|flexitarian|"
    r"omnivore|carnivore|keto|"
    r"paleo|low[- ]carb|kosher|halal|plant[- ]based)(?: diet)?"
)
_CARRIED = caseless(r"carries an? (?:epi-?pen|inhaler|insulin|adrenaline|medic\w+|hypo)\b.*")
_RUNNING = re.compile(r"(?:run|own|manage|lead|coach|train)(?= (?:an?|the|my|their|our)\b)")
# "My keyboard is sticky" says nothing about what is used.
_STATE_OF_DEVICE = caseless(r"(\w{2,20}) (?!\d)[a-z]{2,20}")

_WORDS = re.compile(r"\w+")
_UNNAMED = word_set("""
a an the my our his her their your some any to of in on at for with and or is are was really very new old
""")
_OWN = caseless(r"\b(?:my|our)\b")
_OWNED = caseless(r"\b(?:mine|ours)\b")
_SPACES = re.compile(r" ")


def slug(value: str) -> str:
    """A short key for a value: "a really old Volvo" → volvo."""
    words = [word.casefold() for word in _WORDS.findall(value)]
    kept = [word for word in words if word not in _UNNAMED] or words
    return "_".join(kept[:SLUG_WORDS])[:SLUG_CHARACTERS].strip("_")


def content_text(content: str) -> str:
    """A value as the memory words it: one line, and what was "my" is theirs."""
    text = _OWNED.sub("theirs", _OWN.sub("their", content))
    if text.count('"') == 1:
        text = text.replace('"', "")
    return _SPACES.sub(" ", text).strip(" ,;:–—-")[:CONTENT_CHARACTERS].strip()


def fact(draft: Draft, span: tuple[int, int]) -> Finding | None:
    """The finding for a draft; None if its value is empty."""
    content = content_text(draft.content)
    if not content or not draft.subject:
        return None
    kind = "health" if draft.kind == "owns" and _CARRIED.fullmatch(content) else draft.kind
    if kind == "works_as":
        content = _RUNNING.sub(lambda match: f"{match[0]}{'es' if match[0].endswith('ch') else 's'}", content, count=1)
    device = _STATE_OF_DEVICE.fullmatch(content) if kind == "uses" else None
    if device and slug(draft.key or content) == device[1].casefold():
        return None
    fact_class = FACT_CLASSES["favorite" if kind.startswith("favorite_") else kind]
    predicate = kind
    if kind in KEYED and not (kind == "diet" and _DIETS.fullmatch(content)):
        key = slug(draft.key or content)
        if not key:
            return None
        predicate = f"{kind}:{key}"
    permanence = draft.permanence or fact_class.permanence
    tags = (fact_class.topic,)
    return Finding(
        "fact", draft.subject, predicate, content, permanence, fact_class.importance, tags, draft.valid_at, span
    )


def rule(content: str, span: tuple[int, int]) -> Finding:
    return Finding("rule", "", "", content, P.STANDARD, RULE_IMPORTANCE, ("rules",), None, span)


def deduplicated(found: list[Finding]) -> list[Finding]:
    """Each finding once. If an episode corrects itself, the last value of a property wins."""
    last: dict[tuple[object, ...], Finding] = {}
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
