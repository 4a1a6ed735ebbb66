"""Tools that take many items in one call."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, TypeVar

from fastmcp.utilities.json_schema import dereference_refs
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from memory_butler.adapters.mcp import arguments
from memory_butler.adapters.mcp.tool_base import ADDS, PURE_READ, ToolGroup, provided, tool
from memory_butler.adapters.wire import answers
from memory_butler.errors import InvalidInput, MemoryButlerError
from memory_butler.models import BriefRequest, NewEpisode
from memory_butler.models.wire.memory_answers import BriefingsAnswer, IngestAnswer
from memory_butler.operations.briefing import brief_batch
from memory_butler.operations.writing import ingest
from memory_butler.policy.access.roles import ANY_ROLE, WRITERS

Model = TypeVar("Model", bound=BaseModel)
Result = TypeVar("Result")


class EpisodeItem(BaseModel):
    """An episode with the parameters of memory_store_episode."""

    model_config = ConfigDict(extra="forbid")

    content: arguments.EpisodeContent
    butler: arguments.OwnButler = None
    session_id: arguments.SessionId = None
    importance: arguments.Importance = None
    observed_at: arguments.ObservedAt = None
    tags: arguments.Tags = None
    metadata: arguments.Metadata = None
    source: arguments.Source = None
    idempotency_key: arguments.Key = None
    request_context: arguments.Context = None


class ContextItem(BaseModel):
    """A briefing request with the parameters of memory_context."""

    model_config = ConfigDict(extra="forbid")

    trigger_prompt: arguments.TriggerPrompt
    butler: arguments.OwnButler = None
    token_budget: arguments.TokenBudget = None
    with_own: arguments.WithOwn = None
    deep: arguments.Deep = None


def _described(model: type[BaseModel]) -> Any:
    """Schema of the items. Each item is validated separately, so that one bad item does not fail the others."""
    return {"items": dereference_refs(model.model_json_schema())}


Items = Annotated[list[Any], BeforeValidator(arguments.as_items)]


class BatchTools(ToolGroup):
    name = "batch"

    @tool(WRITERS, ADDS, "create_memory")
    async def memory_ingest_batch(
        self,
        *,
        episodes: Annotated[
            Items,
            Field(
                description="Up to 100 episodes with the parameters of memory_store_episode.",
                json_schema_extra=_described(EpisodeItem),
            ),
        ],
        request_context: arguments.Context = None,
    ) -> IngestAnswer:
        """Store many episodes in one call, for example when importing a log.

        Faster than repeated memory_store_episode, with the same effect. Each episode succeeds or fails on its own and
        may have its own idempotency_key.
        Returns `results` in the order of the request, each with `outcome`: "stored" or "repeated" (the key was used
        before) with type, id and ref; or "failed" with error, message and recovery. Also the number of each outcome.

        Example: memory_ingest_batch(episodes=[{"content": "Moved billing to Stripe.", "butler": "coder"}])
        """
        resources, caller = await self._open(request_context)
        items = _parse(EpisodeItem, episodes, self._lazy.settings.service.limits.batch_items, "episodes")
        arrivals = [_arrival(item) for item in items if isinstance(item, EpisodeItem)]
        done = await ingest.ingest(resources, arrivals, caller) if arrivals else []
        return answers.ingest_answer(_merge(items, done))

    @tool(ANY_ROLE, PURE_READ, "search_memory")
    async def memory_context_batch(
        self,
        *,
        requests: Annotated[
            Items,
            Field(
                description="Up to 100 requests with the parameters of memory_context.",
                json_schema_extra=_described(ContextItem),
            ),
        ],
        request_context: arguments.Context = None,
    ) -> BriefingsAnswer:
        """Build briefings for many tasks in one call, for example for agents that start together.

        Each text is the same as from memory_context. Changes nothing.
        Returns `results` in the order of the request, each with `outcome`: "built" with context and receipt; or
        "failed" with error, message and recovery. Also the number of each outcome.

        Example: memory_context_batch(requests=[{"trigger_prompt": "Fix the failing invoice test", "butler": "coder"}])
        """
        resources, caller = await self._open(request_context)
        items = _parse(ContextItem, requests, self._lazy.settings.service.limits.batch_items, "requests")
        own = {"butler": caller.principal.butler}
        wanted = [BriefRequest(**own | provided(dict(item))) for item in items if isinstance(item, ContextItem)]
        done = await brief_batch.brief_batch(resources, wanted, caller) if wanted else []
        return answers.briefings_answer(_merge(items, done))


def _parse(model: type[Model], items: Sequence[object], limit: int, name: str) -> list[Model | MemoryButlerError]:
    """Each item, or the error in it."""
    ingest.check_size(len(items), limit, name)
    parsed: list[Model | MemoryButlerError] = []
    for item in items:
        try:
            parsed.append(model.model_validate(arguments.as_object(item)))
        except ValidationError as problem:
            parsed.append(arguments.explain("An item", list(model.model_fields), problem))
        except ValueError as problem:
            parsed.append(InvalidInput(f"The item {problem}."))
    return parsed


def _arrival(item: EpisodeItem) -> ingest.IncomingEpisode:
    new = NewEpisode(**provided(dict(item)))
    return ingest.IncomingEpisode(new, arguments.lineage_of(item.request_context) if item.request_context else None)


def _merge(
    items: Sequence[BaseModel | MemoryButlerError], done: Sequence[Result]
) -> Iterator[Result | MemoryButlerError]:
    """The result of each item, in the order of the request, including the items that could not be parsed."""
    rest = iter(done)
    for item in items:
        yield item if isinstance(item, MemoryButlerError) else next(rest)
