"""Memory Butler: long-term memory for AI agents."""

from memory_butler.butler import Butler, open_butler
from memory_butler.models import (
    BriefRequest,
    Caller,
    Lineage,
    NewEpisode,
    NewFact,
    NewRule,
    Outcome,
    Principal,
    Question,
    Role,
)

__all__ = [
    "BriefRequest",
    "Butler",
    "Caller",
    "Lineage",
    "NewEpisode",
    "NewFact",
    "NewRule",
    "Outcome",
    "Principal",
    "Question",
    "Role",
    "open_butler",
]
