"""Receipts of purges, and the result of their verification."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeReceipt:
    """A receipt. `digest` covers all other fields except `residue`, which tells when the data files were rewritten."""

    id: UUID
    purged_at: datetime
    actor: str
    reason: str | None
    matched_by: str
    counts: dict[str, int]
    items: tuple[dict[str, str], ...]
    backups: tuple[dict[str, Any], ...]
    digest: str
    residue: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeReceipts:
    """The newest receipts of a tenant, newest first."""

    items: tuple[PurgeReceipt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptCheck:
    """Result of a verification: `problems` is empty if the receipt holds."""

    receipt: UUID
    items: int
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.problems
