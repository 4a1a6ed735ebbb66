"""Batches to check proposals against."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from memory_butler.models import Batch, Checked, ConsolidationStatus, Episode, Known, MemoryType, Refusal, Validity
from memory_butler.policy.proposals import check

OBSERVED = datetime(2026, 3, 4, 10, tzinfo=UTC)
REFS = ("k3f9", "m2q7", "zz11", "p0p0")


def make_episode(number: int, text: str, observed_at: datetime = OBSERVED) -> Episode:
    return Episode(
        id=UUID(int=number),
        tenant_id="t",
        ref=REFS[number - 1],
        butler="main",
        session_id=None,
        content=text,
        importance=5,
        tags=[],
        validity=Validity.ACTIVE,
        consolidation_status=ConsolidationStatus.PENDING,
        consolidated=False,
        consolidation_attempts=0,
        last_consolidation_error=None,
        next_consolidation_retry_at=None,
        observed_at=observed_at,
        created_at=observed_at,
        expires_at=observed_at,
        last_referenced_at=None,
        reference_count=0,
        metadata={},
        request_id=None,
        pinned=False,
    )


def make_batch(*texts: str, known: Sequence[Known] = (), observed_at: datetime = OBSERVED) -> Batch:
    episodes = tuple(make_episode(number, text, observed_at) for number, text in enumerate(texts, start=1))
    return Batch(
        butler="main",
        episodes=episodes,
        texts={episode.id: episode.content for episode in episodes},
        known=tuple(known),
        now=observed_at,
    )


def known_fact(content: str, subject: str = "user", predicate: str = "lives_in", ref: str = "ab12") -> Known:
    return Known(type=MemoryType.FACT, id=UUID(int=101), ref=ref, content=content, subject=subject, predicate=predicate)


def known_rule(content: str, ref: str = "cd34") -> Known:
    return Known(type=MemoryType.RULE, id=UUID(int=102), ref=ref, content=content)


def fact(content: Any, subject: Any = "user", predicate: Any = "note", **more: Any) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "content": content, "evidence": ["episode:k3f9"], **more}


def rule(content: Any, **more: Any) -> dict[str, Any]:
    return {"content": content, "evidence": ["episode:k3f9"], **more}


def proposed(batch: Batch, **lists: Any) -> Checked:
    return check({"version": 1, **lists}, batch)


def reasons(checked: Checked) -> list[Refusal]:
    return [refused.reason for refused in checked.refused]
