"""Error texts for users of the dashboard: errors are worded for agents with tools and arguments, users have pages.

Imports nothing of NiceGUI: the login pages use it as well.
"""

import re

from memory_butler.errors import ERROR_CLASSES, MemoryButlerError
from memory_butler.policy.trust.redaction import redact

DEFAULT_ADVICE: dict[str, str] = {
    "validation_error": "",
    "not_found": "It may have been deleted. Search for it in the lists.",
    "permission_denied": "Ask an administrator.",
    "conflict": "Check its current state, then decide.",
    "integrity_error": "Nothing was changed. Reload the page: the data has changed meanwhile.",
    "target_unavailable": "Try again in a moment; memory-butler doctor finds the cause.",
    "timeout": "Try again.",
    "overload_rejected": "Wait a moment and try again.",
    "internal_error": "The server's log has the details; memory-butler doctor looks for the cause.",
}
_DEFAULT_RECOVERIES = {kind.default_recovery for kind in ERROR_CLASSES.values()}
_AGENT_ADVICE = re.compile(
    r"\bmemory_[a-z]|\bas_of\b|\btime_(from|to)\b|\bexpand\b|\w=\w|[ (]--[a-z]|^Pass |^Leave out |[Cc]all again|"
    r"idempotency|openapi|the header|`cursor`"
)
_SENTENCE = re.compile(r"(?<=\.) ")
_MESSAGES = {
    "time_from is not before time_to.": "The first day is not before the last.",
    "The cursor does not belong to this list.": "This address belongs to another list, or to other filters.",
}
# Only at the start of a message: elsewhere it may be part of a quoted text.
_NAMES = {"time_from": "The first day", "time_to": "The last day", "as_of": "The date"}
_NAME = re.compile(rf"^({'|'.join(_NAMES)})\b")
_UUID = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")


def user_message(problem: MemoryButlerError) -> str:
    """The error message without names of arguments."""
    message = _MESSAGES.get(problem.message) or _NAME.sub(lambda match: _NAMES[match[0]], problem.message)
    return redact(_simplify(message)).text


def user_advice(problem: MemoryButlerError) -> str:
    """The recovery advice for users; empty where it is obvious."""
    recovery = "" if problem.recovery in _DEFAULT_RECOVERIES else problem.recovery or ""
    advice = " ".join(part for part in _SENTENCE.split(recovery) if not _AGENT_ADVICE.search(part))
    return _simplify(advice) or DEFAULT_ADVICE[problem.error_class]


def user_text(problem: MemoryButlerError) -> str:
    return f"{user_message(problem)} {user_advice(problem)}".strip()


def _simplify(text: str) -> str:
    """Without backticks, and with UUIDs shortened."""
    return _UUID.sub(r"\1…", text.replace("`", ""))
