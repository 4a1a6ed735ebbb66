"""Import: a file that an export wrote, into a tenant that has no memories yet.

The rows come in one transaction: an import that is broken off has changed nothing. What they are found by is made
afterwards, a batch at a time; an import that is begun again goes on with that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from uuid import UUID

from memory_butler.butler import Butler
from memory_butler.errors import Conflict, IntegrityViolation, InternalError, NotFound
from memory_butler.models import Caller
from memory_butler.operations import index
from memory_butler.operations.once import trail
from memory_butler.operations.transfer_file import Checked, Progress, Reader, opened, unseen
from memory_butler.operations.visits import note_visit
from memory_butler.policy.roles import check_role
from memory_butler.policy.transfer import PARENTS, Move, Record, damaged, new_ids
from memory_butler.store import events, visits
from memory_butler.store import transfer as store
from memory_butler.store.database import Session
from memory_butler.store.events import Change, Trail

LONGEST_SECONDS = 6 * 3600
BATCH = 500
# Kinds whose rows are memories or names, which the log tells of one by one.
_TOLD = ("episode", "fact", "rule", "alias")


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What the file holds, and what was done with it."""

    tenant: str
    source: str
    exported_at: str
    counts: dict[str, int]
    outcome: str
    indexed: int = 0


async def import_(
    butler: Butler,
    path: Path,
    caller: Caller | None = None,
    *,
    ids_anew: bool = False,
    dry_run: bool = False,
    progress: Progress = unseen,
) -> Imported:
    """Bring a file into the caller's tenant, with the ids it has or with new ones. The same file again changes
    nothing."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "import")
    tenant = caller.principal.tenant
    with opened(path) as reader:
        checked = reader.check(progress)
        noted = await _noted(butler, caller)
        async with butler.database.read(tenant) as session:
            is_new = await _is_new(session, checked, ids_anew=ids_anew)
        if not dry_run:
            if is_new:
                is_new = await _Coming(butler, caller, checked, ids_anew, noted).bring(reader, progress)
            total = sum(checked.header.counts.get(kind, 0) for kind in ("episode", "fact", "rule"))
            indexed = await index.catch_up(
                butler, tenant, progress=lambda done: progress("Making the search index", done, total)
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
    )


async def _noted(butler: Butler, caller: Caller) -> bool:
    """Write down a look by somebody from another tenant, also one that ends with it; False if there is no such tenant
    yet, to write it down for."""
    try:
        await note_visit(butler, caller, "import")
    except NotFound:
        return False
    return True


async def _is_new(session: Session, checked: Checked, *, ids_anew: bool) -> bool:
    """Whether the file is still to come; a tenant with other memories is refused."""
    stands = await store.standing(session, checked.digest, new_ids=ids_anew)
    if stands["has_this"]:
        return False
    if stands["has_memories"]:
        raise Conflict(
            f"The tenant {session.tenant!r} has memories already; a file is imported into an empty tenant only.",
            recovery="Name a tenant that is not in use yet with --tenant; it is made by importing into it.",
        )
    return True


@dataclass
class _Coming:
    """One file on its way in."""

    butler: Butler
    caller: Caller
    checked: Checked
    ids_anew: bool
    noted: bool
    # Rows that came before the one they stand on, with the number of their line.
    waiting: list[tuple[int, Record]] = field(default_factory=list)

    async def bring(self, reader: Reader, progress: Progress) -> bool:
        """Everything in one transaction; False if somebody else was quicker."""
        header, now = self.checked.header, self.butler.clock()
        tenant = self.caller.principal.tenant
        async with self.butler.database.write(tenant, now, longest_seconds=LONGEST_SECONDS) as session:
            if not await _is_new(session, self.checked, ids_anew=self.ids_anew):
                return False
            if self.caller.principal.home and not self.noted:
                await visits.add(session, self.butler.make_id(now), self.caller, "import", now)
            after_seq = await store.make_room(session, header.last_seq, header.last_ref)
            move = Move(tenant, after_seq)
            move = new_ids(move, self.checked.digest) if self.ids_anew else move
            marks = trail(self.butler, self.caller, now)
            done = 0
            for kind, rows in _batches(reader, self.checked):
                moved = await self._write(session, kind, [(number, move.row(kind, row)) for number, row in rows])
                if not header.events:
                    await _tell(session, marks, kind, [row for _, row in moved])
                done += len(rows)
                progress("Importing", done, header.records)
            self._all_came()
            await self._say_so(session, now)
        return True

    async def _write(
        self, session: Session, kind: str, rows: Sequence[tuple[int, Record]]
    ) -> Sequence[tuple[int, Record]]:
        """Write the rows whose turn it is; returns them."""
        if kind in PARENTS:
            rows = await self._ready(session, kind, rows)
        else:
            self._all_came()
        try:
            if rows:
                await store.write(session, kind, [row for _, row in rows])
        except (IntegrityViolation, InternalError) as problem:
            numbers = [number for number, _ in rows]
            raise damaged(min(numbers), f"up to line {max(numbers)}: {problem.message}") from problem
        return rows

    async def _ready(
        self, session: Session, kind: str, rows: Sequence[tuple[int, Record]]
    ) -> Sequence[tuple[int, Record]]:
        """Of these and of those that wait, the rows that stand on nothing or on what is there."""
        parent = PARENTS[kind]
        self.waiting += rows
        coming = {row["id"] for _, row in self.waiting}
        there = await store.present(
            session, kind, [row[parent] for _, row in self.waiting if row[parent] and row[parent] not in coming]
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

    def _all_came(self) -> None:
        if self.waiting:
            raise damaged(self.waiting[0][0], "what it stands on is not in the file.")

    async def _say_so(self, session: Session, now: datetime) -> None:
        await store.tell_of_import(
            session,
            event_id=self.butler.make_id(now),
            now=now,
            actor=self.caller.principal.actor,
            request_id=self.caller.lineage.request_id,
            file=self.checked.digest,
            new_ids=self.ids_anew,
            records=self.checked.header.records,
        )


def _batches(reader: Reader, checked: Checked) -> Iterator[tuple[str, list[tuple[int, Record]]]]:
    batch: list[tuple[int, Record]] = []
    last = ""
    for number, kind, row in reader.rows(checked):
        if batch and (kind != last or len(batch) == BATCH):
            yield last, batch
            batch = []
        last = kind
        batch.append((number, row))
    if batch:
        yield last, batch


async def _tell(session: Session, marks: Trail, kind: str, rows: Sequence[Record]) -> None:
    """Where a file brings no history, what it brings is told as events of today: the log still tells all there is."""
    changes: list[Change] = []
    if kind in _TOLD:
        changes = [Change(kind, UUID(row["id"]), "imported") for row in rows]
    elif kind == "tombstone":
        told = [(marks.make_id(marks.now), row["episode_id"]) for row in rows]
        await store.tell_of_tombstones(session, told, marks.actor, marks.now)
    elif kind == "application":
        for row in rows:
            kept = {name: value for name, value in row.items() if name != "reason"}
            kept |= await events.reason_of(session, UUID(row["rule_id"]), row["reason"])
            changes.append(Change("rule", UUID(row["rule_id"]), "imported", {"application": kept}))
    elif kind == "link":
        changes = [Change(row["source_type"], UUID(row["source_id"]), "imported", {"links": [row]}) for row in rows]
    if changes:
        await events.record(session, marks, changes)
