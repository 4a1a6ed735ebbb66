"""Admission of texts: secrets are replaced before a text is hashed, embedded, stored or put into an event.

Every operation that takes text from a caller begins here, so that no adapter can go around it. The policy follows from
the settings of the tenant and the butler.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from memory_butler.errors import InvalidInput
from memory_butler.models import Caller, NewEpisode, NewFact, NewNote, NewRule, Stored
from memory_butler.policy.memories.validation import (
    EPISODE_CHARACTERS,
    FACT_CHARACTERS,
    METADATA_BYTES,
    NAME_CHARACTERS,
    REASON_CHARACTERS,
    RULE_CHARACTERS,
    TAG_CHARACTERS,
    clean_text,
)
from memory_butler.policy.trust.redaction import DEFAULT, Action, RedactionPolicy, redact, redact_values
from memory_butler.resources import Resources
from memory_butler.settings import RedactionSettings

New = TypeVar("New", bound=NewEpisode | NewFact | NewRule | NewNote)
_LIMITS: dict[type, int] = {
    NewEpisode: EPISODE_CHARACTERS,
    NewFact: FACT_CHARACTERS,
    NewRule: RULE_CHARACTERS,
    NewNote: EPISODE_CHARACTERS,
}
# Longer input is not read: validation refuses it.
_READ_FACTOR = 2


@dataclass(frozen=True, slots=True)
class Admitted:
    """Secrets that were removed from a request, by kind. `quarantine_reason` is set if the policy asks to quarantine
    what the request stores."""

    redacted: Mapping[str, int] = field(default_factory=dict)
    quarantine_reason: str | None = None

    def __add__(self, other: "Admitted") -> "Admitted":
        counts = Counter(self.redacted) + Counter(other.redacted)
        return Admitted(dict(sorted(counts.items())), self.quarantine_reason or other.quarantine_reason)

    def on(self, stored: Stored) -> Stored:
        """The result of the write with these counts."""
        if not self.redacted:
            return stored
        return replace(stored, redacted=dict(self.redacted))


NOTHING = Admitted()


def policy_for(resources: Resources, tenant: str, butler: str) -> RedactionPolicy:
    """The redaction policy for what a butler of a tenant stores."""
    return policy_from(resources.settings.redaction_of(tenant, butler))


def policy_from(settings: RedactionSettings) -> RedactionPolicy:
    if not (settings.actions or settings.patterns or settings.allow):
        return DEFAULT
    return RedactionPolicy(
        actions={kind: Action(action) for kind, action in settings.actions.items()},
        patterns=tuple((kind, re.compile(pattern)) for kind, pattern in settings.patterns.items()),
        allow=settings.allow,
    )


def admit(resources: Resources, new: New, caller: Caller) -> tuple[New, Admitted]:
    """Returns the request without secrets. Raises InvalidInput if it contains a kind that the policy refuses."""
    butler = new.butler if isinstance(new, NewEpisode | NewNote) and isinstance(new.butler, str) else None
    admission = Admission(policy_for(resources, caller.principal.tenant, butler or caller.principal.butler))
    predicate = new.predicate if isinstance(new, NewFact) and isinstance(new.predicate, str) else ""
    changed: dict[str, Any] = {
        "content": admission.text(new.content, _LIMITS[type(new)], context=predicate.partition(":")[0][:80]),
        "tags": admission.texts(new.tags, TAG_CHARACTERS),
    }
    if not isinstance(new, NewNote):
        changed["metadata"] = admission.metadata(new.metadata)
    if isinstance(new, NewFact):
        changed["subject"] = admission.text(new.subject, NAME_CHARACTERS)
        changed["predicate"] = admission.text(new.predicate, NAME_CHARACTERS)
        changed["aliases"] = admission.texts(new.aliases, NAME_CHARACTERS)
    admitted = admission.done()
    if admitted.quarantine_reason and not isinstance(new, NewNote):
        changed["quarantine_reason"] = admitted.quarantine_reason
    return (replace(new, **changed) if admitted.redacted else new), admitted


def admit_text(
    resources: Resources, caller: Caller, text: str, limit: int, *, context: str = ""
) -> tuple[str, Admitted]:
    """Returns a single text without secrets."""
    admission = Admission(policy_for(resources, caller.principal.tenant, caller.principal.butler))
    changed: str = admission.text(text, limit, context=context)
    return changed, admission.done()


def admit_tags(resources: Resources, caller: Caller, tags: Sequence[str]) -> tuple[Sequence[str], Admitted]:
    """Returns tags without secrets."""
    admission = Admission(policy_for(resources, caller.principal.tenant, caller.principal.butler))
    changed: Sequence[str] = admission.texts(tags, TAG_CHARACTERS)
    return changed, admission.done()


def admit_reason(resources: Resources, caller: Caller, reason: str | None) -> tuple[str | None, Admitted]:
    """Returns a valid reason without secrets."""
    if reason is None:
        return None, NOTHING
    changed, admitted = admit_text(resources, caller, reason, REASON_CHARACTERS)
    return clean_text(changed, "reason", REASON_CHARACTERS), admitted


class Admission:
    """Redacts the texts of one request and counts what was found."""

    def __init__(self, policy: RedactionPolicy = DEFAULT) -> None:
        self.policy = policy
        self.counts: Counter[str] = Counter()

    def text(self, value: Any, limit: int, *, context: str = "") -> Any:
        """The text without secrets, cut to the limit if the markers make it longer. Other values stay as they are."""
        if not isinstance(value, str) or len(value) > _READ_FACTOR * limit:
            return value
        found = redact(value, self.policy, context=context)
        if not found.counts:
            return value
        self.counts.update(found.counts)
        return found.text[:limit] if len(value) <= limit else found.text

    def texts(self, values: Any, limit: int) -> Any:
        if not isinstance(values, list | tuple):
            return values
        return tuple(self.text(value, limit) for value in values)

    def metadata(self, value: Any) -> Any:
        """Metadata without secrets. Values that validation refuses are left alone."""
        if not isinstance(value, dict) or not value:
            return value
        try:
            if len(str(value)) > METADATA_BYTES * _READ_FACTOR:
                return value
            return redact_values(value, self.policy, self.counts)
        except (RecursionError, TypeError, AttributeError):
            return value

    def done(self) -> Admitted:
        """The result; raises InvalidInput if a kind that was found is refused."""
        if not self.counts:
            return NOTHING
        refused = sorted(kind for kind in self.counts if self.policy.action(kind) is Action.REFUSE)
        if refused:
            raise InvalidInput(
                f"The request contains a secret ({', '.join(refused)}), which the settings refuse; nothing was stored.",
                recovery="Remove it and retry; redaction.actions in the settings decides what is refused.",
            )
        kinds = sorted(kind for kind in self.counts if self.policy.action(kind) is Action.QUARANTINE)
        reason = f"contains a secret ({', '.join(kinds)})" if kinds else None
        return Admitted(dict(sorted(self.counts.items())), reason)
