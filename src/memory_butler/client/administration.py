"""Administration over HTTP: review of runs, undo, requeueing, API tokens."""

from collections.abc import Sequence
from datetime import datetime
from typing import Unpack
from uuid import UUID

from memory_butler.client.listings import part
from memory_butler.client.requests import ClientBase, Options, ReasonedOptions, WriteOptions
from memory_butler.models import Role, Stored, Token
from memory_butler.models.wire.administration_answers import ConsolidationAnswer
from memory_butler.models.wire.codec import JsonObject, copy_fields
from memory_butler.models.wire.memory_answers import CreatedToken, QuarantineAnswer, UndoAnswer
from memory_butler.models.wire.purge_answers import PurgeReceipts, ReceiptCheck


class AdministrationMethods(ClientBase):
    """Methods of the client for administrators."""

    async def consolidate(
        self, *, butler: str | None = None, limit: int | None = None, **options: Unpack[Options]
    ) -> ConsolidationAnswer:
        """Distil waiting episodes now, instead of at the scheduled time. Repeat the call while `more` is true."""
        return await self._post(
            "consolidate", {"butler": butler, "limit": limit}, options, ConsolidationAnswer, repeatable=True
        )

    async def approve(
        self, run: str | UUID, items: Sequence[int] | None = None, **options: Unpack[WriteOptions]
    ) -> JsonObject:
        """Approve items of a run that awaits a decision: by number, or all undecided items. Returns the run.

        After the last decision the approved items are stored."""
        return await self._write(f"runs/{part(run)}/approve", {"items": items}, options, dict)

    async def reject(
        self, run: str | UUID, items: Sequence[int] | None = None, **options: Unpack[WriteOptions]
    ) -> JsonObject:
        """Reject items of a run that awaits a decision: by number, or all undecided items. Returns the run."""
        return await self._write(f"runs/{part(run)}/reject", {"items": items}, options, dict)

    async def undo_run(
        self,
        run: str | UUID,
        *,
        skip_changed: bool = False,
        dry_run: bool = False,
        **options: Unpack[WriteOptions],
    ) -> UndoAnswer:
        """Undo what a run stored and changed, or only report it."""
        body = {"skip_changed": skip_changed or None, "dry_run": dry_run or None}
        return await self._write(f"runs/{part(run)}/undo", body, options, UndoAnswer)

    async def requeue(self, id: str | UUID, *, again: bool = False, **options: Unpack[WriteOptions]) -> JsonObject:
        """Requeue an episode with a fresh retry count; with `again` also a consolidated one."""
        return await self._write(f"dead_letters/{part(id)}/requeue", {"again": again or None}, options, dict)

    async def quarantine(self, *, limit: int = 100, **options: Unpack[Options]) -> QuarantineAnswer:
        """The memories that are not used until a person approves them, oldest first: `items` and `total`."""
        return await self._get("/quarantine", options, QuarantineAnswer, {"limit": str(limit)})

    async def approve_memory(self, type: str, id: str | UUID, **options: Unpack[ReasonedOptions]) -> Stored:
        """Put a quarantined memory into use; it supersedes the value that it contests."""
        return await self._write(f"quarantine/{part(type)}/{part(id)}/approve", {}, options, Stored)

    async def reject_memory(self, type: str, id: str | UUID, **options: Unpack[ReasonedOptions]) -> Stored:
        """Leave a quarantined memory out of use."""
        return await self._write(f"quarantine/{part(type)}/{part(id)}/reject", {}, options, Stored)

    async def purge_receipts(self, *, limit: int = 50, **options: Unpack[Options]) -> PurgeReceipts:
        """Receipts of purges, newest first, without words: `items`."""
        return await self._get("/purge_receipts", options, PurgeReceipts, {"limit": str(limit)})

    async def verify_purge(self, id: str | UUID, **options: Unpack[Options]) -> ReceiptCheck:
        """Check a receipt against the log: `problems` is empty if it holds."""
        return await self._get(f"/purge_receipts/{part(id)}/verify", options, ReceiptCheck)

    async def create_token(
        self,
        butler: str,
        role: str = Role.AGENT,
        *,
        label: str | None = None,
        expires_at: datetime | None = None,
        **options: Unpack[Options],
    ) -> tuple[Token, str]:
        """Create an API token; returns it and its secret, which is shown only once.

        The request is not retried. If the answer is lost, find the token among `tokens` and revoke it."""
        body = {"butler": butler, "role": role, "label": label, "expires_at": expires_at}
        created = await self._post("tokens", body, options, CreatedToken, repeatable=False)
        return copy_fields(Token, created), created.token

    async def revoke_token(self, id: str | UUID, **options: Unpack[Options]) -> Token:
        """Revoke an API token. Servers may accept it for a few more seconds."""
        return await self._get(f"/tokens/{part(id)}", options, Token, method="DELETE")
