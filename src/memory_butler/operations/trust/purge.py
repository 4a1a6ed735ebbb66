"""Purge: erase memories for good, with a receipt that holds no words."""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from memory_butler.errors import InvalidInput, NotFound
from memory_butler.models import Caller, MemoryType
from memory_butler.operations.trust import exact_matches, purge_receipts, residue
from memory_butler.operations.trust.derived_memories import DERIVED
from memory_butler.operations.trust.exact_matches import MatchedMemory, any_mentions, in_order, matched, texts_in
from memory_butler.operations.trust.similar_spellings import SimilarSpelling, find_similar
from memory_butler.operations.writing.admission import admit_reason
from memory_butler.operations.writing.idempotency import audit_trail
from memory_butler.policy.memories.validation import SHOWN_CHARACTERS, Handle, parse_handle
from memory_butler.policy.trust import identifiers
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.history import events
from memory_butler.store.history.events import AuditTrail, Change
from memory_butler.store.memories import memories
from memory_butler.store.trust import purging
from memory_butler.store.trust.purging import LooseWords

LONGEST_SECONDS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeRequest:
    """The memory (`ref`), or the facts about a subject, or the memories that contain an identifier (`text`).

    `derived` includes what was derived from them alone.
    """

    ref: str | None = None
    subject: str | None = None
    text: str | None = None
    derived: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeReport:
    """The memories that would be purged, or were, and the receipt.

    `kept_sources` are episodes that purged memories came from and that still hold their own words. `elsewhere` counts
    further places with the identifier: reasons, proposals, stored responses, sessions, logged calls. `mentions` counts
    further memories that mention the subject; `similar` are near spellings in memories that stay. `residue` is `clean`
    once the data files were rewritten.
    """

    dry_run: bool
    touched: tuple[MatchedMemory, ...]
    aliases: tuple[UUID, ...] = ()
    names: tuple[str, ...] = ()
    derived: int = 0
    kept_sources: tuple[str, ...] = ()
    elsewhere: int = 0
    mentions: int | None = None
    similar: tuple[SimilarSpelling, ...] = ()
    receipt: UUID | None = None
    counts: dict[str, int] | None = None
    residue: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """The memories and aliases to purge, and the words outside of them."""

    matched_by: str
    entries: dict[UUID, MatchedMemory]
    owners: dict[UUID, str]
    aliases: tuple[UUID, ...]
    loose: LooseWords

    @property
    def items(self) -> list[tuple[str, UUID, str]]:
        """Type, id and reference of everything to purge."""
        found = [(str(entry.type), entry.id, entry.ref) for entry in in_order(self.entries.values())]
        return found + [(events.ALIAS, alias, "") for alias in self.aliases]

    @property
    def elsewhere(self) -> int:
        loose = self.loose
        return sum(map(len, (loose.texts, loose.items, loose.reports, loose.keys, loose.sessions, loose.calls)))


async def purge(
    resources: Resources,
    request: PurgeRequest,
    caller: Caller | None = None,
    *,
    dry_run: bool = True,
    reason: str | None = None,
    patience_seconds: float | None = None,
    clean_up: bool = True,
) -> PurgeReport:
    """Find the memories of a request; erase them unless it is a dry run. Purging again changes nothing.

    Earlier versions of a fact go with it. The data files are rewritten after the purge; a caller with a deadline waits
    for that only so long, and it goes on. Without `clean_up` the caller does that, after several purges.
    """
    caller = resources.admin(caller, "purge memories")
    handle = _parse_ref(request)
    reason, admitted = admit_reason(resources, caller, reason)
    tenant = caller.principal.tenant
    texts = [] if request.text is None else [request.text]
    target = exact_matches.parse_target(caller, request.subject, *texts, every_state=True)
    found = exact_matches.Matches(memories=(), names=(), aliases=())
    if handle is None:
        found = await exact_matches.find(resources, tenant, target)
    async with _opened(resources, tenant, dry_run=dry_run) as (transaction, now):
        if handle is not None:
            found = await _find_one(transaction, handle)
            if not found.memories:
                return await _purged_before(transaction, handle, dry_run=dry_run)
        plan = await _expand(transaction, target, found, derived=request.derived)
        sources = await purging.sources(transaction, plan.entries)
        report = PurgeReport(
            dry_run=dry_run,
            touched=in_order(plan.entries.values()),
            aliases=plan.aliases,
            names=found.names,
            derived=sum(DERIVED in entry.why for entry in plan.entries.values()),
            kept_sources=tuple(f"{MemoryType.EPISODE}:{source}" for source in sources),
            elsewhere=plan.elsewhere,
        )
        if not dry_run:
            await _check_reason(transaction, reason, plan, (*found.names, *target.texts))
            report = await _erase(
                resources,
                transaction,
                plan,
                report,
                trail=audit_trail(resources, caller, now, admitted=admitted),
                reason=reason,
            )
    mentions = await exact_matches.count_mentions(resources, tenant, target, set(plan.entries))
    if dry_run:
        matches = replace(found, memories=report.touched)
        return replace(report, mentions=mentions, similar=await find_similar(resources, tenant, target, matches))
    report = replace(report, mentions=mentions)
    if not report.receipt or not clean_up:
        return report
    return replace(report, residue=await residue.clean_up_within(resources, tenant, patience_seconds))


def _parse_ref(request: PurgeRequest) -> Handle | None:
    ref = request.ref
    if (ref is None) == (request.subject is None and request.text is None):
        raise InvalidInput(
            "Pass either ref, or subject or text.",
            recovery="ref purges one memory, for example fact:k3f7; subject the facts about it; text every memory that"
            " contains it.",
        )
    if ref is None:
        return None
    kind, colon, name = ref.strip("[]() ").partition(":")
    if not colon:
        raise InvalidInput(
            f"{ref[:SHOWN_CHARACTERS]!r} does not name the type of the memory.",
            recovery="Pass type and reference, for example fact:k3f7.",
        )
    return parse_handle(kind.strip().casefold(), name)


@asynccontextmanager
async def _opened(resources: Resources, tenant: str, *, dry_run: bool) -> AsyncIterator[tuple[Transaction, datetime]]:
    """A snapshot for a dry run, or the one transaction of a purge."""
    now = resources.clock()
    if dry_run:
        async with resources.database.rollback_only(tenant, LONGEST_SECONDS) as transaction:
            yield transaction, now
    else:
        async with resources.database.write(tenant, now, deadline_seconds=LONGEST_SECONDS) as transaction:
            yield transaction, now


async def _find_one(transaction: Transaction, handle: Handle) -> exact_matches.Matches:
    memory = await memories.get(transaction, handle.type, handle.id, handle.ref)
    rows = await purging.memories(transaction, [memory.id]) if memory else []
    return exact_matches.Matches(memories=tuple(matched(row, ["named"]) for row in rows), names=(), aliases=())


async def _purged_before(transaction: Transaction, handle: Handle, *, dry_run: bool) -> PurgeReport:
    """The receipt of an earlier purge. Raises NotFound if the memory never existed."""
    earlier = await purging.find_purged(transaction, handle.type, handle.id, handle.ref)
    if earlier is None:
        raise NotFound(f"There is no {handle}.")
    return PurgeReport(dry_run=dry_run, touched=(), receipt=earlier["receipt"])


async def _expand(
    transaction: Transaction, target: exact_matches.Target, found: exact_matches.Matches, *, derived: bool
) -> _Plan:
    """The matches that still exist, their earlier versions, what is derived from them alone, and loose words."""
    entries = {entry.id: entry for entry in found.memories}
    owners = {row["id"]: row["owner"] for row in await purging.memories(transaction, entries)}
    entries = {id: entry for id, entry in entries.items() if id in owners}

    async def add(ids: Iterable[UUID], why: str) -> bool:
        rows = [row for row in await purging.memories(transaction, list(ids)) if row["id"] not in entries]
        entries.update({row["id"]: matched(row, [why]) for row in rows})
        owners.update({row["id"]: row["owner"] for row in rows})
        return bool(rows)

    await add(await purging.older_versions(transaction, entries), "an earlier version of it")
    while derived and await add(await purging.derived_only(transaction, entries), DERIVED):
        await add(await purging.older_versions(transaction, entries), "an earlier version of it")
    aliases = {*found.aliases, *await purging.orphaned_aliases(transaction, entries)}
    loose = LooseWords()
    for text in target.texts:
        loose = await _loose_words(transaction, text, [*entries, *aliases])
    by = [name for name, given in (("subject", target.subject is not None), ("text", bool(target.texts))) if given]
    return _Plan(
        matched_by=" and ".join(by) or "ref",
        entries=entries,
        owners=owners,
        aliases=tuple(sorted(aliases)),
        loose=loose,
    )


async def _loose_words(transaction: Transaction, identifier: str, ids: list[UUID]) -> LooseWords:
    """Places outside of the purged memories that contain the identifier."""
    prefilter = asdict(identifiers.prefilter_for(identifier))

    def names_it(row: Row, *columns: str) -> bool:
        return any_mentions((text for column in columns for text in texts_in(row[column])), identifier)

    texts = await purging.may_name(transaction, "texts", prefilter, ids=ids)
    items = await purging.may_name(transaction, "items", prefilter)
    errors = await purging.may_name(transaction, "errors", prefilter)
    keys = await purging.may_name(transaction, "keys", prefilter)
    calls = await purging.may_name(transaction, "calls", prefilter)
    sessions = await purging.session_names(transaction)
    return LooseWords(
        texts=[
            (row["memory_id"], bytes(row["hash"]))
            for row in texts
            if any_mentions(texts_in(json.loads(row["words"])), identifier)
        ],
        items=[(row["run_id"], row["place"]) for row in items if names_it(row, "proposed", "said")],
        reports=[row["id"] for row in errors if names_it(row, "words")],
        keys=[(row["butler"], row["key"]) for row in keys if names_it(row, "words")],
        sessions=[name for name in sessions if any_mentions((name, name.replace("_", " ")), identifier)],
        calls=[row["id"] for row in calls if names_it(row, "prompt")],
    )


async def _check_reason(transaction: Transaction, reason: str | None, plan: _Plan, named: Iterable[str]) -> None:
    """Refuse a reason that repeats the words that are purged: it stays in the receipt."""
    if reason is None:
        return
    words = set(named)
    for row in await purging.memories(transaction, plan.entries):
        words |= {row["content"], *([row["subject_label"]] if row["subject_label"] else [])}
    for row in await purging.alias_names(transaction, plan.aliases):
        words |= {row["alias_label"], row["subject"]}
    normal = {identifiers.normal_text(word).strip(" .,;:!?") for word in words}
    if any(len(word) >= identifiers.MIN_CHARACTERS and identifiers.mentions(reason, word) for word in normal):
        raise InvalidInput(
            "The reason contains words that the purge erases; nothing was changed.",
            recovery="Give a reason without names, numbers or quotes, for example: requested by the person concerned.",
        )


async def _erase(
    resources: Resources,
    transaction: Transaction,
    plan: _Plan,
    report: PurgeReport,
    *,
    trail: AuditTrail,
    reason: str | None,
) -> PurgeReport:
    """Delete everything, record the events and store the receipt. The result has no content lines."""
    touched = tuple(replace(entry, line=None) for entry in report.touched)
    if not plan.items and not plan.elsewhere:
        return replace(report, touched=touched)
    receipt = resources.make_id(trail.now)
    episodes = [id for id, entry in plan.entries.items() if entry.type is MemoryType.EPISODE]
    tombstones = await purging.insert_tombstones(transaction, episodes, trail.now)
    cut_off = await purging.cut_off(transaction, list(plan.entries))
    counts = await purging.delete(transaction, plan.items, plan.loose, trail.now)
    if cut_off:
        changes = [Change(MemoryType.FACT, fact, "cut_off") for fact in cut_off]
        await events.record(transaction, replace(trail, group_id=receipt), changes)
    body = purge_receipts.make(
        trail,
        receipt=receipt,
        items=plan.items,
        counts=counts,
        matched_by=plan.matched_by,
        reason=reason,
        backups=await purge_receipts.backups_now(resources, transaction, trail.now),
    )
    await purging.record(
        transaction,
        [*_events(plan, trail, tombstones), purge_receipts.event(trail, body)],
        receipt=receipt,
        actor=trail.actor,
        now=trail.now,
    )
    await purging.keep_receipt(transaction, body)
    return replace(report, touched=touched, receipt=receipt, counts=counts)


def _events(plan: _Plan, trail: AuditTrail, tombstones: dict[UUID, Any]) -> list[Row]:
    rows = []
    for kind, id, ref in plan.items:
        purged = {"ref": ref, "owner": plan.owners.get(id, "")} if ref else {}
        payload = {"purged": purged} | ({"tombstone": tombstones[id]} if id in tombstones else {})
        rows.append(
            {
                "event_id": trail.make_id(trail.now),
                "event_type": f"{kind}.purged",
                "entity_type": kind,
                "id": id,
                "payload": payload,
            }
        )
    return rows
