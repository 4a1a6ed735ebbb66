"""Broad questions: they ask for a class of memories and not for one answer.

"Who is on the team?", "What's coming up?" and "What do you know about me?" share no words with the memories that answer
them. They are recognised by their wording and answered with the best of the class.
"""

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum

from memory_butler.english.text.names import looks_like_name, name_key
from memory_butler.models import USER_KEYS, Hit, MemoryType, Ranked


class Overview(StrEnum):
    """Class of memories that a broad question asks for."""

    USER = "user"
    PEOPLE = "people"
    PLANS = "plans"
    EVERYTHING = "everything"


# Added to the text that is compared, so that the candidates are of the class.
HINTS = {
    Overview.USER: "user name, job, home, family, preferences",
    Overview.PEOPLE: "colleague, friend, family member, role, works as",
    Overview.PLANS: "appointment, meeting, trip, deadline, event planned for",
    Overview.EVERYTHING: "",
}
_TELL = (
    r"(?:(?:please |can you |could you )*(?:tell|remind) (?:me|us)|(?:please )?(?:give me|show me|list|summari[sz]e)"
    r"|what (?:do|did|can) you (?:know|remember|recall|tell me|have(?: stored)?)"
    r"|what(?:'s| is| have you) (?:known|stored|learned))"
)
_ABOUT = r"(?: (?:about|on|of))?"
_ALL = (
    r"(?: (?:everything|anything|all|something|what|more|a bit|an overview|a summary)"
    r"(?: (?:that )?you (?:know|remember|have))?)?"
)
_END = r"(?: (?:at the moment|right now|now|so far|already|currently|these days|today|please|again|next|soon|then))*"
_PEOPLE = (
    r"(?:(?:the|my|our|all(?: the)?|these|other) )*"
    r"(?:people|persons|team|team ?mates|team members|members of (?:the|my|our) team|colleagues|coworkers|co-workers"
    r"|friends|family|contacts|everyone|everybody)(?: (?:i|we|you) know| in my life| involved)?"
)
_PLANS = (
    r"(?:coming up|up next|(?:going on |happening )?soon|upcoming|ahead(?: of (?:me|us))?|on the horizon|planned"
    r"|scheduled)"
)
_CALENDAR = (
    r"(?:(?:the|my|our|any|all) )*(?:upcoming )?"
    r"(?:calendar|schedule|agenda|plans|appointments|events|deadlines)"
)
_PATTERNS = (
    (
        Overview.USER,
        rf"{_TELL}{_ALL}{_ABOUT} (?:me|myself|us)|who am i|what am i like|describe me|do you know (?:me|who i am)",
    ),
    (
        Overview.PEOPLE,
        rf"{_TELL}{_ALL}{_ABOUT} {_PEOPLE}|who(?:'s| is| are|'re)(?: all)? (?:(?:on|in|part of) )?{_PEOPLE}"
        r"|who (?:do|does|all do) (?:i|we|you|the user) (?:know|work with)"
        r"|(?:which|what) people (?:do (?:i|we|you) know|are there)|who (?:is there|works here|works with me)",
    ),
    (
        Overview.PLANS,
        rf"what(?:'s| is| do (?:i|we) have| have (?:i|we)(?: got)?| are my plans)? {_PLANS}"
        rf"|(?:{_TELL}|what(?:'s| is| are|'re)|do (?:i|we) have|are there)(?: (?:on|in|about|me))* {_CALENDAR}{_ABOUT}"
        r"|(?:do (?:i|we) have )?anything (?:coming up|planned|upcoming|scheduled)"
        r"|what(?:'s| is) next|what (?:am i|are we) (?:planning|going to do)",
    ),
    (Overview.EVERYTHING, rf"{_TELL}{_ALL}|tell (?:me|us) everything"),
)
_KINDS = [(kind, re.compile(rf"(?:{pattern}){_END}", re.IGNORECASE)) for kind, pattern in _PATTERNS]
_MARKS = re.compile(r"[^\w'\s-]+")
LONGEST = 120
# Words that describe a person.
_PERSON = re.compile(
    r"\b(?:he|she|his|her|hers|him|works?|working|role|job|title|team|colleague|coworker|manager|manages|boss|lead|leads"
    r"|engineer|developer|designer|doctor|nurse|teacher|director|assistant|analyst|consultant|founder|partner|wife"
    r"|husband|spouse|mother|father|mom|mum|dad|parent|sister|brother|son|daughter|child|aunt|uncle|cousin|nephew|niece"
    r"|grand\w+|friend|neighbou?r|roommate|flatmate|birthday|lives?|married|born|reports? to|contact|phone|email)\b",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\b(?:appointment|meeting|trip|flight|deadline|due|booked|scheduled|planned|plans? to|planning|upcoming|tomorrow"
    r"|next (?:week|month|year|spring|summer|autumn|fall|winter|\w+day)|will|going to|reservation|wedding|conference"
    r"|launch|release|visit|exam|interview|party|birthday|vacation|holiday)\b",
    re.IGNORECASE,
)


def overview_of(text: str) -> Overview | None:
    """The class that a question asks for; None if it has a topic of its own."""
    if len(text) > LONGEST:
        return None
    plain = " ".join(_MARKS.sub(" ", text.replace("’", "'")).split())
    return next((kind for kind, pattern in _KINDS if pattern.fullmatch(plain)), None)


def best_of(kind: Overview, ranked: Sequence[Ranked], now: datetime, user_names: Collection[str]) -> list[Ranked]:
    """The members of the class, best first. Plans come in the order of their time; the others by importance, with one
    memory of each subject before the second of any."""
    if kind is Overview.PLANS:
        dated = [one for one in ranked if one.hit.valid_at and one.hit.valid_at >= now]
        others = [one for one in ranked if one.hit.valid_at is None and _PLAN.search(one.hit.content)]
        return sorted(dated, key=lambda one: (one.hit.valid_at, one.hit.id)) + _by_importance(others)
    members = [one for one in ranked if _is_member(kind, one.hit, user_names)]
    if kind is Overview.USER:
        return _by_importance(members)
    return _one_of_each(_by_importance(members))


def _is_member(kind: Overview, hit: Hit, user_names: Collection[str]) -> bool:
    if kind is Overview.EVERYTHING:
        return True
    if hit.type is not MemoryType.FACT or not hit.subject_label:
        return False
    subject = name_key(hit.subject_label)
    is_user = subject in USER_KEYS or subject in user_names
    if kind is Overview.USER:
        return is_user
    text = f"{hit.predicate_label or ''} {hit.content}".replace("_", " ")
    is_person = looks_like_name(hit.subject_label) or "team" in subject
    return not is_user and is_person and _PERSON.search(text) is not None


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
