"""Governing a tenant from afar: deciding about proposals, taking runs back, another chance for episodes, and tokens."""

from collections.abc import Sequence
from datetime import datetime
from typing import Unpack
from uuid import UUID

from memory_butler.client import shaping
from memory_butler.client.answers import Shape
from memory_butler.client.asking import Asking, Options, WriteOptions
from memory_butler.client.listing import part, token
from memory_butler.client.reading import read
from memory_butler.models import Role, Token, UndoReport


class Governing(Asking):
    """What administrators do."""

    async def approve(
        self, run: str | UUID, items: Sequence[int] | None = None, **options: Unpack[WriteOptions]
    ) -> Shape:
        """Approve items of a run that waits for a decision, by their numbers, or all that are undecided; the run as it
        stands then. When all are decided, what was approved is stored."""
        return await self._write(f"runs/{part(run)}/approve", {"items": items}, options, dict)

    async def reject(
        self, run: str | UUID, items: Sequence[int] | None = None, **options: Unpack[WriteOptions]
    ) -> Shape:
        """Reject items of a run that waits for a decision, by their numbers, or all that are undecided."""
        return await self._write(f"runs/{part(run)}/reject", {"items": items}, options, dict)

    async def undo_run(
        self,
        run: str | UUID,
        *,
        skip_changed: bool = False,
        dry_run: bool = False,
        **options: Unpack[WriteOptions],
    ) -> UndoReport:
        """Take back what a run stored and changed, or only say what that would be."""
        asked = {"skip_changed": skip_changed or None, "dry_run": dry_run or None}
        return await self._write(f"runs/{part(run)}/undo", asked, options, shaping.undone)

    async def requeue(self, id: str | UUID, *, again: bool = False, **options: Unpack[WriteOptions]) -> Shape:
        """Have an episode wait for consolidation again; with `again` also one that is consolidated."""
        return await self._write(f"dead_letters/{part(id)}/requeue", {"again": again or None}, options, dict)

    async def create_token(
        self,
        butler: str,
        role: str = Role.AGENT,
        *,
        label: str | None = None,
        expires_at: datetime | None = None,
        **options: Unpack[Options],
    ) -> tuple[Token, str]:
        """A new token of the tenant and its secret, which nobody can ever read again. It is not made a second time: if
        no answer comes, look for it among `tokens` and revoke it."""
        asked = {"butler": butler, "role": role, "label": label, "expires_at": expires_at}
        return await self._ask("tokens", asked, options, _with_secret, repeatable=False)

    async def revoke_token(self, id: str | UUID, **options: Unpack[Options]) -> Token:
        """Make a token worthless; a server may still know it for a few seconds."""
        return await self._look(f"/tokens/{part(id)}", options, token, method="DELETE")


def _with_secret(shape: Shape) -> tuple[Token, str]:
    return token(shape), read(str, shape.get("token"))
