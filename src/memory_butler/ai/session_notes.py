"""What a language model notes of a session, for hosts that choose so. The same model as that of consolidation."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_butler.ai.distillers.model import model_server
from memory_butler.ai.distillers.rendering import Prompt, data_line, template
from memory_butler.errors import UnusableProposal
from memory_butler.policy.session_episode import Exchange, readable
from memory_butler.settings import ModelSettings

if TYPE_CHECKING:
    from memory_butler.ai.distillers.model_server import ModelServer

MOST_SENTENCES = 12
NOTHING = "NOTHING"


class SessionNotes:
    """Asks a model once. Whoever asks bounds the time."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._server: ModelServer | None = None

    async def of(self, exchanges: Sequence[Exchange], summary: str) -> str:
        """What is worth keeping of a session, or nothing. The model never sees what looks like a secret."""
        read = readable(exchanges or [Exchange("assistant", summary)])
        if not read:
            return ""
        if self._server is None:
            self._server = await asyncio.to_thread(model_server, self._settings)
        lines = "\n".join(data_line({"role": turn.role, "text": turn.text}) for turn in read)
        prompt = Prompt(
            template("session.txt").substitute(most=MOST_SENTENCES).strip() + "\n",
            f"<session>\n{lines}\n</session>\n\nWrite down what will matter later.",
        )
        async with self._server.model() as model:
            reply = await self._server.tell(model, prompt)
        text = reply.text.strip()
        if reply.refused or not text:
            raise UnusableProposal(f"The model {self._settings.name} gave no notes of the session.")
        return "" if text.strip(".\"' ").upper() == NOTHING else text
