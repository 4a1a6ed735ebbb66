"""Import: an export file into a tenant without memories.

All rows are written in one transaction, so an interrupted import changes nothing. The search index is built
afterwards, a page at a time; a repeated import continues with that.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from uuid import UUID

from memory_butler.errors import Conflict, IntegrityViolation, InternalError, NotFound
from memory_butler.models import LIVE, Caller, MemoryType, NewEpisode, NewFact, NewRule, Validity
from memory_butler.operations.access.cross_tenant_audit import audit_access
from memory_butler.operations.retrieval import indexing
from memory_butler.operations.transfer.export_file import Checked, Progress, Reader, no_progress, open_export
from memory_butler.operations.trust.protection import ensure_keys_of
from memory_butler.operations.writing.admission import policy_for
from memory_butler.operations.writing.idempotency import audit_trail
from memory_butler.policy.memories.validation import validate_lineage
from memory_butler.policy.transfer.admission import refusal_of
from memory_butler.policy.transfer.export_format import PARENTS, Header, Record, RowMapping, damaged, with_new_ids
from memory_butler.policy.transfer.redacted_rows import RowRedaction
from memory_butler.policy.trust.assessment import imported_reason
from memory_butler.resources import Resources
from memory_butler.store.access import cross_tenant_audit
from memory_butler.store.encryption.records import RecordOpening, RecordSealing
from memory_butler.store.encryption.vault import KeyUnavailable, Vault, parse_keys
from memory_butler.store.gate.database import Transaction
from memory_butler.store.history import events
from memory_butler.store.history.events import AuditTrail, Change
from memory_butler.store.memories import memories
from memory_butler.store.transfer import tenant_rows as store

LONGEST_SECONDS = 6 * 3600
PAGE = 500
# Kinds whose rows get an event each if the file has no events.
_ASSESSED = ("episode", "fact", "rule")
_WITH_EVENTS = ("episode", "fact", "rule", "alias")


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Result of an import. `notes` lists fields of the file that were ignored."""

    tenant: str
    source: str
    exported_at: str
    counts: dict[str, int]
    outcome: str
    indexed: int = 0
    notes: tuple[str, ...] = ()
    redacted: dict[str, int] = field(default_factory=dict)
    # Memories that wait for a decision, because of what they say.
    quarantined: int = 0


async def import_(
    resources: Resources,
    path: Path,
    caller: Caller | None = None,
    *,
    ids_anew: bool = False,
    dry_run: bool = False,
    progress: Progress = no_progress,
) -> Imported:
    """Import a file into the caller's tenant, with its ids or with new ones. Importing it again changes nothing."""
    caller = resources.allowed(caller, "import")
    tenant, quarantined = caller.principal.tenant, 0
    redaction = RowRedaction(policy_for(resources, tenant, caller.principal.butler))
    with open_export(path) as reader:
        checked = reader.check(progress)
        audited = await _audited(resources, caller)
        async with resources.database.read(tenant) as transaction:
            is_new = await _is_new(transaction, checked, ids_anew=ids_anew)
        if not dry_run:
            if is_new:
                await ensure_keys_of(resources, tenant)
                importing = _Import(resources, caller, checked, ids_anew, audited, redaction)
                is_new = await importing.run(reader, progress)
                quarantined = len(importing.held)
            total = sum(checked.header.counts.get(kind, 0) for kind in ("episode", "fact", "rule"))
            indexed = await indexing.catch_up(
                resources, tenant, progress=lambda done: progress("Making the search index", done, total)
            )
    header = checked.header
    outcome = "imported" if is_new else "already there"
    return Imported(
        tenant=tenant,
        source=header.tenant,
        exported_at=header.exported_at,
        counts=header.counts,
        outcome=f"would be {outcome}".replace("be already", "be found already") if dry_run else outcome,
        indexed=0 if dry_run else indexed,
        notes=checked.notes,
        redacted=dict(redaction.counts),
        quarantined=quarantined,
    )


async def _audited(resources: Resources, caller: Caller) -> bool:
    """Audit the access of a caller from another tenant; False if the tenant does not exist yet."""
    try:
        await audit_access(resources, caller, "import")
    except NotFound:
        return False
    return True


async def _is_new(transaction: Transaction, checked: Checked, *, ids_anew: bool) -> bool:
    """Whether the file was not imported yet. Raises Conflict if the tenant has other memories."""
    status = await store.import_status(transaction, checked.digest, new_ids=ids_anew)
    if status["has_this"]:
        return False
    if status["has_memories"]:
        raise Conflict(
            f"The tenant {transaction.tenant!r} has memories already; a file is imported into an empty tenant only.",
            recovery="Name a new tenant with --tenant; the import creates it.",
        )
    return True


@dataclass
class _Import:
    """The import of one file."""

    resources: Resources
    caller: Caller
    checked: Checked
    ids_anew: bool
    audited: bool
    redaction: RowRedaction
    # Rows that came before the one they stand on, with the number of their line.
    waiting: list[tuple[int, Record]] = field(default_factory=list)
    # Memories in use that must not be used before a person approves them: type, id and reason.
    held: list[tuple[MemoryType, UUID, str]] = field(default_factory=list)
    sealing: RecordSealing | None = None

    async def run(self, reader: Reader, progress: Progress) -> bool:
        """Everything in one transaction; False if somebody else was quicker."""
        header, now = self.checked.header, self.resources.clock()
        tenant = self.caller.principal.tenant
        async with self.resources.database.write(tenant, now, deadline_seconds=LONGEST_SECONDS) as transaction:
            if not await _is_new(transaction, self.checked, ids_anew=self.ids_anew):
                return False
            if self.caller.principal.home and not self.audited:
                await cross_tenant_audit.add(transaction, self.resources.make_id(now), self.caller, "import", now)
            after_seq = await store.make_room(transaction, header.last_seq, header.last_ref)
            opening, self.sealing = _vaults(self.resources, transaction, header)
            mapping = RowMapping(tenant, after_seq)
            mapping = with_new_ids(mapping, self.checked.digest) if self.ids_anew else mapping
            trail = audit_trail(self.resources, self.caller, now)
            done = 0
            for kind, rows in _pages(reader, self.checked):
                plain = [(n, opening.row(kind, row) if opening else row) for n, row in rows]
                written = await self._write(
                    transaction, kind, [(n, mapping.row(kind, self.redaction.row(kind, row))) for n, row in plain]
                )
                if not header.events:
                    await _record_imported(transaction, trail, kind, [row for _, row in written])
                self.held += _suspicious(kind, [row for _, row in written])
                done += len(rows)
                progress("Importing", done, header.records)
            self._check_none_waiting()
            await self._hold(transaction, trail)
            await self._record_import(transaction, now)
        return True

    async def _hold(self, transaction: Transaction, trail: AuditTrail) -> None:
        """Quarantine memories that no other write could have put into use, with an event each."""
        for kind, id, reason in self.held:
            await memories.hold(transaction, kind, id, reason)
        if self.held:
            await events.record(transaction, trail, [Change(kind, id, "quarantined") for kind, id, _ in self.held])

    async def _write(
        self, transaction: Transaction, kind: str, rows: Sequence[tuple[int, Record]]
    ) -> Sequence[tuple[int, Record]]:
        """Write the rows whose parents are written; returns them."""
        for number, row in rows:
            if reason := refusal_of(kind, row):
                raise damaged(number, f"The {kind} is not admitted: {reason}")
        if kind in PARENTS:
            rows = await self._ready(transaction, kind, rows)
        else:
            self._check_none_waiting()
        try:
            if rows:
                sealing = self.sealing
                await store.write(transaction, kind, [sealing.row(kind, row) if sealing else row for _, row in rows])
        except (IntegrityViolation, InternalError) as problem:
            numbers = [number for number, _ in rows]
            raise damaged(min(numbers), f"up to line {max(numbers)}: {problem.message}") from problem
        return rows

    async def _ready(
        self, transaction: Transaction, kind: str, rows: Sequence[tuple[int, Record]]
    ) -> Sequence[tuple[int, Record]]:
        """Of these and the waiting rows those without a parent or with a written one."""
        parent = PARENTS[kind]
        self.waiting += rows
        coming = {row["id"] for _, row in self.waiting}
        there = await store.present(
            transaction, kind, [row[parent] for _, row in self.waiting if row[parent] and row[parent] not in coming]
        )
        ready: list[tuple[int, Record]] = []
        size = -1
        while size != len(ready):
            size = len(ready)
            going = [one for one in self.waiting if one[1][parent] is None or one[1][parent] in there]
            ready += going
            there |= {row["id"] for _, row in going}
            taken = {number for number, _ in going}
            self.waiting = [one for one in self.waiting if one[0] not in taken]
        return ready

    def _check_none_waiting(self) -> None:
        if self.waiting:
            raise damaged(self.waiting[0][0], "the record that it refers to is not in the file.")

    async def _record_import(self, transaction: Transaction, now: datetime) -> None:
        await transaction.send(
            "tenant_rows.record_import",
            event_id=self.resources.make_id(now),
            now=now,
            actor=self.caller.principal.actor,
            request_id=validate_lineage(self.caller.lineage).request_id,
            file=self.checked.digest,
            new_ids=self.ids_anew,
            records=self.checked.header.records,
        )


def _vaults(
    resources: Resources, transaction: Transaction, header: Header
) -> tuple[RecordOpening | None, RecordSealing | None]:
    """The keys of the file, to open its texts, and those of the tenant, to encrypt them again."""
    encryption = resources.database.encryption
    opening = None
    if header.keys:
        if encryption is None:
            raise KeyUnavailable("The file holds encrypted texts, and no master key is configured; nothing was stored.")
        opening = RecordOpening(Vault(encryption, header.tenant, None, parse_keys(json.dumps(header.keys))))
    return opening, RecordSealing(transaction.vault) if transaction.vault else None


def _pages(reader: Reader, checked: Checked) -> Iterator[tuple[str, list[tuple[int, Record]]]]:
    page: list[tuple[int, Record]] = []
    last = ""
    for number, kind, row in reader.rows(checked):
        if page and (kind != last or len(page) == PAGE):
            yield last, page
            page = []
        last = kind
        page.append((number, row))
    if page:
        yield last, page


def _suspicious(kind: str, rows: Sequence[Record]) -> Iterator[tuple[MemoryType, UUID, str]]:
    """The memories in use that must wait for a decision."""
    for row in rows if kind in _ASSESSED else ():
        if Validity(row["validity"]) in LIVE and (reason := imported_reason(_as_request(kind, row), row["origin"])):
            yield MemoryType(kind), UUID(str(row["id"])), reason


def _as_request(kind: str, row: Record) -> NewEpisode | NewFact | NewRule:
    if kind == MemoryType.FACT:
        return NewFact(subject=row["subject_label"], predicate=row["predicate_label"], content=row["content"])
    if kind == MemoryType.RULE:
        return NewRule(content=row["content"])
    return NewEpisode(content=row["content"], butler=row["butler"])


async def _record_imported(transaction: Transaction, trail: AuditTrail, kind: str, rows: Sequence[Record]) -> None:
    """Record events for the rows of a file without history, so that the log is complete."""
    changes: list[Change] = []
    if kind in _WITH_EVENTS:
        changes = [Change(kind, UUID(row["id"]), "imported") for row in rows]
    elif kind == "tombstone":
        tombstones = [(trail.make_id(trail.now), row["episode_id"]) for row in rows]
        await store.record_tombstones(transaction, tombstones, trail.actor, trail.now)
    elif kind == "application":
        for row in rows:
            kept = {name: value for name, value in row.items() if name != "reason"}
            kept |= await events.reason_of(transaction, UUID(row["rule_id"]), row["reason"])
            changes.append(Change("rule", UUID(row["rule_id"]), "imported", {"application": kept}))
    elif kind == "link":
        changes = [Change(row["source_type"], UUID(row["source_id"]), "imported", {"links": [row]}) for row in rows]
    if changes:
        await events.record(transaction, trail, changes)
