"""Keeping: episodes, facts and rules into the store, with their links, what they are found by, and their events.

What is to be written is collected and goes to the database in a few statements, however much it is. A memory that is
touched a second time has what was collected written first: an event tells the state that its own change left behind.
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from memory_butler.models import Link, MemoryType, NewEpisode, NewFact, NewRule, Permanence, Relation, Stored
from memory_butler.policy import confidence, supersession
from memory_butler.policy.admission import normal_name
from memory_butler.policy.references import short_reference
from memory_butler.store import episodes, events, facts, links, rules, search_index
from memory_butler.store.database import Row, Session
from memory_butler.store.events import Change, Trail
from memory_butler.store.search_index import Indexed, Named


def content_hash(content: str) -> bytes:
    return hashlib.sha256(content.encode()).digest()


class Keeping:
    """The writes of one transaction, which holds the tenant's lock. Nothing is written before `flush`.

    What nobody asked for belongs to the request of the first episode it came from, as far as `requests` knows them.
    """

    def __init__(self, session: Session, marks: Trail, requests: Mapping[UUID, str | None] | None = None) -> None:
        self._session = session
        self._marks = marks
        self._requests = requests or {}
        self._registered = False
        self._begin()

    def _begin(self) -> None:
        self._touched = set[UUID]()
        self._superseded: list[UUID] = []
        self._confirmed: dict[MemoryType, list[UUID]] = {MemoryType.FACT: [], MemoryType.RULE: []}
        self._episodes: list[Row] = []
        self._facts: list[Row] = []
        self._rules: list[Row] = []
        self._entries: list[Named] = []
        self._links: list[Link] = []
        self._changes: list[Change] = []

    def episode(self, new: NewEpisode, entry: Indexed, *, ttl_days: float) -> Stored:
        """Store an admitted episode."""
        now = self._marks.now
        row = episodes.as_row(
            new,
            observed_at=new.observed_at or now,
            expires_at=now + timedelta(days=ttl_days),
            **self._identity(new.content),
        )
        self._episodes.append(row)
        self._new((MemoryType.EPISODE, row["id"], entry), ())
        return Stored(type=MemoryType.EPISODE, id=row["id"], ref=row["ref"], outcome="created")

    async def fact(
        self, new: NewFact, entry: Indexed, *, decision: supersession.Decision, sources: Sequence[UUID]
    ) -> Stored:
        """Store an admitted fact as was decided."""
        if isinstance(decision, supersession.Restates):
            return await self.restated(MemoryType.FACT, decision.known, sources)
        old = decision.old if isinstance(decision, supersession.Replaces) else None
        if old:
            await self._touch(old.id)
            self._superseded.append(old.id)
            self._changes.append(Change(MemoryType.FACT, old.id, "superseded"))
        row = facts.as_row(
            new,
            subject=normal_name(new.subject),
            predicate=normal_name(new.predicate),
            confidence=confidence.NEW_FACT_CONFIDENCE,
            decay_rate=confidence.DECAY_RATE_PER_DAY[Permanence(new.permanence)],
            supersedes_id=old.id if old else None,
            **self._origin(new.content, sources),
        )
        self._facts.append(row)
        self._new((MemoryType.FACT, row["id"], entry), sources, old)
        return Stored(
            type=MemoryType.FACT,
            id=row["id"],
            ref=row["ref"],
            outcome="superseded" if old else "created",
            superseded_ref=old.ref if old else None,
        )

    async def rule(self, new: NewRule, entry: Indexed, sources: Sequence[UUID]) -> Stored:
        """Store an admitted rule."""
        row = rules.as_row(
            new,
            confidence=confidence.NEW_RULE_CONFIDENCE,
            decay_rate=confidence.RULE_DECAY_RATE_PER_DAY,
            **self._origin(new.content, sources),
        )
        self._rules.append(row)
        self._new((MemoryType.RULE, row["id"], entry), sources)
        return Stored(type=MemoryType.RULE, id=row["id"], ref=row["ref"], outcome="created")

    async def restated(self, kind: MemoryType, known: supersession.Standing, sources: Sequence[UUID]) -> Stored:
        """The same was said again: what is known is confirmed, with the evidence for it."""
        await self._touch(known.id)
        self._confirmed[kind].append(known.id)
        self._change(kind, known.id, "confirmed", sources)
        return Stored(type=kind, id=known.id, ref=known.ref, outcome="confirmed")

    async def flush(self) -> None:
        """Write what was collected: whatever makes room first, links when both ends are there, events at the end."""
        session, now = self._session, self._marks.now
        if not self._changes:
            return
        if not self._registered:
            await session.send("database.register_butler", butler=self._marks.butler, now=now)
            self._registered = True
        if self._superseded:
            await facts.supersede(session, self._superseded)
        for kind, confirm in ((MemoryType.FACT, facts.confirm), (MemoryType.RULE, rules.confirm)):
            if self._confirmed[kind]:
                await confirm(session, self._confirmed[kind], now)
        if self._episodes:
            await episodes.insert(session, self._episodes)
        if self._facts:
            await facts.insert(session, self._facts)
        if self._rules:
            await rules.insert(session, self._rules)
        if self._entries:
            await search_index.add(session, self._entries)
        if self._links:
            await links.insert(session, self._links, self._marks.lineage.request_id)
        await events.record(session, self._marks, self._changes)
        self._begin()

    def _origin(self, content: str, sources: Sequence[UUID]) -> Row:
        return {
            **self._identity(content),
            "source_butler": self._marks.butler,
            "source_episode_id": next(iter(sources), None),
            "request_id": self._request(sources),
        }

    def _identity(self, content: str) -> Row:
        marks = self._marks
        return {
            "id": marks.make_id(marks.now),
            "ref": short_reference(self._session.take_ref()),
            "content_hash": content_hash(content),
            "now": marks.now,
            "request_id": marks.lineage.request_id,
        }

    async def _touch(self, memory_id: UUID) -> None:
        if memory_id in self._touched:
            await self.flush()
        self._touched.add(memory_id)

    def _new(self, named: Named, sources: Sequence[UUID], old: supersession.Standing | None = None) -> None:
        kind, memory_id, _ = named
        self._touched.add(memory_id)
        self._entries.append(named)
        self._change(kind, memory_id, "created", sources, old)

    def _change(
        self,
        kind: MemoryType,
        memory_id: UUID,
        event: str,
        sources: Sequence[UUID],
        old: supersession.Standing | None = None,
    ) -> None:
        linked = self._linked((kind, memory_id), sources, old)
        self._changes.append(Change(kind, memory_id, event, linked, request_id=self._request(sources)))

    def _request(self, sources: Sequence[UUID]) -> str | None:
        own = self._marks.lineage.request_id
        return own or next((asked for source in sources if (asked := self._requests.get(source))), None)

    def _linked(
        self, new: tuple[MemoryType, UUID], sources: Sequence[UUID], old: supersession.Standing | None
    ) -> dict[str, object]:
        """Link a memory to the episodes it came from and the fact it replaced; returns what its event keeps of them."""
        wanted = [(MemoryType.EPISODE, source, Relation.DERIVED_FROM) for source in sources]
        if old:
            wanted.append((MemoryType.FACT, old.id, Relation.SUPERSEDES))
        found = [
            Link(
                source_type=new[0],
                source_id=new[1],
                target_type=target_type,
                target_id=target,
                relation=relation,
                created_at=self._marks.now,
            )
            for target_type, target, relation in wanted
        ]
        self._links += found
        return {"links": [links.kept(link, self._marks.lineage.request_id) for link in found]} if found else {}
