"""Who in the store is a child, another relative or somebody else, as far as facts tell.

A task for the kids concerns the children, and one for the family concerns no employee and no customer.
"""

import re
from collections.abc import Sequence
from enum import Enum

from memory_butler.english.text.kinship import ADULT_RELATIVES, CHILDREN
from memory_butler.english.text.names import name_key
from memory_butler.english.text.normalize import as_words
from memory_butler.english.text.word_sets import any_of
from memory_butler.models import Hit, MemoryType

GROWN_UP_FROM = 16
_OWNER = r"(?:\w{1,40}(?: \w{1,40})?['’]s|their|her|his|my|our|the user['’]s)"
_OTHERS = (
    "employee|apprentice|trainee|intern|colleague|boss|manager|assistant|customer|client|supplier|landlord|landlady"
    "|tenant|neighbou?r|teacher|doctor|dentist|accountant|lawyer|shop|store|bakery|restaurant|truck|company|firm|club"
    "|app|service|server|project|website|boat|van|car|dog|cat|horse|rabbit|parrot"
)


def _said_first(words: str, owner: str) -> re.Pattern[str]:
    """What the first sentence says of its subject: "Ada, Grace's daughter, …", "Ada is our daughter", "Grace's daughter
    Ada …"."""
    return re.compile(
        rf"(?:[^.;:]{{1,40}}?(?:,|\bis\b|\bwas\b)\s{{1,3}})?{owner}\s{{1,3}}(?:[\w-]{{1,40}}\s{{1,3}}){{0,2}}(?:{words})\b",
        re.IGNORECASE,
    )


_CHILD = _said_first(any_of(CHILDREN), _OWNER)
_TWINS = re.compile(r"(?i:the|our) (?:twins|boys|girls|children|kids),? [A-Z]")
_ADULT = _said_first(any_of(ADULT_RELATIVES), _OWNER)
_OTHER = _said_first(_OTHERS, rf"(?:{_OWNER}|the|an?)")
_LABEL = re.compile(rf"\b(?:({any_of(CHILDREN)})|({any_of(ADULT_RELATIVES)}))\b", re.IGNORECASE)
_AGE = re.compile(r"[^.;:]{1,40}?(?:\((\d{1,2})\)|\b(?:is|aged) (\d{1,2})(?: years? old|[,.]|$))", re.IGNORECASE)
_OF_CHILDREN = re.compile(r"\b(?:school|kindergarten|nursery|day ?care|playgroup|class teacher|babysitter)\b")


class Role(Enum):
    CHILD = "child"
    ADULT = "adult relative"
    OTHER = "nobody of the family"


def roles_of(hits: Sequence[Hit]) -> dict[str, Role]:
    """The role of each subject that the facts tell something about, by name key."""
    found: dict[str, set[Role]] = {}
    for hit in hits:
        if hit.type is MemoryType.FACT and hit.subject_label:
            role = _role(hit.subject_label, as_words(hit.predicate_label or ""), hit.content)
            if role:
                found.setdefault(name_key(hit.subject_label), set()).add(role)
    # A child may have a teacher, and an employee may be a cousin.
    return {key: next(role for role in Role if role in roles) for key, roles in found.items()}


def _role(label: str, predicate: str, content: str) -> Role | None:
    if named := _LABEL.search(label):
        return Role.CHILD if named[1] else Role.ADULT
    age = _AGE.match(content)
    is_grown_up = age is not None and int(age[1] or age[2]) >= GROWN_UP_FROM
    if not is_grown_up and (age or _CHILD.match(content) or _TWINS.match(content) or _OF_CHILDREN.search(predicate)):
        return Role.CHILD
    if _CHILD.match(content) or _ADULT.match(content):
        return Role.ADULT
    return Role.OTHER if _OTHER.match(content) else None
