"""Consolidation runs in the terminal: a diff per run, and the next commands."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from memory_butler.adapters.cli.tables.memories import date_of, indented, safe, unwrapped
from memory_butler.english.text.normalize import as_words
from memory_butler.models import EmptyEpisode, Episode, RunReport
from memory_butler.operations.consolidation.dead_letters import RequeueResult
from memory_butler.operations.consolidation.diff import DiffLine
from memory_butler.operations.consolidation.review import CHANGES, RunReview
from memory_butler.policy.memories.text import subject_and_predicate
from memory_butler.store.consolidation.runs import Run, Undone

LONGEST = 300
_MARKS = {
    "created": ("+", "green"),
    "superseded": ("~", "yellow"),
    "confirmed": ("✓", "cyan"),
    "refused": ("✗", "red"),
    "rejected": ("✗", "red"),
}
_WORDS = (
    ("created", "new"),
    ("superseded", "updated"),
    ("confirmed", "confirmed"),
    ("proposed", "to review"),
    ("approved", "approved"),
    ("rejected", "rejected"),
    ("refused", "refused"),
)
RunDiff = tuple[RunReport, Sequence[DiffLine]]


def run_reports(diffs: Sequence[RunDiff], *, undo: str = "memory-butler undo") -> RenderableType:
    """A diff per run, and a summary of all."""
    parts: list[RenderableType] = []
    for report, lines in diffs:
        parts += [run_report(report, lines, undo=undo), Text("")]
    if len(diffs) > 1:
        everything = [line for _, lines in diffs for line in lines]
        number = len({ref for report, _ in diffs for ref in report.episodes})
        failed = sum(report.state == "failed" for report, _ in diffs)
        came = f"all {failed} failed" if failed == len(diffs) else summarize(everything)
        more = f"; {failed} failed" if 0 < failed < len(diffs) else ""
        parts.append(Text(f"{len(diffs)} runs, {_episodes(number)}: {came}{more}.", style="bold"))
    else:
        parts.pop()
    return Group(*parts)


def run_report(report: RunReport, lines: Sequence[DiffLine], *, undo: str = "memory-butler undo") -> RenderableType:
    rehearsed = report.state == "rehearsed"
    name = "Dry run" if rehearsed else f"Run {report.run}"
    parts: list[RenderableType] = [
        Text(name, style="bold"),
        Text(safe(f"{report.butler} · {_episodes(len(report.episodes))} · {report.distiller}"), style="dim"),
    ]
    if lines:
        parts.append(diff(lines, is_real=not rehearsed))
    if report.state == "failed":
        parts.append(Text(f"✗ {safe(report.error or 'It failed.')}", style="red"))
        parts.append(Text(f"Nothing was changed; {_episodes(len(report.episodes))} will be retried."))
        return Group(*parts)
    parts += _nothing_kept(report.nothing_kept)
    parts.append(Text(f"{_episodes(len(report.episodes))}: {summarize(lines)}{_cost(report)}."))
    if rehearsed:
        parts.append(Text("This was a dry run: nothing was changed."))
    elif report.state == "waiting":
        parts.append(unwrapped(f"It waits for review:\n  memory-butler consolidate review {report.run}"))
    elif any(line.outcome in CHANGES for line in lines):
        parts.append(unwrapped(f"To undo: {undo} {report.run}"))
    return Group(*parts)


def _nothing_kept(episodes: Sequence[EmptyEpisode]) -> list[RenderableType]:
    """One line per episode of which nothing was kept, with its words."""
    return [
        Text.assemble(("  ∅ ", "dim"), (f"episode:{one.ref}", "cyan"), (f" nothing kept: {safe(one.words)}", "dim"))
        for one in episodes
    ]


def summarize(lines: Iterable[DiffLine]) -> str:
    """Counts by outcome: "3 new, 1 updated, 2 refused"."""
    outcomes = [line.outcome for line in lines]
    counts = [f"{outcomes.count(outcome):,} {word}" for outcome, word in _WORDS if outcome in outcomes]
    return ", ".join(counts) or "no items"


def diff(lines: Sequence[DiffLine], *, is_real: bool = True, numbered: bool = False) -> RenderableType:
    """One line per item, marked by its outcome."""
    grid = Table.grid(padding=(0, 1))
    if numbered:
        grid.add_column(justify="right", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for line in lines:
        mark, style = _MARKS.get(line.outcome) or _waiting_mark(line)
        has_ref = is_real or line.outcome == "confirmed"
        cells = [
            Text(mark, style=style),
            Text(safe(line.ref) if line.ref and has_ref else "", style="cyan"),
            item_text(line),
        ]
        grid.add_row(*([Text(str(line.place)), *cells] if numbered else cells))
    return indented(grid)


def _waiting_mark(line: DiffLine) -> tuple[str, str]:
    """The mark of a pending item, by its effect on the current state."""
    if line.kind == "confirmation" or line.old_content == line.content:
        return _MARKS["confirmed"]
    return _MARKS["created" if line.old_content is None else "superseded"]


def item_text(line: DiffLine) -> RenderableType:
    """The text of an item, the value it replaces, its evidence or the reason of a refusal."""
    words = Text()
    if line.subject:
        words.append(safe(f"{subject_and_predicate(line.subject, line.predicate, line.content or '')}: "), style="bold")
    words.append(safe(_cut(line.content or "(empty)")))
    if line.valid_at:
        words.append(safe(f" (on {line.valid_at[:10]})"))
    if line.old_content not in (None, line.content):
        words.append(f"\nwas: {safe(_cut(line.old_content or ''))}", style="yellow")
        words.append(f" ({line.replaced})" if line.replaced else "", style="dim")
    if line.outcome == "refused":
        words.append(f"\n{safe(line.said or as_words(line.reason or 'refused'))}", style="red")
    elif line.outcome in ("rejected", "approved"):
        words.append(f"\n{line.outcome}", style="bold")
    elif line.evidence:
        words.append(f"\nfrom {safe(', '.join(line.evidence))}", style="dim")
    return words


def run_list(runs: Sequence[Run], *, empty: str, show: str) -> RenderableType:
    """Runs, the latest first, and the subcommand that shows one of them."""
    if not runs:
        return Text(empty)
    return Group(*(_run_summary(run) for run in runs), unwrapped(f"Show one: memory-butler consolidate {show} RUN"))


def _run_summary(run: Run) -> RenderableType:
    style = {"failed": "red", "lost": "red", "waiting": "yellow"}.get(run.state, "")
    about = [date_of(run.claimed_at), run.butler, _episodes(run.episodes), run.distiller]
    tokens = run.input_tokens + run.output_tokens
    about += [f"{tokens:,} tokens"] if tokens else []
    about += [f"{run.cost_microdollars / 1e6:.4f} dollars"] if run.cost_microdollars else []
    parts = [
        Text.assemble((str(run.id), "cyan"), "  ", (run.state, style)),
        Text(safe("  " + " · ".join(about)), "dim"),
    ]
    return Group(*parts, *([Text(safe(f"  {run.error}"), style="red")] if run.error else []))


def reviewed(result: RunReview, lines: Sequence[DiffLine], *, undo: str = "memory-butler undo") -> RenderableType:
    """A run with its numbered items, and the next commands."""
    run = result.run
    parts: list[RenderableType] = [_run_summary(run)]
    if result.episodes:
        parts.append(Text(safe("  " + ", ".join(f"episode:{ref}" for ref in result.episodes)), style="dim"))
    if lines:
        parts.append(diff(lines, numbered=True))
    parts += _nothing_kept(result.nothing_kept)
    if run.state in ("applied", "waiting", "rejected"):
        parts.append(Text(f"{summarize(lines).capitalize()}."))
    if run.state == "claimed":
        parts.append(Text(f"A worker is processing it, until {run.lease_until:%H:%M} UTC at the latest."))
    elif run.state == "waiting":
        parts.append(unwrapped(f"To approve all items:\n  memory-butler consolidate approve {run.id}"))
        parts.append(
            Text(
                "Item numbers after it approve only these; `reject` rejects items, and --rest decides about the others."
                " Nothing is applied before all items are decided."
            )
        )
    if result.undone:
        parts.append(Text(_undone(result.undone), style="yellow"))
    elif result.can_undo:
        parts.append(unwrapped(f"To undo: {undo} {run.id}"))
    return Group(*parts)


def _undone(undone: Undone) -> str:
    what = (
        "This run was"
        if undone.undone == undone.changes
        else f"{undone.undone:,} of its {undone.changes:,} changes were"
    )
    return safe(f"{what} undone on {date_of(undone.undone_at)} UTC by {undone.undone_by}.")


def dead_letters(episodes: Sequence[Episode]) -> RenderableType:
    if not episodes:
        return Text("There are no dead letters.")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for episode in episodes:
        attempts = f"{episode.consolidation_attempts} attempt{'' if episode.consolidation_attempts == 1 else 's'}"
        about = f"{episode.consolidation_status.replace('_', ' ')} after {attempts} · {episode.butler} · "
        words = Text.assemble(
            safe(_cut(" ".join(episode.content.split()), 120)),
            (f"\n{safe(about)}{date_of(episode.created_at)}", "dim"),
            (f"\n{safe(episode.last_consolidation_error or 'no error recorded')}", "red"),
        )
        grid.add_row(Text(f"episode:{episode.ref}", style="cyan"), words)
    number = f"{len(episodes):,} dead letter{'s' if len(episodes) > 1 else ''}."
    return Group(grid, unwrapped(f"{number} Requeue: memory-butler dead-letters requeue REF, or --all"))


def requeued(result: RequeueResult) -> RenderableType:
    parts: list[RenderableType] = [Text(f"! {safe(reason)}", style="yellow") for _, reason in result.left]
    if result.again:
        names = ", ".join(f"episode:{ref}" for ref in result.again[:20]) + (" …" if len(result.again) > 20 else "")
        parts.append(Text(f"{_episodes(len(result.again))} requeued: {names}."))
        parts.append(unwrapped("The next run consolidates them; to run it now: memory-butler consolidate"))
    else:
        parts.append(Text("Nothing was requeued."))
    return Group(*parts)


def _cost(report: RunReport) -> str:
    tokens = report.usage.input_tokens + report.usage.output_tokens
    cost = f"; {tokens:,} tokens" if tokens else ""
    dollars = report.usage.cost_microdollars / 1e6
    return cost + (f", {dollars:.4f} dollars" if dollars else "")


def _episodes(number: int) -> str:
    return f"{number:,} episode{'' if number == 1 else 's'}"


def _cut(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
