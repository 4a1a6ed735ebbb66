"""Scope of what is learned: the user and people concern all butlers, a project concerns the butler that works on it."""

from memory_butler.english.extraction.findings import FACT_CLASSES
from memory_butler.english.text.names import looks_like_name
from memory_butler.languages.speech.cues import FIRST_PERSON, FIRST_PERSON_CJK, RELATIONS, RELATIONS_CJK
from memory_butler.models import USER_SUBJECTS, Item, ItemKind
from memory_butler.policy.memories.text import is_note

OF_PROJECTS = frozenset({"project", "deadline", "uses"})
OF_PEOPLE = frozenset(FACT_CLASSES) - OF_PROJECTS - {"note"}
_PEOPLE = (FIRST_PERSON, FIRST_PERSON_CJK, RELATIONS, RELATIONS_CJK)


def is_about_people(item: Item) -> bool:
    """True for a fact about the user, the user's household, or another person."""
    if item.kind is not ItemKind.FACT:
        return False
    subject, kind = item.subject.casefold(), item.predicate.partition(":")[0]
    is_users = subject in USER_SUBJECTS or subject.startswith(("user's ", "the user's "))
    if is_note(item.predicate):
        return any(pattern.search(item.content) for pattern in _PEOPLE)
    if is_users:
        return kind not in OF_PROJECTS
    return kind in OF_PEOPLE and looks_like_name(item.subject)
