"""Routes for administrators: jobs, consolidation runs and their review, dead letters, API tokens."""

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi import Path as InPath
from fastmcp.utilities.json_schema import dereference_refs
from pydantic import Field
from starlette.responses import Response

from memory_butler.adapters.mcp.arguments import Flag, Key, Moment, Reason
from memory_butler.adapters.mcp.tool_base import CallContext
from memory_butler.adapters.rest.listings import HandleInPath, Paged, Text, TypeInPath
from memory_butler.adapters.rest.request_handler import RequestBody, RequestHandler, parse_body
from memory_butler.adapters.rest.schemas import TOTALS, documented, request_body
from memory_butler.adapters.wire import answers, consolidation
from memory_butler.models import Episode, NewToken, Stored, Token
from memory_butler.models.listings import Page
from memory_butler.models.wire.administration_answers import ConsolidationAnswer
from memory_butler.models.wire.codec import INLINE, copy_fields
from memory_butler.models.wire.memory_answers import CreatedToken, QuarantineAnswer, UndoAnswer
from memory_butler.models.wire.purge_answers import PurgeReceipts, ReceiptCheck
from memory_butler.operations.access import tokens
from memory_butler.operations.browse import listings
from memory_butler.operations.consolidation import dead_letters, review, run_now
from memory_butler.operations.consolidation.diff import diff
from memory_butler.operations.history import undo
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.trust import purge_receipts as receipts
from memory_butler.operations.trust import quarantine
from memory_butler.policy.memories.validation import LABEL_CHARACTERS

RunId = Annotated[str, InPath(description="Id of the run.", json_schema_extra={"format": "uuid"})]
State = Literal["claimed", "waiting", "applied", "rejected", "failed", "lost", "rehearsed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAnswer:
    """The status of a job for one butler, with the note of its last run."""

    job: Annotated[job_status.JobStatus, INLINE]
    note: str | None


class RunFilter(Paged):
    butler: Text | None = Field(None, description="Only runs of this butler.")
    state: State | None = Field(None, description="Only runs in this state; `waiting` runs await a decision.")


class ButlerFilter(Paged):
    butler: Text | None = Field(None, description="Only entries of this butler.")


class Decision(RequestBody):
    items: list[int] | None = Field(
        None, max_length=1000, description="Numbers of the items; default all undecided items."
    )
    idempotency_key: Key = None


class UndoOptions(RequestBody):
    skip_changed: Flag = Field(None, description="Skip memories that changed since, and name them.")
    dry_run: Flag = Field(None, description="Only report what would be undone.")
    idempotency_key: Key = None


class RequeueOptions(RequestBody):
    again: Flag = Field(None, description="Also requeue a consolidated episode; it is distilled again.")
    idempotency_key: Key = None


class ConsolidationOptions(RequestBody):
    butler: str | None = Field(None, max_length=LABEL_CHARACTERS, description="Only the episodes of this butler.")
    limit: int = Field(50, ge=1, le=1000, description="Maximum number of episodes of this call.")


class QuarantineDecision(RequestBody):
    reason: Reason = None
    idempotency_key: Key = None


class TokenRequest(RequestBody):
    butler: str = Field(max_length=LABEL_CHARACTERS, description="Butler that the token acts as.")
    role: Literal["reader", "agent", "admin", "operator"] = Field("agent", description="Role of the token.")
    label: str | None = Field(None, max_length=LABEL_CHARACTERS, description="Purpose of the token.")
    expires_at: Moment = Field(None, description="Expiry time; default never.")


def administration_routes(handler: RequestHandler) -> APIRouter:
    router = APIRouter(tags=["administration"])
    for add in (_jobs, _runs, _consolidate, _review, _dead_letters, _quarantine, _purge_receipts, _tokens):
        add(router, handler)
    return router


def _jobs(router: APIRouter, handler: RequestHandler) -> None:
    @router.get("/jobs", **documented(Page[JobAnswer], omits=TOTALS))
    async def jobs(request: Request, options: Annotated[ButlerFilter, Query()]) -> Response:
        """List the maintenance jobs of each butler: last run, next run, status."""
        to_answer = partial(answers.page_of, to_entry=lambda job: JobAnswer(job=job, note=job.note))
        return await handler.run(
            request, "jobs", job_status.listed, only_butler=options.butler, to_answer=to_answer, **options.page()
        )


def _runs(router: APIRouter, handler: RequestHandler) -> None:
    @router.get("/runs", **documented(Page[consolidation.RunRecord], omits=TOTALS))
    async def runs(request: Request, options: Annotated[RunFilter, Query()]) -> Response:
        """List consolidation runs, newest first."""
        filters = {"only_butler": options.butler, "state": options.state, **options.page()}
        to_answer = partial(answers.page_of, to_entry=consolidation.run_record)
        return await handler.run(request, "runs", listings.runs, to_answer=to_answer, **filters)

    @router.get("/runs/{run}", **documented(consolidation.RunDetail))
    async def one_run(request: Request, run: RunId) -> Response:
        """Get one run with its items, each with the previous value."""

        async def work(call: CallContext) -> consolidation.RunDetail:
            return await _detail(call, await review.get_run(call.resources, run, call.caller))

        return await handler.answer(request, "runs", work)


async def _detail(call: CallContext, reviewed: review.RunReview) -> consolidation.RunDetail:
    lines = await diff(call.resources, call.caller, reviewed.run.butler, reviewed.lines)
    return consolidation.run_detail(reviewed, lines)


def _consolidate(router: APIRouter, handler: RequestHandler) -> None:
    @router.post("/consolidate", **documented(ConsolidationAnswer), **_takes(ConsolidationOptions))
    async def consolidate(request: Request) -> Response:
        """Distil waiting episodes now, instead of at the scheduled time. Repeat the call while `more` is true."""
        body = await parse_body(request, ConsolidationOptions)

        async def work(call: CallContext) -> ConsolidationAnswer:
            reports = await run_now.consolidate_now(
                call.resources, call.caller, only_butler=body.butler, limit=body.limit
            )
            outcomes = Counter(line.outcome for report in reports for line in report.lines)
            episodes = run_now.episode_count(reports)
            return ConsolidationAnswer(episodes=episodes, outcomes=dict(outcomes) or None, more=episodes >= body.limit)

        return await handler.answer(request, "consolidate", work, context=body.request_context)


def _review(router: APIRouter, handler: RequestHandler) -> None:
    async def decide(request: Request, run: str, *, approve: bool) -> Response:
        body = await parse_body(request, Decision)

        async def work(call: CallContext) -> consolidation.RunDetail:
            rest = ("approved" if approve else "rejected") if body.items is None else None
            items = {"approve" if approve else "reject": body.items or []}
            reviewed = await review.decide(
                call.resources, run, call.caller, rest=rest, idempotency_key=body.idempotency_key, **items
            )
            return await _detail(call, reviewed)

        return await handler.answer(request, "review", work, context=body.request_context)

    @router.post("/runs/{run}/approve", **documented(consolidation.RunDetail), **_takes(Decision))
    async def approve(request: Request, run: RunId) -> Response:
        """Approve items of a run that awaits a decision. After the last decision the approved items are stored."""
        return await decide(request, run, approve=True)

    @router.post("/runs/{run}/reject", **documented(consolidation.RunDetail), **_takes(Decision))
    async def reject(request: Request, run: RunId) -> Response:
        """Reject items of a run that awaits a decision."""
        return await decide(request, run, approve=False)

    @router.post("/runs/{run}/undo", **documented(UndoAnswer), **_takes(UndoOptions))
    async def undo_run(request: Request, run: RunId) -> Response:
        """Undo what a run stored and changed."""
        body = await parse_body(request, UndoOptions)

        async def work(call: CallContext) -> UndoAnswer:
            await review.get_run(call.resources, run, call.caller)
            report = await undo.undo(
                call.resources,
                run,
                call.caller,
                skip_changed=bool(body.skip_changed),
                dry_run=bool(body.dry_run),
                idempotency_key=body.idempotency_key,
            )
            return answers.undo_answer(report)

        return await handler.answer(request, "memory_undo", work, context=body.request_context)


def _dead_letters(router: APIRouter, handler: RequestHandler) -> None:
    @router.get("/dead_letters", **documented(Page[Episode], omits=TOTALS))
    async def given_up(request: Request, options: Annotated[ButlerFilter, Query()]) -> Response:
        """List episodes that consolidation gave up, oldest first, with the last error."""
        return await handler.run(
            request, "dead_letters", listings.dead_letters, only_butler=options.butler, **options.page()
        )

    @router.post("/dead_letters/{handle}/requeue", **documented(consolidation.RequeueAnswer), **_takes(RequeueOptions))
    async def requeue(
        request: Request,
        handle: Annotated[str, InPath(description="Reference or id of the episode.", max_length=200)],
    ) -> Response:
        """Requeue an episode with a fresh retry count."""
        body = await parse_body(request, RequeueOptions)

        async def work(call: CallContext) -> consolidation.RequeueAnswer:
            done = await dead_letters.requeue(
                call.resources,
                [handle],
                call.caller,
                again=bool(body.again),
                idempotency_key=body.idempotency_key,
            )
            return consolidation.requeue_answer(done)

        return await handler.answer(request, "requeue", work, context=body.request_context)


def _quarantine(router: APIRouter, handler: RequestHandler) -> None:
    @router.get("/quarantine", **documented(QuarantineAnswer))
    async def quarantined(
        request: Request, limit: Annotated[int, Query(ge=1, le=1000, description="Maximum number of entries.")] = 100
    ) -> Response:
        """List the memories that are not used until a person approves them, oldest first, each with the reason."""
        return await handler.run(
            request, "quarantine", quarantine.inbox, limit=limit, to_answer=lambda found: found.answer()
        )

    async def decide(request: Request, operation: Any, type: str, handle: str) -> Response:
        body = await parse_body(request, QuarantineDecision)

        async def work(call: CallContext) -> Stored:
            options = {"reason": body.reason, "idempotency_key": body.idempotency_key}
            stored: Stored = await operation(call.resources, type, handle, call.caller, **options)
            return stored

        return await handler.answer(request, "quarantine", work, context=body.request_context)

    @router.post("/quarantine/{type}/{handle}/approve", **documented(Stored), **_takes(QuarantineDecision))
    async def approve_memory(request: Request, type: TypeInPath, handle: HandleInPath) -> Response:
        """Put a quarantined memory into use. A contested value supersedes the current one."""
        return await decide(request, quarantine.approve, type, handle)

    @router.post("/quarantine/{type}/{handle}/reject", **documented(Stored), **_takes(QuarantineDecision))
    async def reject_memory(request: Request, type: TypeInPath, handle: HandleInPath) -> Response:
        """Leave a quarantined memory out of use. It can be restored like a forgotten one."""
        return await decide(request, quarantine.reject, type, handle)


def _purge_receipts(router: APIRouter, handler: RequestHandler) -> None:
    @router.get("/purge_receipts", **documented(PurgeReceipts))
    async def purge_receipts(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=receipts.LISTED, description="Maximum number of receipts.")] = 50,
    ) -> Response:
        """List receipts of purges, newest first: what was erased, by whom, when and why, without words."""

        async def work(call: CallContext) -> PurgeReceipts:
            return PurgeReceipts(items=tuple(await receipts.receipts(call.resources, call.caller, limit=limit)))

        return await handler.answer(request, "purge_receipts", work)

    @router.get("/purge_receipts/{id}/verify", **documented(ReceiptCheck))
    async def verify_purge(request: Request, id: Annotated[UUID, InPath(description="Id of the receipt.")]) -> Response:
        """Check that a receipt matches the log and that nothing it names came back."""

        async def work(call: CallContext) -> ReceiptCheck:
            return await receipts.verify(call.resources, id, call.caller)

        return await handler.answer(request, "purge_receipts", work)


def _tokens(router: APIRouter, handler: RequestHandler) -> None:
    @router.get("/tokens", **documented(Page[Token], omits=TOTALS))
    async def list_tokens(request: Request, page: Annotated[Paged, Query()]) -> Response:
        """List the API tokens of your tenant, newest first, without their secrets."""

        async def work(call: CallContext) -> Page[Token]:
            tenant = call.caller.principal.tenant
            return await tokens.list_tokens(call.resources, tenant, call.caller, **page.page())

        return await handler.answer(request, "tokens", work)

    @router.post("/tokens", **documented(CreatedToken, 201), **_takes(TokenRequest, required=True))
    async def create_token(request: Request) -> Response:
        """Create an API token for your tenant. `token` in the response is the secret; it is shown only once."""
        body = await parse_body(request, TokenRequest)

        async def work(call: CallContext) -> CreatedToken:
            new = copy_fields(NewToken, body, tenant=call.caller.principal.tenant)
            token, secret = await tokens.create(call.resources, new, call.caller)
            return copy_fields(CreatedToken, token, token=secret)

        return await handler.answer(request, "tokens", work, context=body.request_context, status=201)

    @router.delete("/tokens/{id}", **documented(Token))
    async def revoke_token(request: Request, id: Annotated[UUID, InPath(description="Id of the token.")]) -> Response:
        """Revoke an API token. Servers may accept it for a few more seconds."""

        async def work(call: CallContext) -> Token:
            return await tokens.revoke(call.resources, call.caller.principal.tenant, id, call.caller)

        return await handler.answer(request, "tokens", work)


def _takes(kind: type[RequestBody], *, required: bool = False) -> dict[str, Any]:
    schema = dereference_refs(kind.model_json_schema())
    return {"openapi_extra": {"requestBody": request_body(schema, required=required)}}
