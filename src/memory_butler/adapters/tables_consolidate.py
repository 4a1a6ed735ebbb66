"""How consolidation looks to a person in a terminal: a diff for each run, and what can be done about it."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memory_butler.adapters.tables import date_of, safe
from memory_butler.models import Episode, RunReport
from memory_butler.operations.dead_letters import Requeued
from memory_butler.operations.diff import DiffLine
from memory_butler.operations.review import CHANGES, Reviewed
from memory_butler.policy.wording import spoken
from memory_butler.store.consolidation import Run, Undone

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
    ("proposed", "to decide on"),
    ("approved", "approved"),
    ("rejected", "rejected"),
    ("refused", "refused"),
)
Told = tuple[RunReport, Sequence[DiffLine]]


def runs_told(told: Sequence[Told], *, undo: str = "memory-butler undo") -> RenderableType:
    """A diff for each run, and what they come to together."""
    parts: list[RenderableType] = []
    for report, lines in told:
        parts += [run_told(report, lines, undo=undo), Text("")]
    if len(told) > 1:
        everything = [line for _, lines in told for line in lines]
        number = len({ref for report, _ in told for ref in report.episodes})
        failed = sum(report.state == "failed" for report, _ in told)
        came = f"all {failed} failed" if failed == len(told) else in_words(everything)
        more = f"; {failed} failed" if 0 < failed < len(told) else ""
        parts.append(Text(f"{len(told)} runs, {_episodes(number)}: {came}{more}.", style="bold"))
    else:
        parts.pop()
    return Group(*parts)


def run_told(report: RunReport, lines: Sequence[DiffLine], *, undo: str = "memory-butler undo") -> RenderableType:
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
        parts.append(Text(f"Nothing was changed; {_episodes(len(report.episodes))} will be tried again, or given up."))
        return Group(*parts)
    parts.append(Text(f"{_episodes(len(report.episodes))}: {in_words(lines)}{_cost(report)}."))
    if rehearsed:
        parts.append(Text("This was a dry run: nothing was changed."))
    elif report.state == "waiting":
        parts.append(command(f"It waits for your decision:\n  memory-butler consolidate review {report.run}"))
    elif any(line.outcome in CHANGES for line in lines):
        parts.append(command(f"To take it back: {undo} {report.run}"))
    return Group(*parts)


def command(said: str) -> Text:
    """Words with a command in them, to be copied from a terminal of any width: printed uncropped, it is not broken."""
    return Text(said, no_wrap=True, overflow="ignore")


def in_words(lines: Iterable[DiffLine]) -> str:
    """3 new, 1 updated, 2 refused."""
    found = [line.outcome for line in lines]
    said = [f"{found.count(outcome):,} {word}" for outcome, word in _WORDS if outcome in found]
    return ", ".join(said) or "nothing worth keeping"


def diff(lines: Sequence[DiffLine], *, is_real: bool = True, numbered: bool = False) -> RenderableType:
    """One line an item, marked by what becomes of it."""
    grid = Table.grid(padding=(0, 1))
    if numbered:
        grid.add_column(justify="right", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for line in lines:
        mark, style = _MARKS.get(line.outcome) or _waiting_mark(line)
        is_there = is_real or line.outcome == "confirmed"
        cells = [
            Text(mark, style=style),
            Text(safe(line.ref) if line.ref and is_there else "", style="cyan"),
            said(line),
        ]
        grid.add_row(*([Text(str(line.place)), *cells] if numbered else cells))
    return Padding(grid, (0, 0, 0, 2), expand=False)


def _waiting_mark(line: DiffLine) -> tuple[str, str]:
    """What an item would do, as things stand."""
    if line.kind == "confirmation" or line.old_content == line.content:
        return _MARKS["confirmed"]
    return _MARKS["created" if line.old_content is None else "superseded"]


def said(line: DiffLine) -> RenderableType:
    """What an item says, what it replaces, where it is from, why it is not applied."""
    words = Text()
    if line.subject:
        words.append(safe(f"{spoken(line.subject)} · {_property(line)}: "), style="bold")
    words.append(safe(_cut(line.content or "(nothing that can be shown)")))
    if line.valid_at:
        words.append(safe(f" (on {line.valid_at[:10]})"))
    if line.old_content not in (None, line.content):
        words.append(f"\nwas: {safe(_cut(line.old_content or ''))}", style="yellow")
        words.append(f" ({line.replaced})" if line.replaced else "", style="dim")
    if line.outcome == "refused":
        words.append(f"\n{safe(line.said or spoken(line.reason or 'refused'))}", style="red")
    elif line.outcome in ("rejected", "approved"):
        words.append(f"\n{line.outcome}", style="bold")
    elif line.evidence:
        words.append(f"\nfrom {safe(', '.join(line.evidence))}", style="dim")
    return words


def listed(runs: Sequence[Run], *, empty: str) -> RenderableType:
    """Runs on record, the latest first."""
    if not runs:
        return Text(empty)
    return Group(*(_recorded(run) for run in runs))


def _recorded(run: Run) -> RenderableType:
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


def reviewed(seen: Reviewed, lines: Sequence[DiffLine], *, undo: str = "memory-butler undo") -> RenderableType:
    """A run on record with its numbered items, and what can be done now."""
    run = seen.run
    parts: list[RenderableType] = [_recorded(run)]
    if seen.episodes:
        parts.append(Text(safe("  " + ", ".join(f"episode:{ref}" for ref in seen.episodes)), style="dim"))
    if lines:
        parts.append(diff(lines, numbered=True))
    if run.state in ("applied", "waiting", "rejected"):
        parts.append(Text(f"{in_words(lines).capitalize()}."))
    if run.state == "claimed":
        parts.append(Text(f"It is being worked on, until {run.lease_until:%H:%M} UTC at the latest."))
    elif run.state == "waiting":
        parts.append(command(f"To take all of it:\n  memory-butler consolidate approve {run.id}"))
        parts.append(
            Text(
                "Numbers behind it take only these items; `reject` turns items down, and --rest decides about the"
                " others. Nothing is applied before all are decided."
            )
        )
    if seen.undone:
        parts.append(Text(_undone(seen.undone), style="yellow"))
    elif seen.can_undo:
        parts.append(command(f"To take it back: {undo} {run.id}"))
    return Group(*parts)


def _undone(undone: Undone) -> str:
    what = "It was" if undone.undone == undone.changes else f"{undone.undone:,} of its {undone.changes:,} changes were"
    return safe(f"{what} taken back on {date_of(undone.undone_at)} UTC by {undone.undone_by}.")


def dead_letters(found: Sequence[Episode]) -> RenderableType:
    if not found:
        return Text("There are no dead letters.")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for episode in found:
        tries = f"{episode.consolidation_attempts} {'try' if episode.consolidation_attempts == 1 else 'tries'}"
        about = f"{episode.consolidation_status.replace('_', ' ')} after {tries} · {episode.butler} · "
        words = Text.assemble(
            safe(_cut(" ".join(episode.content.split()), 120)),
            (f"\n{safe(about)}{date_of(episode.created_at)}", "dim"),
            (f"\n{safe(episode.last_consolidation_error or 'no reason is known')}", "red"),
        )
        grid.add_row(Text(f"episode:{episode.ref}", style="cyan"), words)
    number = f"{len(found):,} dead letter{'s' if len(found) > 1 else ''}."
    return Group(grid, command(f"{number} Try again: memory-butler dead-letters requeue REF, or --all"))


def requeued(done: Requeued) -> RenderableType:
    parts: list[RenderableType] = [Text(f"! {safe(reason)}", style="yellow") for _, reason in done.left]
    if done.again:
        named = ", ".join(f"episode:{ref}" for ref in done.again[:20]) + (" …" if len(done.again) > 20 else "")
        parts.append(Text(f"{_episodes(len(done.again))} in line again: {named}."))
        parts.append(command("They are distilled with the next run; to do it now: memory-butler consolidate"))
    else:
        parts.append(Text("Nothing was requeued."))
    return Group(*parts)


def _property(line: DiffLine) -> str:
    """The predicate in words, without the value if that only says the content once more."""
    kind, _, value = (line.predicate or "").partition(":")
    repeats = set(spoken(value).casefold().split()) <= set((line.content or "").casefold().split())
    return spoken(kind if repeats else line.predicate or "")


def _cost(report: RunReport) -> str:
    tokens = report.usage.input_tokens + report.usage.output_tokens
    said = f"; {tokens:,} tokens" if tokens else ""
    dollars = report.usage.cost_microdollars / 1e6
    return said + (f", {dollars:.4f} dollars" if dollars else "")


def _episodes(number: int) -> str:
    return f"{number:,} episode{'' if number == 1 else 's'}"


def _cut(text: str, most: int = LONGEST) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
