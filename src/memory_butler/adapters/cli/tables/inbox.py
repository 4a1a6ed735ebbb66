"""Tables of the review inbox."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from memory_butler import models
from memory_butler.adapters.cli.tables.memories import date_of, indented, safe, stored
from memory_butler.policy.memories.text import subject_and_predicate

if TYPE_CHECKING:
    from memory_butler.operations.trust.quarantine import Inbox

NOTHING = "Nothing waits for a decision."


def inbox(found: "Inbox") -> RenderableType:
    parts: list[RenderableType] = []
    for one in found.items:
        memory = one.memory
        parts.append(Text(f"{memory.type}:{memory.ref}  {date_of(memory.created_at)}  {one.why}", style="bold"))
        text = memory.content
        if isinstance(memory, models.Fact):
            text = f"{subject_and_predicate(memory.subject_label, memory.predicate_label, text)}: {text}"
        parts.append(indented(Text(safe(text))))
        if one.current_ref:
            parts.append(indented(Text(safe(f"now: {one.current_content} (fact:{one.current_ref})"), style="dim")))
    if found.total > len(found.items):
        parts.append(Text(f"{found.total - len(found.items)} more; see --limit."))
    advice = "memory-butler review approve REF, or reject REF"
    return Group(*parts, Text(advice, style="dim")) if parts else Text(NOTHING)


def decided(done: Sequence[models.Stored]) -> RenderableType:
    return Group(*map(stored, done))
