"""Exact matches: memories about a subject, or that contain an identifier as a whole.

Matching is by text, never by meaning. The database prefilters, `policy/trust/identifiers.py` decides.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

from memory_butler.english.text.normalize import as_words, normal_name
from memory_butler.errors import InvalidInput
from memory_butler.models import EVERY_SCOPE, Caller, MemoryType, Reach
from memory_butler.policy.access import visibility as reach
from memory_butler.policy.memories.text import one_line, subject_and_predicate
from memory_butler.policy.memories.validation import NAME_CHARACTERS, clean_text
from memory_butler.policy.trust import identifiers
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Row
from memory_butler.store.memories import aliases
from memory_butler.store.trust import forgetting

MAX_MEMORIES = 5_000
MAX_SPELLINGS = 20
LINE_CHARACTERS = 160
SHOWN_ORDER = (MemoryType.FACT, MemoryType.RULE, MemoryType.EPISODE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedMemory:
    """A memory about the subject or identifier, and where it matches. `line` is set in a dry run only."""

    type: MemoryType
    id: UUID
    ref: str
    why: tuple[str, ...]
    line: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Search target: facts about a subject, memories that contain an identifier, or both.

    `texts` are spellings of the identifier. `every_state` also matches memories and aliases that are out of use, and
    the names of agent sessions.
    """

    subject: str | None
    texts: tuple[str, ...]
    reach: Reach
    every_state: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """The memories and aliases that match, and the names of the subject."""

    memories: tuple[MatchedMemory, ...]
    names: tuple[str, ...]
    aliases: tuple[UUID, ...]


def parse_target(caller: Caller, subject: str | None, *texts: str, every_state: bool = False) -> Target:
    if len(texts) > MAX_SPELLINGS:
        raise InvalidInput(
            f"{len(texts)} spellings are given; the maximum is {MAX_SPELLINGS}.",
            recovery="Use several calls.",
        )
    everything = EVERY_SCOPE if caller.principal.role.governs else None
    return Target(
        subject=None if subject is None else clean_text(subject, "subject", NAME_CHARACTERS),
        texts=tuple(dict.fromkeys(identifiers.validate_identifier(text, "text") for text in texts)),
        reach=reach.readable(caller.principal, everything, None),
        every_state=every_state,
    )


async def find(resources: Resources, tenant: str, target: Target) -> Matches:
    """Returns the matching memories with all reasons. Content never changes, so it is still valid at the write."""
    found: dict[UUID, MatchedMemory] = {}
    names: list[str] = []
    alias_ids: dict[UUID, None] = {}
    if target.subject is not None:
        async with resources.database.read(tenant) as transaction:
            names = await forgetting.names_of(transaction, normal_name(target.subject), target.reach)
            rows = await forgetting.about_subject(
                transaction, names, target.reach, MAX_MEMORIES + 1, every_state=target.every_state
            )
            alias_ids |= dict.fromkeys(
                await aliases.ids_of_subjects(
                    transaction, names, target.reach, MAX_MEMORIES + 1, every_state=target.every_state
                )
            )
        found = {row["id"]: matched(row, ["is about it"]) for row in rows}
    if target.texts:
        alias_ids |= dict.fromkeys(await _matching_aliases(resources, tenant, target))
    for identifier in target.texts:
        async for entry in _naming(resources, tenant, target, identifier):
            known = found.get(entry.id)
            reasons = dict.fromkeys((*known.why, *entry.why)) if known else entry.why
            found[entry.id] = replace(entry, why=tuple(reasons))
            if len(found) > MAX_MEMORIES:
                break
    if max(len(found), len(alias_ids)) > MAX_MEMORIES:
        raise InvalidInput(
            f"More than {MAX_MEMORIES:,} memories match, which is the limit; nothing was changed.",
            recovery="Narrow it down: pass a full name, an address or a number instead of a common word.",
        )
    return Matches(memories=in_order(found.values()), names=tuple(names), aliases=tuple(alias_ids))


def in_order(entries: Iterable[MatchedMemory]) -> tuple[MatchedMemory, ...]:
    return tuple(sorted(entries, key=lambda entry: (SHOWN_ORDER.index(entry.type), entry.id)))


async def count_mentions(resources: Resources, tenant: str, target: Target, known: set[UUID]) -> int | None:
    """Number of further memories that mention the subject, up to the limit."""
    name = identifiers.normal_text(as_words(target.subject or ""))
    if len(name) < identifiers.MIN_CHARACTERS:
        return None
    count = 0
    async for entry in _naming(resources, tenant, target, name):
        count += entry.id not in known
        if count == MAX_MEMORIES:
            break
    return count


async def _matching_aliases(resources: Resources, tenant: str, target: Target) -> list[UUID]:
    """Returns the aliases that contain an identifier, or whose subject does."""
    async with resources.database.read(tenant) as transaction:
        return [
            row["id"]
            async for row in aliases.each(transaction, target.reach, every_state=target.every_state)
            if any(
                any_mentions((row["alias_label"], row["subject"], as_words(row["subject"])), identifier)
                for identifier in target.texts
            )
        ]


async def _naming(resources: Resources, tenant: str, target: Target, identifier: str) -> AsyncIterator[MatchedMemory]:
    """Yields the memories that contain the identifier: the database prefilters, policy decides."""
    prefilter = asdict(identifiers.prefilter_for(identifier))
    rows = forgetting.that_may_name(
        resources.database, tenant, target.reach, every_state=target.every_state, **prefilter
    )
    async for row in rows:
        where = [f"named in its {place}" for place, texts in places(row) if any_mentions(texts, identifier)]
        if where:
            yield matched(row, where)


def any_mentions(texts: Iterable[str], identifier: str) -> bool:
    return any(identifiers.mentions(text, identifier) for text in texts)


def places(row: Row) -> Iterator[tuple[str, Iterable[str]]]:
    """Yields the texts of a memory by place. A label counts as written and as spoken: anna_smith, anna smith."""
    for place, label in (("subject", row["subject_label"]), ("predicate", row["predicate_label"])):
        if label is not None:
            yield place, (label, as_words(label))
    yield "content", (row["content"],)
    yield "tags", row["tags"]
    yield "metadata", texts_in(row["metadata"])
    yield "reports of harm", row["reasons"]
    if row["session"] is not None:
        yield "session", (row["session"], as_words(row["session"]))


def texts_in(value: Any) -> Iterator[str]:
    """Yields the texts of a JSON value: keys and values."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for entry in value:
            yield from texts_in(entry)
    else:
        yield str(value)


def matched(row: Row, reasons: Sequence[str]) -> MatchedMemory:
    line = row["content"]
    if row["subject_label"] is not None:
        line = f"{subject_and_predicate(row['subject_label'], row['predicate_label'], line)}: {line}"
    return MatchedMemory(
        type=MemoryType(row["type"]),
        id=row["id"],
        ref=row["ref"],
        why=tuple(reasons),
        line=one_line(line, LINE_CHARACTERS),
    )
