"""Tools that do many things at once."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from memory_butler.adapters import shapes
from memory_butler.adapters.answering import ADDS, PURE_READ, Offer, Toolbox, given, said
from memory_butler.adapters.arguments import (
    Context,
    Flag,
    Importance,
    Key,
    Metadata,
    Moment,
    Tags,
    TokenBudget,
    as_items,
    as_object,
    explain,
    lineage_of,
)
from memory_butler.errors import InvalidInput, MemoryButlerError
from memory_butler.models import BriefRequest, NewEpisode
from memory_butler.operations import brief_batch, ingest
from memory_butler.operations.brief_batch import Briefed
from memory_butler.operations.ingest import Arrival, Ingested, check_size

Model = TypeVar("Model", bound=BaseModel)
Done = TypeVar("Done")


class EpisodeItem(BaseModel):
    """An episode, as memory_store_episode takes it."""

    model_config = ConfigDict(extra="forbid")

    content: Annotated[str, Field(description="What happened or was decided; up to 20,000 characters.")]
    butler: Annotated[str, Field(description="Whose session it was, for example 'coder'.")]
    session_id: Annotated[str | None, Field(description="The session's id.")] = None
    importance: Importance = None
    observed_at: Annotated[Moment, Field(description="When it happened, with time zone; now if left out.")] = None
    tags: Tags = None
    metadata: Metadata = None
    idempotency_key: Key = None
    request_context: Context = None


class ContextItem(BaseModel):
    """A briefing to build, as memory_context takes it."""

    model_config = ConfigDict(extra="forbid")

    trigger_prompt: Annotated[str, Field(description="The task or message to be worked on.")]
    butler: Annotated[str | None, Field(description="Who works on it; you if left out.")] = None
    token_budget: TokenBudget = None
    with_own: Annotated[Flag, Field(description="Also what is in the butler's own scope, asked for or not.")] = None


def _described(model: type[BaseModel]) -> Any:
    """Items as the caller is to write them. Each is read by itself, so that a bad one harms no other."""
    schema = model.model_json_schema()
    context = schema.pop("$defs", {}).get("RequestContext", {})
    for field in schema["properties"].values():
        for place, choice in enumerate(field.get("anyOf", ())):
            if "$ref" in choice:
                field["anyOf"][place] = context
    return {"items": schema}


Items = Annotated[list[Any], BeforeValidator(as_items)]


class BatchTools(Toolbox):
    """Each method is a tool: its name, parameters and docstring are what a model sees."""

    async def memory_ingest_batch(
        self,
        *,
        episodes: Annotated[
            Items,
            Field(
                description="Up to 100 episodes, each as memory_store_episode takes it.",
                json_schema_extra=_described(EpisodeItem),
            ),
        ],
        request_context: Context = None,
    ) -> shapes.Shape:
        """Remember what happened in many sessions at once, for example when a log is taken over.

        Use it instead of calling memory_store_episode again and again; it is quicker and does the same. Each episode
        is stored or refused by itself, and can have an idempotency_key of its own.
        Returns `results` in the order given, each with `outcome`: "stored" or "repeated" (its key was used before)
        with type, id and ref, or "failed" with error, message and recovery; and how many there are of each.

        Example: memory_ingest_batch(episodes=[{"content": "Moved billing to Stripe.", "butler": "coder"}])
        """
        visit = await self._visit(request_context)
        read = _read(EpisodeItem, episodes, self._late.settings.service.limits.batch_items, "episodes")
        arrivals = [_arrival(item) for item in read if isinstance(item, EpisodeItem)]
        done = await ingest.ingest(visit.butler, arrivals, visit.caller) if arrivals else []
        return visit.answer(_counted([_ingested(entry) for entry in _merged(read, done)]))

    async def memory_context_batch(
        self,
        *,
        requests: Annotated[
            Items,
            Field(
                description="Up to 100 briefings, each as memory_context takes it.",
                json_schema_extra=_described(ContextItem),
            ),
        ],
        request_context: Context = None,
    ) -> shapes.Shape:
        """Briefings for many tasks at once, for example for agents that are about to start together.

        Use it instead of calling memory_context again and again; each text is the same as that gives.
        Returns `results` in the order given, each with `outcome`: "built" with context and receipt, or "failed" with
        error, message and recovery; and how many there are of each. It changes nothing.

        Example: memory_context_batch(requests=[{"trigger_prompt": "Fix the failing invoice test", "butler": "coder"}])
        """
        visit = await self._visit(request_context)
        read = _read(ContextItem, requests, self._late.settings.service.limits.batch_items, "requests")
        own = visit.caller.principal.butler
        asked = [
            BriefRequest(
                trigger_prompt=item.trigger_prompt,
                butler=own if item.butler is None else item.butler,
                token_budget=item.token_budget,
                with_own=bool(item.with_own),
            )
            for item in read
            if isinstance(item, ContextItem)
        ]
        done = await brief_batch.brief_batch(visit.butler, asked, visit.caller) if asked else []
        return visit.answer(_counted([_briefed(entry) for entry in _merged(read, done)]))

    def tools(self) -> list[Offer]:
        return [(self.memory_ingest_batch, ADDS), (self.memory_context_batch, PURE_READ)]


def _read(model: type[Model], items: Sequence[object], most: int, name: str) -> list[Model | MemoryButlerError]:
    """Each item, or what is wrong with it."""
    check_size(len(items), most, name)
    found: list[Model | MemoryButlerError] = []
    for item in items:
        try:
            found.append(model.model_validate(as_object(item)))
        except ValidationError as problem:
            found.append(explain("An item", list(model.model_fields), problem))
        except ValueError as problem:
            found.append(InvalidInput(f"The item {problem}."))
    return found


def _arrival(item: EpisodeItem) -> Arrival:
    details = given(
        session_id=item.session_id,
        importance=item.importance,
        observed_at=item.observed_at,
        tags=item.tags,
        metadata=item.metadata,
        idempotency_key=item.idempotency_key,
    )
    new = NewEpisode(content=item.content, butler=item.butler, **details)
    return Arrival(new, lineage_of(item.request_context) if item.request_context else None)


def _merged(read: Sequence[BaseModel | MemoryButlerError], done: Sequence[Done]) -> Iterator[Done | MemoryButlerError]:
    """What became of each item, those among them that could not be read."""
    rest = iter(done)
    for item in read:
        yield item if isinstance(item, MemoryButlerError) else next(rest)


def _counted(results: list[shapes.Shape]) -> shapes.Shape:
    return {"results": results, **Counter(str(result["outcome"]) for result in results)}


def _ingested(entry: Ingested | MemoryButlerError) -> shapes.Shape:
    problem = entry if isinstance(entry, MemoryButlerError) else entry.problem
    if problem:
        return _failed(problem)
    assert isinstance(entry, Ingested) and entry.stored
    return {**shapes.stored(entry.stored), "outcome": "repeated" if entry.repeated else "stored"}


def _briefed(entry: Briefed | MemoryButlerError) -> shapes.Shape:
    problem = entry if isinstance(entry, MemoryButlerError) else entry.problem
    if problem:
        return _failed(problem)
    assert isinstance(entry, Briefed) and entry.briefing
    return {"outcome": "built", **shapes.briefing(entry.briefing)}


def _failed(problem: MemoryButlerError) -> shapes.Shape:
    return {"outcome": "failed", **said(problem)}
