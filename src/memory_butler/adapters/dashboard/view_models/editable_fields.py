"""The fields of a memory that a user can change, and what a typed value means."""

from collections.abc import Callable
from typing import Any

from memory_butler import models
from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.view_models.list_query import join_values, split_values
from memory_butler.english.text.normalize import as_words
from memory_butler.errors import InvalidInput
from memory_butler.models import Fact, Memory, MemoryChanges, Permanence, Rule
from memory_butler.policy.memories.text import is_note
from memory_butler.policy.memories.validation import FACT_CHARACTERS, NAME_CHARACTERS, RULE_CHARACTERS

Props = dict[str, Any]
VALUE = "value"
SCALE = tuple(str(number) for number in range(1, 11))
_TAG_CHARACTERS = 1000


def fields_of(memory: Memory, *, may_correct: bool, may_update: bool) -> list[Props]:
    """The fields of a memory in use, as props of the editor. Only those of memories in use can be changed."""
    is_live = memory.validity in models.LIVE and not memory.quarantine_reason
    fields = []
    if isinstance(memory, Fact):
        fields = [
            _area(memory.content, is_live and may_correct, FACT_CHARACTERS),
            _field("subject", "Subject", memory.subject_label, is_live and may_update),
        ]
        if not is_note(memory.predicate_label):
            label = as_words(memory.predicate_label)
            fields.append(
                {
                    **_field("predicate", "Property", memory.predicate_label, is_live and may_update),
                    "text": visible_text(label),
                }
            )
    elif isinstance(memory, Rule):
        fields = [_area(memory.content, is_live and may_update, RULE_CHARACTERS)]
    may_change = is_live and may_update
    if not isinstance(memory, Rule):
        fields.append(_field("importance", "Importance", str(memory.importance), may_change, choices=SCALE))
    if isinstance(memory, Fact):
        choices = tuple(str(one) for one in Permanence)
        fields.append(_field("permanence", "Permanence", str(memory.permanence), may_change, choices=choices))
    tags = _field("tags", "Tags", join_values(memory.tags), may_change, hint="work, travel", most=_TAG_CHARACTERS)
    fields.append({**tags, "text": visible_text(" ".join(f"#{tag}" for tag in memory.tags))})
    if not isinstance(memory, models.Episode):
        fields.append(_field("scope", "Scope", memory.scope, may_change, hint="global", most=NAME_CHARACTERS))
    return fields


def changes_from(name: str, value: str) -> MemoryChanges:
    """The change of one field, from what the user typed."""
    if name in (VALUE, "content"):
        return MemoryChanges(content=value)
    if name == "importance" and value in SCALE:
        return MemoryChanges(importance=int(value))
    if name == "tags":
        return MemoryChanges(tags=tuple(one.removeprefix("#").strip() for one in split_values(value)))
    makers: dict[str, Callable[[str], MemoryChanges]] = {
        "permanence": lambda text: MemoryChanges(permanence=text),
        "scope": lambda text: MemoryChanges(scope=text),
        "subject": lambda text: MemoryChanges(subject=text),
        "predicate": lambda text: MemoryChanges(predicate=text),
    }
    if name in makers:
        return makers[name](value)
    raise InvalidInput(f"{visible_text(name[:40])} cannot be {visible_text(value[:40])!r}.")


def _area(value: str, editable: bool, most: int) -> Props:
    return {**_field(VALUE, "Text", value, editable, most=most), "form": "area"}


def _field(
    name: str,
    label: str,
    value: str,
    editable: bool,
    *,
    choices: tuple[str, ...] = (),
    hint: str = "",
    most: int = NAME_CHARACTERS,
) -> Props:
    return {
        "name": name,
        "label": label,
        "value": value,
        "text": visible_text(value),
        "editable": editable,
        "form": "choice" if choices else "text",
        "choices": list(choices),
        "hint": hint,
        "most": most,
    }
