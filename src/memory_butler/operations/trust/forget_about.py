"""Forget everything about a subject or an identifier, in one group that can be undone together."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

from memory_butler.errors import InvalidInput
from memory_butler.models import Caller, MemoryType
from memory_butler.operations.trust import exact_matches
from memory_butler.operations.trust.exact_matches import MatchedMemory
from memory_butler.operations.trust.similar_spellings import SimilarSpelling, find_similar
from memory_butler.operations.writing.admission import admit_reason
from memory_butler.operations.writing.idempotency import Fingerprint, audit_trail, store_response, stored_response
from memory_butler.policy.memories.validation import clean_key
from memory_butler.policy.trust.redaction import redact
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history import events
from memory_butler.store.history.events import AuditTrail, Change
from memory_butler.store.memories import aliases
from memory_butler.store.trust import forgetting


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReport:
    """The memories that would be forgotten, or were, and the group that undoes it.

    `names` are the names of the subject; `mentions` counts further memories that mention it, up to the limit;
    `aliases` are the ids of aliases that are forgotten, too; `similar` are near spellings in memories that stay.
    """

    dry_run: bool
    touched: tuple[MatchedMemory, ...]
    group_id: UUID | None = None
    names: tuple[str, ...] = ()
    mentions: int | None = None
    aliases: tuple[UUID, ...] = ()
    similar: tuple[SimilarSpelling, ...] = ()


async def forget_about(
    resources: Resources,
    caller: Caller | None = None,
    *,
    subject: str | None = None,
    text: str | Sequence[str] | None = None,
    dry_run: bool = True,
    reason: str | None = None,
    idempotency_key: str | None = None,
) -> ForgetReport:
    """Find memories about a subject or with an identifier, by exact text; forget them unless it is a dry run.

    `text` may hold several spellings. A dry run also lists near spellings, which stay.
    """
    caller = caller or resources.local_caller()
    spellings = [text] if isinstance(text, str) else [*(text or ())]
    if subject is None and not spellings:
        raise InvalidInput(
            "Neither subject nor text is given.",
            recovery="Pass subject to forget the facts about it, or text to forget every memory that contains it.",
        )
    target = exact_matches.parse_target(caller, subject, *spellings)
    (reason, admitted), key = admit_reason(resources, caller, reason), clean_key(idempotency_key)
    tenant = caller.principal.tenant
    matches = await exact_matches.find(resources, tenant, target)
    if dry_run:
        known = {entry.id for entry in matches.memories}
        mentions = await exact_matches.count_mentions(resources, tenant, target, known)
        return ForgetReport(
            dry_run=True,
            touched=matches.memories,
            names=matches.names,
            aliases=matches.aliases,
            mentions=mentions,
            similar=await find_similar(resources, tenant, target, matches),
        )
    now = resources.clock()
    # The text to forget may itself be a secret, of which no hash is kept.
    texts = [redact(spelling).text for spelling in target.texts]
    asked: dict[str, Any] = {
        "subject": target.subject,
        "text": texts[0] if texts else None,
        "reach": asdict(target.reach),
    }
    asked |= {"also": texts[1:]} if texts[1:] else {}
    digest = Fingerprint("forget_about", {**asked, "reason": reason})
    async with resources.database.write(tenant, now) as transaction:
        response = await stored_response(transaction, caller, key, digest, now)
        if response:
            return _from_json(response)
        trail = audit_trail(resources, caller, now, grouped=True, admitted=admitted)
        done = await _forget(transaction, trail, matches, reason)
        await store_response(transaction, resources, caller, key=key, digest=digest, response=_to_json(done), now=now)
        return done


async def _forget(
    transaction: Transaction, trail: AuditTrail, found: exact_matches.Matches, reason: str | None
) -> ForgetReport:
    """Retract the matches that are still in use. The result has no content lines, so that forgotten text is neither
    returned nor stored with the idempotency key."""
    live: set[UUID] = set()
    for kind in MemoryType:
        ids = [entry.id for entry in found.memories if entry.type is kind]
        live |= await forgetting.retract(transaction, kind, ids) if ids else set()
    done = tuple(replace(entry, line=None) for entry in found.memories if entry.id in live)
    named = await aliases.retract(transaction, found.aliases)
    if not done and not named:
        return ForgetReport(dry_run=False, touched=())
    gone = [(str(entry.type), entry.id) for entry in done] + [(events.ALIAS, alias) for alias in named]
    changes = [Change(kind, id, "retracted", await events.reason_of(transaction, id, reason)) for kind, id in gone]
    await events.record(transaction, trail, changes)
    return ForgetReport(dry_run=False, touched=done, group_id=trail.group_id, aliases=tuple(named))


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
