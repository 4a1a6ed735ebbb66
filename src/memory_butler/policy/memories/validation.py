"""Validation of input: every limit, and the normal form of values."""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar
from uuid import UUID

from memory_butler.english.text.normalize import normal_name
from memory_butler.errors import InvalidInput
from memory_butler.languages.admission import MOST_COMPOSED, nfc
from memory_butler.models import (
    EVERY_SCOPE,
    BriefRequest,
    Lineage,
    MemoryType,
    Mode,
    NewEpisode,
    NewFact,
    NewNote,
    NewRule,
    Origin,
    Permanence,
    Question,
    Relation,
    Tier,
)
from memory_butler.models.vocabulary import WRITABLE
from memory_butler.policy.lifecycle.tiers import tier_named, types_in
from memory_butler.policy.memories.references import is_reference
from memory_butler.policy.memories.visible_text import visible_text
from memory_butler.policy.trust.redaction import has_secret, redact_identifier

EPISODE_CHARACTERS = 20_000
FACT_CHARACTERS = 4_000
RULE_CHARACTERS = 4_000
NAME_CHARACTERS = 200
REASON_CHARACTERS = 1_000
QUERY_CHARACTERS = 100_000
LABEL_CHARACTERS = 200
# Longest part of a wrong value that an error message repeats.
SHOWN_CHARACTERS = 100
TAGS = 20
ALIASES = 20
LINKS = 20
TAG_CHARACTERS = 64
METADATA_BYTES = 16_384
SEARCH_LIMIT = 100
EXPAND_LIMIT = 5
BUDGET_TOKENS = 200_000

_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Handle:
    """A memory named by id or by short reference."""

    type: MemoryType
    id: UUID | None
    ref: str | None

    def __str__(self) -> str:
        return f"{self.type}:{self.ref}" if self.ref else f"{self.type} {self.id}"


def clean_text(value: object, name: str, limit: int) -> str:
    """Returns the text stripped, in NFC and visible. Refuses empty or long text, NUL and invalid Unicode.

    The length is checked first: everything after it costs time in proportion to the limit, not to the request.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be text, not {type(value).__name__}.")
    value = value.strip()
    if len(value) > limit * MOST_COMPOSED:
        raise InvalidInput(f"{name} has {len(value)} characters; the limit is {limit}.")
    if "\x00" in value:
        raise InvalidInput(f"{name} contains a NUL character, which cannot be stored.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{name} contains an invalid Unicode character (a lone surrogate).") from None
    text = nfc(visible_text(value)).strip()
    if not text:
        raise InvalidInput(f"{name} is empty.")
    if len(text) > limit:
        raise InvalidInput(f"{name} has {len(text)} characters; the limit is {limit}.")
    return text


def optional_label(value: object, name: str) -> str | None:
    return None if value is None else clean_text(value, name, LABEL_CHARACTERS)


def optional_labels(new: NewEpisode | NewFact | NewRule | NewNote) -> dict[str, Any]:
    """The optional texts of a request, checked; the source episode is a handle and is checked when it is looked up."""
    source = None if new.source is None else parse_choice(Origin, new.source, "source")
    labels: dict[str, Any] = {"idempotency_key": clean_key(new.idempotency_key), "source": source}
    if isinstance(new, NewEpisode):
        labels["session_id"] = clean_id(new.session_id, "session_id")
    return labels


def slug(value: object, name: str) -> str:
    """Returns the normal form of a butler's name, a scope or a tenant."""
    text = clean_text(value, name, LABEL_CHARACTERS)
    normal = re.sub(r"\s+", "-", text.casefold())
    if not _SLUG.fullmatch(normal) or visible_text(str(value)) != value:
        raise InvalidInput(
            f"{name} {text!r} is not of the form a-z, 0-9, '.', '_' or '-', starting with a letter or digit, "
            "at most 63 characters."
        )
    return normal


def whole_number(value: object, name: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{name} must be a whole number from {low} to {high}.")
    if not low <= value <= high:
        raise InvalidInput(f"{name} is {value}; it must be from {low} to {high}.")
    return value


def fraction(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or not 0 <= value <= 1:
        raise InvalidInput(f"{name} must be a number from 0 to 1.")
    return float(value)


def parse_choice(kind: type[Choice], value: object, name: str) -> Choice:
    """Returns the enum member. Case, spaces, dashes and a plural s are ignored."""
    text = str(value).strip()[:LABEL_CHARACTERS].casefold().replace("-", "_").replace(" ", "_")
    for candidate in (text, text.removesuffix("s")):
        try:
            return kind(candidate)
        except ValueError:
            continue
    raise InvalidInput(f"Unknown {name} {str(value)[:SHOWN_CHARACTERS]!r}; must be one of: {', '.join(kind)}.")


def utc_time(value: object, name: str) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise InvalidInput(f"{name} must be a date and time.")
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidInput(f"{name} has no time zone; use ISO 8601, e.g. 2026-03-01T09:30:00+01:00, or a Z for UTC.")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{name} is out of range.") from None


def clean_tags(values: Sequence[str]) -> tuple[str, ...]:
    if isinstance(values, str) or len(values) > TAGS:
        raise InvalidInput(f"tags must be a list of at most {TAGS} words.")
    return tuple(dict.fromkeys(clean_text(tag, "a tag", TAG_CHARACTERS).casefold() for tag in values))


def clean_links(links: Mapping[str, str | Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """References by relation, each list without duplicates."""
    listed = {relation: (refs,) if isinstance(refs, str) else tuple(refs) for relation, refs in links.items()}
    if sum(map(len, listed.values())) > LINKS:
        raise InvalidInput(f"links must be at most {LINKS}.")
    return {writable_relation(relation): tuple(dict.fromkeys(refs)) for relation, refs in listed.items() if refs}


def writable_relation(value: str) -> Relation:
    relation = parse_choice(Relation, value, "relation")
    if relation not in WRITABLE:
        raise InvalidInput(
            f"Links of the relation {relation} cannot be written.", recovery=f"Use one of {', '.join(WRITABLE)}."
        )
    return relation


def clean_aliases(values: Sequence[str], subject: str) -> tuple[str, ...]:
    """Aliases of a subject without duplicates and without the subject itself."""
    if isinstance(values, str) or len(values) > ALIASES:
        raise InvalidInput(f"aliases must be a list of at most {ALIASES} names.")
    labels = [clean_text(alias, "an alias", NAME_CHARACTERS) for alias in values]
    by_name = {normal_name(subject): subject}
    for label in labels:
        by_name.setdefault(_bounded_name("an alias", label), label)
    return tuple(by_name.values())[1:]


def _bounded_name(name: str, label: str) -> str:
    """Returns the normal form of a name. Case folding can make it longer than the name, so it is checked, too."""
    normal = normal_name(label)
    if len(normal) > NAME_CHARACTERS * 2:
        raise InvalidInput(f"{name} is too long.", recovery=f"Shorten it to {NAME_CHARACTERS} characters.")
    return normal


def clean_metadata(value: dict[str, Any]) -> dict[str, Any]:
    """Returns metadata as it will be read back: plain JSON with text keys."""
    if not isinstance(value, dict):
        raise InvalidInput("metadata must be an object.")
    try:
        encoded = json.dumps(value, allow_nan=False, ensure_ascii=False)
        size = len(encoded.encode())
        plain: dict[str, Any] = _visible(json.loads(encoded))
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput("metadata must be plain JSON, valid Unicode and not nested too deeply.") from None
    if size > METADATA_BYTES:
        raise InvalidInput(f"metadata is {size} bytes of JSON; the limit is {METADATA_BYTES}.")
    if _ESCAPED_NUL.search(encoded):
        raise InvalidInput("metadata contains a NUL character, which cannot be stored.")
    return plain


def _visible(value: Any) -> Any:
    """JSON without hidden characters in its texts."""
    match value:
        case str():
            return visible_text(value)
        case list():
            return [_visible(one) for one in value]
        case dict():
            return {visible_text(key): _visible(one) for key, one in value.items()}
    return value


def parse_handle(memory_type: object, value: object) -> Handle:
    """Parse an id or a short reference, with or without its type in front, as copied from a briefing."""
    kind = parse_choice(MemoryType, memory_type, "type")
    text = clean_text(value, "id", LABEL_CHARACTERS).strip("[]() ").casefold()
    if ":" in text:
        prefix, text = (part.strip() for part in text.split(":", 1))
        if parse_choice(MemoryType, prefix, "type") is not kind:
            raise InvalidInput(f"{value!r} is of type {prefix}, but the requested type is {kind}.")
    if is_reference(text):
        return Handle(kind, None, text)
    try:
        return Handle(kind, UUID(text), None)
    except ValueError:
        raise InvalidInput(
            f"{value!r} is neither an id nor a short reference.",
            recovery=f"Pass the reference shown with the memory, for example {kind}:k3f7, or its id.",
        ) from None


def type_in_reference(value: object) -> str | None:
    """The type that a reference such as fact:k3f7 names; None for an id and for a reference without type."""
    prefix, colon, _ = value.strip("[]() ").partition(":") if isinstance(value, str) else ("", "", "")
    return prefix if colon else None


def validate_lineage(lineage: Lineage) -> Lineage:
    """The ids of a request, without tokens that somebody used as an id."""
    if lineage == Lineage():
        return lineage
    return Lineage(
        request_id=clean_id(lineage.request_id, "request_context.request_id"),
        subrequest_id=clean_id(lineage.subrequest_id, "request_context.subrequest_id"),
        segment_id=clean_id(lineage.segment_id, "request_context.segment_id"),
        session_id=clean_id(lineage.session_id, "request_context.session_id"),
    )


def clean_id(value: object, name: str) -> str | None:
    """Returns an id that a caller chose, or None. A secret in it is replaced by a marker."""
    label = optional_label(value, name)
    return None if label is None else redact_identifier(label).text[:LABEL_CHARACTERS]


def clean_key(value: object, name: str = "idempotency_key") -> str | None:
    """Returns an idempotency key, or None. A key that contains a secret is replaced by its hash, so that it stays
    unique."""
    label = optional_label(value, name)
    if label is None or not has_secret(label):
        return label
    return f"redacted-{hashlib.sha256(label.encode()).hexdigest()}"


def validate_episode(new: NewEpisode) -> NewEpisode:
    return replace(
        new,
        content=clean_text(new.content, "content", EPISODE_CHARACTERS),
        butler=slug(new.butler, "butler"),
        importance=whole_number(new.importance, "importance", 1, 10),
        observed_at=utc_time(new.observed_at, "observed_at"),
        tags=clean_tags(new.tags),
        metadata=clean_metadata(new.metadata),
        **optional_labels(new),
    )


def validate_fact(new: NewFact) -> NewFact:
    fact = replace(
        new,
        subject=clean_text(new.subject, "subject", NAME_CHARACTERS),
        predicate=clean_text(new.predicate, "predicate", NAME_CHARACTERS),
        content=clean_text(new.content, "content", FACT_CHARACTERS),
        importance=whole_number(new.importance, "importance", 1, 10),
        permanence=parse_choice(Permanence, new.permanence, "permanence"),
        scope=slug(new.scope, "scope"),
        tags=clean_tags(new.tags),
        valid_at=utc_time(new.valid_at, "valid_at"),
        metadata=clean_metadata(new.metadata),
        links=clean_links(new.links),
        **optional_labels(new),
    )
    for name, label in (("subject", fact.subject), ("predicate", fact.predicate)):
        _bounded_name(name, label)
    return replace(fact, aliases=clean_aliases(new.aliases, fact.subject))


def validate_rule(new: NewRule) -> NewRule:
    return replace(
        new,
        content=clean_text(new.content, "content", RULE_CHARACTERS),
        scope=slug(new.scope, "scope"),
        tags=clean_tags(new.tags),
        metadata=clean_metadata(new.metadata),
        **optional_labels(new),
    )


def validate_note(new: NewNote) -> NewNote:
    tier = tier_named(new.tier)
    return replace(
        new,
        content=clean_text(new.content, "content", EPISODE_CHARACTERS if tier is Tier.EDEN else FACT_CHARACTERS),
        tier=tier,
        importance=whole_number(new.importance, "importance", 1, 10),
        tags=clean_tags(new.tags),
        **optional_labels(new) | {"butler": None if new.butler is None else slug(new.butler, "butler")},
    )


def validate_question(question: Question) -> Question:
    types = tuple(dict.fromkeys(parse_choice(MemoryType, kind, "type") for kind in question.types))
    tier = None if question.tier is None else tier_named(question.tier)
    expand = whole_number(question.expand, "expand", 0, EXPAND_LIMIT)
    if expand and question.as_of is not None:
        raise InvalidInput(
            "expand returns the current neighbours of a memory and cannot be combined with as_of.",
            recovery="Leave out expand, or leave out as_of to read the current state.",
        )
    time_from, time_to = utc_time(question.time_from, "time_from"), utc_time(question.time_to, "time_to")
    if time_from and time_to and time_from >= time_to:
        raise InvalidInput("time_from is not before time_to.", recovery="Swap them, or leave one out.")
    return replace(
        question,
        time_from=time_from,
        time_to=time_to,
        min_relevance=None if question.min_relevance is None else fraction(question.min_relevance, "min_relevance"),
        expand=expand,
        query=clean_text(question.query, "query", QUERY_CHARACTERS),
        types=types_in(tier, types) if tier else types or tuple(MemoryType),
        tier=tier,
        tags=clean_tags(question.tags),
        scope=question.scope if question.scope in (None, EVERY_SCOPE) else slug(question.scope, "scope"),
        butler=None if question.butler is None else slug(question.butler, "butler"),
        mode=parse_choice(Mode, question.mode, "mode"),
        limit=None if question.limit is None else whole_number(question.limit, "limit", 1, SEARCH_LIMIT),
        min_confidence=None if question.min_confidence is None else fraction(question.min_confidence, "min_confidence"),
        as_of=utc_time(question.as_of, "as_of"),
    )


def validate_brief(request: BriefRequest) -> BriefRequest:
    budget = request.token_budget
    return replace(
        request,
        trigger_prompt=clean_text(request.trigger_prompt, "trigger_prompt", QUERY_CHARACTERS),
        butler=slug(request.butler, "butler"),
        token_budget=None if budget is None else whole_number(budget, "token_budget", 0, BUDGET_TOKENS),
        as_of=utc_time(request.as_of, "as_of"),
    )
