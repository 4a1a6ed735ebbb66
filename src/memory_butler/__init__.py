"""Memory Butler: long-term memory for AI agents."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory_butler.adapters.python.memory import AsyncMemory, Memory
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
    from memory_butler.resources import Resources, open_resources

__all__ = [
    "AsyncMemory",
    "BriefRequest",
    "Caller",
    "Lineage",
    "Memory",
    "NewEpisode",
    "NewFact",
    "NewRule",
    "Outcome",
    "Principal",
    "Question",
    "Resources",
    "Role",
    "open_resources",
]


# Names of earlier versions, still importable.
_MODULES = {
    "AsyncMemory": "adapters.python.memory",
    "Memory": "adapters.python.memory",
    "Resources": "resources",
    "open_resources": "resources",
}
_FORMER_NAMES = {"Butler": "Resources", "open_butler": "open_resources"}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that the command line does not load a model it may not need."""
    name = _FORMER_NAMES.get(name, name)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULES.get(name, "models")
    return getattr(import_module(f"{__name__}.{module}"), name)
