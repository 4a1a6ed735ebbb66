"""One run of consolidation: what it made of which episodes, to be decided on, or to be taken back."""

from nicegui import events, ui

from memory_butler.adapters.answering import Visit
from memory_butler.adapters.dashboard import distilling
from memory_butler.adapters.dashboard.acting import Done
from memory_butler.adapters.dashboard.calm import Calmly
from memory_butler.adapters.dashboard.distilling_parts import Changes
from memory_butler.adapters.dashboard.elements import Moment, chip, props_of, say, tag, text_of
from memory_butler.adapters.dashboard.focusing import Focus
from memory_butler.adapters.dashboard.handling import handled
from memory_butler.adapters.dashboard.making_sure import MakingSure
from memory_butler.adapters.dashboard.requeueing import tell_requeued
from memory_butler.adapters.dashboard.saying import counted
from memory_butler.adapters.dashboard.shell import follow
from memory_butler.adapters.dashboard.undoing import UndoBar
from memory_butler.adapters.dashboard.visitor import Visitor
from memory_butler.models import UndoReport
from memory_butler.operations import dead_letters, review, undo
from memory_butler.operations.diff import DiffLine, diff
from memory_butler.operations.review import Reviewed

Seen = tuple[Reviewed, tuple[DiffLine, ...]]


class OneRun:
    def __init__(self, visitor: Visitor, run: str) -> None:
        self._visitor = visitor
        self._run = run
        self._shown: Seen | None = None

    async def build(self) -> None:
        await follow(self._visitor, Calmly(self._refresh))
        found = await self._visitor.ask("runs", self._seen)
        with tag("p", "mb-lead"):
            tag("a", text="← All runs", href=distilling.PATH)
        with tag("div", "mb-stack"):
            self._head = tag("section", "mb-card mb-distil-head", aria_label="The run")
            with tag("section", "mb-card", aria_label="What came of it"):
                tag("h2", text="What came of it")
                self._nothing = tag("p", "mb-muted mb-nothing", text="")
                self._changes = Changes(groups=[], busy=False)
        self._changes.on("decide", handled(self._on_decide))
        self._bar = UndoBar(self._visitor, self._refresh)
        self._is_sure = MakingSure()
        self._keyboard = Focus()
        self._show(found)

    # --- reading ---

    async def _seen(self, visit: Visit) -> Seen:
        seen = await review.show(visit.butler, self._run, visit.caller)
        return seen, await diff(visit.butler, visit.caller, seen.run.butler, seen.lines)

    async def _refresh(self) -> None:
        self._show(await self._visitor.ask("runs", self._seen))

    # --- deciding ---

    async def _on_decide(self, event: events.GenericEventArguments) -> None:
        given = event.args if isinstance(event.args, dict) else {}
        place, how = given.get("place"), given.get("how")
        if not isinstance(place, int) or how not in ("approve", "reject") or self._shown is None:
            return
        seen, lines = self._shown
        said = distilling.decision_words(lines, place, how)
        if how == "approve":
            await self._decide(approve=[place], said=said)
        elif not seen.settled_by([place]) or await self._is_sure(
            "Reject the last item?", distilling.rejected_means(lines, place), button="Reject"
        ):
            await self._decide(reject=[place], said=said)
        else:
            return
        self._keyboard.put(distilling.places_after(lines, place, how))

    async def _on_approve_all(self) -> None:
        await self._decide(rest="approved")

    async def _on_reject_all(self) -> None:
        assert self._shown
        means = distilling.rejected_means(self._shown[1])
        if await self._is_sure("Reject everything that is open?", means, button="Reject all"):
            await self._decide(rest="rejected")

    async def _decide(
        self,
        *,
        approve: list[int] | None = None,
        reject: list[int] | None = None,
        rest: str | None = None,
        said: str = "",
    ) -> None:
        seen = await self._visitor.ask(
            "review",
            lambda visit: review.decide(
                visit.butler, self._run, visit.caller, approve=approve, reject=reject, rest=rest
            ),
            request_id=self._bar.new_id(),
        )
        if seen.run.state == "applied":
            self._bar.offer(Done("Decided: what was approved is stored", None, seen.run.id))
        elif seen.run.state == "rejected":
            self._bar.offer(Done("Decided: everything was rejected. Its episodes can be distilled again", None, None))
        elif said:
            ui.notify(said, type="positive", position="bottom")
        await self._refresh()

    async def _on_again(self) -> None:
        """Have the episodes of this run wait once more, as if nobody had distilled them."""
        request_id = self._bar.new_id()
        done = await self._visitor.ask(
            "requeue",
            lambda visit: dead_letters.requeue(visit.butler, (), visit.caller, run=self._run, again=True),
            request_id=request_id,
        )
        await tell_requeued(self._visitor, self._bar, done, request_id)

    # --- taking back ---

    async def _on_undo(self) -> None:
        """Say first what would be taken back, then do it."""
        plan = await self._undo(dry_run=True)
        back, stays = distilling.undo_lines(plan)
        title = f"Take back {counted(plan.undone, 'change')}?"
        if not plan.undone:
            ui.notify("Nothing of this run can be taken back now.", type="warning", position="bottom")
        elif await self._is_sure(title, back, stays, button="Take it back"):
            report = await self._undo(skip_changed=bool(plan.skipped))
            words = f"Taken back: {counted(report.undone, 'change')} of this run"
            self._bar.offer(Done(words, None, report.undo_id))
            await self._refresh()

    async def _undo(self, *, dry_run: bool = False, skip_changed: bool = False) -> UndoReport:
        return await self._visitor.ask(
            "memory_undo",
            lambda visit: undo.undo(visit.butler, self._run, visit.caller, dry_run=dry_run, skip_changed=skip_changed),
            request_id=self._bar.new_id(),
        )

    # --- what is shown ---

    def _show(self, found: Seen) -> None:
        if found == self._shown:
            return
        self._shown = found
        seen, lines = found
        self._head.clear()
        with self._head:
            self._draw_head(seen, lines)
        decides = seen.run.state == "waiting" and self._visitor.may("review")
        props_of(self._changes, groups=distilling.groups(lines, decides=decides))
        say(self._nothing, "" if lines else "Nothing worth keeping was found." * (seen.run.state == "applied"))
        self._nothing.set_visibility(not lines)

    def _draw_head(self, seen: Reviewed, lines: tuple[DiffLine, ...]) -> None:
        run = seen.run
        label, kind = distilling.STATES.get(run.state, (run.state, ""))
        with tag("div", "mb-line"):
            tag("h2", text="Run of")
            tag("b", text=text_of(run.butler), dir="auto")
            chip(label, kind)
            if seen.undone:
                chip("taken back")
            Moment(run.claimed_at)
        about = [f"distilled by {run.distiller}", counted(run.episodes, "episode")]
        cost = distilling.cost_words(run.input_tokens + run.output_tokens, run.cost_microdollars / 1e6)
        tag("p", "mb-muted", text=text_of(" · ".join([*about, *([cost] if cost else [])])))
        if run.error:
            tag("p", "mb-note mb-note-bad mb-words", text=text_of(run.error), dir="auto")
        if seen.undone:
            with tag("p", "mb-note"):
                tag("span", text=distilling.undone_words(seen) + " ")
                Moment(seen.undone.undone_at)
        if seen.episodes:
            with tag("p", "mb-small mb-distil-from"):
                tag("span", "mb-muted", text="From")
                for one in distilling.episode_links(seen)[:50]:
                    tag("a", "mb-chip mb-chip-episode", text=one["ref"], href=one["href"])
        self._draw_acts(seen, lines)

    def _draw_acts(self, seen: Reviewed, lines: tuple[DiffLine, ...]) -> None:
        if seen.run.state == "waiting":
            tag("p", "mb-note mb-note-warn", text=distilling.decided_words(lines))
            if self._visitor.may("review"):
                with tag("div", "mb-line mb-distil-act"):
                    approve = tag("button", "mb-button", text="Approve all", type="button")
                    approve.on("click", handled(self._on_approve_all))
                    reject = tag("button", "mb-quiet mb-quiet-bad", text="Reject all", type="button")
                    reject.on("click", handled(self._on_reject_all))
            return
        again = seen.can_distil_again and self._visitor.may("requeue")
        back = seen.can_undo and self._visitor.may("memory_undo")
        if not (again or back):
            return
        if again:
            tag("p", "mb-note", text=distilling.AGAIN)
        with tag("div", "mb-line mb-distil-act"):
            if again:
                button = tag("button", "mb-quiet", text="Distil again", type="button")
                button.on("click", handled(self._on_again))
            if back:
                button = tag("button", "mb-quiet mb-quiet-bad", text="Undo this run …", type="button")
                button.on("click", handled(self._on_undo))
