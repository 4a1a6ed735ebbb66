"""Members of the class that a broad question asks for (overview.py), best first."""

import re
from collections.abc import Collection, Sequence
from datetime import datetime

from memory_butler.english.text.kinship import ADULT_RELATIVES, CHILDREN
from memory_butler.english.text.names import looks_like_name, name_key
from memory_butler.english.text.word_sets import any_of, word_set
from memory_butler.models import USER_KEYS, Hit, MemoryType, Ranked
from memory_butler.policy.retrieval.overview import Overview

_KIN = CHILDREN | ADULT_RELATIVES | {"family", "household"}
_FRIEND = word_set("friend friends buddy pal neighbour neighbours neighbor neighbors roommate flatmate")
# Classes of people who stand in a relation to the user, with the words for it.
RELATIONS = {Overview.FAMILY: _KIN, Overview.FRIENDS: _FRIEND}
_OWNERS = ("", "my_", "our_", "the_")


def _words(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


def _relation(words: Collection[str]) -> re.Pattern[str]:
    """A statement that somebody is a relative or a friend of the user: "my sister", "is Tor's mother", "is a friend".
    "His brother" may be anybody's."""
    return _words(
        rf"(?:my|our|(?:the )?user's|is (?:the|a|an|\w+'s|their|her|his)) (?:[\w-]+ ){{0,2}}(?:{any_of(words)})"
    )


_RELATED = {kind: _relation(words) for kind, words in RELATIONS.items()}
_PREDICATES = {kind: _words(any_of(words)) for kind, words in RELATIONS.items()}
_OF_RELATION = _words("relation|relationship|related")
_AT_WORK = _words(
    r"works?|working|role|job|title|team|teammate|colleague|coworker|co-worker|manager|manages|boss|leads?|engineer"
    r"|developer|designer|director|assistant|apprentice|analyst|consultant|founder|reports? to|responsible|on call"
    r"|reviews?|hired|employees?|shifts?|intern"
)
# Words that describe a person.
_PERSON = _words(
    rf"{_AT_WORK.pattern}|he|she|his|her|hers|him|doctor|nurse|teacher|{any_of(_KIN)}|{any_of(_FRIEND)}|birthday|lives?"
    r"|married|born|contact|phone|email"
)
_PLAN = _words(
    r"appointment|meeting|trip|flight|deadline|due|booked|scheduled|planned|plans? to|planning|upcoming|tomorrow"
    r"|next (?:week|month|year|spring|summer|autumn|fall|winter|\w+day)|will|going to|reservation|wedding|conference"
    r"|launch|release|visit|exam|interview|party|birthday|vacation|holiday"
)
_CLASSES = {
    Overview.HEALTH: _words(
        r"health|allerg\w+|condition|disease|illness|diagnos\w+|medicat\w+|medicine|takes? \d+|insulin|inhaler|epipen"
        r"|asthma\w*|diabet\w+|c(?:o)?eliac|epilep\w+|pregnan\w+|vegan|vegetarian|diet|intoleran\w+|blood pressure"
        r"|doctor|gp|therap\w+|injur\w+|surgery|vaccin\w+|pacemaker|migraines?|hernia\w*|sober"
    ),
    Overview.PROJECTS: _words(
        r"projects?|deadline|milestone|release|repo(?:sitory)?|codebase|clients?|customers?|launch|roadmap|stack"
        r"|deploy\w*|sprint|contract|exhibition|paper|thesis|renovation"
    ),
    Overview.WORK: _words(
        rf"{_AT_WORK.pattern}|employer|company|office|salary|projects?|clients?|customers?|deadline|business|contract"
    ),
    Overview.PREFERENCES: _words(
        r"prefers?|preferences?|likes?|loves?|enjoys?|dislikes?|hates?|favou?rites?|habits?|tastes?|style|always|never"
        r"|rather than|hobby|hobbies"
    ),
}


def related_names(kind: Overview) -> tuple[str, ...]:
    """Names under which a person of the class may be stored: "husband", "my_husband"."""
    words = sorted(word.replace("-", "_") for word in RELATIONS.get(kind, ()))
    return tuple(f"{owner}{word}" for word in words for owner in _OWNERS)


def best_of(kind: Overview, ranked: Sequence[Ranked], now: datetime, user_names: Collection[str]) -> list[Ranked]:
    """The members of the class, best first. Plans come in the order of their time; the others by importance, with one
    memory of each subject before the second of any."""
    if kind is Overview.PLANS:
        dated = [one for one in ranked if one.hit.valid_at and one.hit.valid_at >= now]
        others = [one for one in ranked if one.hit.valid_at is None and _PLAN.search(one.hit.content)]
        return sorted(dated, key=lambda one: (one.hit.valid_at, one.hit.id)) + _by_importance(others)
    if kind is Overview.USER:
        return _by_importance([one for one in ranked if _is_user(one.hit, user_names)])
    return _one_of_each(_by_importance(_members(kind, ranked, user_names)))


def subjects_of(kind: Overview, hits: Sequence[Hit], user_names: Collection[str]) -> frozenset[str]:
    """Keys of the people that stand in the relation to the user, as far as these memories tell."""
    if kind not in RELATIONS:
        return frozenset()
    facts = [hit for hit in hits if hit.type is MemoryType.FACT and hit.subject_label]
    found = {name_key(hit.subject_label or "") for hit in facts if _is_related(kind, hit, user_names)}
    said = [_text(hit) for hit in facts if _is_user(hit, user_names) and _PREDICATES[kind].search(_text(hit))]
    labels = {hit.subject_label or "" for hit in facts}
    named = {label for label in labels if looks_like_name(label) and any(_says(text, label) for text in said)}
    return frozenset({*found, *map(name_key, named)} - {*USER_KEYS, *user_names})


def _is_related(kind: Overview, hit: Hit, user_names: Collection[str]) -> bool:
    predicate = (hit.predicate_label or "").replace("_", " ")
    if name_key(hit.subject_label or "") in related_names(kind):
        return True
    if hit.is_named and looks_like_name(hit.subject_label or ""):
        return True
    if _OF_RELATION.search(predicate):
        return _PREDICATES[kind].search(hit.content) is not None
    return not _is_user(hit, user_names) and _RELATED[kind].search(hit.content) is not None


def _says(text: str, label: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text) is not None


def _members(kind: Overview, ranked: Sequence[Ranked], user_names: Collection[str]) -> list[Ranked]:
    if kind in RELATIONS:
        subjects = subjects_of(kind, [one.hit for one in ranked], user_names)
        words = _PREDICATES[kind]
        return [
            one
            for one in ranked
            if one.hit.type is MemoryType.FACT
            and (
                name_key(one.hit.subject_label or "") in subjects
                or (_is_user(one.hit, user_names) and words.search(_text(one.hit)))
            )
        ]
    return [one for one in ranked if _is_member(kind, one.hit, user_names)]


def _is_member(kind: Overview, hit: Hit, user_names: Collection[str]) -> bool:
    if kind is Overview.EVERYTHING:
        return True
    if kind is Overview.PREFERENCES and hit.type is MemoryType.RULE:
        return True
    if hit.type is not MemoryType.FACT or not hit.subject_label:
        return False
    text = _text(hit)
    if kind in _CLASSES:
        return _CLASSES[kind].search(text) is not None
    subject = name_key(hit.subject_label)
    is_person = looks_like_name(hit.subject_label) or "team" in subject
    words = _AT_WORK if kind is Overview.TEAM else _PERSON
    return is_person and not _is_user(hit, user_names) and words.search(text) is not None


def _is_user(hit: Hit, user_names: Collection[str]) -> bool:
    if hit.type is not MemoryType.FACT or not hit.subject_label:
        return False
    subject = name_key(hit.subject_label)
    return subject in USER_KEYS or subject in user_names


def _text(hit: Hit) -> str:
    return f"{hit.predicate_label or ''} {hit.content}".replace("_", " ").replace(":", " ")


def _by_importance(ranked: Sequence[Ranked]) -> list[Ranked]:
    return sorted(ranked, key=lambda one: (-one.parts.importance, -one.parts.score, one.hit.id))


def _one_of_each(ranked: Sequence[Ranked]) -> list[Ranked]:
    seen: dict[str, int] = {}
    places = []
    for one in ranked:
        subject = (one.hit.subject_label or str(one.hit.id)).casefold()
        places.append(seen.get(subject, 0))
        seen[subject] = places[-1] + 1
    order = sorted(range(len(ranked)), key=lambda at: (places[at], at))
    return [ranked[at] for at in order]
