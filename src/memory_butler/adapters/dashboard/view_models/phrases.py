"""Wording that all pages share."""

from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.models import Memory, Origin, Validity
from memory_butler.policy.trust.origin import mark

QUARANTINED = "quarantined"
_ORIGINS = {
    Origin.USER: "the user said it",
    Origin.AGENT: "an agent concluded it",
    Origin.IMPORT: "imported",
    Origin.TOOL: "a tool, file or command",
    Origin.EXTERNAL: "an outside source: web page, mail, document or other person",
}


def count_text(number: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun: 1 change, 1,200 changes."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def truncate(text: str, limit: int) -> str:
    """Text cut to `limit` characters, with invisible characters made visible."""
    return visible_text(text if len(text) <= limit else f"{text[:limit].rstrip()} …")


def state_label(validity: str | None) -> str:
    """The user's word for a validity: a retracted memory is "forgotten"."""
    return "forgotten" if validity == Validity.RETRACTED else str(validity)


def state_of(memory: Memory) -> tuple[str, str]:
    """The state of a memory in a word, and the kind of its chip."""
    if memory.quarantine_reason:
        return QUARANTINED, "warn"
    return state_label(memory.validity), str(memory.validity)


def origin_text(origin: str) -> str:
    """Where a memory comes from, and whether it is verified."""
    words = f"{origin}: {_ORIGINS[Origin(origin)]}"
    return f"{words}; unverified" if mark(origin) else words


def sentence(text: str) -> str:
    """Text with a capital letter and a full stop."""
    text = visible_text(text[:1].upper() + text[1:])
    return text if text.endswith((".", "!", "?")) else f"{text}."
