"""Redaction: replace secrets in texts by typed markers such as `[redacted: aws_key]`.

Pure and linear in the length of the text. The detectors read a plain view of the text, in which hidden characters and
look-alike spellings are gone, and return spans with a kind. The policy decides for each kind whether it is redacted,
refused, quarantined or kept.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from memory_butler.policy.trust.plain_view import PlainView, plain_view
from memory_butler.policy.trust.secrets.everyday_secrets import find_everyday
from memory_butler.policy.trust.secrets.id_numbers import NUMBER_KINDS, find_numbers
from memory_butler.policy.trust.secrets.named_secrets import find_named
from memory_butler.policy.trust.secrets.random_tokens import find_random
from memory_butler.policy.trust.secrets.secret_names import NAMED_KINDS
from memory_butler.policy.trust.secrets.seed_phrases import find_seed_phrases, find_wallet_keys
from memory_butler.policy.trust.secrets.structured_secrets import STRUCTURED_KINDS, find_structured
from memory_butler.policy.trust.secrets.told_secrets import find_told
from memory_butler.policy.trust.secrets.vendor_formats import VENDOR_KINDS, Finding, find_vendor_tokens

# A redacted text is searched again, at most this often: a marker can change the reading of the rest.
_PASSES = 3


class Action(StrEnum):
    REDACT = "redact"
    REFUSE = "refuse"
    QUARANTINE = "quarantine"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class RedactionPolicy:
    """Actions by kind or group of kinds, own patterns by kind, and values that are never redacted.

    An entry of `allow` is a whole value, or with an asterisk at its end the beginning of values.
    """

    actions: Mapping[str, Action] = field(default_factory=dict)
    patterns: tuple[tuple[str, re.Pattern[str]], ...] = ()
    allow: tuple[str, ...] = ()

    def action(self, kind: str) -> Action:
        for name in (kind, group_of(kind), "all"):
            if name in self.actions:
                return self.actions[name]
        return Action.REDACT

    def allows(self, value: str) -> bool:
        return any(value.startswith(one[:-1]) if one.endswith("*") else value == one for one in self.allow)


DEFAULT = RedactionPolicy()


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and the number of those by kind and by the kinds that are refused or quarantined."""

    text: str
    counts: Mapping[str, int] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = ()


GROUPS = ("credential", "card", "bank_account", "national_id")
KINDS = VENDOR_KINDS | STRUCTURED_KINDS | NUMBER_KINDS | NAMED_KINDS | {"wallet_key"}
_CARD_KINDS = frozenset({"card_number"})
_ID_KIND = re.compile(
    r"[a-z]{2}_(?:ssn|nino|steuer_id|ausweis|dni|insee|codice_fiscale|cpf|aadhaar|pan|sin|tfn|ahv|svnr|bsn|rrn"
    r"|pesel|id|nric|rut"
    r"|curp|my_number|personnummer|fnr|cpr|hetu|nif|tckn|passport)|passport|driver_licence|national_id"
)


def group_of(kind: str) -> str:
    """The group of a kind: credential, card, bank_account or national_id."""
    if kind in _CARD_KINDS:
        return "card"
    if kind == "iban":
        return "bank_account"
    return "national_id" if _ID_KIND.fullmatch(kind) else "credential"


def unknown_kinds(actions: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Names of actions that are neither a kind, a group, `all`, nor the name of an own pattern."""
    return sorted(set(actions) - KINDS - {*GROUPS, "all", *patterns})


def redact(text: str, policy: RedactionPolicy = DEFAULT, *, context: str = "") -> Redacted:
    """Replace the secrets in a text. `context` is the name of the field, for example a key or a predicate."""
    counts: Counter[str] = Counter()
    refused: list[str] = []
    quarantined: list[str] = []
    for _ in range(_PASSES):
        spans = _spans(text, policy, context)
        if not spans:
            break
        parts: list[str] = []
        end = 0
        for start, stop, kind in spans:
            action = policy.action(kind)
            counts[kind] += 1
            refused += [kind] if action is Action.REFUSE else []
            quarantined += [kind] if action is Action.QUARANTINE else []
            parts += [text[end:start], marker(kind)]
            end = stop
        text = "".join([*parts, text[end:]])
    return Redacted(text, dict(counts), tuple(dict.fromkeys(refused)), tuple(dict.fromkeys(quarantined)))


def marker(kind: str) -> str:
    return f"[redacted: {kind}]"


def has_marker(text: str) -> bool:
    """True if a secret was removed from the text."""
    return "[redacted: " in text


def redact_token(text: str, policy: RedactionPolicy = DEFAULT) -> Redacted:
    """Replace only what is certainly a secret: in identifiers, such as request ids, random characters are usual."""
    view = plain_view(text)
    found = _merged(view, text, [*find_vendor_tokens(view.text), *find_structured(view)], policy)
    counts: Counter[str] = Counter()
    for start, stop, kind in reversed(found):
        counts[kind] += 1
        text = text[:start] + marker(kind) + text[stop:]
    return Redacted(text, dict(counts))


def redact_identifier(text: str, policy: RedactionPolicy = DEFAULT) -> Redacted:
    """Redact an id or a key that a caller chose. In words, and in `name=value`, all detectors count."""
    return redact(text, policy) if "=" in text or len(text.split()) > 1 else redact_token(text, policy)


def has_secret(text: str, policy: RedactionPolicy = DEFAULT) -> bool:
    return bool(_spans(text, policy, ""))


def _spans(text: str, policy: RedactionPolicy, context: str) -> list[tuple[int, int, str]]:
    """Spans of the secrets in a text, without overlaps, in their order."""
    prefix = f"{context.replace('_', ' ')}: " if context else ""
    view = plain_view(prefix + text)
    spans = _merged(view, prefix + text, find_all(view, policy), policy)
    if not prefix:
        return spans
    shift = len(prefix)
    return [(max(0, start - shift), end - shift, kind) for start, end, kind in spans if end > shift]


def find_all(view: PlainView, policy: RedactionPolicy = DEFAULT) -> Iterator[Finding]:
    """Findings of all detectors; where they overlap, the kind of the earlier detector holds."""
    yield from find_vendor_tokens(view.text)
    yield from find_structured(view)
    yield from find_numbers(view)
    yield from find_named(view)
    yield from find_everyday(view)
    yield from find_told(view)
    yield from find_random(view)
    yield from find_seed_phrases(view.text)
    yield from find_wallet_keys(view.text)
    for kind, pattern in policy.patterns:
        for found in pattern.finditer(view.text):
            if found.end() > found.start():
                yield Finding(found.start(), found.end(), kind)


def _merged(
    view: PlainView, text: str, findings: Iterable[Finding], policy: RedactionPolicy
) -> list[tuple[int, int, str]]:
    ranked: list[tuple[int, int, int, str]] = []
    for rank, one in enumerate(findings):
        if one.end <= one.start or policy.action(one.kind) is Action.KEEP:
            continue
        start, end = view.original(one.start, one.end)
        if not (policy.allow and policy.allows(text[start:end])):
            ranked.append((start, end, rank, one.kind))
    merged: list[tuple[int, int, int, str]] = []
    for start, end, rank, kind in sorted(ranked):
        if merged and start < merged[-1][1]:
            first, last, earlier, name = merged[-1]
            merged[-1] = (first, max(last, end), min(earlier, rank), name if earlier <= rank else kind)
        else:
            merged.append((start, end, rank, kind))
    return [(start, end, kind) for start, end, _, kind in merged]


def redact_values(value: Any, policy: RedactionPolicy, counts: Counter[str], *, context: str = "") -> Any:
    """Redact the texts in plain JSON, keys included. Adds to `counts`."""
    if isinstance(value, dict):
        return {
            _counted(redact_identifier(key, policy), counts): redact_values(one, policy, counts, context=key[:80])
            for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        return type(value)(redact_values(one, policy, counts, context=context) for one in value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        found = redact(str(value), policy, context=context)
        return _counted(found, counts) if found.counts else value
    return _counted(redact(value, policy, context=context), counts) if isinstance(value, str) else value


def _counted(found: Redacted, counts: Counter[str]) -> str:
    counts.update(found.counts)
    return found.text
