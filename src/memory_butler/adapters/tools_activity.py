"""The tool that tells what happened."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from memory_butler.adapters import shapes
from memory_butler.adapters.answering import PURE_READ, Offer, Toolbox, given
from memory_butler.adapters.arguments import Context, as_whole_number
from memory_butler.operations import activity


class ActivityTools(Toolbox):
    """Each method is a tool: its name, parameters and docstring are what a model sees."""

    async def memory_activity_stream(
        self,
        *,
        since: Annotated[
            str | None,
            Field(
                description="The cursor of an earlier answer; 'start' for the whole log. Left out: the newest events."
            ),
        ] = None,
        scope: Annotated[
            str | None,
            Field(
                description="Only this scope, or one butler's; left out, it is 'global' and the butler's own together."
            ),
        ] = None,
        limit: Annotated[
            int | None, BeforeValidator(as_whole_number), Field(description="Most events: 1 to 500; 50 if left out.")
        ] = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """What happened to the memories: stored, confirmed, superseded, forgotten and so on, in the order it happened.

        Use it to follow what others do, or when a person asks what has changed; it is no search. Call it again with
        the cursor of the last answer to hear what is new: nothing is left out and nothing comes twice.
        Returns `events`, each with event, ref, words, at, actor, and the request it belonged to; `cursor`; and `more`,
        whether there are others already. Events of what you may not see are left out. It changes nothing.

        Example: memory_activity_stream(since="a1-2f-0c9e51d7a3b4")
        """
        visit = await self._visit(request_context)
        asked = given(since=since, scope=scope, limit=limit)
        return visit.answer(shapes.activities(await activity.activity(visit.butler, visit.caller, **asked)))

    def tools(self) -> list[Offer]:
        return [(self.memory_activity_stream, PURE_READ)]
