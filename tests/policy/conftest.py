"""What the tests of policy share: a maker of search candidates."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from memory_butler.models import Hit, Maturity, MemoryType, Ranked, ScoreParts
from memory_butler.policy.memories.references import short_reference

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)


def _hit(number: int = 1, type: MemoryType = MemoryType.FACT, **given: Any) -> Hit:
    by_type: dict[str, Any] = {
        MemoryType.FACT: {"importance": 5, "permanence": "standard", "subject_label": "User", "predicate_label": "x"},
        MemoryType.RULE: {"maturity": Maturity.CANDIDATE, "harmful_reasons": []},
        MemoryType.EPISODE: {"importance": 5, "observed_at": NOW, "decay_rate": 0.0},
    }
    values: dict[str, Any] = {
        "id": UUID(int=number),
        "ref": short_reference(number),
        "semantic_score": None,
        "keyword_score": None,
        "scope": "global",
        "butler": "main",
        "subject_label": None,
        "predicate_label": None,
        "content": f"content {number}",
        "importance": None,
        "tags": [],
        "validity": "active",
        "permanence": None,
        "maturity": None,
        "confidence": 1.0,
        "decay_rate": 0.008,
        "created_at": NOW,
        "last_confirmed_at": None,
        "last_referenced_at": None,
        "valid_at": None,
        "observed_at": None,
        "session_id": None,
        "harmful_reasons": None,
        "similarity": None,
        "word_score": 0.0,
        "word_coverage": 0.0,
        "is_named": False,
        "has_context": False,
        "context_similarity": None,
        "context_word_score": 0.0,
        "context_word_coverage": 0.0,
        "mention_score": 0.0,
    }
    return Hit(type=type, **{**values, **by_type[type], **given})


@pytest.fixture(scope="session")
def make_hit() -> Callable[..., Hit]:
    return _hit


@pytest.fixture(scope="session")
def make_ranked() -> Callable[..., Ranked]:
    """A candidate that has been scored; what is not given is of no matter."""

    def make(number: int = 1, type: MemoryType = MemoryType.FACT, score: float = 0.5, **given: Any) -> Ranked:
        parts = ScoreParts(
            score=score,
            fit=0.5,
            relevance=0.5,
            importance=0.5,
            recency=1.0,
            effective_confidence=1.0,
            semantic_rank=None,
            keyword_rank=None,
            semantic_score=None,
            keyword_score=None,
        )
        return Ranked(hit=_hit(number, type, **given), parts=parts)

    return make
