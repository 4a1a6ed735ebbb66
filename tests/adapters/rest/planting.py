"""What calls are about: planted in the store for each call anew, so that it is there and nobody has used it up."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.support.distillers import Scripted, of_each, with_distiller

from memory_butler.models import (
    ConsolidationStatus,
    MemoryType,
    NewEpisode,
    NewFact,
    NewRule,
    NewToken,
    Outcome,
    RunReport,
)
from memory_butler.operations.access import tokens
from memory_butler.operations.browse import listings
from memory_butler.operations.consolidation import agent_distiller, review
from memory_butler.operations.consolidation.consolidate import consolidate
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.retrieval import get
from memory_butler.operations.trust import purge
from memory_butler.operations.writing import feedback, forget, pin, remember
from memory_butler.operations.writing.idempotency import audit_trail
from memory_butler.resources import Resources
from memory_butler.store.consolidation import runs
from memory_butler.store.consolidation.runs import EpisodeStatus
from memory_butler.store.history import events
from memory_butler.store.history.events import Change

Given = dict[str, Any]
# A butler of its own: whatever the calls do with theirs, its episodes can be distilled.
GARDENER = "gardener"
PATIENCE_SECONDS = 60
HARMS = 5


@dataclass
class Planting:
    """Plants from any thread: the store is worked on by the loop that it was opened in."""

    resources: Resources
    loop: asyncio.AbstractEventLoop
    _numbers: Any = field(default_factory=count)

    def values(self, operation: str, kind: str) -> Given:
        """What an operation can be called with, by the names of its parameters."""
        planted = asyncio.run_coroutine_threadsafe(self._plant(operation, MemoryType(kind)), self.loop)
        return planted.result(PATIENCE_SECONDS)

    async def _plant(self, operation: str, kind: MemoryType) -> Given:
        recipe = self._recipes().get(operation)
        return await (recipe(kind) if recipe else self._memory(kind))

    def _recipes(self) -> dict[str, Callable[[MemoryType], Awaitable[Given]]]:
        return {
            "memory_store_fact": self._source,
            "memory_store_rule": self._source,
            "memory_mark_helpful": self._rule,
            "memory_mark_harmful": self._rule,
            "memory_forget_about": self._subject,
            "memory_purge": self._subject,
            "memory_restore": self._forgotten,
            "purge_receipts": self._purged,
            "verify_purge": self._purged,
            "approve_memory": self._quarantined,
            "reject_memory": self._quarantined,
            "memory_unpin": self._pinned,
            "memory_link": self._pair,
            "memory_reverse": self._warning,
            "memory_undo": self._event,
            "memory_consolidation_claim": self._backlog,
            "memory_consolidation_submit": self._claimed,
            "requeue": self._dead_letter,
            "given_up": self._dead_letter,
            "runs": self._applied,
            "one_run": self._applied,
            "undo_run": self._applied,
            "approve": self._waiting,
            "reject": self._waiting,
            "revoke_token": self._token,
            "list_tokens": self._token,
        }

    async def _memory(self, kind: MemoryType) -> Given:
        n = next(self._numbers)
        stored: dict[MemoryType, Callable[[], Awaitable[Any]]] = {
            MemoryType.FACT: lambda: remember.fact(
                self.resources, NewFact(subject=f"Anna {n}", predicate="color", content=f"Green number {n}.")
            ),
            MemoryType.RULE: lambda: remember.rule(self.resources, NewRule(content=f"Ask before deleting number {n}.")),
            MemoryType.EPISODE: lambda: self._episode(n),
        }
        ref = f"{kind}:{(await stored[kind]()).ref}"
        return {"type": str(kind), "id": ref, f"{kind}_id": ref, "handle": ref, "subject": f"Anna {n}"}

    async def _episode(self, n: int, butler: str = "main") -> Any:
        return await remember.episode(self.resources, NewEpisode(content=f"Painted room {n}.", butler=butler))

    async def _source(self, kind: MemoryType) -> Given:
        return {"source_episode": (await self._memory(MemoryType.EPISODE))["id"]}

    async def _pair(self, kind: MemoryType) -> Given:
        one, other = await self._memory(kind), await self._memory(MemoryType.RULE)
        return {"id": one["id"], "relation": "related_to", "target": other["id"]}

    async def _rule(self, kind: MemoryType) -> Given:
        return await self._memory(MemoryType.RULE)

    async def _subject(self, kind: MemoryType) -> Given:
        planted = await self._memory(MemoryType.FACT)
        return {"subject": planted["subject"]}

    async def _forgotten(self, kind: MemoryType) -> Given:
        planted = await self._memory(kind)
        await forget.forget(self.resources, kind, planted["id"])
        return planted

    async def _quarantined(self, kind: MemoryType) -> Given:
        n = next(self._numbers)
        stored = await remember.rule(self.resources, NewRule(content=f"Water plant number {n}.", source="external"))
        return {"type": "rule", "handle": f"rule:{stored.ref}"}

    async def _purged(self, kind: MemoryType) -> Given:
        planted = await self._memory(kind)
        report = await purge.purge(self.resources, purge.PurgeRequest(ref=planted["id"]), dry_run=False, clean_up=False)
        return {"id": str(report.receipt)}

    async def _pinned(self, kind: MemoryType) -> Given:
        planted = await self._memory(kind)
        await pin.pin(self.resources, kind, planted["id"])
        return planted

    async def _warning(self, kind: MemoryType) -> Given:
        planted = await self._memory(MemoryType.RULE)
        for _ in range(HARMS):
            await feedback.mark(self.resources, planted["id"], Outcome.HARMFUL, reason="It was slow.")
        return planted

    async def _event(self, kind: MemoryType) -> Given:
        planted = await self._forgotten(kind)
        seen = await get.get(self.resources, kind, planted["id"], bump=False)
        return {"id": str(seen.story[-1].event.id)}

    async def _distilled(self, *, review: bool) -> RunReport:
        for _ in range(2):
            await self._episode(next(self._numbers), GARDENER)
        distils = with_distiller(self.resources, Scripted(of_each()), review=review)
        [report] = await consolidate(distils, shard_of(self.resources.settings.tenant, GARDENER))
        return report

    async def _applied(self, kind: MemoryType) -> Given:
        return {"run": str((await self._distilled(review=False)).run)}

    async def _waiting(self, kind: MemoryType) -> Given:
        run = str((await self._distilled(review=True)).run)
        seen = await review.get_run(self.resources, run)
        return {"run": run, "items": [seen.lines[0].place]}

    async def _dead_letter(self, kind: MemoryType) -> Given:
        stored = await self._episode(next(self._numbers))
        now = self.resources.clock()
        async with self.resources.database.write(self.resources.settings.tenant, now) as transaction:
            dead = EpisodeStatus(
                id=stored.id, status=ConsolidationStatus.DEAD_LETTER, attempts=5, error="It fell apart."
            )
            await runs.set_status(transaction, [dead])
            change = Change(MemoryType.EPISODE, stored.id, "dead_lettered")
            await events.record(transaction, audit_trail(self.resources, self.resources.local_caller(), now), [change])
        return {"handle": stored.ref}

    async def _token(self, kind: MemoryType) -> Given:
        token, _ = await tokens.create(self.resources, NewToken(tenant=self.resources.settings.tenant, butler="main"))
        return {"id": str(token.id)}

    async def _backlog(self, kind: MemoryType) -> Given:
        """Something that waits, and nobody at it."""
        for run in (await listings.runs(self.resources, state="claimed")).items:
            await agent_distiller.submit(self.resources, str(run.id), {"version": 1})
        await self._episode(next(self._numbers))
        return {}

    async def _claimed(self, kind: MemoryType) -> Given:
        await self._backlog(kind)
        handed = await agent_distiller.claim(self.resources)
        assert handed
        return {"run": str(handed.claim.run), "proposal": of_each()(handed.batch)}
