"""Routes that list memories and show one memory with its history and links. They do not count as use."""

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi import Path as InPath
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.responses import Response

from memory_butler.adapters.mcp.arguments import Moment
from memory_butler.adapters.mcp.tool_base import CallContext, provided
from memory_butler.adapters.rest.request_handler import RequestHandler
from memory_butler.adapters.rest.schemas import TOTALS, documented
from memory_butler.adapters.wire import answers
from memory_butler.models import Maturity, MemoryType, Permanence, Tier, Validity
from memory_butler.models.listings import Listing, Page, Sort
from memory_butler.models.wire.memory_answers import EventLine, LinksAnswer, MemoryDetail, MemoryListItem
from memory_butler.operations.browse import listings
from memory_butler.operations.retrieval import get
from memory_butler.policy.memories.validation import LABEL_CHARACTERS, parse_choice


def _plus(value: object) -> object:
    """Restore the plus sign of a time zone, which decodes to a space in a query string."""
    return value.strip().replace(" ", "+") if isinstance(value, str) and "T" in value else value


InQuery = Annotated[Moment, BeforeValidator(_plus)]
Text = Annotated[str, Field(max_length=LABEL_CHARACTERS)]
TypeInPath = Annotated[str, InPath(json_schema_extra={"enum": [str(kind) for kind in MemoryType]})]
HandleInPath = Annotated[str, InPath(description="Reference (fact:k3f7 or k3f7) or id.", max_length=LABEL_CHARACTERS)]


class Paged(BaseModel):
    model_config = ConfigDict(extra="forbid")

    limit: int = Field(
        listings.DEFAULT_LIMIT, ge=1, le=listings.MAX_LIMIT, description="Maximum number of entries of the page."
    )
    cursor: str | None = Field(
        None, max_length=1000, description="`cursor` of the previous page; keep the same filters."
    )

    def page(self) -> dict[str, Any]:
        return {"limit": self.limit, "cursor": self.cursor}


class MemoryFilter(Paged):
    scope: Text | None = Field(None, description="Only this scope; `*` for all scopes (administrators).")
    butler: Text | None = Field(None, description="Only the scope and the episodes of this butler.")
    learned_by: Text | None = Field(None, description="Facts and rules that this butler stored.")
    subject: Text | None = Field(None, description="Facts about this subject.")
    predicate: Text | None = Field(None, description="Facts of this predicate.")
    validity: list[Validity] = Field([], max_length=10, description="Any of these states; default all.")
    permanence: list[Permanence] = Field([], max_length=10, description="Facts of any of these permanence classes.")
    maturity: list[Maturity] = Field([], max_length=10, description="Rules of any of these maturities.")
    tier: Tier | None = Field(None, description="Only this tier.")
    tag: list[Text] = Field([], max_length=20, description="With all of these tags.")
    importance_min: int | None = Field(None, ge=1, le=10, description="Facts and episodes at least this important.")
    importance_max: int | None = Field(None, ge=1, le=10, description="Facts and episodes at most this important.")
    time_from: InQuery = Field(None, description="Happened (or, without a time, stored) at this time or later.")
    time_to: InQuery = Field(None, description="Happened (or, without a time, stored) before this time.")
    contains: Text | None = Field(None, description="Contains this text, ignoring case.")
    words: Text | None = Field(None, description="Contains all of these words or parts of words, in any order.")
    quarantined: bool = Field(False, description="Also list memories that wait for a person's decision.")
    sort: Sort = Field(
        Sort.CREATED,
        description="Sort key; rules have no importance, episodes no confidence. `observed`: when it happened.",
    )
    order: Literal["asc", "desc"] = Field("desc", description="Ascending or descending; ties are sorted by id.")

    def listing(self, kind: MemoryType) -> Listing:
        given = self.model_dump(exclude={"limit", "cursor", "order", "tag"}) | {"tags": self.tag}
        return Listing(type=kind, descending=self.order == "desc", **provided(given))


def memory_routes(handler: RequestHandler) -> APIRouter:
    router = APIRouter(tags=["memories"])

    @router.get("/memories/{type}", **documented(Page[MemoryListItem]))
    async def list_memories(request: Request, type: TypeInPath, options: Annotated[MemoryFilter, Query()]) -> Response:
        """List memories of one type, filtered, sorted and paged.

        Lists all states unless `validity` is given. `total` is exact up to 10,000; beyond that the answer has
        `total_at_least`. Does not update usage counts.
        """

        async def work(call: CallContext) -> Page[MemoryListItem]:
            listing = options.listing(parse_choice(MemoryType, type, "type"))
            page = await listings.memories(call.resources, listing, call.caller, **options.page())
            return answers.page_of(page, answers.listed_memory)

        return await handler.answer(request, "list_memories", work)

    @router.get("/memories/{type}/{handle}", **documented(MemoryDetail))
    async def one_memory(request: Request, type: TypeInPath, handle: HandleInPath) -> Response:
        """Get one memory with its provenance and history. Unlike the tool `get` it does not update usage counts."""
        to_answer = answers.memory_detail
        return await handler.run(request, "memory_get", get.get, type, handle, bump=False, to_answer=to_answer)

    @router.get("/memories/{type}/{handle}/history", **documented(Page[EventLine], omits=TOTALS))
    async def history(
        request: Request, type: TypeInPath, handle: HandleInPath, page: Annotated[Paged, Query()]
    ) -> Response:
        """List the events of a memory in words, oldest first."""
        to_answer = partial(answers.page_of, to_entry=answers.event_line)
        return await handler.run(request, "history", listings.history, type, handle, to_answer=to_answer, **page.page())

    @router.get("/memories/{type}/{handle}/links", **documented(LinksAnswer, omits=TOTALS))
    async def links(
        request: Request, type: TypeInPath, handle: HandleInPath, page: Annotated[Paged, Query()]
    ) -> Response:
        """List the links of a memory in both directions, oldest first.

        `hidden_links` counts links to memories of other butlers. An agent learns that they exist, but not more.
        """
        to_answer = answers.link_page
        return await handler.run(request, "links", listings.links, type, handle, to_answer=to_answer, **page.page())

    return router
