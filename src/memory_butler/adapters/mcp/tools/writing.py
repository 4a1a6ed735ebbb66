"""Tools that store memories."""

from typing import Annotated

from pydantic import Field

from memory_butler.adapters.mcp import arguments
from memory_butler.adapters.mcp.tool_base import ADDS, ToolGroup, provided, tool
from memory_butler.models import NewEpisode, NewFact, NewNote, NewRule, Stored
from memory_butler.operations.writing import remember
from memory_butler.policy.access.roles import WRITERS


class WritingTools(ToolGroup):
    name = "remember"

    @tool(WRITERS, ADDS, "create_memory")
    async def memory_store_episode(
        self,
        *,
        content: arguments.EpisodeContent,
        butler: arguments.OwnButler = None,
        session_id: arguments.SessionId = None,
        importance: arguments.Importance = None,
        observed_at: arguments.ObservedAt = None,
        tags: arguments.Tags = None,
        metadata: arguments.Metadata = None,
        source: arguments.Source = None,
        idempotency_key: arguments.Key = None,
        request_context: arguments.Context = None,
    ) -> Stored:
        """Store what happened in a session, once at its end: what was done, decided, learned or left open.

        Pass a summary rather than a transcript. Episodes are short-lived
        raw material; store lasting knowledge as a fact or a rule.
        Returns type, id, ref and outcome "created".

        Example: memory_store_episode(content="Moved billing to Stripe; refunds are still manual.", butler="coder")
        """
        return await self._run(request_context, remember.episode, NewEpisode(**provided(locals())))

    @tool(WRITERS, ADDS, "upsert_memory")
    async def memory_store_fact(
        self,
        *,
        subject: Annotated[str, Field(description="The person or thing.")],
        predicate: Annotated[
            str,
            Field(description="The property: favorite_color; allergic_to:nuts where several can be true."),
        ],
        content: Annotated[str, Field(description="A self-contained sentence.")],
        importance: arguments.Importance = None,
        permanence: arguments.PermanenceName = None,
        scope: arguments.Scope = None,
        tags: arguments.Tags = None,
        valid_at: Annotated[arguments.Moment, Field(description="Only for events: ISO 8601 with zone.")] = None,
        source_episode: arguments.SourceEpisode = None,
        aliases: Annotated[
            arguments.Words,
            Field(description="Other names of the subject."),
        ] = None,
        links: arguments.Links = None,
        metadata: arguments.Metadata = None,
        source: arguments.Source = None,
        idempotency_key: arguments.Key = None,
        request_context: arguments.Context = None,
    ) -> Stored:
        """Store what is true: a preference, property, decision or event. New content for the same subject and predicate
        REPLACES the old fact.

        The old fact is kept as history; the same content confirms it, and updates importance, permanence and tags if
        others are given. Where several values can be true, put the value
        into the predicate: allergic_to:peanuts, allergic_to:nuts. Pass valid_at only for something that happened at a
        certain time (a meeting, a purchase): such facts do not replace each other. Do not pass the current time for
        "true now". Aliases are other names for the subject, of up to three words; searching for one finds everything
        about it. `source` says where the content comes from: the user said it, you concluded it (agent), a tool or file
        returned it, or a web page, mail or other person says so (external). `links` names memories that the fact
        supports, contradicts or is related to; they stay in use.
        Returns type, id, ref and outcome: "created", "confirmed", "updated", or "superseded" with `supersedes`, the
        old fact.

        Example: memory_store_fact(subject="Anna", predicate="favorite_color", content="Anna likes green best.")
        """
        return await self._run(request_context, remember.fact, NewFact(**provided(locals())))

    @tool(WRITERS, ADDS, "upsert_memory")
    async def memory_store_rule(
        self,
        *,
        content: Annotated[str, Field(description="One instruction: what to do and when.")],
        scope: arguments.Scope = None,
        tags: arguments.Tags = None,
        source_episode: arguments.SourceEpisode = None,
        metadata: arguments.Metadata = None,
        source: arguments.Source = None,
        idempotency_key: arguments.Key = None,
        request_context: arguments.Context = None,
    ) -> Stored:
        """Store how to act: a way of working that succeeded or that the user asked for.

        A new rule is a candidate. memory_mark_helpful makes it more trusted, memory_mark_harmful turns it into a
        warning. Storing the same rule again confirms it.
        Returns type, id, ref and outcome "created" or "confirmed".

        Example: memory_store_rule(content="Run the database migrations before the tests.", tags=["testing"])
        """
        return await self._run(request_context, remember.rule, NewRule(**provided(locals())))

    @tool(WRITERS, ADDS, "upsert_memory")
    async def memory_store(
        self,
        *,
        content: Annotated[str, Field(description="The note, up to 4,000 characters; up to 20,000 in the eden tier.")],
        tags: arguments.Tags = None,
        tier: Annotated[
            arguments.TierName, Field(description="eden (days), mid (months) or long (years); default eden.")
        ] = None,
        butler: Annotated[
            str | None, Field(description="Butler that the note belongs to. Defaults to the calling agent.")
        ] = None,
        importance: arguments.Importance = None,
        source: arguments.Source = None,
        idempotency_key: arguments.Key = None,
        request_context: arguments.Context = None,
    ) -> Stored:
        """Store a note with an expected lifetime, without choosing a type.

        Use it only when memory_store_fact, memory_store_rule and memory_store_episode do not fit.
        In eden the note is an episode: private to its butler, deleted unless it is used. In mid or long it is a fact
        that everyone may read and that replaces no other note. The same content again confirms it and keeps its tier.
        Returns type, id, ref and outcome "created" or "confirmed".

        Example: memory_store(content="The staging server is rebuilt every Monday.", tier="mid", tags=["ops"])
        """
        return await self._run(request_context, remember.store, NewNote(**provided(locals())))
