"""The client: every operation of a Memory Butler server, with the requests and answers of the core."""

from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack
from uuid import UUID

from memory_butler.client import shaping
from memory_butler.client.answers import Briefed, Forgotten, Ingested, Results, Seen
from memory_butler.client.asking import Options, ReasonedOptions, WriteOptions, new_key
from memory_butler.client.calling import Connection
from memory_butler.client.following import Following
from memory_butler.client.governing import Governing
from memory_butler.client.listing import Listings
from memory_butler.models import (
    Briefing,
    BriefRequest,
    NewEpisode,
    NewFact,
    NewNote,
    NewRule,
    Question,
    Stored,
    UndoReport,
)
from memory_butler.models.explanation import Explanation

DEADLINE_SECONDS = 10.0


class MemoryClient(Listings, Governing, Following):
    """A Memory Butler server from afar. Use it as `async with MemoryClient(url) as memory:`, one for many calls.

    Errors are those of `memory_butler.errors`, the same as in process. A server that cannot be reached or that answers
    with something else is `TargetUnavailable`; a call that takes too long is `DeadlinePassed`.
    """

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8150",
        *,
        token: str | None = None,
        tenant: str | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> None:
        """`tenant` is for operators alone: everybody else's token says where they are."""
        super().__init__(Connection(base_url, token, tenant, deadline_seconds))

    @property
    def url(self) -> str:
        return self._connection.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._connection.close()

    # Remembering.

    async def store_episode(self, new: NewEpisode, **options: Unpack[Options]) -> Stored:
        return await self._write("store_episode", shaping.arguments(new), options, shaping.stored)

    async def store_fact(self, new: NewFact, **options: Unpack[Options]) -> Stored:
        return await self._write("store_fact", shaping.arguments(new), options, shaping.stored)

    async def store_rule(self, new: NewRule, **options: Unpack[Options]) -> Stored:
        return await self._write("store_rule", shaping.arguments(new), options, shaping.stored)

    async def store(self, new: NewNote, **options: Unpack[Options]) -> Stored:
        return await self._write("store", shaping.arguments(new), options, shaping.stored)

    # Looking things up.

    async def search(self, question: Question, **options: Unpack[Options]) -> Results:
        return await self._read("search", shaping.arguments(question), options, shaping.results)

    async def recall(self, question: Question, **options: Unpack[Options]) -> Results:
        """The facts and rules that matter most for a topic."""
        asked = shaping.arguments(question)
        return await self._read("recall", {"topic": asked.pop("query", ""), **asked}, options, shaping.results)

    async def explain(
        self, question: Question, id: str | UUID, *, token_budget: int | None = None, **options: Unpack[Options]
    ) -> Explanation:
        """Why a question is or is not answered with a memory."""
        asked = {**shaping.arguments(question), "id": id, "token_budget": token_budget}
        return await self._read("explain", asked, options, shaping.explanation)

    async def get(self, type: str, id: str | UUID, **options: Unpack[Options]) -> Seen:
        return await self._read("get", {"type": type, "id": id}, options, shaping.seen)

    async def stats(self, scope: str | None = None, **options: Unpack[Options]) -> dict[str, Any]:
        return await self._read("stats", {"scope": scope}, options, dict)

    async def context(self, request: BriefRequest, **options: Unpack[Options]) -> Briefing:
        """The block that an agent starts its session with."""
        return await self._read("context", shaping.arguments(request), options, shaping.briefing)

    async def context_batch(self, requests: Sequence[BriefRequest], **options: Unpack[Options]) -> list[Briefed]:
        """Many blocks at once, in the order asked for; what is wrong with one is no matter to the others."""
        asked = {"requests": [shaping.arguments(request) for request in requests]}
        return await self._read("context_batch", asked, options, shaping.briefed)

    async def ingest_batch(self, episodes: Sequence[NewEpisode], **options: Unpack[Options]) -> list[Ingested]:
        """Many episodes at once, each with a key of its own; the outcomes are in the order given."""
        items = [{"idempotency_key": new_key(), **shaping.arguments(new)} for new in episodes]
        return await self._read("ingest_batch", {"episodes": items}, options, shaping.ingested)

    # Judging, correcting, withdrawing, bringing back.

    async def confirm(self, type: str, id: str | UUID, **options: Unpack[WriteOptions]) -> Stored:
        return await self._write("confirm", {"type": type, "id": id}, options, shaping.stored)

    async def mark_helpful(self, rule_id: str | UUID, **options: Unpack[WriteOptions]) -> Stored:
        return await self._write("mark_helpful", {"rule_id": rule_id}, options, shaping.stored)

    async def mark_harmful(self, rule_id: str | UUID, **options: Unpack[ReasonedOptions]) -> Stored:
        return await self._write("mark_harmful", {"rule_id": rule_id}, options, shaping.stored)

    async def correct(self, fact_id: str | UUID, content: str, **options: Unpack[ReasonedOptions]) -> Stored:
        return await self._write("correct", {"fact_id": fact_id, "content": content}, options, shaping.stored)

    async def forget(self, type: str, id: str | UUID, **options: Unpack[ReasonedOptions]) -> Stored:
        return await self._write("forget", {"type": type, "id": id}, options, shaping.stored)

    async def forget_about(
        self,
        *,
        subject: str | None = None,
        text: str | None = None,
        dry_run: bool = True,
        **options: Unpack[ReasonedOptions],
    ) -> Forgotten:
        """Everything about a person or an identifier; unless told otherwise it only says what that would be."""
        asked = {"subject": subject, "text": text, "dry_run": dry_run}
        return await self._write("forget_about", asked, options, shaping.forgotten)

    async def restore(
        self, type: str, id: str | UUID, *, supersede: bool = False, **options: Unpack[ReasonedOptions]
    ) -> Stored:
        asked = {"type": type, "id": id, "supersede": supersede or None}
        return await self._write("restore", asked, options, shaping.stored)

    async def pin(self, type: str, id: str | UUID, **options: Unpack[WriteOptions]) -> Stored:
        return await self._write("pin", {"type": type, "id": id}, options, shaping.stored)

    async def unpin(self, type: str, id: str | UUID, **options: Unpack[WriteOptions]) -> Stored:
        return await self._write("unpin", {"type": type, "id": id}, options, shaping.stored)

    async def reverse(self, rule_id: str | UUID, **options: Unpack[ReasonedOptions]) -> Stored:
        return await self._write("reverse", {"rule_id": rule_id}, options, shaping.stored)

    async def undo(self, id: str | UUID, *, skip_changed: bool = False, **options: Unpack[WriteOptions]) -> UndoReport:
        asked = {"id": id, "skip_changed": skip_changed or None}
        return await self._write("undo", asked, options, shaping.undone)

    # Distilling, where agents do it.

    async def consolidation_claim(self, limit: int | None = None, **options: Unpack[Options]) -> dict[str, Any]:
        """A batch to distil; `run` is None if nothing waits. What was claimed and not heard of is free after its
        lease, so this is not repeated."""
        return await self._ask("consolidation_claim", {"limit": limit}, options, dict, repeatable=False)

    async def consolidation_submit(
        self, run: str | UUID, proposal: Mapping[str, Any], **options: Unpack[Options]
    ) -> dict[str, Any]:
        asked = {"run": run, "proposal": proposal}
        return await self._ask("consolidation_submit", asked, options, dict, repeatable=False)
