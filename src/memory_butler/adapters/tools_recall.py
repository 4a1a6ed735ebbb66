"""Tools that look things up."""

from typing import Annotated

from pydantic import Field

from memory_butler.adapters import shapes
from memory_butler.adapters.answering import COUNTED_READ, PURE_READ, Offer, Toolbox, given
from memory_butler.adapters.arguments import (
    Context,
    Handle,
    Limit,
    MinConfidence,
    Moment,
    ReadScope,
    TierName,
    TokenBudget,
    TypeName,
    Words,
)
from memory_butler.models import BriefRequest, Mode, Question
from memory_butler.operations import brief, look, recall, report

AsOf = Annotated[
    Moment,
    Field(
        description="For an administrator who asks what was known then: answer as at this moment, for example "
        "2026-03-01T09:30:00Z; nothing counts as used. Left out, it is now."
    ),
]


class RecallTools(Toolbox):
    """Each method is a tool: its name, parameters and docstring are what a model sees."""

    async def memory_search(
        self,
        *,
        query: Annotated[str, Field(description="A question or some words.")],
        types: Annotated[Words, Field(description="Any of fact, rule, episode; all three if left out.")] = None,
        scope: ReadScope = None,
        mode: Annotated[str | None, Field(description=f"{', '.join(Mode)}; 'hybrid' if left out.")] = None,
        limit: Limit = None,
        min_confidence: MinConfidence = None,
        butler: Annotated[str | None, Field(description="Only this butler's episodes and scope.")] = None,
        tier: TierName = None,
        as_of: AsOf = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """Find memories by meaning and by words, best first.

        Use it when a question comes up that earlier sessions may have answered, or to find a memory's reference.
        A tier narrows it down: eden is episodes, mid what is recent or has yet to prove itself, long what has lasted.
        Returns `results`, each with ref, content, state and score with its parts, and `count`. No results means that
        nothing fits; `degraded`, if present, says what the search had to do without. What is returned counts as used.

        Example: memory_search(query="which color does Anna like?", types=["fact"], limit=5)
        """
        visit = await self._visit(request_context)
        details = given(
            types=types,
            tier=tier,
            scope=scope,
            mode=mode,
            limit=limit,
            min_confidence=min_confidence,
            butler=butler,
            as_of=as_of,
        )
        found = await recall.search(visit.butler, Question(query=query, **details), visit.caller)
        return visit.answer(shapes.answer(found))

    async def memory_recall(
        self,
        *,
        topic: Annotated[str, Field(description="What you are about to deal with.")],
        scope: ReadScope = None,
        limit: Limit = None,
        min_confidence: MinConfidence = None,
        butler: Annotated[str | None, Field(description="The butler whose own scope counts beside 'global'.")] = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """The facts and rules that matter most for a topic; episodes are left out.

        Use it before you deal with a topic in the middle of a task; memory_search is for a question.
        Returns the same as memory_search.

        Example: memory_recall(topic="deploying the billing service")
        """
        visit = await self._visit(request_context)
        details = given(scope=scope, limit=limit, min_confidence=min_confidence, butler=butler)
        return visit.answer(
            shapes.answer(await recall.recall(visit.butler, Question(query=topic, **details), visit.caller))
        )

    async def memory_get(self, *, type: TypeName, id: Handle, request_context: Context = None) -> shapes.Shape:
        """One memory with everything known of it.

        Use it to check where a memory comes from, what it replaced, or why it is in the state it is in.
        Returns the memory, tier, effective_confidence, when it fades and expires (`outlook` says it in words), its
        links both ways, the chain of facts it belongs to, and its events in words, with the ids memory_undo takes.

        Example: memory_get(type="fact", id="fact:k3f7")
        """
        visit = await self._visit(request_context)
        return visit.answer(shapes.portrait(await look.look(visit.butler, type, id, visit.caller)))

    async def memory_stats(
        self,
        *,
        scope: Annotated[str | None, Field(description="Only this scope; everything if left out.")] = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """How much is remembered and in which state: counts by type and state, how full the tiers are, upkeep.

        Use it when a person asks about the memory itself; it finds no memories.
        Returns counts, for each tier (eden, mid, long) its count, capacity, oldest memory and references, the spread of
        confidence, the backlog of episodes, how rules did, and for each job of upkeep its last run, its next one and
        whether it keeps up (ok, never, overdue or failing).

        Example: memory_stats()
        """
        visit = await self._visit(request_context)
        return visit.answer(shapes.plain(await report.report(visit.butler, scope, visit.caller)))

    async def memory_context(
        self,
        *,
        trigger_prompt: Annotated[str, Field(description="The task or message you are about to work on.")],
        butler: Annotated[str, Field(description="Who you are, for example 'coder': decides which scopes are read.")],
        token_budget: TokenBudget = None,
        as_of: AsOf = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """A briefing for the task at hand: the facts, rules, warnings and recent episodes that bear on it.

        Call it once at the start of a session or task. Each line has a short reference that all tools accept.
        Returns `context`, text that fits the token budget, and a `receipt` that says what was left out and why.
        It changes nothing, and the same state gives the same text.

        Example: memory_context(trigger_prompt="Fix the failing invoice test", butler="coder", token_budget=1500)
        """
        visit = await self._visit(request_context)
        request = BriefRequest(trigger_prompt=trigger_prompt, butler=butler, token_budget=token_budget, as_of=as_of)
        return visit.answer(shapes.briefing(await brief.brief(visit.butler, request, visit.caller)))

    def tools(self) -> list[Offer]:
        return [
            (self.memory_search, COUNTED_READ),
            (self.memory_recall, COUNTED_READ),
            (self.memory_get, COUNTED_READ),
            (self.memory_stats, PURE_READ),
            (self.memory_context, PURE_READ),
        ]
