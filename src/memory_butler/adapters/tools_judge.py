"""Tools that judge a memory, or withdraw it."""

from memory_butler.adapters import shapes
from memory_butler.adapters.answering import ADDS, SETTLES, WITHDRAWS, Offer, Toolbox
from memory_butler.adapters.arguments import Context, Handle, Key, Reason, RuleHandle, TypeName
from memory_butler.models import Outcome
from memory_butler.operations import forget, judge


class JudgeTools(Toolbox):
    """Each method is a tool: its name, parameters and docstring are what a model sees."""

    async def memory_confirm(
        self, *, type: TypeName, id: Handle, idempotency_key: Key = None, request_context: Context = None
    ) -> shapes.Shape:
        """Say that a fact or rule still holds, so that it stops fading.

        Use it when you have seen with your own eyes, or were told, that it is still true; not for having read it.
        Returns type, id, ref and outcome "confirmed". Episodes cannot be confirmed.

        Example: memory_confirm(type="fact", id="fact:k3f7")
        """
        visit = await self._visit(request_context)
        done = await judge.confirm(visit.butler, type, id, visit.caller, idempotency_key=idempotency_key)
        return visit.answer(shapes.stored(done))

    async def memory_mark_helpful(
        self, *, rule_id: RuleHandle, idempotency_key: Key = None, request_context: Context = None
    ) -> shapes.Shape:
        """Report that following a rule helped. Rules mature only by such reports.

        Use it each time you followed a rule and it went well, with the reference shown beside the rule.
        Returns type, id, ref and outcome "marked_helpful".

        Example: memory_mark_helpful(rule_id="rule:k3f7")
        """
        visit = await self._visit(request_context)
        done = await judge.mark(visit.butler, rule_id, Outcome.HELPFUL, visit.caller, idempotency_key=idempotency_key)
        return visit.answer(shapes.stored(done))

    async def memory_mark_harmful(
        self,
        *,
        rule_id: RuleHandle,
        reason: Reason = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """Report that following a rule did harm, and why. Repeated harm turns the rule into a warning.

        Use it when a rule led you wrong; the reason is what the warning will say.
        Returns type, id, ref and outcome "marked_harmful".

        Example: memory_mark_harmful(rule_id="rule:k3f7", reason="The migration locks the table for minutes.")
        """
        visit = await self._visit(request_context)
        done = await judge.mark(
            visit.butler, rule_id, Outcome.HARMFUL, visit.caller, reason=reason, idempotency_key=idempotency_key
        )
        return visit.answer(shapes.stored(done))

    async def memory_forget(
        self,
        *,
        type: TypeName,
        id: Handle,
        reason: Reason = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """Withdraw a memory from use because it is wrong or unwanted. Recoverable: nothing is erased.

        Use it when a person asks for it or a memory is plainly wrong. If the truth has merely changed, store the new
        fact instead: it replaces the old one.
        Returns type, id, ref and outcome "retracted" or "already_retracted".

        Example: memory_forget(type="fact", id="fact:k3f7", reason="Anna said this was a joke.")
        """
        visit = await self._visit(request_context)
        done = await forget.forget(visit.butler, type, id, visit.caller, reason=reason, idempotency_key=idempotency_key)
        return visit.answer(shapes.stored(done))

    def tools(self) -> list[Offer]:
        return [
            (self.memory_confirm, SETTLES),
            (self.memory_mark_helpful, ADDS),
            (self.memory_mark_harmful, ADDS),
            (self.memory_forget, WITHDRAWS),
        ]
