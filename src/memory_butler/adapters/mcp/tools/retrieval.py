"""Tools that read memories."""

from typing import Annotated, cast

from pydantic import Field

from memory_butler.adapters.mcp import arguments
from memory_butler.adapters.mcp.tool_base import COUNTED_READ, PURE_READ, ToolGroup, provided, tool
from memory_butler.adapters.wire import answers, brief_answers
from memory_butler.models import Briefing, BriefRequest, Mode, Question
from memory_butler.models.explanation import Explanation
from memory_butler.models.wire.memory_answers import MemoryDetail, SearchResults, Stats
from memory_butler.operations.briefing import brief
from memory_butler.operations.retrieval import explain, get, search
from memory_butler.operations.system import stats
from memory_butler.policy.access.roles import ANY_ROLE

AsOf = Annotated[
    arguments.Moment,
    Field(
        description="Administrators only: answer with the state at this time, for example 2026-03-01T09:30:00Z; does "
        "not update usage counts. Default: now."
    ),
]
Types = Annotated[arguments.Words, Field(description="Of fact, rule, episode; default all.")]
ModeName = Annotated[str | None, arguments.one_of(Mode, "Default hybrid.")]
OnlyButler = Annotated[str | None, Field(description="Only this butler's episodes and scope.")]


class RetrievalTools(ToolGroup):
    name = "recall"

    @tool(ANY_ROLE, COUNTED_READ, "search_memory", brief=brief_answers.SEARCH)
    async def memory_search(
        self,
        *,
        query: Annotated[str, Field(description="A question or keywords.")],
        types: Types = None,
        scope: arguments.ReadScope = None,
        mode: ModeName = None,
        limit: arguments.Limit = None,
        min_confidence: arguments.MinConfidence = None,
        min_relevance: arguments.MinRelevance = None,
        butler: OnlyButler = None,
        tier: arguments.TierName = None,
        tags: arguments.WithTags = None,
        as_of: AsOf = None,
        expand: arguments.Expand = None,
        time_from: arguments.TimeFrom = None,
        time_to: arguments.TimeTo = None,
        deep: arguments.Deep = None,
        detail: arguments.Detail = None,
        request_context: arguments.Context = None,
    ) -> SearchResults:
        """Search memories when earlier sessions may answer a question. An empty result means that nothing is known.

        Also finds the reference of a memory.
        Returns `results`, each with ref, content, state, `relevance` (probability that it answers the question) and
        `relevance_level` (the same in words), score with its `parts`, and `also`, the refs of duplicates; and `count`.
        `since_changed` marks an episode whose fact has been replaced, and a fact or rule that a newer note or rule
        corrects. `overview`: the question was broad ("what's coming up?"), and the results are the best of that kind.
        In hybrid mode, an empty result means nothing matched; the other modes return the nearest memories unless
        min_relevance is given.
        `degraded` names parts of the search that failed. Returning a memory updates its usage count.
        A time in the query ("last week", "in May 2023") ranks matching memories first; time_from and time_to exclude
        the others. With expand, each result has `neighbours`: the turns of the session before and after an episode,
        other facts about a fact's subject, source episodes. A neighbour that is already in the results is listed
        without content.

        Example: memory_search(query="which color does Anna like?", types=["fact"], limit=5)
        """
        question = Question(**provided(locals()))
        return answers.search_results(await self._run(request_context, search.search, question))

    @tool(ANY_ROLE, COUNTED_READ, "search_memory", brief=brief_answers.SEARCH)
    async def memory_recall(
        self,
        *,
        topic: Annotated[str, Field(description="The topic you are about to work on.")],
        scope: arguments.ReadScope = None,
        limit: arguments.Limit = None,
        min_confidence: arguments.MinConfidence = None,
        min_relevance: arguments.MinRelevance = None,
        butler: Annotated[str | None, Field(description="Butler whose own scope is read beside 'global'.")] = None,
        tags: arguments.WithTags = None,
        expand: arguments.Expand = None,
        time_from: arguments.TimeFrom = None,
        time_to: arguments.TimeTo = None,
        detail: arguments.Detail = None,
        request_context: arguments.Context = None,
    ) -> SearchResults:
        """Get the most important facts and rules for a new topic within a task, without episodes.

        Use memory_search for a question.
        Returns the same as memory_search.

        Example: memory_recall(topic="deploying the billing service")
        """
        question = Question(query=topic, **provided(locals(), "topic"))
        return answers.search_results(await self._run(request_context, search.recall, question))

    @tool(ANY_ROLE, PURE_READ)
    async def memory_explain(
        self,
        *,
        query: Annotated[str, Field(description="The query of the search.")],
        id: arguments.Handle,
        types: Types = None,
        scope: arguments.ReadScope = None,
        mode: ModeName = None,
        limit: arguments.Limit = None,
        min_confidence: arguments.MinConfidence = None,
        min_relevance: arguments.MinRelevance = None,
        butler: OnlyButler = None,
        tier: arguments.TierName = None,
        tags: arguments.WithTags = None,
        time_from: arguments.TimeFrom = None,
        time_to: arguments.TimeTo = None,
        deep: arguments.Deep = None,
        token_budget: Annotated[
            arguments.Whole, Field(description="Also explain a briefing with this token budget for the same query.")
        ] = None,
        request_context: arguments.Context = None,
    ) -> Explanation:
        """Explain why a search does or does not return a memory.

        Use it when memory_search or memory_context missed a memory or returned an unexpected one. Pass the arguments of
        that search. Read-only; does not update usage counts.
        Returns `verdict`, a sentence; `returned`, `fate`, `place`; the parsed query (`reading`); ranks and raw scores
        (`by_meaning`, `by_words`); `filters`; the reranker's signals with weights (`second_look`); relevance and its
        threshold (`gate`); the terms of the score (`scoring`); duplicates (`variety`). Stages the memory did not
        reach are omitted.

        Example: memory_explain(query="which color does Anna like?", id="fact:k3f7")
        """
        question = Question(**provided(locals(), "id", "token_budget"))
        return await self._run(request_context, explain.explain, question, id, token_budget=token_budget)

    @tool(ANY_ROLE, COUNTED_READ, "search_memory", brief=brief_answers.DETAIL)
    async def memory_get(
        self,
        *,
        type: arguments.TypeName = None,
        id: arguments.Handle,
        detail: arguments.Detail = None,
        request_context: arguments.Context = None,
    ) -> MemoryDetail:
        """Get one memory with its provenance and history.

        Use it to check where a memory comes from, what it replaced, or why it is in its current state.
        Returns the memory, tier, effective_confidence, when it fades and expires (`outlook`: a one-sentence
        forecast), its links, its supersession chain, and its events in words with the ids that memory_undo takes.

        Example: memory_get(type="fact", id="fact:k3f7")
        """
        return answers.memory_detail(await self._run(request_context, get.get, type, id))

    @tool(ANY_ROLE, PURE_READ)
    async def memory_stats(
        self,
        *,
        scope: Annotated[str | None, Field(description="Only this scope; default all that you may read.")] = None,
        request_context: arguments.Context = None,
    ) -> Stats:
        """Get store statistics: counts by type and state, tiers, maintenance jobs.

        Use it when the user asks about the memory itself; it returns no memories.
        Returns counts; for each tier (eden, mid, long) its count, capacity, oldest memory and references; the
        distribution of confidence; the backlog of episodes; feedback on rules; consolidation in the last 30 days
        (distiller, success rate, items per episode, refusals by reason, items awaiting review, cost); and for each
        maintenance job its last run, next run and status (ok, never, overdue or failing).

        Example: memory_stats()
        """
        return cast("Stats", await self._run(request_context, stats.stats, scope))

    @tool(ANY_ROLE, PURE_READ, "search_memory", brief=brief_answers.BRIEFING)
    async def memory_context(
        self,
        *,
        trigger_prompt: arguments.TriggerPrompt,
        butler: arguments.OwnButler = None,
        token_budget: arguments.TokenBudget = None,
        as_of: AsOf = None,
        with_own: arguments.WithOwn = None,
        deep: arguments.Deep = None,
        detail: arguments.Detail = None,
        request_context: arguments.Context = None,
    ) -> Briefing:
        """Get a briefing for a task, once at its start: vital facts, what is relevant, standing rules for such work.

        Pass the task as the user wrote it, and name the people and
        things involved. Each line has a short reference that all tools accept.
        Returns `context`, text within the token budget, and `receipt`: the claim of each line (vital, relevant,
        standing, related or recent), and what was left out and why.
        Changes nothing; the same state gives the same text.

        Example: memory_context(trigger_prompt="Fix the failing invoice test", butler="coder", token_budget=1500)
        """
        request = BriefRequest(**provided(locals()))
        return await self._run(request_context, brief.brief, request)
