"""Memories for people: lists of them, one with everything known of it, its history and its links."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi import Path as InPath
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.responses import Response

from memory_butler.adapters import shapes
from memory_butler.adapters.answering import Visit
from memory_butler.adapters.arguments import Moment
from memory_butler.adapters.rest.answers import EVENT, HIDDEN_LINKS, LINK, PORTRAIT, kept
from memory_butler.adapters.rest.desk import Desk
from memory_butler.adapters.rest.schemas import SHARE, TEXT, WHOLE, Schema, answered, listed, nullable, ok, problems
from memory_butler.adapters.shapes import Shape
from memory_butler.models import Maturity, MemoryType, Permanence, Tier, Validity
from memory_butler.models.listings import Listing, Page, Sort
from memory_butler.operations import browse, look
from memory_butler.operations.browse import MOST, USUAL
from memory_butler.policy.admission import LABEL_CHARACTERS, choose


def _plus(value: object) -> object:
    """A plus sign in a query is a space to those who decode it; in a moment it can only have been a plus."""
    return value.strip().replace(" ", "+") if isinstance(value, str) and "T" in value else value


InQuery = Annotated[Moment, BeforeValidator(_plus)]
Text = Annotated[str, Field(max_length=LABEL_CHARACTERS)]
TypeInPath = Annotated[str, InPath(json_schema_extra={"enum": [str(kind) for kind in MemoryType]})]
HandleInPath = Annotated[
    str, InPath(description="Short reference (fact:k3f7 or k3f7) or id.", max_length=LABEL_CHARACTERS)
]


class Paged(BaseModel):
    """Which part of a list."""

    model_config = ConfigDict(extra="forbid")

    limit: int = Field(USUAL, ge=1, le=MOST, description="Most entries of a page.")
    cursor: str | None = Field(
        None, max_length=1000, description="`cursor` of the page before, to go on; with the same filters."
    )


class Wanted(Paged):
    """Which memories, and in which order."""

    scope: Text | None = Field(None, description="Only this scope; `*` for an administrator who wants them all.")
    butler: Text | None = Field(None, description="Only this butler's scope and episodes.")
    learned_by: Text | None = Field(None, description="Facts and rules that this butler stored.")
    subject: Text | None = Field(None, description="Facts about this subject.")
    predicate: Text | None = Field(None, description="Facts of this predicate.")
    validity: list[Validity] = Field([], max_length=10, description="Any of these states; all if left out.")
    permanence: list[Permanence] = Field([], max_length=10, description="Facts of any of these permanences.")
    maturity: list[Maturity] = Field([], max_length=10, description="Rules of any of these maturities.")
    tier: Tier | None = Field(None, description="Only this generation.")
    tag: list[Text] = Field([], max_length=20, description="With all of these tags.")
    importance_min: int | None = Field(None, ge=1, le=10, description="Facts and episodes at least this important.")
    importance_max: int | None = Field(None, ge=1, le=10, description="Facts and episodes at most this important.")
    time_from: InQuery = Field(None, description="What happened, or else was stored, at this moment or later.")
    time_to: InQuery = Field(None, description="What happened, or else was stored, before this moment.")
    contains: Text | None = Field(None, description="With this text in it, whatever its case.")
    words: Text | None = Field(None, description="With all of these words or parts of words in it, in any order.")
    sort: Sort = Field(
        Sort.CREATED,
        description="By what to sort; rules have no importance, episodes no confidence. `observed`: when it happened.",
    )
    order: Literal["asc", "desc"] = Field("desc", description="Rising or falling; equals stand in the order of ids.")

    def listing(self, kind: MemoryType) -> Listing:
        given = self.model_dump(exclude={"limit", "cursor", "order", "tag", "validity", "permanence", "maturity"})
        return Listing(
            type=kind,
            tags=tuple(self.tag),
            validity=tuple(self.validity),
            permanence=tuple(self.permanence),
            maturity=tuple(self.maturity),
            descending=self.order == "desc",
            **given,
        )


MEMORY: Schema = kept(tier=TEXT, effective_confidence=SHARE)
CURSOR: Schema = {**nullable(TEXT), "description": "To go on with; null on the last page."}


def page_schema(entry: Schema, totals: dict[str, Schema] | None = None) -> Schema:
    return answered({"items": listed(entry), "cursor": CURSOR}, totals)


TOTALS: dict[str, Schema] = {
    "total": {**WHOLE, "description": "How many there are in all, where that is cheap to say."},
    "total_at_least": {**WHOLE, "description": "There are more than so many."},
}


def memory_routes(desk: Desk) -> APIRouter:
    router = APIRouter(tags=["memories"])

    @router.get("/memories/{type}", **about(page_schema(MEMORY, TOTALS)))
    async def list_memories(request: Request, type: TypeInPath, wanted: Annotated[Wanted, Query()]) -> Response:
        """Memories of one type, with filters, sorted, a page at a time.

        All states are listed, unless `validity` says which. Nothing counts as used. `total` is exact up to 10,000;
        beyond that there is `total_at_least`.
        """

        async def work(visit: Visit) -> Shape:
            listing = wanted.listing(choose(MemoryType, type, "type"))
            found = await browse.memories(visit.butler, listing, visit.caller, limit=wanted.limit, cursor=wanted.cursor)
            items = [_listed(one) for one in found.items]
            return {**page_shape(found, items), **_totals(found)}

        return await desk.answer(request, "list_memories", work)

    @router.get("/memories/{type}/{handle}", **about(PORTRAIT))
    async def one_memory(request: Request, type: TypeInPath, handle: HandleInPath) -> Response:
        """One memory with everything known of it. Unlike the tool `get` it does not count as a use."""

        async def work(visit: Visit) -> Shape:
            return shapes.portrait(await look.look(visit.butler, type, handle, visit.caller, bump=False))

        return await desk.answer(request, "memory_get", work)

    @router.get("/memories/{type}/{handle}/history", **about(page_schema(EVENT)))
    async def history(
        request: Request, type: TypeInPath, handle: HandleInPath, part: Annotated[Paged, Query()]
    ) -> Response:
        """What happened to a memory, in words, the oldest first."""

        async def work(visit: Visit) -> Shape:
            found = await browse.history(visit.butler, type, handle, visit.caller, limit=part.limit, cursor=part.cursor)
            return page_shape(found, [shapes.told(line) for line in found.items])

        return await desk.answer(request, "history", work)

    @router.get("/memories/{type}/{handle}/links", **about(page_schema(LINK, {"hidden_links": HIDDEN_LINKS})))
    async def links(
        request: Request, type: TypeInPath, handle: HandleInPath, part: Annotated[Paged, Query()]
    ) -> Response:
        """The links of a memory in both directions, the oldest first.

        `hidden_links` counts those that lead to what belongs to another butler: that there is such evidence is all that
        an agent is told of it.
        """

        async def work(visit: Visit) -> Shape:
            found = await browse.links(visit.butler, type, handle, visit.caller, limit=part.limit, cursor=part.cursor)
            items = [shapes.link(link, found.memory) for link in found.page.items]
            return {**page_shape(found.page, items), "hidden_links": found.hidden}

        return await desk.answer(request, "links", work)

    return router


def about(schema: Schema, status: int = 200) -> dict[str, Any]:
    """What FastAPI is told of a route whose answer it does not make."""
    return {"response_class": Response, "status_code": status, "responses": {**ok(schema, status), **problems()}}


def page_shape(found: Page[Any], items: list[Shape]) -> Shape:
    return {"items": items, "cursor": found.cursor}


def _totals(found: Page[Any]) -> Shape:
    totals = {"total": found.total, "total_at_least": found.total_at_least}
    return {name: number for name, number in totals.items() if number is not None}


def _listed(one: Any) -> Shape:
    return {
        **shapes.memory(one.memory),
        "tier": one.tier.value,
        "effective_confidence": one.effective_confidence,
    }
