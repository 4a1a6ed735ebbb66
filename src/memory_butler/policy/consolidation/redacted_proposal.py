"""Redaction of a proposal before it is checked.

Most fields of an item cannot hold a secret: a reference, a date, a number up to 10 or the name of a class. They are
left as they are, because looking for secrets in each of them took longer than the rest of the check.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from memory_butler.models import Permanence
from memory_butler.policy.trust.redaction import RedactionPolicy, redact_values

LISTS = ("facts", "updates", "rules", "confirmations")
_WORDS = frozenset(["subject", "predicate", "content", "tags", "reason"])
_REFERENCE = re.compile(r"(?:episode|fact|rule):[0-9a-z]{1,10}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|\+00:00)")
_PERMANENCES = frozenset(map(str, Permanence))


def _is_reference(value: Any) -> bool:
    return isinstance(value, str) and bool(_REFERENCE.fullmatch(value))


_HARMLESS: Mapping[str, Callable[[Any], bool]] = {
    "evidence": lambda value: isinstance(value, list) and all(map(_is_reference, value)),
    "target": _is_reference,
    "permanence": lambda value: isinstance(value, str) and value in _PERMANENCES,
    "importance": lambda value: type(value) is int and 0 <= value <= 10,
    "valid_at": lambda value: isinstance(value, str) and bool(_MOMENT.fullmatch(value)),
}


def redact_proposal(proposal: object, policy: RedactionPolicy) -> object:
    """The proposal without secrets."""
    if not isinstance(proposal, dict):
        return redact_values(proposal, policy, Counter())
    redacted: dict[Any, Any] = {}
    for name, value in proposal.items():
        if name in LISTS and isinstance(value, list):
            redacted[name] = [_entry(one, policy) for one in value]
        else:
            redacted |= redact_values({name: value}, policy, Counter())
    return redacted


def _entry(entry: Any, policy: RedactionPolicy) -> Any:
    if not isinstance(entry, dict):
        return redact_values(entry, policy, Counter())
    redacted: dict[Any, Any] = {}
    for name, value in entry.items():
        is_harmless = _HARMLESS.get(name) if isinstance(name, str) else None
        if is_harmless and (value is None or is_harmless(value)):
            redacted[name] = value
        elif name in _WORDS:
            redacted[name] = redact_values(value, policy, Counter(), context=name)
        else:
            redacted |= redact_values({name: value}, policy, Counter())
    return redacted
