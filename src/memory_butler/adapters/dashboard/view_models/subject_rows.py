"""A subject as its page shows it: facts by property, relations, and a line of time."""

from collections.abc import Iterable
from typing import Any

from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.components.vue_components import Group
from memory_butler.adapters.dashboard.server.page_url import url_for
from memory_butler.adapters.dashboard.server.routes import SUBJECTS, memory_path
from memory_butler.adapters.dashboard.view_models.phrases import state_of, truncate
from memory_butler.english.text.normalize import as_words
from memory_butler.models import Fact
from memory_butler.models.graph import Subject
from memory_butler.operations.browse.subject_profile import Relation, SubjectProfile
from memory_butler.policy.memories.sentence import memory_sentence, property_words
from memory_butler.policy.memories.text import is_note

Row = dict[str, Any]
SHOWN_CHARACTERS = 300
NOTES = "notes"


def subject_href(name: str) -> str:
    return url_for(SUBJECTS, {"name": name})


def subject_row(subject: Subject) -> Row:
    return {
        "label": visible_text(as_words(subject.label)),
        "href": subject_href(subject.subject),
        "facts": subject.facts,
        "at": subject.latest_at.isoformat(),
    }


def by_property(profile: SubjectProfile) -> list[tuple[str, list[Fact]]]:
    """The facts in use by property, in alphabetical order; notes come last."""
    groups: dict[str, list[Fact]] = {}
    for listed in profile.facts:
        if isinstance(listed.memory, Fact):
            label = listed.memory.predicate_label
            words = visible_text(property_words(label, listed.memory.content))
            groups.setdefault(NOTES if is_note(label) else words, []).append(listed.memory)
    return sorted(groups.items(), key=lambda group: (group[0] == NOTES, group[0].casefold()))


def relation_groups(relations: Iterable[Relation]) -> list[Group]:
    groups: dict[str, list[Row]] = {}
    for number, one in enumerate(relations):
        entry = {
            "key": f"{number}",
            "kind": "subject",
            "name": visible_text(as_words(one.label)),
            "href": subject_href(one.subject),
            "segments": [["same", truncate(memory_sentence(one.fact), SHOWN_CHARACTERS)]],
        }
        groups.setdefault("Mentions" if one.outbound else "Mentioned by", []).append(entry)
    return [{"title": title, "entries": entries} for title, entries in groups.items()]


def history_groups(profile: SubjectProfile) -> list[Group]:
    """All facts along the time that they are about."""
    facts = [one.memory for one in (*profile.facts, *profile.former) if isinstance(one.memory, Fact)]
    entries = [
        {
            "key": str(fact.id),
            "kind": "fact",
            "ref": f"fact:{fact.ref}",
            "href": memory_path(fact.type, fact.ref),
            "chips": [] if fact.validity == "active" else [list(state_of(fact))],
            "segments": [["same", truncate(memory_sentence(fact), SHOWN_CHARACTERS)]],
            "at": (fact.valid_at or fact.created_at).isoformat(),
        }
        for fact in sorted(facts, key=lambda fact: fact.valid_at or fact.created_at, reverse=True)
    ]
    return [{"title": "", "entries": entries}]
