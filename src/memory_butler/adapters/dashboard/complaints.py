"""What went wrong, said to a person: errors are worded for agents, who have tools and arguments; people have pages."""

import re

from memory_butler.errors import ERROR_CLASSES, MemoryButlerError

FOR_PEOPLE: dict[str, str] = {
    "validation_error": "",
    "not_found": "It may have been deleted; look for it in the lists.",
    "permission_denied": "Ask an administrator.",
    "conflict": "Look at it again, then decide.",
    "integrity_error": "Nothing was changed. Look at it again: something else has changed meanwhile.",
    "target_unavailable": "Try again in a moment; memory-butler doctor tells what is wrong.",
    "timeout": "Try again.",
    "overload_rejected": "Wait a moment and try again.",
    "internal_error": "The server's log says where it happened; memory-butler doctor looks for the cause.",
}
_USUAL = {kind.default_recovery for kind in ERROR_CLASSES.values()}
_FOR_AGENTS = re.compile(
    r"\bmemory_[a-z]|\bas_of\b|\btime_(from|to)\b|\bexpand\b|\w=\w|[ (]--[a-z]|^Pass |^Leave out |[Cc]all again|"
    r"idempotency|openapi|the header|`cursor`"
)
_SENTENCE = re.compile(r"(?<=\.) ")
_SAID = {
    "time_from is not before time_to.": "The first day is not before the last.",
    "The cursor does not belong to this list.": "This address belongs to another list, or to other filters.",
}
# Only where a message begins with one: further on it may be somebody's word.
_NAMES = {"time_from": "The first day", "time_to": "The last day", "as_of": "The moment"}
_NAME = re.compile(rf"^({'|'.join(_NAMES)})\b")
_UUID = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


def message_of(problem: MemoryButlerError) -> str:
    """What happened, without the names of arguments."""
    said = _SAID.get(problem.message) or _NAME.sub(lambda found: _NAMES[found[0]], problem.message)
    return _plain(said)


def advice_of(problem: MemoryButlerError) -> str:
    """How to go on from here; nothing where that is plain."""
    given = "" if problem.recovery in _USUAL else problem.recovery or ""
    said = " ".join(part for part in _SENTENCE.split(given) if not _FOR_AGENTS.search(part))
    return _plain(said) or FOR_PEOPLE[problem.error_class]


def words_of(problem: MemoryButlerError) -> str:
    return f"{message_of(problem)} {advice_of(problem)}".strip()


def _plain(text: str) -> str:
    """Backticks are for those who show them as code, whole ids for those who copy them."""
    return _UUID.sub(r"\1…", text.replace("`", ""))
