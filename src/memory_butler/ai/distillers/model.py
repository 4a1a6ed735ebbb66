"""A language model as a distiller: any provider that pydantic-ai knows, or any OpenAI-compatible server."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memory_butler.ai.distillers.answers import charged, estimated_tokens, microdollars, proposal_in
from memory_butler.ai.distillers.rendering import Prompt, has_words, render
from memory_butler.errors import DistillerUnavailable, MemoryButlerError, UnusableProposal
from memory_butler.models import Batch, DistillerResult, Usage
from memory_butler.models.proposals import PROPOSAL_VERSION
from memory_butler.settings import ModelSettings

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from memory_butler.ai.distillers.model_server import ModelServer, Reply

CORRECTION = (
    "Your last answer could not be read. Answer again, with one JSON object of the form described and nothing else."
)


@dataclass(slots=True)
class _Account:
    """Usage of a batch so far. A pending request counts with its estimated tokens."""

    settings: ModelSettings
    input_tokens: int = 0
    output_tokens: int = 0
    pending: int = 0

    def answered(self, reply: "Reply") -> None:
        self.input_tokens += reply.input_tokens or self.pending
        self.output_tokens += reply.output_tokens or estimated_tokens(reply.text)
        self.pending = 0

    @property
    def usage(self) -> Usage:
        sent = self.input_tokens + self.pending
        dollars = (
            sent * self.settings.dollars_per_million_input
            + self.output_tokens * self.settings.dollars_per_million_output
        ) / 1_000_000
        return Usage(input_tokens=sent, output_tokens=self.output_tokens, cost_microdollars=microdollars(dollars))


class ModelDistiller:
    """Calls a model, with bounded retries and a timeout."""

    wants_known = True
    can_read_ahead = False

    def __init__(self, settings: ModelSettings) -> None:
        self.name = f"model {settings.name}" if settings.name else "model"
        self._settings = settings
        self._server: ModelServer | None = None

    async def distil(self, batch: Batch) -> DistillerResult:
        if not has_words(batch):
            return DistillerResult(proposal={"version": PROPOSAL_VERSION})
        server = await self._opened()
        account = _Account(self._settings)
        try:
            async with asyncio.timeout(self._settings.seconds), server.model() as model:
                proposal = await self._ask(server, model, render(batch), account)
        except TimeoutError:
            message = f"The model {self._settings.name} did not answer within {self._settings.seconds:g} seconds."
            raise charged(UnusableProposal(message), account.usage) from None
        except MemoryButlerError as problem:
            account.pending = 0
            raise charged(problem, account.usage) from None
        return DistillerResult(proposal=proposal, usage=account.usage)

    async def close(self) -> None:
        return None

    async def _opened(self) -> "ModelServer":
        if self._server is None:
            self._server = await asyncio.to_thread(model_server, self._settings)
        return self._server

    async def _ask(self, server: "ModelServer", model: "Model", prompt: Prompt, account: _Account) -> dict[str, Any]:
        for attempt in range(self._settings.retries + 1):
            account.pending = estimated_tokens(prompt.whole)
            reply = await server.ask(model, prompt, CORRECTION if attempt else None)
            account.answered(reply)
            if reply.refused:
                raise UnusableProposal(f"The model {self._settings.name} refused to answer.")
            try:
                return proposal_in(reply.text)
            except UnusableProposal as problem:
                unusable = problem
            if reply.cut_off:
                raise UnusableProposal(
                    f"The model {self._settings.name} was cut off after {self._settings.max_output_tokens} tokens.",
                    recovery="Raise consolidation.model.max_output_tokens, or lower consolidation.batch.",
                )
        raise unusable


def model_server(settings: ModelSettings) -> "ModelServer":
    """Import pydantic-ai at the first use: it takes a second, and most stores never need it."""
    try:
        from memory_butler.ai.distillers.model_server import ModelServer  # noqa: PLC0415
    except ImportError:
        raise DistillerUnavailable(
            "The distiller `model` needs packages that are not installed.",
            recovery='Run `pip install "memory-butler[models]"`, or choose another distiller.',
        ) from None
    return ModelServer(settings)
