"""Tools that correct memories, change them, withdraw them and restore them."""

from typing import Annotated

from pydantic import Field

from memory_butler.adapters.mcp.arguments import (
    Context,
    FactHandle,
    Flag,
    Handle,
    Importance,
    Key,
    PermanenceName,
    Reason,
    RelationName,
    RuleHandle,
    Tags,
    TypeName,
)
from memory_butler.adapters.mcp.tool_base import ADDS, DESTRUCTIVE, IDEMPOTENT, ToolGroup, provided, tool
from memory_butler.adapters.wire import answers
from memory_butler.models import MemoryChanges, Stored
from memory_butler.models.wire.memory_answers import ForgetAnswer
from memory_butler.operations.trust import forget_about
from memory_butler.operations.writing import correct, forget, link, pin, restore, update
from memory_butler.policy.access.roles import ADMINS, WRITERS

NewScope = Annotated[str | None, Field(description="'global' or a butler's name.")]


class CorrectionTools(ToolGroup):
    name = "correct"

    @tool(WRITERS, DESTRUCTIVE, "delete_memory")
    async def memory_forget(
        self,
        *,
        type: TypeName = None,
        id: Handle,
        derived: Annotated[
            Flag, Field(description="Also withdraw the facts and rules that came from it alone; default false.")
        ] = None,
        reason: Reason = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> Stored:
        """Withdraw a memory that is wrong or unwanted. It can be restored.

        Use it when the user asks for it or a memory is plainly wrong; memory_restore brings it back. If you know the
        right value, use memory_correct; if the value has changed, store the new fact, which replaces the old one.
        Returns type, id, ref and outcome "retracted" or "already_retracted". `derived` lists the facts and rules that
        came from it alone and stay in use: ask the user about them, and call again with derived=true to withdraw them,
        too. Then `withdrawn` is their number and `group_id` undoes all of it.

        Example: memory_forget(type="fact", id="fact:k3f7", reason="Anna said this was a joke.")
        """
        return await self._run(
            request_context,
            forget.forget,
            type,
            id,
            derived=derived is True,
            reason=reason,
            idempotency_key=idempotency_key,
        )

    @tool(WRITERS, DESTRUCTIVE, "delete_memory")
    async def memory_forget_about(
        self,
        *,
        subject: Annotated[
            str | None, Field(description="Match facts about this subject and its aliases, for example 'Anna'.")
        ] = None,
        text: Annotated[
            str | None, Field(description="Match memories that contain this whole name, address or number.")
        ] = None,
        also: Annotated[
            list[str] | None,
            Field(description="Further spellings to match, as `similar` of a dry run lists them; at most 20."),
        ] = None,
        dry_run: Annotated[
            Flag, Field(description="Only list the matches; default true. Pass false to forget them.")
        ] = None,
        reason: Reason = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> ForgetAnswer:
        """Forget everything about a person or an identifier. Matches exact text, not meaning. Recoverable.

        Use it when someone asks to be forgotten. Run it with dry_run first and show the user the matches; after
        approval call it again with dry_run=false. `subject` covers facts about them; `text` covers every memory that
        names them: pass the name, each address and each number in turn. "anna@x.org" does not match joanna@x.org,
        "Anna" not Annabel. A dry run lists such near spellings as `similar`; they stay unless you pass them in `also`.
        Returns `count`, `touched` (ref, why, and in a dry run the line), `mentions` if more memories name the subject,
        `similar` (spelling, why, count, refs), and after forgetting `group_id`, with which an administrator can undo
        all of it.

        Example: memory_forget_about(text="anna@x.org")
        """
        options = provided(locals()) | {"dry_run": dry_run is not False}
        options["text"] = [*([] if text is None else [text]), *options.pop("also", ())]
        return answers.forget_answer(await self._run(request_context, forget_about.forget_about, **options))

    @tool(WRITERS, IDEMPOTENT, "update_memory")
    async def memory_restore(
        self,
        *,
        type: TypeName = None,
        id: Handle,
        supersede: Annotated[
            Flag, Field(description="Replace the current fact of the same subject and predicate; default false.")
        ] = None,
        reason: Reason = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> Stored:
        """Restore a memory that was forgotten, expired or superseded. Restoring also confirms it.

        Use it when a memory was withdrawn by mistake or proved right after all. If another fact has taken its place,
        the error names that fact, and supersede=true replaces it. Deleted episodes cannot be restored.
        Returns type, id, ref and outcome "restored" (with `supersedes` if it replaced a fact) or "already_active".

        Example: memory_restore(type="fact", id="fact:k3f7", reason="It was not a joke.")
        """
        return await self._run(
            request_context,
            restore.restore,
            type,
            id,
            supersede=supersede is True,
            reason=reason,
            idempotency_key=idempotency_key,
        )

    @tool(WRITERS, ADDS, "update_memory")
    async def memory_correct(
        self,
        *,
        fact_id: FactHandle,
        content: Annotated[str, Field(description="The corrected fact as a self-contained sentence.")],
        reason: Reason = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> Stored:
        """Correct a wrong fact. The new fact replaces it and keeps its subject, predicate, tags, importance and time.

        Use it when a fact was wrong from the start; if the value has changed, use memory_store_fact. Both facts are
        kept, with who corrected what and why.
        Returns type, id, ref of the new fact and outcome "corrected" with `supersedes`, the wrong fact; or "unchanged"
        if the content is the same.

        Example: memory_correct(fact_id="fact:k3f7", content="Anna is allergic to walnuts.", reason="She told me.")
        """
        return await self._run(
            request_context, correct.correct, fact_id, content, reason=reason, idempotency_key=idempotency_key
        )

    @tool(WRITERS, IDEMPOTENT, "update_memory")
    async def memory_update(
        self,
        *,
        type: TypeName = None,
        id: Handle,
        importance: Importance = None,
        permanence: PermanenceName = None,
        tags: Tags = None,
        scope: NewScope = None,
        content: Annotated[str | None, Field(description="New words of a rule.")] = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> Stored:
        """Change a memory's importance, permanence, tags or scope, or the words of a rule.

        Facts: importance, permanence, tags, scope; for another value use memory_correct or memory_store_fact. Rules:
        tags, scope, content. Episodes: importance, tags. A new scope, or new words of a rule, store a new version in
        the place of the old one; a reworded rule is a candidate again.
        Returns type, id, ref and outcome "updated" (with the ref of the new version, if there is one) or "unchanged".

        Example: memory_update(id="fact:k3f7", importance=8, tags=["food"])
        """
        changes = MemoryChanges(**provided(locals(), "type", "id", "idempotency_key"))
        return await self._run(request_context, update.update, type, id, changes, idempotency_key=idempotency_key)

    @tool(WRITERS, IDEMPOTENT, "update_memory")
    async def memory_link(
        self,
        *,
        id: Handle,
        relation: RelationName,
        target: Annotated[str, Field(description="Reference (fact:k3f7) of the other memory.")],
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> Stored:
        """Link two memories: the first supports or contradicts the second, or is related to it.

        Both stay in use; a memory that a newer one contradicts is marked as since changed. memory_get shows the links
        of a memory, and undoing the link's event withdraws it.
        Returns type, id, ref of the first memory and outcome "linked" or "already_linked".

        Example: memory_link(id="fact:k3f7", relation="supports", target="rule:9c40")
        """
        return await self._run(request_context, link.link, id, relation, target, idempotency_key=idempotency_key)

    @tool(WRITERS, IDEMPOTENT, "update_memory")
    async def memory_pin(
        self, *, type: TypeName = None, id: Handle, idempotency_key: Key = None, request_context: Context = None
    ) -> Stored:
        """Pin a memory: it does not fade, expire or get evicted until it is unpinned.

        Use it for what the user says must never be lost, not for memories that are merely important.
        Returns type, id, ref and outcome "pinned" or "already_pinned".

        Example: memory_pin(type="fact", id="fact:k3f7")
        """
        return await self._run(request_context, pin.pin, type, id, idempotency_key=idempotency_key)

    @tool(WRITERS, IDEMPOTENT, "update_memory")
    async def memory_unpin(
        self, *, type: TypeName = None, id: Handle, idempotency_key: Key = None, request_context: Context = None
    ) -> Stored:
        """Unpin a memory; decay restarts now.

        Returns type, id, ref and outcome "unpinned" or "already_unpinned".

        Example: memory_unpin(type="fact", id="fact:k3f7")
        """
        return await self._run(request_context, pin.unpin, type, id, idempotency_key=idempotency_key)

    @tool(ADMINS, ADDS, "update_memory")
    async def memory_reverse(
        self,
        *,
        rule_id: RuleHandle,
        reason: Reason = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> Stored:
        """Turn a warning back into a candidate rule. Administrators only.

        Use it when the user says that the rule is right after all. Earlier feedback stays in the history but no longer
        counts.
        Returns type, id, ref and outcome "reversed".

        Example: memory_reverse(rule_id="rule:k3f7", reason="The table is small now.")
        """
        return await self._run(
            request_context, restore.reverse, rule_id, reason=reason, idempotency_key=idempotency_key
        )
