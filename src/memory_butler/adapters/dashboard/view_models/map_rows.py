"""The map of the store as props: discs, dots and lines, and its relations in words."""

from collections import defaultdict
from typing import Any

from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.view_models.phrases import count_text, truncate
from memory_butler.english.text.normalize import as_words
from memory_butler.models.graph import MapMemory, MemoryMap, NodeKind
from memory_butler.policy.memories.text import subject_and_predicate

Props = dict[str, Any]
# The disc of the rules. No subject has this key: those of subjects begin with "subject:".
RULES = "rules"
_TEXT_CHARACTERS = 100
_MAX_LISTED = 30


def map_props(found: MemoryMap) -> Props:
    """The props of the map. Every text of a memory is a value, drawn as text."""
    labels = {one.subject: as_words(one.label) for one in found.subjects}
    keys: dict[str, list[str]] = defaultdict(list)
    for one in found.memories:
        keys[_disc(one)].append(_key(one))
    discs: list[Props] = [
        {
            "key": one.subject,
            "kind": "subject",
            "label": visible_text(labels[one.subject]),
            "count": one.facts,
            "words": count_text(one.facts, "fact"),
            "keys": keys[one.subject],
        }
        for one in found.subjects
    ]
    if rules := keys[RULES]:
        words = count_text(len(rules), "rule")
        disc = {"key": RULES, "kind": "rule", "label": "Rules", "count": len(rules), "words": words, "keys": rules}
        discs = sorted([*discs, disc], key=lambda one: -one["count"])
    return {
        "subjects": discs,
        "memories": [_memory(one, labels) for one in found.memories],
        "relations": [
            {"source": one.source, "target": one.target, "label": visible_text(one.label)} for one in found.relations
        ],
    }


def digest_props(found: MemoryMap) -> Props:
    """The props of the map on the home page: its dots have no words, which would make the page heavy."""
    props = map_props(found)
    return {**props, "memories": [{**one, "about": "", "text": ""} for one in props["memories"]]}


def totals_text(found: MemoryMap) -> str:
    """The number of memories and subjects, and of those that are shown."""
    text = (
        f"{count_text(found.total_memories, 'memory', 'memories')} about {count_text(found.total_subjects, 'subject')}."
    )
    if len(found.memories) < found.total_memories:
        text += f" The map shows the {len(found.memories):,} most important."
    return text


def relation_lines(found: MemoryMap) -> list[str]:
    """The first relations in words."""
    labels = {one.subject: as_words(one.label) for one in found.subjects}
    lines = [
        f"{labels.get(one.source, one.source)} — {one.label} → {labels.get(one.target, one.target)}"
        for one in found.relations
    ]
    more = [f"and {len(lines) - _MAX_LISTED} more"] if len(lines) > _MAX_LISTED else []
    return [visible_text(line) for line in lines[:_MAX_LISTED] + more]


def _disc(one: MapMemory) -> str:
    return RULES if one.kind is NodeKind.RULE else one.subject or RULES


def _key(one: MapMemory) -> str:
    return f"{one.kind}:{one.ref}"


def _memory(one: MapMemory, labels: dict[str, str]) -> Props:
    about = ""
    if one.kind is NodeKind.FACT:
        about = subject_and_predicate(labels.get(one.subject or "", ""), one.predicate_label, one.content)
    return {
        "key": _key(one),
        "kind": str(one.kind),
        "disc": _disc(one),
        "about": visible_text(about),
        "text": truncate(one.content, _TEXT_CHARACTERS),
        "at": one.created_at.isoformat(),
    }
