"""Notes of an agent session, written by the language model of consolidation, for hosts that choose this."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_butler.ai.distillers.model import model_server
from memory_butler.ai.distillers.rendering import Prompt, data_line, template
from memory_butler.errors import UnusableProposal
from memory_butler.policy.agent_sessions.observations import Exchange, readable_exchanges
from memory_butler.settings import ModelSettings

if TYPE_CHECKING:
    from memory_butler.ai.distillers.model_server import ModelServer

MAX_SENTENCES = 12
NOTHING = "NOTHING"


class SessionNotes:
    """Sends one request to the model. The caller sets the timeout."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._server: ModelServer | None = None

    async def of(self, exchanges: Sequence[Exchange], summary: str) -> str:
        """Return the notes of a session, or an empty text. The model never sees text that looks like a secret."""
        readable = readable_exchanges(exchanges or [Exchange("assistant", summary)])
        if not readable:
            return ""
        if self._server is None:
            self._server = await asyncio.to_thread(model_server, self._settings)
        lines = "\n".join(data_line({"role": turn.role, "text": turn.text}) for turn in readable)
        prompt = Prompt(
            template("session.txt").substitute(most=MAX_SENTENCES).strip() + "\n",
            f"<session>\n{lines}\n</session>\n\nWrite down what will matter later.",
        )
        async with self._server.model() as model:
            reply = await self._server.ask_for_text(model, prompt)
        text = reply.text.strip()
        if reply.refused or not text:
            raise UnusableProposal(f"The model {self._settings.name} returned no notes of the session.")
        return "" if text.strip(".\"' ").upper() == NOTHING else text
