"""Link memories: one supports or contradicts another, or is related to it.

A link is an event of the memory that it starts from. Undoing that event withdraws the link.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memory_butler.errors import InvalidInput
from memory_butler.models import Caller, Link, MemoryType, Relation, Stored
from memory_butler.operations.retrieval.named_memory import find_handle, parse_handles, require_one_of
from memory_butler.operations.writing.change_target import require_changeable, write_result
from memory_butler.operations.writing.idempotency import Fingerprint, audit_trail, run_idempotent
from memory_butler.policy.memories.validation import Handle, clean_key, clean_links
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history import events
from memory_butler.store.history.events import AuditTrail, Change
from memory_butler.store.memories import links

KeptLink = dict[str, Any]


async def link(
    resources: Resources,
    handle: str,
    relation: str,
    target: str,
    caller: Caller | None = None,
    *,
    idempotency_key: str | None = None,
) -> Stored:
    """Link a memory to another one."""
    caller = caller or resources.local_caller()
    wanted = clean_links({relation: (target,)})
    source = await find_handle(resources, caller, None, handle)

    async def work(transaction: Transaction, now: datetime) -> Stored:
        memory = await require_changeable(transaction, caller, source)
        trail = audit_trail(resources, caller, now)
        made = await record_links(transaction, caller, trail, (memory.type, memory.id), wanted)
        return write_result(memory, "linked" if made else "already_linked")

    digest = Fingerprint("link", {"id": str(source), "relation": relation, "target": target})
    return await run_idempotent(resources, caller, clean_key(idempotency_key), digest, work)


async def record_links(
    transaction: Transaction,
    caller: Caller,
    trail: AuditTrail,
    source: tuple[MemoryType, Any],
    wanted: Mapping[str, Sequence[str]],
) -> int:
    """Write the links that do not exist yet, in one event. Returns how many."""
    kind, memory_id = source
    existing, new = await links.written(transaction, memory_id), []
    for relation, references in wanted.items():
        for reference in references:
            target = await require_one_of(transaction, caller, parse_handles(None, reference))
            if target.id == memory_id:
                raise InvalidInput(f"{Handle(kind, memory_id, None)} cannot be linked to itself.")
            if (relation, target.id) not in existing:
                existing.add((relation, target.id))
                new.append(Link(
                    source_type=kind, source_id=memory_id, target_type=target.type, target_id=target.id,
                    relation=Relation(relation), created_at=trail.now,
                ))  # fmt: skip
    if new:
        await links.insert(transaction, new, trail.lineage.request_id)
        kept = [links.kept(one, trail.lineage.request_id) for one in new]
        await events.record(transaction, trail, [Change(kind, memory_id, "linked", {"links": kept})])
    return len(new)


async def undo_links(
    transaction: Transaction,
    trail: AuditTrail,
    written: Sequence[KeptLink] | None,
    withdrawn: Sequence[KeptLink] | None,
) -> dict[str, list[KeptLink]]:
    """Withdraw the links that an event wrote, or write those again that an undo withdrew; for the event of the undo."""
    if written:
        await links.withdraw(transaction, written)
        return {"unlinked": [{name: value for name, value in one.items() if name != "request_id"} for one in written]}
    if withdrawn:
        again = [{**one, "request_id": trail.lineage.request_id} for one in withdrawn]
        await links.insert_kept(transaction, again)
        return {"links": again}
    return {}
