"""Batches to check proposals against."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from tests.support.batches import batch_of

from memory_butler.models import Batch, CheckedProposal, KnownMemory, MemoryType, RefusalReason
from memory_butler.policy.consolidation.proposals import check

OBSERVED = datetime(2026, 3, 4, 10, tzinfo=UTC)
REFS = ("k3f9", "m2q7", "zz11", "p0p0")


def make_batch(*texts: str, known: Sequence[KnownMemory] = (), observed_at: datetime = OBSERVED) -> Batch:
    return batch_of(texts, refs=REFS, at=[observed_at] * len(texts), known=known, now=observed_at)


def known_fact(content: str, subject: str = "user", predicate: str = "lives_in", ref: str = "ab12") -> KnownMemory:
    return KnownMemory(
        type=MemoryType.FACT, id=UUID(int=101), ref=ref, content=content, subject=subject, predicate=predicate
    )


def known_rule(content: str, ref: str = "cd34") -> KnownMemory:
    return KnownMemory(type=MemoryType.RULE, id=UUID(int=102), ref=ref, content=content)


def fact(content: Any, subject: Any = "user", predicate: Any = "note", **more: Any) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "content": content, "evidence": ["episode:k3f9"], **more}


def rule(content: Any, **more: Any) -> dict[str, Any]:
    return {"content": content, "evidence": ["episode:k3f9"], **more}


def proposed(batch: Batch, **lists: Any) -> CheckedProposal:
    return check({"version": 1, **lists}, batch)


def reasons(checked: CheckedProposal) -> list[RefusalReason]:
    return [refused.reason for refused in checked.refused]
