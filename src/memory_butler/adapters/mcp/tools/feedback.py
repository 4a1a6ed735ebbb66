"""Tools that give feedback on memories."""

from memory_butler.adapters.mcp.arguments import (
    Context,
    Handle,
    Key,
    Reason,
    RuleHandle,
    TypeName,
)
from memory_butler.adapters.mcp.tool_base import ADDS, IDEMPOTENT, ToolGroup, tool
from memory_butler.models import Outcome, Stored
from memory_butler.operations.writing import feedback
from memory_butler.policy.access.roles import WRITERS


class FeedbackTools(ToolGroup):
    name = "judge"

    @tool(WRITERS, IDEMPOTENT, "update_memory")
    async def memory_confirm(
        self, *, type: TypeName = None, id: Handle, idempotency_key: Key = None, request_context: Context = None
    ) -> Stored:
        """Confirm that a fact or rule is still true, because you observed it or were told. Its decay restarts.

        Do not confirm what you only read. Episodes cannot be confirmed.
        Returns type, id, ref and outcome "confirmed".

        Example: memory_confirm(type="fact", id="fact:k3f7")
        """
        return await self._run(request_context, feedback.confirm, type, id, idempotency_key=idempotency_key)

    @tool(WRITERS, ADDS, "update_memory")
    async def memory_mark_helpful(
        self, *, rule_id: RuleHandle, idempotency_key: Key = None, request_context: Context = None
    ) -> Stored:
        """Report that you followed a rule and it helped. Rules are promoted only by this feedback.

        Use it each time.
        Returns type, id, ref and outcome "marked_helpful".

        Example: memory_mark_helpful(rule_id="rule:k3f7")
        """
        return await self._run(
            request_context, feedback.mark, rule_id, Outcome.HELPFUL, idempotency_key=idempotency_key
        )

    @tool(WRITERS, ADDS, "update_memory")
    async def memory_mark_harmful(
        self,
        *,
        rule_id: RuleHandle,
        reason: Reason = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> Stored:
        """Report that following a rule caused harm. Repeated harm turns the rule into a warning.

        Use it when a rule led to a bad result. The warning quotes the reason.
        Returns type, id, ref and outcome "marked_harmful".

        Example: memory_mark_harmful(rule_id="rule:k3f7", reason="The migration locks the table for minutes.")
        """
        return await self._run(
            request_context, feedback.mark, rule_id, Outcome.HARMFUL, reason=reason, idempotency_key=idempotency_key
        )
