"""Governing a tenant: jobs, runs of consolidation and their review, what was given up, and tokens."""

from dataclasses import asdict, fields
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi import Path as InPath
from fastmcp.utilities.json_schema import dereference_refs
from pydantic import Field
from starlette.responses import Response

from memory_butler.adapters import shapes, shapes_consolidation
from memory_butler.adapters.answering import Visit
from memory_butler.adapters.arguments import Flag, Key, Moment
from memory_butler.adapters.rest.answers import COUNTS, ITEM, UNDONE, memory, more, named, told
from memory_butler.adapters.rest.desk import Asked, Desk, asked
from memory_butler.adapters.rest.memories import Paged, Text, about, page_schema, page_shape
from memory_butler.adapters.rest.schemas import (
    ID,
    MOMENT,
    REF,
    TEXT,
    WHOLE,
    Schema,
    answered,
    body,
    listed,
    nullable,
    shape,
)
from memory_butler.adapters.shapes import Shape
from memory_butler.models import Episode, NewToken, Token
from memory_butler.operations import browse, dead_letters, review, tokens, undo, upkeep
from memory_butler.operations.diff import diff
from memory_butler.operations.review import Reviewed
from memory_butler.operations.upkeep import JobStanding
from memory_butler.policy.admission import LABEL_CHARACTERS
from memory_butler.store.consolidation import Undone

RunId = Annotated[str, InPath(description="Id of the run.", json_schema_extra={"format": "uuid"})]
State = Literal["claimed", "waiting", "applied", "rejected", "failed", "lost", "rehearsed"]


class Runs(Paged):
    """Which runs."""

    butler: Text | None = Field(None, description="Only this butler's.")
    state: State | None = Field(None, description="Only those in this state; `waiting` ones await a decision.")


class Whose(Paged):
    """Which butler's."""

    butler: Text | None = Field(None, description="Only this butler's.")


class Decision(Asked):
    """On which items."""

    items: list[int] | None = Field(
        None, max_length=1000, description="Numbers of the items; all that are undecided if left out."
    )
    idempotency_key: Key = None


class Undoing(Asked):
    """How to undo."""

    skip_changed: Flag = Field(None, description="Leave alone what was changed since, and name it.")
    dry_run: Flag = Field(None, description="Only say what would be undone.")
    idempotency_key: Key = None


class Requeueing(Asked):
    """How to requeue."""

    again: Flag = Field(None, description="Also what is consolidated: it is distilled afresh.")
    idempotency_key: Key = None


class Wish(Asked):
    """The token that is wanted, for your own tenant."""

    butler: str = Field(max_length=LABEL_CHARACTERS, description="The butler it works as.")
    role: Literal["reader", "agent", "admin", "operator"] = Field("agent", description="What it may do.")
    label: str | None = Field(None, max_length=LABEL_CHARACTERS, description="What it is for.")
    expires_at: Moment = Field(None, description="When it ends; never if left out.")


JOB: Schema = told(JobStanding)
JOB["properties"] |= {"note": nullable(TEXT)}
RUN: Schema = shape(
    {"run": ID, "butler": TEXT, "distiller": TEXT, "state": TEXT, "claimed_at": MOMENT, "episode_count": WHOLE},
    {
        "lease_until": MOMENT,
        "finished_at": MOMENT,
        "error": TEXT,
        "tokens": WHOLE,
        "dollars": {"type": "number"},
        "request_id": TEXT,
    },
)
RUN_WITH_ITEMS = named(more(RUN, episodes=listed(REF), counts=COUNTS, items=listed(ITEM)))
RUN_WITH_ITEMS["properties"] |= {"undone": told(Undone)}
REQUEUED = answered({"requeued": listed(REF), "count": WHOLE, "left": listed(shape({"ref": REF, "reason": TEXT}))})
TOKEN: Schema = told(Token)
SECRET: Schema = {"type": "string", "description": "The token itself. It is shown this once."}


def governing_routes(desk: Desk) -> APIRouter:
    router = APIRouter(tags=["governing"])
    for add in (_jobs, _runs, _deciding, _letters, _tokens):
        add(router, desk)
    return router


def _jobs(router: APIRouter, desk: Desk) -> None:
    @router.get("/jobs", **about(page_schema(JOB)))
    async def jobs(request: Request, wanted: Annotated[Whose, Query()]) -> Response:
        """How the jobs of upkeep stand, butler by butler: last run, next run, and whether they keep up."""

        async def work(visit: Visit) -> Shape:
            found = await upkeep.listed(
                visit.butler, visit.caller, only_butler=wanted.butler, limit=wanted.limit, cursor=wanted.cursor
            )
            return page_shape(found, [{**shapes.plain(asdict(one)), "note": one.note} for one in found.items])

        return await desk.answer(request, "jobs", work)


def _runs(router: APIRouter, desk: Desk) -> None:
    @router.get("/runs", **about(page_schema(RUN)))
    async def runs(request: Request, wanted: Annotated[Runs, Query()]) -> Response:
        """Runs of consolidation, the newest first."""

        async def work(visit: Visit) -> Shape:
            found = await browse.runs(
                visit.butler,
                visit.caller,
                only_butler=wanted.butler,
                state=wanted.state,
                limit=wanted.limit,
                cursor=wanted.cursor,
            )
            return page_shape(found, [shapes_consolidation.record(one) for one in found.items])

        return await desk.answer(request, "runs", work)

    @router.get("/runs/{run}", **about(RUN_WITH_ITEMS))
    async def one_run(request: Request, run: RunId) -> Response:
        """One run with its items, each beside what was there before."""

        async def work(visit: Visit) -> Shape:
            return await _with_lines(visit, await review.show(visit.butler, run, visit.caller))

        return await desk.answer(request, "runs", work)


async def _with_lines(visit: Visit, seen: Reviewed) -> Shape:
    lines = await diff(visit.butler, visit.caller, seen.run.butler, seen.lines)
    return shapes_consolidation.reviewed(seen, lines)


def _deciding(router: APIRouter, desk: Desk) -> None:
    async def decide(request: Request, run: str, *, approve: bool) -> Response:
        given = await asked(request, Decision)

        async def work(visit: Visit) -> Shape:
            rest = ("approved" if approve else "rejected") if given.items is None else None
            named = {"approve" if approve else "reject": given.items or []}
            seen = await review.decide(
                visit.butler, run, visit.caller, rest=rest, idempotency_key=given.idempotency_key, **named
            )
            return await _with_lines(visit, seen)

        return await desk.answer(request, "review", work, context=given.request_context)

    @router.post("/runs/{run}/approve", **about(RUN_WITH_ITEMS), **_takes(Decision))
    async def approve(request: Request, run: RunId) -> Response:
        """Approve items of a run that waits for a decision. When all are decided, what was approved is stored."""
        return await decide(request, run, approve=True)

    @router.post("/runs/{run}/reject", **about(RUN_WITH_ITEMS), **_takes(Decision))
    async def reject(request: Request, run: RunId) -> Response:
        """Reject items of a run that waits for a decision."""
        return await decide(request, run, approve=False)

    @router.post("/runs/{run}/undo", **about(UNDONE), **_takes(Undoing))
    async def undo_run(request: Request, run: RunId) -> Response:
        """Take back what a run stored and changed."""
        given = await asked(request, Undoing)

        async def work(visit: Visit) -> Shape:
            await review.show(visit.butler, run, visit.caller)
            report = await undo.undo(
                visit.butler,
                run,
                visit.caller,
                skip_changed=bool(given.skip_changed),
                dry_run=bool(given.dry_run),
                idempotency_key=given.idempotency_key,
            )
            return shapes.undone(report)

        return await desk.answer(request, "memory_undo", work, context=given.request_context)


def _letters(router: APIRouter, desk: Desk) -> None:
    @router.get("/dead_letters", **about(page_schema(memory(Episode))))
    async def given_up(request: Request, wanted: Annotated[Whose, Query()]) -> Response:
        """Episodes that consolidation gave up, the oldest first, with why."""

        async def work(visit: Visit) -> Shape:
            found = await browse.dead_letters(
                visit.butler, visit.caller, only_butler=wanted.butler, limit=wanted.limit, cursor=wanted.cursor
            )
            return page_shape(found, [shapes.memory(one) for one in found.items])

        return await desk.answer(request, "dead_letters", work)

    @router.post("/dead_letters/{handle}/requeue", **about(REQUEUED), **_takes(Requeueing))
    async def requeue(
        request: Request,
        handle: Annotated[str, InPath(description="Short reference or id of the episode.", max_length=200)],
    ) -> Response:
        """Have an episode wait for consolidation again, with all its tries before it."""
        given = await asked(request, Requeueing)

        async def work(visit: Visit) -> Shape:
            done = await dead_letters.requeue(
                visit.butler,
                [handle],
                visit.caller,
                again=bool(given.again),
                idempotency_key=given.idempotency_key,
            )
            return shapes_consolidation.requeued(done)

        return await desk.answer(request, "requeue", work, context=given.request_context)


def _tokens(router: APIRouter, desk: Desk) -> None:
    @router.get("/tokens", **about(page_schema(TOKEN)))
    async def list_tokens(request: Request, part: Annotated[Paged, Query()]) -> Response:
        """The tokens of your tenant, the newest first, without their secrets."""

        async def work(visit: Visit) -> Shape:
            tenant = visit.caller.principal.tenant
            found = await tokens.listed(visit.butler, tenant, visit.caller, limit=part.limit, cursor=part.cursor)
            return page_shape(found, [_token(one) for one in found.items])

        return await desk.answer(request, "tokens", work)

    @router.post("/tokens", **about(named(more(TOKEN, token=SECRET)), 201), **_takes(Wish, required=True))
    async def create_token(request: Request) -> Response:
        """Make a token for your tenant. `token` in the answer is the secret itself, which nobody can read again."""
        given = await asked(request, Wish)

        async def work(visit: Visit) -> Shape:
            wanted = NewToken(
                tenant=visit.caller.principal.tenant,
                butler=given.butler,
                role=given.role,
                label=given.label,
                expires_at=given.expires_at,
            )
            token, secret = await tokens.create(visit.butler, wanted, visit.caller)
            return {**_token(token), "token": secret}

        return await desk.answer(request, "tokens", work, context=given.request_context, status=201)

    @router.delete("/tokens/{id}", **about(named(TOKEN)))
    async def revoke_token(request: Request, id: Annotated[UUID, InPath(description="Id of the token.")]) -> Response:
        """Make a token worthless at once; a server may still know it for a few seconds."""

        async def work(visit: Visit) -> Shape:
            tenant = visit.caller.principal.tenant
            return _token(await tokens.revoke(visit.butler, tenant, id, visit.caller))

        return await desk.answer(request, "tokens", work)


def _token(token: Token) -> Shape:
    return {field.name: shapes.plain(getattr(token, field.name)) for field in fields(token)}


def _takes(kind: type[Asked], *, required: bool = False) -> dict[str, Any]:
    schema = dereference_refs(kind.model_json_schema())
    return {"openapi_extra": {"requestBody": body(schema, required=required)}}
