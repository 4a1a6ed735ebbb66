"""Memory Butler: long-term memory for AI agents."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    """Load a name when it is asked for: the command line should not wait for a model it may not need."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "butler" if name in ("Butler", "open_butler") else "models"
    return getattr(import_module(f"{__name__}.{home}"), name)
