"""Tool that reads the event log."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from memory_butler.adapters.mcp.arguments import Context, ReadScope, as_whole_number
from memory_butler.adapters.mcp.tool_base import PURE_READ, ToolGroup, provided, tool
from memory_butler.adapters.wire import answers
from memory_butler.models.wire.memory_answers import ActivityPage
from memory_butler.operations.history import activity
from memory_butler.policy.access.roles import ANY_ROLE


class ActivityTools(ToolGroup):
    name = "activity"

    @tool(ANY_ROLE, PURE_READ)
    async def memory_activity_stream(
        self,
        *,
        since: Annotated[
            str | None,
            Field(description="Cursor of an earlier answer, or 'start' for the whole log. Default: the newest events."),
        ] = None,
        scope: ReadScope = None,
        limit: Annotated[
            int | None,
            BeforeValidator(as_whole_number),
            Field(description="Maximum number of events, 1-500; default 50."),
        ] = None,
        request_context: Context = None,
    ) -> ActivityPage:
        """Read the event log: memories stored, confirmed, superseded, forgotten and so on, oldest first.

        Use it to follow changes or when the user asks what changed. It does not search.
        Returns `events` (event, ref, words, at, actor, request), `cursor` and `more`. Pass `cursor` as `since` to
        continue: no event is skipped or repeated. Events of memories that you may not see are left out.

        Example: memory_activity_stream(since="a1-2f-0c9e51d7a3b4")
        """
        options = provided(locals())
        resources, caller = await self._open(request_context)
        return answers.activity_page(await activity.activity(resources, caller, **options))
