"""Tools that remember."""

from typing import Annotated

from pydantic import Field

from memory_butler.adapters import shapes
from memory_butler.adapters.answering import ADDS, Offer, Toolbox, given
from memory_butler.adapters.arguments import (
    Context,
    Importance,
    Key,
    Metadata,
    Moment,
    PermanenceName,
    Scope,
    Source,
    Tags,
    TierName,
    Words,
)
from memory_butler.models import NewEpisode, NewFact, NewNote, NewRule
from memory_butler.operations import remember


class RememberTools(Toolbox):
    """Each method is a tool: its name, parameters and docstring are what a model sees."""

    async def memory_store_episode(
        self,
        *,
        content: Annotated[str, Field(description="What happened or was decided; up to 20,000 characters.")],
        butler: Annotated[str, Field(description="Whose session it was, for example 'coder'.")],
        session_id: Annotated[str | None, Field(description="Your session's id.")] = None,
        importance: Importance = None,
        observed_at: Annotated[Moment, Field(description="When it happened, with time zone; now if left out.")] = None,
        tags: Tags = None,
        metadata: Metadata = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """Remember what happened in a session: what was done, decided, learned or left open.

        Use it once at the end of a piece of work, with a summary in your own words rather than a transcript.
        Episodes are short-lived raw material; what must last is a fact or a rule.
        Returns type, id, ref and outcome "created".

        Example: memory_store_episode(content="Moved billing to Stripe; refunds are still manual.", butler="coder")
        """
        visit = await self._visit(request_context)
        details = given(
            session_id=session_id,
            importance=importance,
            observed_at=observed_at,
            tags=tags,
            metadata=metadata,
            idempotency_key=idempotency_key,
        )
        new = NewEpisode(content=content, butler=butler, **details)
        return visit.answer(shapes.stored(await remember.episode(visit.butler, new, visit.caller)))

    async def memory_store_fact(
        self,
        *,
        subject: Annotated[str, Field(description="Who or what it is about, for example 'Anna' or 'billing service'.")],
        predicate: Annotated[
            str,
            Field(
                description="Which property: favorite_color, or with the value where several hold: allergic_to:nuts."
            ),
        ],
        content: Annotated[str, Field(description="The fact as a sentence that stands alone; up to 4,000 characters.")],
        importance: Importance = None,
        permanence: PermanenceName = None,
        scope: Scope = None,
        tags: Tags = None,
        valid_at: Annotated[
            Moment, Field(description="Only for what happened at a time: when, with time zone.")
        ] = None,
        source_episode: Source = None,
        aliases: Annotated[
            Words,
            Field(
                description='Other names of the subject, up to 20, for example ["Annie", "Mum"]; of up to three words '
                "each, they are understood in questions."
            ),
        ] = None,
        metadata: Metadata = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """Remember something that is true: a preference, a property, a decision, an event.

        A subject and a predicate have one current value: storing another content for the same pair REPLACES the old
        fact (which is kept as history); storing the same content again confirms it and changes nothing else of it.
        Where several values hold together, let the predicate name the value: allergic_to:peanuts, allergic_to:nuts.
        Pass valid_at only for what happened at a certain time (a meeting, a purchase): such facts stand side by side.
        Do not pass the current time to mean "true now"; that is what leaving it out means.
        With aliases, whoever or whatever it is about is found by those names, too, in all that is stored about it.
        Returns type, id, ref and outcome: "created", "confirmed", or "superseded" with `supersedes` naming the old one.

        Example: memory_store_fact(subject="Anna", predicate="favorite_color", content="Anna likes green best.")
        """
        visit = await self._visit(request_context)
        details = given(
            importance=importance,
            permanence=permanence,
            scope=scope,
            tags=tags,
            valid_at=valid_at,
            source_episode=source_episode,
            aliases=aliases,
            metadata=metadata,
            idempotency_key=idempotency_key,
        )
        new = NewFact(subject=subject, predicate=predicate, content=content, **details)
        return visit.answer(shapes.stored(await remember.fact(visit.butler, new, visit.caller)))

    async def memory_store_rule(
        self,
        *,
        content: Annotated[str, Field(description="What to do and when, as one instruction; up to 4,000 characters.")],
        scope: Scope = None,
        tags: Tags = None,
        source_episode: Source = None,
        metadata: Metadata = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """Remember how to act: a way of working that paid off, or that a person asked for.

        A new rule is a candidate; it earns trust by memory_mark_helpful and becomes a warning by memory_mark_harmful.
        The same rule again confirms the one that is there.
        Returns type, id, ref and outcome "created" or "confirmed".

        Example: memory_store_rule(content="Run the database migrations before the tests.", tags=["testing"])
        """
        visit = await self._visit(request_context)
        details = given(
            scope=scope, tags=tags, source_episode=source_episode, metadata=metadata, idempotency_key=idempotency_key
        )
        return visit.answer(
            shapes.stored(await remember.rule(visit.butler, NewRule(content=content, **details), visit.caller))
        )

    async def memory_store(
        self,
        *,
        content: Annotated[str, Field(description="What to remember; up to 4,000 characters, in Eden up to 20,000.")],
        tags: Tags = None,
        tier: Annotated[
            TierName, Field(description="eden (days), mid (months) or long (years); 'eden' if left out.")
        ] = None,
        butler: Annotated[str | None, Field(description="Whose note it is; yours if left out.")] = None,
        importance: Importance = None,
        idempotency_key: Key = None,
        request_context: Context = None,
    ) -> shapes.Shape:
        """Keep a note without saying what kind of memory it is, only for how long it is likely to matter.

        Use it when memory_store_fact, memory_store_rule and memory_store_episode do not fit; they say more.
        In Eden the note is an episode: only its butler sees it, and it goes unless it is used. In mid or long it is a
        fact that everybody may read and that stands beside all other notes; the same content again confirms it and
        leaves its tier as it is.
        Returns type, id, ref and outcome "created" or "confirmed".

        Example: memory_store(content="The staging server is rebuilt every Monday.", tier="mid", tags=["ops"])
        """
        visit = await self._visit(request_context)
        details = given(tags=tags, tier=tier, butler=butler, importance=importance, idempotency_key=idempotency_key)
        done = await remember.store(visit.butler, NewNote(content=content, **details), visit.caller)
        return visit.answer(shapes.stored(done))

    def tools(self) -> list[Offer]:
        return [
            (self.memory_store_episode, ADDS),
            (self.memory_store_fact, ADDS),
            (self.memory_store_rule, ADDS),
            (self.memory_store, ADDS),
        ]
