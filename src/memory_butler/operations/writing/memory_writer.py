"""The unit of work for writes: memories with their links, index entries and events.

Writes are collected and sent to the database in a few statements, however many there are. If a memory is changed a
second time, the collected writes are sent first: an event records the state right after its own change.
"""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from memory_butler.english.text.normalize import normal_name
from memory_butler.errors import InternalError
from memory_butler.models import (
    Fact,
    Link,
    MemoryType,
    NewEpisode,
    NewFact,
    NewRule,
    Origin,
    Permanence,
    Relation,
    Rule,
    Stored,
    Validity,
)
from memory_butler.policy.lifecycle import confidence
from memory_butler.policy.memories import supersession
from memory_butler.policy.memories.references import short_reference
from memory_butler.policy.trust.assessment import CONTESTED, admitted
from memory_butler.policy.trust.origin import lowest, outranks
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.history import events
from memory_butler.store.history.events import AuditTrail, Change
from memory_butler.store.memories import facts, links, memories
from memory_butler.store.retrieval import search_index
from memory_butler.store.retrieval.search_index import Indexed, Named
from memory_butler.store.trust import quarantine


def content_hash(content: str) -> bytes:
    return hashlib.sha256(content.encode()).digest()


def open_writer(resources: Resources, transaction: Transaction, trail: AuditTrail) -> "MemoryWriter":
    """A writer with the decay rates of the butler that the memories belong to."""
    return MemoryWriter(transaction, trail, resources.settings.lifecycle_of(trail.butler).decay)


def _stored(kind: MemoryType, row: Row) -> Stored:
    reason = row["quarantine_reason"]
    outcome = "quarantined" if reason else "created"
    return Stored(type=kind, id=row["id"], ref=row["ref"], outcome=outcome, quarantine_reason=reason)


class MemoryWriter:
    """Collects the writes of one transaction, which holds the tenant's lock. Nothing is written before `flush`.

    A change made without a request of its own is attributed to the request of its first source episode, if `requests`
    (episode id to request id) has it.
    """

    def __init__(
        self,
        transaction: Transaction,
        trail: AuditTrail,
        decay: confidence.DecayRules,
        requests: Mapping[UUID, str | None] | None = None,
    ) -> None:
        self._transaction = transaction
        self._trail = trail
        self._decay = decay
        self._requests = requests or {}
        self._registered = False
        self._clear()

    def _clear(self) -> None:
        self._touched = set[UUID]()
        self._superseded: list[UUID] = []
        self._confirmed = defaultdict[MemoryType, list[UUID]](list)
        self._raised = defaultdict[tuple[MemoryType, str], list[UUID]](list)
        self._rows = defaultdict[MemoryType, list[Row]](list)
        self._pinned = defaultdict[MemoryType, list[UUID]](list)
        self._retracted: list[UUID] = []
        self._entries: list[Named] = []
        self._links: list[Link] = []
        self._changes: list[Change] = []

    async def episode(self, new: NewEpisode, entry: Indexed, *, ttl_days: float) -> Stored:
        """Store a validated episode."""
        await self._transaction.refs.known()
        now, new = self._trail.now, admitted(new)
        if twin := await self._waiting_twin(MemoryType.EPISODE, new, butler=new.butler):
            return twin
        row = memories.as_row(
            new,
            origin=new.source,
            observed_at=new.observed_at or now,
            expires_at=now + timedelta(days=ttl_days),
            **self._identity(new.content),
        )
        self._add_row(MemoryType.EPISODE, row, entry)
        self._add_created((MemoryType.EPISODE, row["id"], entry))
        return _stored(MemoryType.EPISODE, row)

    async def fact(
        self, new: NewFact, entry: Indexed, *, decision: supersession.Decision, sources: Sequence[UUID]
    ) -> Stored:
        """Store a validated fact as the supersession policy decided. A fact of a lower rank replaces none."""
        await self._transaction.refs.known()
        new = admitted(new)
        if isinstance(decision, supersession.Restates):
            return await self.confirm(MemoryType.FACT, decision.known, sources, new.source)
        if isinstance(decision, supersession.Replaces) and not new.quarantine_reason:
            if outranks(decision.old.origin, new.source or Origin.AGENT):
                new = replace(new, quarantine_reason=CONTESTED)
            else:
                return await self._replace(decision.old, new, entry, sources, outcome="superseded")
        return await self._add_new_fact(new, entry, sources)

    async def _add_new_fact(self, new: NewFact, entry: Indexed, sources: Sequence[UUID] = ()) -> Stored:
        names = {"subject": normal_name(new.subject), "predicate": normal_name(new.predicate)}
        if twin := await self._waiting_twin(MemoryType.FACT, new, scope=new.scope, **names):
            return twin
        row = self._add_fact(new, entry, sources)
        self._add_created((MemoryType.FACT, row["id"], entry), sources)
        return _stored(MemoryType.FACT, row)

    async def _waiting_twin(self, kind: MemoryType, new: NewEpisode | NewFact | NewRule, **place: str) -> Stored | None:
        """The memory with the same text and place that waits for a decision already: a repetition adds none."""
        if not new.quarantine_reason:
            return None
        wanted = {"content_hash": content_hash(new.content), **place}
        same = [row for row in self._rows[kind] if all(row[name] == value for name, value in wanted.items())]
        row = same[0] if same else await quarantine.find_waiting(self._transaction, kind, wanted)
        return _stored(kind, row) if row and row["quarantine_reason"] else None

    async def correct(self, old: Fact, new: NewFact, entry: Indexed, reason: str | None) -> Stored:
        """Supersede a wrong fact by a validated right one, which keeps its pin.

        The events of both facts name the other one, the actor and the reason. A correction that an ordinary write
        would have to wait with waits, too, and the wrong fact stays in use until then.
        """
        await self._transaction.refs.known()
        new = admitted(new)
        if not new.quarantine_reason and outranks(old.origin, new.source or Origin.AGENT):
            new = replace(new, quarantine_reason=CONTESTED)
        if new.quarantine_reason:
            return await self._add_new_fact(new, entry)
        stored = await self._replace(old, new, entry, outcome="corrected")
        if old.pinned:
            self._pinned[MemoryType.FACT].append(stored.id)
        superseded, created = self._changes[-2:]
        is_sealed = entry.search is not None
        for change, other in ((superseded, {"by": str(stored.id)}), (created, {"of": str(old.id)})):
            kept_reason = await events.reason_of(self._transaction, change.id, reason, sealed=is_sealed)
            change.extra["correction"] = {**other, "actor": self._trail.actor, **kept_reason}
        return stored

    async def rule(self, new: NewRule, entry: Indexed, sources: Sequence[UUID]) -> Stored:
        """Store a validated rule."""
        await self._transaction.refs.known()
        new = admitted(new)
        if twin := await self._waiting_twin(MemoryType.RULE, new, scope=new.scope):
            return twin
        row = memories.as_row(
            new,
            confidence=confidence.NEW_RULE_CONFIDENCE,
            decay_rate=confidence.rule_rate(self._decay),
            **self._provenance(new, sources),
        )
        self._add_row(MemoryType.RULE, row, entry)
        self._add_created((MemoryType.RULE, row["id"], entry), sources)
        return _stored(MemoryType.RULE, row)

    async def reword(self, old: Rule, new: NewRule, entry: Indexed) -> Stored:
        """Store a rule in the place of an old one, which leaves use. It starts as a candidate, because the feedback was
        on other words; it keeps the pin. New words are not the user's because the old ones were."""
        is_users = old.origin == Origin.USER and new.content == old.content
        new = admitted(replace(new, source=old.origin if is_users else lowest([Origin.AGENT, old.origin])))
        if new.quarantine_reason:
            return await self.rule(new, entry, ())
        await self._touch(old.id)
        self._retracted.append(old.id)
        self._changes.append(Change(MemoryType.RULE, old.id, "reworded"))
        stored = await self.rule(new, entry, ())
        if old.pinned:
            self._pinned[MemoryType.RULE].append(stored.id)
        reworded, created = self._changes[-2:]
        reworded.extra["correction"] = {"by": str(stored.id), "actor": self._trail.actor}
        created.extra["correction"] = {"of": str(old.id), "actor": self._trail.actor}
        return stored

    async def confirm(
        self,
        kind: MemoryType,
        known: supersession.LiveMemory,
        sources: Sequence[UUID],
        origin: str | None = None,
    ) -> Stored:
        """Confirm a known memory that was stated again, with the evidence for it. A higher origin replaces its own."""
        await self._touch(known.id)
        self._confirmed[kind].append(known.id)
        if origin and outranks(origin, known.origin):
            self._raised[kind, origin].append(known.id)
        self._add_change(kind, known.id, "confirmed", sources)
        return Stored(type=kind, id=known.id, ref=known.ref, outcome="confirmed")

    def contradict(self, memory: Stored, kind: MemoryType, older: UUID) -> None:
        """Link the memory that was stored last to an older one that it speaks against. Both stay in use."""
        change = self._changes[-1]
        assert change.id == memory.id
        link = self._link((memory.type, memory.id), (kind, older, Relation.CONTRADICTS))
        self._links.append(link)
        change.extra.setdefault("links", []).append(links.kept(link, self._trail.lineage.request_id))

    async def flush(self) -> None:
        """Send the collected writes: first those that free a slot, links once both ends exist, events last."""
        transaction, now = self._transaction, self._trail.now
        if not self._changes:
            return
        if not self._registered:
            await transaction.send("database.register_butler", butler=self._trail.butler, now=now)
            self._registered = True
        if self._superseded:
            await facts.supersede(transaction, self._superseded)
        for rule_id in self._retracted:
            await memories.set_validity(transaction, MemoryType.RULE, rule_id, Validity.RETRACTED)
        for kind, ids in self._confirmed.items():
            await memories.confirm(transaction, kind, ids, now)
        for (kind, origin), ids in self._raised.items():
            await memories.raise_origin(transaction, kind, ids, origin)
        for kind, rows in self._rows.items():
            await memories.insert(transaction, kind, rows)
        for kind, ids in self._pinned.items():
            for memory_id in ids:
                await memories.set_pinned(transaction, kind, memory_id, True)
        if self._entries:
            await search_index.add(transaction, self._entries)
        if self._links:
            await links.insert(transaction, self._links, self._trail.lineage.request_id)
        await events.record(transaction, self._trail, self._changes)
        self._clear()

    async def _replace(
        self,
        old: supersession.LiveMemory,
        new: NewFact,
        entry: Indexed,
        sources: Sequence[UUID] = (),
        *,
        outcome: str,
    ) -> Stored:
        """Supersede `old` by a new fact: two changes, the old fact's before the new one's."""
        await self._touch(old.id)
        self._superseded.append(old.id)
        self._changes.append(Change(MemoryType.FACT, old.id, "superseded"))
        row = self._add_fact(new, entry, sources, supersedes_id=old.id)
        self._add_created((MemoryType.FACT, row["id"], entry), sources, old)
        return Stored(type=MemoryType.FACT, id=row["id"], ref=row["ref"], outcome=outcome, superseded_ref=old.ref)

    def _add_row(self, kind: MemoryType, row: Row, entry: Indexed) -> None:
        """Collect a row. The index entry of a memory that will be encrypted must have been made for that, which needs
        the key."""
        vault = self._transaction.vault
        if vault and vault.search_of(row) != entry.search:
            vault.current("data")
            raise InternalError("The index entry of an encrypted memory holds its text; nothing was stored.")
        self._rows[kind].append(row)

    def _add_fact(
        self, new: NewFact, entry: Indexed, sources: Sequence[UUID], supersedes_id: UUID | None = None
    ) -> Row:
        row = memories.as_row(
            new,
            subject_label=new.subject,
            predicate_label=new.predicate,
            subject=normal_name(new.subject),
            predicate=normal_name(new.predicate),
            confidence=confidence.NEW_FACT_CONFIDENCE,
            decay_rate=confidence.fact_rate(Permanence(new.permanence), self._decay),
            supersedes_id=supersedes_id,
            **self._provenance(new, sources),
        )
        self._add_row(MemoryType.FACT, row, entry)
        return row

    def _provenance(self, new: NewFact | NewRule, sources: Sequence[UUID]) -> Row:
        return {
            **self._identity(new.content),
            "origin": new.source,
            "source_butler": self._trail.butler,
            "source_episode_id": next(iter(sources), None),
            "request_id": self._request_of(sources),
        }

    def _identity(self, content: str) -> Row:
        trail = self._trail
        return {
            "id": trail.make_id(trail.now),
            "ref": short_reference(self._transaction.refs.take()),
            "content_hash": content_hash(content),
            "now": trail.now,
            "request_id": trail.lineage.request_id,
        }

    async def _touch(self, memory_id: UUID) -> None:
        if memory_id in self._touched:
            await self.flush()
        self._touched.add(memory_id)

    def _add_created(
        self, named: Named, sources: Sequence[UUID] = (), old: supersession.LiveMemory | None = None
    ) -> None:
        kind, memory_id, _ = named
        self._touched.add(memory_id)
        self._entries.append(named)
        self._add_change(kind, memory_id, "created", sources, old)

    def _add_change(
        self,
        kind: MemoryType,
        memory_id: UUID,
        event: str,
        sources: Sequence[UUID],
        old: supersession.LiveMemory | None = None,
    ) -> None:
        extra = self._add_links((kind, memory_id), sources, old)
        self._changes.append(Change(kind, memory_id, event, extra, request_id=self._request_of(sources)))

    def _request_of(self, sources: Sequence[UUID]) -> str | None:
        own = self._trail.lineage.request_id
        return own or next((request for source in sources if (request := self._requests.get(source))), None)

    def _add_links(
        self, memory: tuple[MemoryType, UUID], sources: Sequence[UUID], old: supersession.LiveMemory | None
    ) -> dict[str, Any]:
        """Link a memory to its source episodes and to the fact it replaced; returns the links for its event."""
        targets = [(MemoryType.EPISODE, source, Relation.DERIVED_FROM) for source in sources]
        if old:
            targets.append((MemoryType.FACT, old.id, Relation.SUPERSEDES))
        new_links = [self._link(memory, target) for target in targets]
        self._links += new_links
        return {"links": [links.kept(link, self._trail.lineage.request_id) for link in new_links]} if new_links else {}

    def _link(self, memory: tuple[MemoryType, UUID], target: tuple[MemoryType, UUID, Relation]) -> Link:
        return Link(
            source_type=memory[0],
            source_id=memory[1],
            target_type=target[0],
            target_id=target[1],
            relation=target[2],
            created_at=self._trail.now,
        )
