"""One consolidation run: its items and episodes, with the actions to review, undo or requeue it."""

from functools import partial

from nicegui import events, ui

from memory_butler.adapters.dashboard.actions.error_handling import handle_errors
from memory_butler.adapters.dashboard.actions.memory_actions import ActionResult, find_undo_id
from memory_butler.adapters.dashboard.actions.throttle import Throttle
from memory_butler.adapters.dashboard.components.confirm_dialog import ConfirmDialog
from memory_butler.adapters.dashboard.components.elements import Timestamp, card, chip, tag, text_tag, visible_text
from memory_butler.adapters.dashboard.components.page_frame import button, subscribe
from memory_butler.adapters.dashboard.components.undo_bar import UndoBar
from memory_butler.adapters.dashboard.components.vue_components import KeyboardFocus, RunItems
from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.adapters.dashboard.view_models import consolidation_rows
from memory_butler.adapters.dashboard.view_models.phrases import count_text
from memory_butler.adapters.mcp.tool_base import CallContext
from memory_butler.models import MemoryType
from memory_butler.operations.consolidation import dead_letters, review
from memory_butler.operations.consolidation.diff import DiffLine, diff

RunDetails = tuple[review.RunReview, tuple[DiffLine, ...]]


class RunPanel:
    def __init__(self, context: PageContext, run: str) -> None:
        self._context = context
        self._run = run
        self._shown: RunDetails | None = None

    async def build(self) -> None:
        await subscribe(self._context, Throttle(self._refresh))
        details = await self._context.call("runs", self._load)
        with tag("p", "mb-lead"):
            tag("a", text="← All runs", href=consolidation_rows.PATH)
        with tag("div", "mb-stack"):
            self._head = tag("section", "mb-card mb-consolidation-head", aria_label="Run")
            with card("Result", aria_label="Result"):
                self._nothing = text_tag("p", "mb-muted mb-empty-text", text="")
                self._changes = RunItems(groups=[], busy=False)
        self._changes.on("decide", handle_errors(self._on_decide))
        self._bar = UndoBar(self._context, self._refresh)
        self._confirm = ConfirmDialog()
        self._keyboard = KeyboardFocus()
        self._show(details)

    # --- reading ---

    async def _load(self, call: CallContext) -> RunDetails:
        reviewed = await review.get_run(call.resources, self._run, call.caller)
        return reviewed, await diff(call.resources, call.caller, reviewed.run.butler, reviewed.lines)

    async def _refresh(self) -> None:
        self._show(await self._context.call("runs", self._load))

    # --- deciding ---

    async def _on_decide(self, event: events.GenericEventArguments) -> None:
        args = event.args if isinstance(event.args, dict) else {}
        place, decision = args.get("place"), args.get("decision")
        if not isinstance(place, int) or decision not in ("approve", "reject") or self._shown is None:
            return
        reviewed, lines = self._shown
        message = consolidation_rows.decision_text(lines, place, decision)
        if decision == "approve":
            await self._decide(approve=[place], message=message)
        elif not reviewed.settled_by([place]) or await self._confirm(
            "Reject the last item?", consolidation_rows.rejection_effects(lines, place), button="Reject"
        ):
            await self._decide(reject=[place], message=message)
        else:
            return
        self._keyboard.focus_first(consolidation_rows.focus_after(lines, place, decision))

    async def _on_reject_all(self) -> None:
        assert self._shown
        effects = consolidation_rows.rejection_effects(self._shown[1])
        if await self._confirm("Reject all open items?", effects, button="Reject all"):
            await self._decide(rest="rejected")

    async def _decide(
        self,
        *,
        approve: list[int] | None = None,
        reject: list[int] | None = None,
        rest: str | None = None,
        message: str = "",
    ) -> None:
        reviewed = await self._context.run(
            "review",
            review.decide,
            self._run,
            approve=approve,
            reject=reject,
            rest=rest,
            request_id=self._bar.new_request_id(),
        )
        if reviewed.run.state == "applied":
            self._bar.show(ActionResult("Review finished: approved items are stored", None, reviewed.run.id))
        elif reviewed.run.state == "rejected":
            self._bar.show(
                ActionResult("Review finished: everything was rejected. You can requeue the episodes", None, None)
            )
        elif message:
            ui.notify(message, type="positive", position="bottom")
        await self._refresh()

    async def _on_requeue(self) -> None:
        request_id = self._bar.new_request_id()
        requeued = await self._context.run(
            "requeue", dead_letters.requeue, (), run=self._run, again=True, request_id=request_id
        )
        await notify_requeued(self._context, self._bar, requeued, request_id)

    # --- undo ---

    async def _on_undo(self) -> None:
        """Show what would be undone, then undo it."""
        report = await self._bar.undo_group(self._run, self._confirm, refused="This run can no longer be undone.")
        if report:
            message = f"Undone: {count_text(report.undone, 'change')} of this run"
            self._bar.show(ActionResult(message, None, report.undo_id))
            await self._refresh()

    # --- drawing ---

    def _show(self, details: RunDetails) -> None:
        if details == self._shown:
            return
        self._shown = details
        reviewed, lines = details
        self._head.clear()
        with self._head:
            self._draw_head(reviewed, lines)
        can_decide = reviewed.run.state == "waiting" and self._context.may("review")
        self._changes.set_props(groups=consolidation_rows.item_groups(lines, can_decide=can_decide))
        self._nothing.set_text(consolidation_rows.nothing_kept_text(reviewed))
        self._nothing.set_visibility(not lines or bool(reviewed.nothing_kept))

    def _draw_head(self, reviewed: review.RunReview, lines: tuple[DiffLine, ...]) -> None:
        run = reviewed.run
        label, kind = consolidation_rows.STATES.get(run.state, (run.state, ""))
        with tag("div", "mb-line"):
            tag("h2", text="Run of")
            tag("b", text=visible_text(run.butler), dir="auto")
            chip(label, kind)
            if reviewed.undone:
                chip("undone")
            Timestamp(run.claimed_at)
        about = [f"distiller: {run.distiller}", count_text(run.episodes, "episode")]
        cost = consolidation_rows.cost_text(run.input_tokens + run.output_tokens, run.cost_microdollars / 1e6)
        tag("p", "mb-muted", text=visible_text(" · ".join([*about, *([cost] if cost else [])])))
        if run.error:
            tag("p", "mb-note mb-note-bad mb-text", text=visible_text(run.error), dir="auto")
        if reviewed.undone:
            with tag("p", "mb-note"):
                tag("span", text=consolidation_rows.undone_text(reviewed) + " ")
                Timestamp(reviewed.undone.undone_at)
        if reviewed.episodes:
            with tag("p", "mb-small mb-consolidation-from"):
                tag("span", "mb-muted", text="From")
                for one in consolidation_rows.episode_links(reviewed)[:50]:
                    tag("a", "mb-chip mb-chip-episode", text=one["ref"], href=one["href"])
        self._draw_actions(reviewed, lines)

    def _draw_actions(self, reviewed: review.RunReview, lines: tuple[DiffLine, ...]) -> None:
        if reviewed.run.state == "waiting":
            tag("p", "mb-note mb-note-warn", text=consolidation_rows.progress_text(lines))
            if self._context.may("review"):
                with tag("div", "mb-line mb-consolidation-act"):
                    button("Approve all", "mb-button", partial(self._decide, rest="approved"))
                    button("Reject all", "mb-button-small mb-button-danger", self._on_reject_all)
            return
        can_requeue = reviewed.can_distil_again and self._context.may("requeue")
        can_undo = reviewed.can_undo and self._context.may("memory_undo")
        if not (can_requeue or can_undo):
            return
        if can_requeue:
            tag("p", "mb-note", text=consolidation_rows.REQUEUE_HINT)
        with tag("div", "mb-line mb-consolidation-act"):
            if can_requeue:
                button("Requeue episodes", "mb-button-small", self._on_requeue)
            if can_undo:
                button("Undo this run…", "mb-button-small mb-button-danger", self._on_undo)


async def notify_requeued(
    context: PageContext, bar: UndoBar, requeued: dead_letters.RequeueResult, request_id: str
) -> None:
    """Report requeued episodes and offer to undo it. The first episode leads to the undo id of the whole group."""
    if requeued.left:
        ui.notify(visible_text(consolidation_rows.not_requeued_text(requeued)), type="warning", position="bottom")
    if requeued.again:
        undo_id = await find_undo_id(context, MemoryType.EPISODE, requeued.again[0], request_id)
        bar.show(ActionResult(consolidation_rows.requeued_text(requeued), None, undo_id))
