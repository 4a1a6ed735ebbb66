"""The client: one method for each operation of a Memory Butler server."""

from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack
from uuid import UUID

import httpx

from memory_butler import models
from memory_butler.client.activity_stream import ActivityMethods
from memory_butler.client.administration import AdministrationMethods
from memory_butler.client.answers import Briefed, Ingested, briefed, ingested
from memory_butler.client.connection import Connection
from memory_butler.client.listings import ListingMethods
from memory_butler.client.requests import Options, ReasonedOptions, WriteOptions, arguments, new_key
from memory_butler.models.explanation import Explanation
from memory_butler.models.wire import memory_answers as wire

DEADLINE_SECONDS = 10.0


class MemoryClient(ListingMethods, AdministrationMethods, ActivityMethods):
    """Client of a Memory Butler server. Use it as `async with MemoryClient(url) as memory:`, one for many calls.

    Raises the errors of `memory_butler.errors`, the same as in process: `TargetUnavailable` if the server cannot be
    reached or its answer is not understood, `DeadlinePassed` if a call takes too long.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8150",
        *,
        token: str | None = None,
        tenant: str | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`tenant` is for operators only; other tokens determine their tenant. `transport` carries the requests, by
        default over HTTP."""
        super().__init__(Connection(base_url, token, tenant, deadline_seconds, transport))

    @property
    def url(self) -> str:
        return self._connection.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._connection.close()

    # Writing.

    async def store_episode(self, new: models.NewEpisode, **options: Unpack[Options]) -> models.Stored:
        return await self._write("store_episode", arguments(new), options, models.Stored)

    async def store_fact(self, new: models.NewFact, **options: Unpack[Options]) -> models.Stored:
        return await self._write("store_fact", arguments(new), options, models.Stored)

    async def store_rule(self, new: models.NewRule, **options: Unpack[Options]) -> models.Stored:
        return await self._write("store_rule", arguments(new), options, models.Stored)

    async def store(self, new: models.NewNote, **options: Unpack[Options]) -> models.Stored:
        return await self._write("store", arguments(new), options, models.Stored)

    # Reading.

    async def search(self, question: models.Question, **options: Unpack[Options]) -> wire.SearchResults:
        return await self._read("search", arguments(question), options, wire.SearchResults)

    async def recall(self, question: models.Question, **options: Unpack[Options]) -> wire.SearchResults:
        """The most important facts and rules for a topic."""
        body = arguments(question)
        return await self._read("recall", {"topic": body.pop("query", ""), **body}, options, wire.SearchResults)

    async def explain(
        self, question: models.Question, id: str | UUID, *, token_budget: int | None = None, **options: Unpack[Options]
    ) -> Explanation:
        """Explain why a search does or does not return a memory."""
        body = {**arguments(question), "id": id, "token_budget": token_budget}
        return await self._read("explain", body, options, Explanation)

    async def get(self, type: str | None, id: str | UUID, **options: Unpack[Options]) -> wire.MemoryDetail:
        return await self._read("get", {"type": type, "id": id}, options, wire.MemoryDetail)

    async def stats(self, scope: str | None = None, **options: Unpack[Options]) -> dict[str, Any]:
        return await self._read("stats", {"scope": scope}, options, dict)

    async def context(self, request: models.BriefRequest, **options: Unpack[Options]) -> models.Briefing:
        """The briefing for the start of an agent session."""
        return await self._read("context", arguments(request), options, models.Briefing)

    async def context_batch(self, requests: Sequence[models.BriefRequest], **options: Unpack[Options]) -> list[Briefed]:
        """Many briefings, in the order of the requests; one bad request does not fail the others."""
        body = {"requests": [arguments(request) for request in requests]}
        return briefed(await self._read("context_batch", body, options, wire.BriefingsAnswer))

    async def ingest_batch(self, episodes: Sequence[models.NewEpisode], **options: Unpack[Options]) -> list[Ingested]:
        """Store many episodes, each with its own idempotency key; the outcomes are in the same order."""
        items = [{"idempotency_key": new_key(), **arguments(new)} for new in episodes]
        return ingested(await self._read("ingest_batch", {"episodes": items}, options, wire.IngestAnswer))

    # Feedback, correction, withdrawal, restoring.

    async def confirm(self, type: str | None, id: str | UUID, **options: Unpack[WriteOptions]) -> models.Stored:
        return await self._write("confirm", {"type": type, "id": id}, options, models.Stored)

    async def mark_helpful(self, rule_id: str | UUID, **options: Unpack[WriteOptions]) -> models.Stored:
        return await self._write("mark_helpful", {"rule_id": rule_id}, options, models.Stored)

    async def mark_harmful(self, rule_id: str | UUID, **options: Unpack[ReasonedOptions]) -> models.Stored:
        return await self._write("mark_harmful", {"rule_id": rule_id}, options, models.Stored)

    async def correct(self, fact_id: str | UUID, content: str, **options: Unpack[ReasonedOptions]) -> models.Stored:
        return await self._write("correct", {"fact_id": fact_id, "content": content}, options, models.Stored)

    async def forget(
        self, type: str | None, id: str | UUID, *, derived: bool = False, **options: Unpack[ReasonedOptions]
    ) -> models.Stored:
        """Withdraw a memory; with `derived` also the facts and rules that came from it alone."""
        body = {"type": type, "id": id, "derived": derived or None}
        return await self._write("forget", body, options, models.Stored)

    async def forget_about(
        self,
        *,
        subject: str | None = None,
        text: str | None = None,
        also: Sequence[str] = (),
        dry_run: bool = True,
        **options: Unpack[ReasonedOptions],
    ) -> wire.ForgetAnswer:
        """Forget everything about a person or an identifier; by default only list it (`dry_run`)."""
        body = {"subject": subject, "text": text, "also": list(also) or None, "dry_run": dry_run}
        return await self._write("forget_about", body, options, wire.ForgetAnswer)

    async def purge(
        self,
        *,
        ref: str | None = None,
        subject: str | None = None,
        text: str | None = None,
        dry_run: bool = True,
        derived: bool = True,
        reason: str | None = None,
        **options: Unpack[Options],
    ) -> wire.PurgeAnswer:
        """Erase a memory, or everything about a person or an identifier, for good; by default only list it."""
        body = {"ref": ref, "subject": subject, "text": text, "dry_run": dry_run, "derived": derived, "reason": reason}
        return await self._read("purge", body, options, wire.PurgeAnswer)

    async def restore(
        self, type: str | None, id: str | UUID, *, supersede: bool = False, **options: Unpack[ReasonedOptions]
    ) -> models.Stored:
        body = {"type": type, "id": id, "supersede": supersede or None}
        return await self._write("restore", body, options, models.Stored)

    async def update(
        self,
        type: str | None,
        id: str | UUID,
        *,
        importance: int | None = None,
        permanence: str | None = None,
        tags: Sequence[str] | None = None,
        scope: str | None = None,
        content: str | None = None,
        **options: Unpack[WriteOptions],
    ) -> models.Stored:
        """Change fields of a memory in use; None leaves a field as it is. `content` is for rules only."""
        labels = None if tags is None else list(tags)
        body = {"type": type, "id": id, "importance": importance, "permanence": permanence, "tags": labels}
        return await self._write("update", body | {"scope": scope, "content": content}, options, models.Stored)

    async def link(
        self, id: str | UUID, relation: str, target: str | UUID, **options: Unpack[WriteOptions]
    ) -> models.Stored:
        """Link a memory to another one: supports, contradicts or related_to."""
        body = {"id": id, "relation": relation, "target": target}
        return await self._write("link", body, options, models.Stored)

    async def pin(self, type: str | None, id: str | UUID, **options: Unpack[WriteOptions]) -> models.Stored:
        return await self._write("pin", {"type": type, "id": id}, options, models.Stored)

    async def unpin(self, type: str | None, id: str | UUID, **options: Unpack[WriteOptions]) -> models.Stored:
        return await self._write("unpin", {"type": type, "id": id}, options, models.Stored)

    async def reverse(self, rule_id: str | UUID, **options: Unpack[ReasonedOptions]) -> models.Stored:
        return await self._write("reverse", {"rule_id": rule_id}, options, models.Stored)

    async def undo(
        self, id: str | UUID, *, skip_changed: bool = False, **options: Unpack[WriteOptions]
    ) -> wire.UndoAnswer:
        body = {"id": id, "skip_changed": skip_changed or None}
        return await self._write("undo", body, options, wire.UndoAnswer)

    # Distilling by agents.

    async def consolidation_claim(self, limit: int | None = None, **options: Unpack[Options]) -> dict[str, Any]:
        """Claim a batch to distil; `run` is None if no episodes are pending.

        Not retried: a claim whose answer was lost ends with its lease."""
        return await self._post("consolidation_claim", {"limit": limit}, options, dict, repeatable=False)

    async def consolidation_submit(
        self, run: str | UUID, proposal: Mapping[str, Any], **options: Unpack[Options]
    ) -> dict[str, Any]:
        body = {"run": run, "proposal": proposal}
        return await self._post("consolidation_submit", body, options, dict, repeatable=False)
