"""Distillers: they read a batch of episodes and propose facts and rules. What comes of it is not theirs to decide."""

from typing import Protocol

from memory_butler.ai.distillers.answers import charged, spent
from memory_butler.ai.distillers.builtin import BuiltInDistiller
from memory_butler.ai.distillers.claude_code import ClaudeCodeDistiller
from memory_butler.ai.distillers.model import ModelDistiller
from memory_butler.models import Batch, Distilled
from memory_butler.settings import Settings

__all__ = ["Distiller", "charged", "open_distiller", "spent"]


class Distiller(Protocol):
    """Reads episodes and proposes what to remember.

    `distil` raises `DistillerUnavailable` when it cannot be asked now, `UnusableProposal` when the answer is of no
    use, `Unprocessable` when it never will be; `spent` tells what such a failure cost.
    """

    @property
    def name(self) -> str: ...

    @property
    def wants_known(self) -> bool:
        """Whether it makes use of what is known already."""

    @property
    def can_read_ahead(self) -> bool:
        """Whether it needs nothing but the batch and costs nothing, so that it may be asked before it counts."""

    async def distil(self, batch: Batch) -> Distilled: ...

    async def close(self) -> None: ...


def open_distiller(settings: Settings) -> Distiller | None:
    """The distiller that the settings choose; None if an agent does the work, or nobody.

    Nothing is loaded, started or connected yet: what is wrong with a distiller is said when it is asked, and never
    keeps the store from opening.
    """
    chosen = settings.consolidation
    if chosen.built_in:
        return BuiltInDistiller()
    if chosen.distiller in ("model", "auto"):
        return ModelDistiller(chosen.model)
    if chosen.distiller == "claude-code":
        return ClaudeCodeDistiller(chosen.claude_code)
    return None
