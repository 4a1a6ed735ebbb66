"""Tools for the event log: read it, undo changes, and erase memories for good."""

from typing import Annotated

from pydantic import Field

from memory_butler.adapters.mcp.arguments import Context, Flag, Key, ReadScope, Whole
from memory_butler.adapters.mcp.tool_base import DESTRUCTIVE, PURE_READ, ToolGroup, provided, tool
from memory_butler.adapters.wire import answers
from memory_butler.models.wire.memory_answers import ActivityPage, PurgeAnswer, UndoAnswer
from memory_butler.operations.history import activity, undo
from memory_butler.operations.trust import purge
from memory_butler.policy.access.roles import ADMINS, ANY_ROLE


class HistoryTools(ToolGroup):
    name = "history"

    @tool(ADMINS, DESTRUCTIVE, "update_memory")
    async def memory_undo(
        self,
        *,
        id: Annotated[str, Field(description="Id of an event or of a group of events, as memory_get shows them.")],
        skip_changed: Annotated[
            bool | None,
            Field(description="For a group: skip memories that changed since and undo the rest; default false."),
        ] = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> UndoAnswer:
        """Undo one change to a memory or a whole group of changes. Administrators only.

        Use it when the user wants a previous state back. An event can be undone while its memory has not changed
        since; undo the later change first. Groups of many thousands exceed the deadline of a call: use `memory-butler
        undo` on the command line. Deleted episodes cannot be restored; the response names them.
        Returns the number of undone changes, the state of each memory, skipped events with the reason, and `undo_id`;
        pass it to memory_undo to redo.

        Example: memory_undo(id="0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d")
        """
        options = {"skip_changed": bool(skip_changed), "idempotency_key": idempotency_key}
        return answers.undo_answer(await self._run(request_context, undo.undo, id, **options))

    @tool(ADMINS, DESTRUCTIVE, "delete_memory")
    async def memory_purge(
        self,
        *,
        ref: Annotated[
            str | None, Field(description="Purge this memory and its earlier versions, for example fact:k3f7.")
        ] = None,
        subject: Annotated[
            str | None, Field(description="Purge the facts about this subject and its aliases, for example 'Anna'.")
        ] = None,
        text: Annotated[
            str | None, Field(description="Purge memories that contain this whole name, address or number.")
        ] = None,
        dry_run: Annotated[
            Flag, Field(description="Only list the matches; default true. Pass false to erase them for good.")
        ] = None,
        derived: Annotated[
            Flag, Field(description="Also purge what was derived from the matches alone; default true.")
        ] = None,
        reason: Annotated[
            str | None, Field(description="Reason for the receipt. It must not repeat the erased words.")
        ] = None,
        request_context: Context = None,
    ) -> PurgeAnswer:
        """Erase memories for good: text, vectors, search index, history and everything else. Administrators only.

        Use it only when the user demands erasure; otherwise use memory_forget, which can be undone. Run it with
        dry_run first and show the user the matches; after approval call it again with dry_run=false. Matches exact
        text like memory_forget_about, also in memories that are out of use.
        Returns `count`, `touched` (ref, why, and in a dry run the line), `derived` (how many of them were derived from
        the others), `kept_sources` (episodes that still hold the words they came from), `similar` (near spellings that
        stay; purge one by passing it as `text`), and after the purge `receipt`, `counts` by table and `residue`.

        Example: memory_purge(ref="fact:k3f7")
        """
        request = purge.PurgeRequest(ref=ref, subject=subject, text=text, derived=derived is not False)
        options = {"dry_run": dry_run is not False, "reason": reason, "patience_seconds": self.deadline_seconds / 4}
        return answers.purge_answer(await self._run(request_context, purge.purge, request, **options))


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
        limit: Annotated[Whole, Field(description="Maximum number of events, 1-500; default 50.")] = None,
        request_context: Context = None,
    ) -> ActivityPage:
        """Read the event log: memories stored, confirmed, superseded, forgotten and so on, oldest first.

        Use it to follow changes or when the user asks what changed. It does not search.
        Returns `events` (event, ref, words, at, actor, request), `cursor` and `more`. Pass `cursor` as `since` to
        continue: no event is skipped or repeated. Events of memories that you may not see are left out.

        Example: memory_activity_stream(since="a1-2f-0c9e51d7a3b4")
        """
        options = provided(locals())
        return answers.activity_page(await self._run(request_context, activity.activity, **options))
