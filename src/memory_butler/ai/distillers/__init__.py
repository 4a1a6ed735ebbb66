"""Distillers read a batch of episodes and propose facts and rules. Policy decides which proposals are applied."""

from typing import Protocol

from memory_butler.ai.distillers.answers import charged, spent
from memory_butler.ai.distillers.claude_code import ClaudeCodeDistiller
from memory_butler.ai.distillers.extraction_process import ProcessDistiller
from memory_butler.ai.distillers.model import ModelDistiller
from memory_butler.models import Batch, DistillerResult
from memory_butler.settings import Settings

__all__ = ["Distiller", "charged", "open_distiller", "spent"]


class Distiller(Protocol):
    """Reads episodes and proposes what to remember.

    `distil` raises `DistillerUnavailable` if it cannot answer now, `UnusableProposal` if the answer is invalid, and
    `Unprocessable` if a retry cannot help; `spent` returns the cost of such a failure.
    """

    @property
    def name(self) -> str: ...

    @property
    def wants_known(self) -> bool:
        """True if it uses existing memories."""

    @property
    def can_read_ahead(self) -> bool:
        """True if it needs only the batch and costs nothing, so that its proposal may be prefetched."""

    async def distil(self, batch: Batch) -> DistillerResult: ...

    async def close(self) -> None: ...


def open_distiller(settings: Settings) -> Distiller | None:
    """Return the configured distiller; None if an agent distils, or nobody does.

    Nothing is loaded, started or connected yet: a faulty distiller fails at its first batch and never keeps the store
    from opening.
    """
    chosen = settings.consolidation
    if chosen.built_in:
        return ProcessDistiller(chosen.extraction_seconds)
    if chosen.distiller in ("model", "auto"):
        return ModelDistiller(chosen.model)
    if chosen.distiller == "claude-code":
        return ClaudeCodeDistiller(chosen.claude_code)
    return None
