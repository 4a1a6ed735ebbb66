"""Forget everything about a subject or an identifier, in one group that can be undone together."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

from memory_butler.english.text.normalize import as_words, normal_name
from memory_butler.errors import InvalidInput
from memory_butler.models import EVERY_SCOPE, Caller, MemoryType, Reach
from memory_butler.operations.writing.admission import admit_reason
from memory_butler.operations.writing.idempotency import audit_trail, fingerprint, store_response, stored_response
from memory_butler.policy.access import visibility as reach
from memory_butler.policy.memories.text import one_line, subject_and_predicate
from memory_butler.policy.memories.validation import NAME_CHARACTERS, clean_key, clean_text
from memory_butler.policy.trust import identifiers
from memory_butler.policy.trust.redaction import redact
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.history import events
from memory_butler.store.history.events import AuditTrail, Change
from memory_butler.store.memories import aliases
from memory_butler.store.trust import forgetting

MAX_MEMORIES = 5_000
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
class ForgetReport:
    """The memories that would be forgotten, or were, and the group that undoes it.

    `names` are the names of the subject; `mentions` counts further memories that mention it, up to the limit;
    `aliases` are the ids of aliases that are forgotten, too.
    """

    dry_run: bool
    touched: tuple[MatchedMemory, ...]
    group_id: UUID | None = None
    names: tuple[str, ...] = ()
    mentions: int | None = None
    aliases: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """Search target: facts about a subject, memories that contain an identifier, or both."""

    subject: str | None
    text: str | None
    reach: Reach


async def forget_about(
    resources: Resources,
    caller: Caller | None = None,
    *,
    subject: str | None = None,
    text: str | None = None,
    dry_run: bool = True,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> ForgetReport:
    """Find memories about a subject or with an identifier, by exact text; forget them unless it is a dry run."""
    caller = caller or resources.local_caller()
    target = _validate(caller, subject, text)
    (reason, admitted), key = admit_reason(resources, caller, reason), clean_key(idempotency_key)
    found = await _find(resources, caller.principal.tenant, target, hint=dry_run)
    if dry_run:
        return found
    now = resources.clock()
    # The text to forget may itself be a secret, of which no hash is kept.
    hashed = replace(target, text=None if target.text is None else redact(target.text).text)
    digest = fingerprint("forget_about", {**asdict(hashed), "reason": reason})
    async with resources.database.write(caller.principal.tenant, now) as transaction:
        response = await stored_response(transaction, caller, key, digest, now)
        if response:
            return _from_json(response)
        trail = audit_trail(resources, caller, now, grouped=True, admitted=admitted)
        done = await _forget(transaction, trail, found, reason)
        await store_response(transaction, resources, caller, key=key, digest=digest, response=_to_json(done), now=now)
        return done


def _validate(caller: Caller, subject: str | None, text: str | None) -> _Target:
    if subject is None and text is None:
        raise InvalidInput(
            "Neither subject nor text is given.",
            recovery="Pass subject to forget the facts about it, or text to forget every memory that contains it.",
        )
    everything = EVERY_SCOPE if caller.principal.role.governs else None
    return _Target(
        subject=None if subject is None else clean_text(subject, "subject", NAME_CHARACTERS),
        text=None if text is None else identifiers.validate_identifier(text, "text"),
        reach=reach.readable(caller.principal, everything, None),
    )


async def _find(resources: Resources, tenant: str, target: _Target, *, hint: bool) -> ForgetReport:
    """Returns the matching memories with all reasons. Content never changes, so it is still valid at the write."""
    found: dict[UUID, MatchedMemory] = {}
    names: list[str] = []
    alias_ids: dict[UUID, None] = {}
    if target.subject is not None:
        async with resources.database.read(tenant) as transaction:
            names = await forgetting.names_of(transaction, normal_name(target.subject), target.reach)
            rows = await forgetting.about_subject(transaction, names, target.reach, MAX_MEMORIES + 1)
            alias_ids |= dict.fromkeys(
                await aliases.ids_of_subjects(transaction, names, target.reach, MAX_MEMORIES + 1)
            )
        found = {row["id"]: _matched(row, ["is about it"]) for row in rows}
    if target.text is not None:
        alias_ids |= dict.fromkeys(await _matching_aliases(resources, tenant, target.reach, target.text))
        async for entry in _naming(resources, tenant, target.reach, target.text):
            known = found.get(entry.id)
            found[entry.id] = replace(entry, why=(*known.why, *entry.why)) if known else entry
            if len(found) > MAX_MEMORIES:
                break
    if max(len(found), len(alias_ids)) > MAX_MEMORIES:
        raise InvalidInput(
            f"More than {MAX_MEMORIES:,} memories match, which is the limit; nothing was changed.",
            recovery="Narrow it down: pass a full name, an address or a number instead of a common word.",
        )
    return ForgetReport(
        dry_run=True,
        touched=tuple(sorted(found.values(), key=lambda entry: (SHOWN_ORDER.index(entry.type), entry.id))),
        names=tuple(names),
        aliases=tuple(alias_ids),
        mentions=await _mentions(resources, tenant, target, set(found)) if hint else None,
    )


async def _matching_aliases(resources: Resources, tenant: str, seen: Reach, identifier: str) -> list[UUID]:
    """Returns the aliases that contain the identifier, or whose subject does."""
    async with resources.database.read(tenant) as transaction:
        return [
            row["id"]
            async for row in aliases.each(transaction, seen)
            if _any_mentions((row["alias_label"], row["subject"], as_words(row["subject"])), identifier)
        ]


async def _mentions(resources: Resources, tenant: str, target: _Target, known: set[UUID]) -> int | None:
    """Number of further memories that mention the subject, up to the limit."""
    name = identifiers.normal_text(as_words(target.subject or ""))
    if len(name) < identifiers.MIN_CHARACTERS:
        return None
    count = 0
    async for entry in _naming(resources, tenant, target.reach, name):
        count += entry.id not in known
        if count == MAX_MEMORIES:
            break
    return count


async def _naming(resources: Resources, tenant: str, reached: Reach, identifier: str) -> AsyncIterator[MatchedMemory]:
    """Yields the memories that contain the identifier: the database prefilters, policy decides."""
    prefilter = asdict(identifiers.prefilter_for(identifier))
    async for row in forgetting.that_may_name(resources.database, tenant, reached, **prefilter):
        where = [f"named in its {place}" for place, texts in _places(row) if _any_mentions(texts, identifier)]
        if where:
            yield _matched(row, where)


async def _forget(transaction: Transaction, trail: AuditTrail, found: ForgetReport, reason: str | None) -> ForgetReport:
    """Retract the matches that are still in use. The result has no content lines, so that forgotten text is neither
    returned nor stored with the idempotency key."""
    live: set[UUID] = set()
    for kind in MemoryType:
        ids = [entry.id for entry in found.touched if entry.type is kind]
        live |= await forgetting.retract(transaction, kind, ids) if ids else set()
    done = tuple(replace(entry, line=None) for entry in found.touched if entry.id in live)
    named = await aliases.retract(transaction, found.aliases)
    if not done and not named:
        return ForgetReport(dry_run=False, touched=())
    gone = [(str(entry.type), entry.id) for entry in done] + [(events.ALIAS, alias) for alias in named]
    changes = [Change(kind, id, "retracted", await events.reason_of(transaction, id, reason)) for kind, id in gone]
    await events.record(transaction, trail, changes)
    return ForgetReport(dry_run=False, touched=done, group_id=trail.group_id, aliases=tuple(named))


def _any_mentions(texts: Iterable[str], identifier: str) -> bool:
    return any(identifiers.mentions(text, identifier) for text in texts)


def _places(row: Row) -> Iterator[tuple[str, Iterable[str]]]:
    """Yields the texts of a memory by place. A label counts as written and as spoken: anna_smith, anna smith."""
    for place, label in (("subject", row["subject_label"]), ("predicate", row["predicate_label"])):
        if label is not None:
            yield place, (label, as_words(label))
    yield "content", (row["content"],)
    yield "tags", row["tags"]
    yield "metadata", _texts_in(row["metadata"])
    yield "reports of harm", row["reasons"]


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for entry in value:
            yield from _texts_in(entry)
    else:
        yield str(value)


def _matched(row: Row, reasons: Sequence[str]) -> MatchedMemory:
    line = row["content"]
    if row["subject_label"] is not None:
        line = f"{subject_and_predicate(row['subject_label'], row['predicate_label'])}: {line}"
    return MatchedMemory(
        type=MemoryType(row["type"]),
        id=row["id"],
        ref=row["ref"],
        why=tuple(reasons),
        line=one_line(line, LINE_CHARACTERS),
    )


def _to_json(done: ForgetReport) -> dict[str, Any]:
    touched = [[entry.type, str(entry.id), entry.ref, *entry.why] for entry in done.touched]
    alias_ids = [str(alias) for alias in done.aliases]
    return {"group_id": str(done.group_id) if done.group_id else None, "touched": touched, "aliases": alias_ids}


def _from_json(response: dict[str, Any]) -> ForgetReport:
    return ForgetReport(
        dry_run=False,
        group_id=UUID(response["group_id"]) if response["group_id"] else None,
        touched=tuple(
            MatchedMemory(type=MemoryType(kind), id=UUID(id), ref=ref, why=tuple(why))
            for kind, id, ref, *why in response["touched"]
        ),
        aliases=tuple(map(UUID, response.get("aliases", []))),
    )
