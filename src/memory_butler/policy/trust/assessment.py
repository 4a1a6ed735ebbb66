"""Assessment of what is written: its origin, and whether it waits for a person before it is used.

Origin: the source that the caller names, at most. A text without a named source is an agent's, unless its form shows
that most of it comes from elsewhere. What the user says is never questioned.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from memory_butler.models import NewEpisode, NewFact, NewRule, Origin
from memory_butler.policy.trust.instruction_cues import instruction_kind, is_blatant
from memory_butler.policy.trust.origin import UNTRUSTED, lowest
from memory_butler.policy.trust.quoted_parts import part_origin, quoted_parts, shown_origin
from memory_butler.policy.trust.redaction import has_marker

New = TypeVar("New", NewEpisode, NewFact, NewRule)

INSTRUCTION = "instruction"
RULE_FROM_UNTRUSTED_SOURCE = "rule_from_untrusted_source"
CONTESTED = "contested"
PROTECTED_PROPERTY = "protected_property"
SECRET = "secret"

# Properties that decide what the reader is and may do. A source without trust cannot set them.
_SELF = re.compile(
    r"(?:the_)?(?:user_)?(?:ai|agents?|assistants?|butler|bot|model|system|identity|security|self|session|config|settings|account"
    r"|policy|guardrails?|permissions?|roles?|me|i)(?:_|\b)"
)
_POWERS = re.compile(
    r"(?:^|[_:.\s])(?:roles?|permissions?|privileges?|rights|access(?:_level)?|prompts?|instructions?|persona|goals?|objectives?"
    r"|directives?|identity|polic(?:y|ies)|guardrails?|restrictions?|clearance|scopes?|admin|allowed_tools|trust(?:_level)?"
    r"|is_admin|authority)(?:$|[_:.\s])"
)


# The same of people who may give orders: their rights always, their role if it claims power ("admin", not "teacher").
_GIVER = re.compile(r"(?:the_)?(?:current_)?(?:users?|owners?|operators?|admin(?:istrator)?s?)(?:_account)?")
_ROLE = re.compile(r"(?:^|[_:.\s])(?:roles?|titles?|positions?|status)(?:$|[_:.\s])")
_RIGHTS = re.compile(
    r"(?:^|[_:.\s])(?:permissions?|privileges?|rights|access(?:_level)?|clearance|is_admin|admin|allowed_tools"
    r"|trust(?:_level)?|authority|authori[sz]ation)(?:$|[_:.\s])"
)
_MIGHTY = re.compile(
    r"\b(?:admin\w*|root|super ?-?(?:user|admin)|owner|operator|maintainer|full access|unrestricted|elevated|trusted"
    r"|verified|authori[sz]ed|approv\w+|may|can|allowed|entitled)\b"
)


def admitted(new: New) -> New:
    """The request with its origin as `source`, and with a `quarantine_reason` if it must wait for a person."""
    origin = origin_of(new.content, new.source)
    reason = new.quarantine_reason or _reason(new, origin)
    return replace(new, source=origin, quarantine_reason=reason)


def origin_of(content: str, source: str | None) -> Origin:
    """The origin of a text: the named source; without one, what the form of the text shows, else an agent."""
    if source is not None:
        return Origin(source) if source == Origin.USER else lowest([source, shown_origin(content) or source])
    return shown_origin(content) or Origin.AGENT


def imported_reason(new: NewEpisode | NewFact | NewRule, origin: str) -> str | None:
    """The reason why a memory of an export file must wait. The file names its origin, so nothing is taken for the
    user's own words: it is assessed as an import at most."""
    return _reason(new, lowest([origin, Origin.IMPORT]))


def derived_origin(source: str | None, content: str, episodes: Sequence[tuple[str, str]]) -> Origin:
    """The origin of what is derived from episodes, each given by its origin and text: the lowest of its lineage."""
    lineage = [origin for _, text in episodes if (origin := part_origin(text, content))]
    named = [source] if source else []
    return lowest([*named, *(origin for origin, _ in episodes), *lineage])


def _reason(new: NewEpisode | NewFact | NewRule, origin: Origin) -> str | None:
    if origin is Origin.USER:
        return None
    if origin in UNTRUSTED:
        return _reason_of_untrusted(new)
    for part in quoted_parts(new.content):
        if kind := instruction_kind(part.text):
            return f"{INSTRUCTION}:{kind}"
    return f"{INSTRUCTION}:override" if is_blatant(new.content) else None


def _reason_of_untrusted(new: NewEpisode | NewFact | NewRule) -> str | None:
    text = f"{new.subject} {new.predicate}: {new.content}" if isinstance(new, NewFact) else new.content
    if kind := instruction_kind(new.content) or instruction_kind(text.replace("_", " ")):
        return f"{INSTRUCTION}:{kind}"
    if isinstance(new, NewFact) and _is_protected(new):
        return PROTECTED_PROPERTY
    if has_marker(text):
        return SECRET
    return RULE_FROM_UNTRUSTED_SOURCE if isinstance(new, NewRule) else None


def _is_protected(new: NewFact) -> bool:
    subject, predicate = (name.casefold().replace(" ", "_").replace("-", "_") for name in (new.subject, new.predicate))
    if _GIVER.fullmatch(subject):
        if _ROLE.search(predicate):
            return bool(_MIGHTY.search(new.content.casefold()))
        return bool(_RIGHTS.search(predicate))
    return bool(_SELF.fullmatch(subject) or _SELF.match(f"{subject}_")) and bool(_POWERS.search(predicate))
