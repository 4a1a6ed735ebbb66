"""Tools that take changes back."""

from typing import Annotated

from pydantic import Field

from memory_butler.adapters import shapes
from memory_butler.adapters.answering import WITHDRAWS, Offer, Toolbox
from memory_butler.adapters.arguments import Context, Key
from memory_butler.operations import undo


class HistoryTools(Toolbox):
    """Each method is a tool: its name, parameters and docstring are what a model sees."""

    async def memory_undo(
        self,
        *,
        id: Annotated[str, Field(description="The id of an event or of a group of events, as memory_get shows them.")],
        skip_changed: Annotated[
            bool | None,
            Field(description="Undo the rest of a group where some of it has changed since; off if left out."),
        ] = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """Take back one change to a memory, or a whole group of them. For administrators.

        Use it when a person asks to have something back as it was. An event can be undone as long as its memory has
        not changed since; undo the later change first. A group of many thousands takes longer than a call may: that
        is for `memory-butler undo` on the command line. What was deleted cannot be brought back; the answer names it.
        Returns how many changes were undone, what became of each memory, what was left alone and why, and `undo_id`:
        pass that to take the undo back.

        Example: memory_undo(id="0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d")
        """
        visit = await self._visit(request_context)
        report = await undo.undo(
            visit.butler, id, visit.caller, skip_changed=bool(skip_changed), idempotency_key=idempotency_key
        )
        return visit.answer(shapes.undone(report))

    def tools(self) -> list[Offer]:
        return [(self.memory_undo, WITHDRAWS)]
