"""Tools that look things up."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from memory_butler.adapters import shapes
from memory_butler.adapters.answering import COUNTED_READ, PURE_READ, Offer, Toolbox, given
from memory_butler.adapters.arguments import (
    Context,
    Expand,
    Flag,
    Handle,
    Limit,
    MinConfidence,
    MinRelevance,
    Moment,
    ReadScope,
    TierName,
    TimeFrom,
    TimeTo,
    TokenBudget,
    TypeName,
    Words,
    as_whole_number,
)
from memory_butler.models import BriefRequest, Mode, Question
from memory_butler.operations import brief, explain, look, recall, report

AsOf = Annotated[
    Moment,
    Field(
        description="For an administrator who asks what was known then: answer as at this moment, for example "
        "2026-03-01T09:30:00Z; nothing counts as used. Left out, it is now."
    ),
]

Types = Annotated[Words, Field(description="Any of fact, rule, episode; all three if left out.")]
ModeName = Annotated[str | None, Field(description=f"{', '.join(Mode)}; 'hybrid' if left out.")]
OnlyButler = Annotated[str | None, Field(description="Only this butler's episodes and scope.")]


class RecallTools(Toolbox):
    """Each method is a tool: its name, parameters and docstring are what a model sees."""

    async def memory_search(
        self,
        *,
        query: Annotated[str, Field(description="A question or some words.")],
        types: Types = None,
        scope: ReadScope = None,
        mode: ModeName = None,
        limit: Limit = None,
        min_confidence: MinConfidence = None,
        min_relevance: MinRelevance = None,
        butler: OnlyButler = None,
        tier: TierName = None,
        as_of: AsOf = None,
        expand: Expand = None,
        time_from: TimeFrom = None,
        time_to: TimeTo = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """Find memories by meaning and by words, best first.

        Use it when a question comes up that earlier sessions may have answered, or to find a memory's reference.
        A tier narrows it down: eden is episodes, mid what is recent or has yet to prove itself, long what has lasted.
        Returns `results`, each with ref, content, state, its `relevance` (how likely it bears on the question), score
        with its parts and, if others say the same, their refs in `also`; and `count`. No results means that nothing
        fits (in mode hybrid; the others return the nearest there are unless min_relevance is given); `degraded`, if
        present, says what the search had to do without. What is returned counts as used.
        A time in the question ("last week", "in May 2023") puts what fits it first; time_from and time_to leave out
        the rest.
        With expand, each result has `neighbours`: what its session holds before and after an episode, other facts of a
        fact's subject, the episodes a fact or rule was learned from. One without content is elsewhere in the answer.

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
            min_relevance=min_relevance,
            butler=butler,
            as_of=as_of,
            expand=expand,
            time_from=time_from,
            time_to=time_to,
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
        min_relevance: MinRelevance = None,
        butler: Annotated[str | None, Field(description="The butler whose own scope counts beside 'global'.")] = None,
        expand: Expand = None,
        time_from: TimeFrom = None,
        time_to: TimeTo = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """The facts and rules that matter most for a topic; episodes are left out.

        Use it before you deal with a topic in the middle of a task; memory_search is for a question.
        Returns the same as memory_search.

        Example: memory_recall(topic="deploying the billing service")
        """
        visit = await self._visit(request_context)
        details = given(
            scope=scope,
            limit=limit,
            min_confidence=min_confidence,
            min_relevance=min_relevance,
            butler=butler,
            expand=expand,
            time_from=time_from,
            time_to=time_to,
        )
        return visit.answer(
            shapes.answer(await recall.recall(visit.butler, Question(query=topic, **details), visit.caller))
        )

    async def memory_explain(
        self,
        *,
        query: Annotated[str, Field(description="The question or words that were searched with.")],
        id: Handle,
        types: Types = None,
        scope: ReadScope = None,
        mode: ModeName = None,
        limit: Limit = None,
        min_confidence: MinConfidence = None,
        min_relevance: MinRelevance = None,
        butler: OnlyButler = None,
        tier: TierName = None,
        time_from: TimeFrom = None,
        time_to: TimeTo = None,
        token_budget: Annotated[
            int | None,
            BeforeValidator(as_whole_number),
            Field(description="Say also whether it is in a briefing of so many tokens on the same words."),
        ] = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """Why a search does or does not return a memory.

        Use it when memory_search or memory_context left out what you expected, or returned what you did not. Pass what
        you passed to the search. It changes nothing, and nothing counts as used.
        Returns `verdict`, a sentence; `returned`, `fate` and `place`; how the question was read (`reading`); the place
        on both lists with raw scores (`by_meaning`, `by_words`); each of the `filters`; the judge's signals with their
        weights (`second_look`); relevance and its limit (`gate`); the terms of the score (`scoring`); what says the
        same (`variety`). Steps that it did not get to are left out.

        Example: memory_explain(query="which color does Anna like?", id="fact:k3f7")
        """
        visit = await self._visit(request_context)
        details = given(
            types=types,
            tier=tier,
            scope=scope,
            mode=mode,
            limit=limit,
            min_confidence=min_confidence,
            min_relevance=min_relevance,
            butler=butler,
            time_from=time_from,
            time_to=time_to,
        )
        question = Question(query=query, **details)
        told = await explain.explain(visit.butler, question, id, visit.caller, token_budget=token_budget)
        return visit.answer(shapes.explanation(told))

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
        confidence, the backlog of episodes, how rules did, how consolidation went in the last 30 days (who distils,
        success rate, items per episode, refusals by reason, what awaits review, cost), and for each job of upkeep its
        last run, its next one and whether it keeps up (ok, never, overdue or failing).

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
        with_own: Annotated[
            Flag, Field(description="Also what is in your own scope, asked for or not: for a start without a task.")
        ] = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """A briefing for the task at hand: the facts, rules, warnings and recent episodes that bear on it.

        Call it once at the start of a session or task. Each line has a short reference that all tools accept.
        Name whom and what the task is about: what is known of them is told too, the most important first.
        Returns `context`, text that fits the token budget, and a `receipt` that says what was left out and why.
        It changes nothing, and the same state gives the same text.

        Example: memory_context(trigger_prompt="Fix the failing invoice test", butler="coder", token_budget=1500)
        """
        visit = await self._visit(request_context)
        request = BriefRequest(
            trigger_prompt=trigger_prompt,
            butler=butler,
            token_budget=token_budget,
            as_of=as_of,
            with_own=bool(with_own),
        )
        return visit.answer(shapes.briefing(await brief.brief(visit.butler, request, visit.caller)))

    def tools(self) -> list[Offer]:
        return [
            (self.memory_search, COUNTED_READ),
            (self.memory_recall, COUNTED_READ),
            (self.memory_explain, PURE_READ),
            (self.memory_get, COUNTED_READ),
            (self.memory_stats, PURE_READ),
            (self.memory_context, PURE_READ),
        ]
