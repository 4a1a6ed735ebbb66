"""Correct a fact: a right fact supersedes the wrong one and keeps its other fields. Both are kept."""

from dataclasses import fields, replace
from datetime import datetime

from memory_butler.english.text.normalize import normal_name
from memory_butler.errors import Conflict, PermissionDenied
from memory_butler.models import LIVE, Caller, Fact, MemoryType, NewFact, Stored
from memory_butler.models.unreadable import Because, Unreadable
from memory_butler.operations.retrieval.indexing import index_entry
from memory_butler.operations.retrieval.named_memory import require
from memory_butler.operations.trust.protection import owner_of
from memory_butler.operations.writing.admission import admit_reason, admit_text
from memory_butler.operations.writing.change_target import require_changeable, write_result
from memory_butler.operations.writing.idempotency import Fingerprint, audit_trail, run_idempotent
from memory_butler.operations.writing.memory_writer import content_hash, open_writer
from memory_butler.policy.memories.text import note_predicate
from memory_butler.policy.memories.validation import FACT_CHARACTERS, Handle, clean_key, parse_handle, validate_fact
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Transaction
from memory_butler.store.memories import facts

# Fields that a correction takes over: all that a request can set, except its source and aliases.
_KEPT = {field.name for field in fields(NewFact)} & {field.name for field in fields(Fact)}


async def correct(
    resources: Resources,
    handle: str,
    content: str,
    caller: Caller | None = None,
    *,
    reason: str | None = None,
    idempotency_key: str | None = None,
    source: str | None = None,
) -> Stored:
    """Supersede a live fact by one with the right content: same subject, predicate, scope, time, importance and pin.

    `source` is the origin of the content, as for a new fact: `user` if a person corrects it.
    """
    caller = caller or resources.local_caller()
    target = parse_handle(MemoryType.FACT, handle)
    reason, of_reason = admit_reason(resources, caller, reason)
    async with resources.database.read(caller.principal.tenant) as transaction:
        wrong = await require_changeable(transaction, caller, target)
    assert isinstance(wrong, Fact)
    if wrong.content == Unreadable(Because.NOT_ALLOWED):
        # Its metadata would be replaced by the words that stand in its place.
        raise PermissionDenied(
            f"fact:{wrong.ref} is encrypted, and {Because.NOT_ALLOWED}.", recovery="Let a reader of it correct it."
        )
    # The subject and predicate of a fact never change, so the new content can be embedded before the transaction.
    context = wrong.predicate_label.partition(":")[0]
    content, of_content = admit_text(resources, caller, content, FACT_CHARACTERS, context=context)
    admitted = of_reason + of_content
    right = replace(corrected_fact(wrong, content), source=source, quarantine_reason=admitted.quarantine_reason)
    entry = await index_entry(
        resources,
        MemoryType.FACT,
        right.content,
        right.tags,
        owner=owner_of(caller.principal.tenant, caller.principal.butler, right.scope),
        subject=right.subject,
        predicate=right.predicate,
    )

    async def work(transaction: Transaction, now: datetime) -> Stored:
        old = await require(transaction, caller, target)
        assert isinstance(old, Fact)
        if old.validity not in LIVE:
            raise await _not_live(transaction, target, old)
        if old.content == right.content:
            return write_result(old, "unchanged")
        duplicate = await find_duplicate(transaction, old, right)
        if duplicate:
            raise Conflict(
                f"fact:{duplicate.ref} says so already.",
                recovery=f"Forget fact:{old.ref} instead, as fact:{duplicate.ref} is right.",
            )
        writer = open_writer(
            resources, transaction, audit_trail(resources, caller, now, grouped=True, admitted=admitted)
        )
        stored = await writer.correct(old, right, entry, reason)
        await writer.flush()
        return stored

    digest = Fingerprint("correct", {"id": str(target), "content": right.content, "reason": reason})
    key = clean_key(idempotency_key)
    return await run_idempotent(resources, caller, key, digest, work, refs=1, admitted=admitted)


def corrected_fact(wrong: Fact, content: str) -> NewFact:
    """Returns the right fact. The predicate of a note is derived from its content, so it changes too."""
    kept = {name: getattr(wrong, name) for name in _KEPT} | {"tags": tuple(wrong.tags)}
    labels = {"subject": wrong.subject_label, "predicate": wrong.predicate_label}
    right = validate_fact(NewFact(**kept | labels | {"content": content}))
    if wrong.predicate_label == note_predicate(content_hash(wrong.content)):
        return replace(right, predicate=note_predicate(content_hash(right.content)))
    return right


async def find_duplicate(transaction: Transaction, old: Fact, right: NewFact) -> Fact | None:
    """Returns another live fact that already has the corrected content, if any."""
    known = await find_known(transaction, right)
    return known if known and known.id != old.id else None


async def find_known(transaction: Transaction, new: NewFact) -> Fact | None:
    """The live fact of the same property or, for an event, of the same occurrence."""
    return await facts.find_known(
        transaction,
        new,
        subject=normal_name(new.subject),
        predicate=normal_name(new.predicate),
        digest=content_hash(new.content),
    )


async def _not_live(transaction: Transaction, handle: Handle, old: Fact) -> Conflict:
    current = await facts.find_occupant(transaction, old.id)
    replaced_by = f" fact:{current.ref} has replaced it." if current else ""
    return Conflict(
        f"{handle} is {old.validity} and cannot be corrected.{replaced_by}",
        recovery=f"Correct fact:{current.ref} instead." if current else "Restore it first, then correct it.",
    )
