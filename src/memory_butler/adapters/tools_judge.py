"""Tools that judge a memory, correct it, withdraw it, or bring it back."""

from typing import Annotated

from pydantic import Field

from memory_butler.adapters import shapes
from memory_butler.adapters.answering import ADDS, SETTLES, WITHDRAWS, Offer, Toolbox
from memory_butler.adapters.arguments import Context, FactHandle, Flag, Handle, Key, Reason, RuleHandle, TypeName
from memory_butler.models import Outcome
from memory_butler.operations import correct, forget, forget_about, judge, pin, restore


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

        Use it when a person asks for it or a memory is plainly wrong. If you know what is right, memory_correct the
        fact instead; if the truth has merely changed, store the new fact: it replaces the old one. memory_restore
        takes it back.
        Returns type, id, ref and outcome "retracted" or "already_retracted".

        Example: memory_forget(type="fact", id="fact:k3f7", reason="Anna said this was a joke.")
        """
        visit = await self._visit(request_context)
        done = await forget.forget(visit.butler, type, id, visit.caller, reason=reason, idempotency_key=idempotency_key)
        return visit.answer(shapes.stored(done))

    async def memory_forget_about(
        self,
        *,
        subject: Annotated[
            str | None, Field(description="Every fact about this subject and its other names, for example 'Anna'.")
        ] = None,
        text: Annotated[
            str | None, Field(description="Every memory that holds this as a whole: a name, an address, a number.")
        ] = None,
        dry_run: Annotated[
            Flag, Field(description="Only show what would be forgotten; true if left out. Pass false to do it.")
        ] = None,
        reason: Reason = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """Forget everything about a person or an identifier. Matches letter by letter, never by meaning. Recoverable.

        Use it when somebody asks to be forgotten. Call it as it is first and show what it lists; after a yes call it
        again with dry_run=false. subject covers facts about them; text covers whatever names them, so pass the name,
        each address and each number in turn. "anna@x.org" leaves joanna@x.org alone, "Anna" leaves Annabel alone.
        Returns `count`, `touched` (ref, why, and beforehand its line), `mentions` if more memories name the subject,
        and, when done, `group_id`, under which an administrator can undo it as a whole.

        Example: memory_forget_about(text="anna@x.org")
        """
        visit = await self._visit(request_context)
        found = await forget_about.forget_about(
            visit.butler,
            visit.caller,
            subject=subject,
            text=text,
            dry_run=dry_run is not False,
            reason=reason,
            idempotency_key=idempotency_key,
        )
        return visit.answer(shapes.forgetting(found))

    async def memory_restore(
        self,
        *,
        type: TypeName,
        id: Handle,
        supersede: Annotated[
            Flag, Field(description="If a live fact is in its place, supersede that; false if left out.")
        ] = None,
        reason: Reason = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """Bring back a memory that was forgotten, has expired or was superseded. It counts as confirmed now.

        Use it when something was withdrawn by mistake or has proved right after all. If a live fact is in its place,
        the error names that fact, and supersede=true replaces it. A deleted episode cannot be brought back.
        Returns type, id, ref and outcome "restored" (with `supersedes` if a fact made way) or "already_active".

        Example: memory_restore(type="fact", id="fact:k3f7", reason="It was no joke.")
        """
        visit = await self._visit(request_context)
        done = await restore.restore(
            visit.butler,
            type,
            id,
            visit.caller,
            supersede=supersede is True,
            reason=reason,
            idempotency_key=idempotency_key,
        )
        return visit.answer(shapes.stored(done))

    async def memory_correct(
        self,
        *,
        fact_id: FactHandle,
        content: Annotated[str, Field(description="The fact as it is right, a sentence that stands alone.")],
        reason: Reason = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """Put a wrong fact right. The right one takes its place and keeps all else: subject, tags, importance, time.

        Use it when a fact was wrong from the start; if the truth has changed, memory_store_fact says so just as well.
        Both are kept, and their histories say who corrected what and why.
        Returns type, id, ref of the right fact and outcome "corrected" with `supersedes` naming the wrong one, or
        "unchanged" if it says so already.

        Example: memory_correct(fact_id="fact:k3f7", content="Anna is allergic to walnuts.", reason="She told me.")
        """
        visit = await self._visit(request_context)
        done = await correct.correct(
            visit.butler, fact_id, content, visit.caller, reason=reason, idempotency_key=idempotency_key
        )
        return visit.answer(shapes.stored(done))

    async def memory_pin(
        self, *, type: TypeName, id: Handle, idempotency_key: Key = None, request_context: Context = None
    ) -> shapes.Shape:
        """Keep a memory for good: it does not fade, expire or make room for others until it is unpinned.

        Use it for what a person says must never be lost. A memory that is only important needs no pin.
        Returns type, id, ref and outcome "pinned" or "already_pinned".

        Example: memory_pin(type="fact", id="fact:k3f7")
        """
        visit = await self._visit(request_context)
        done = await pin.pin(visit.butler, type, id, visit.caller, idempotency_key=idempotency_key)
        return visit.answer(shapes.stored(done))

    async def memory_unpin(
        self, *, type: TypeName, id: Handle, idempotency_key: Key = None, request_context: Context = None
    ) -> shapes.Shape:
        """Take a memory's pin off. Its time starts anew, so it fades from now on, not at once.

        Use it when what was pinned need not be kept for good any more.
        Returns type, id, ref and outcome "unpinned" or "already_unpinned".

        Example: memory_unpin(type="fact", id="fact:k3f7")
        """
        visit = await self._visit(request_context)
        done = await pin.unpin(visit.butler, type, id, visit.caller, idempotency_key=idempotency_key)
        return visit.answer(shapes.stored(done))

    async def memory_reverse(
        self,
        *,
        rule_id: RuleHandle,
        reason: Reason = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """Take back that a rule is a warning: it is a candidate again. For administrators.

        Use it when a person says that the rule is right after all. What was reported before stays on record, but only
        what is reported from now on counts.
        Returns type, id, ref and outcome "reversed".

        Example: memory_reverse(rule_id="rule:k3f7", reason="The table is small now.")
        """
        visit = await self._visit(request_context)
        done = await restore.reverse(
            visit.butler, rule_id, visit.caller, reason=reason, idempotency_key=idempotency_key
        )
        return visit.answer(shapes.stored(done))

    def tools(self) -> list[Offer]:
        return [
            (self.memory_confirm, SETTLES),
            (self.memory_mark_helpful, ADDS),
            (self.memory_mark_harmful, ADDS),
            (self.memory_forget, WITHDRAWS),
            (self.memory_forget_about, WITHDRAWS),
            (self.memory_restore, SETTLES),
            (self.memory_correct, ADDS),
            (self.memory_pin, SETTLES),
            (self.memory_unpin, SETTLES),
            (self.memory_reverse, ADDS),
        ]
