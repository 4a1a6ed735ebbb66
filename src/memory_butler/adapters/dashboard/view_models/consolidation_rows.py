"""Rows, texts and figures of the consolidation page, from the results of operations."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any
from uuid import UUID

from memory_butler.adapters.dashboard.components import charts
from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.server.page_url import url_for
from memory_butler.adapters.dashboard.server.routes import memory_path
from memory_butler.adapters.dashboard.view_models.phrases import count_text, sentence, truncate
from memory_butler.adapters.dashboard.view_models.playground_results import memory_link
from memory_butler.english.text.normalize import as_words
from memory_butler.models import Episode, RunReport, UndoReport
from memory_butler.operations.consolidation.dead_letters import RequeueResult
from memory_butler.operations.consolidation.diff import DiffLine
from memory_butler.operations.consolidation.overview import ConsolidationOverview, DailyCost, RunOutcomes
from memory_butler.operations.consolidation.review import DECIDABLE, RunReview
from memory_butler.policy.memories.text import subject_and_predicate
from memory_butler.store.consolidation.runs import Run

Row = dict[str, Any]
PATH = "/consolidation"
DEAD_LETTERS_ID = "failed-episodes"
STATES = {
    "waiting": ("to review", "warn"),
    "applied": ("stored", "good"),
    "claimed": ("running", "info"),
    "rejected": ("rejected", ""),
    "failed": ("failed", "bad"),
    "lost": ("lost", "bad"),
    "rehearsed": ("dry run", ""),
}
OUTCOMES = {
    "proposed": ("to review", "warn"),
    "approved": ("approved", "good"),
    "created": ("new", "good"),
    "superseded": ("updated", "info"),
    "confirmed": ("confirmed", ""),
    "rejected": ("rejected", "bad"),
    "refused": ("refused", "bad"),
}
_GROUPS = (
    ("To review", ("proposed", "approved")),
    ("New", ("created",)),
    ("Updated", ("superseded",)),
    ("Confirmed", ("confirmed",)),
    ("Rejected", ("rejected",)),
    ("Refused", ("refused",)),
)
_KINDS = {"fact": "fact", "update": "fact", "rule": "rule", "confirmation": "confirmation"}
_DISTILLERS = {
    "built-in": "The built-in distiller runs automatically, offline and free of charge.",
    "agent": "Connected agents process episodes when they request a batch.",
    "off": "Consolidation is off: episodes wait until it is run by hand.",
}
MAX_LINES = 8
QUOTE_CHARACTERS = 80
REQUEUE_HINT = "Rejected items are not stored. “Requeue episodes” makes the next run process their episodes again."


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationQuery:
    """The page's query parameters: one run, or filters and the cursors of both lists."""

    run: str = ""
    butler: str = ""
    state: str = ""
    runs: str = ""
    letters: str = ""


def query_from(query: Mapping[str, str]) -> ConsolidationQuery:
    values = {field.name: query.get(field.name, "").strip() for field in fields(ConsolidationQuery)}
    return ConsolidationQuery(**values | {"state": values["state"] if values["state"] in STATES else ""})


def distiller_text(ledger: ConsolidationOverview) -> str:
    if ledger.works_by_itself and ledger.distiller not in _DISTILLERS:
        return f"{ledger.distiller} runs automatically. Its cost is below."
    return _DISTILLERS.get(ledger.distiller, f"Distiller: {ledger.distiller}.")


def todo_counts(ledger: ConsolidationOverview) -> list[tuple[int, str, str]]:
    """Counts of what needs attention, each with its label and link."""
    one = ledger.proposals == 1
    return [
        (ledger.proposals, "run to review" if one else "runs to review", _runs_in("waiting")),
        (ledger.claimed, "run in progress" if ledger.claimed == 1 else "runs in progress", _runs_in("claimed")),
        (
            ledger.dead_letters,
            "failed episode" if ledger.dead_letters == 1 else "failed episodes",
            f"#{DEAD_LETTERS_ID}",
        ),
    ]


def _runs_in(state: str) -> str:
    return url_for(PATH, {"state": state})


def backlog_rows(ledger: ConsolidationOverview) -> list[Row]:
    """The backlog of each butler, longest first."""
    rows = [one for one in ledger.backlogs if one.waiting or one.later]
    return [
        {
            "butler": visible_text(one.butler),
            "waiting": one.waiting + one.later,
            "later": f"{one.later:,} to retry" if one.later else "",
            "oldest": one.oldest,
            "next_run": one.next_run,
        }
        for one in sorted(rows, key=lambda one: (-one.waiting - one.later, one.butler))
    ]


# --- runs -----------------------------------------------------------------------------------------


def run_rows(runs: Sequence[Run], outcome: Mapping[UUID, RunOutcomes]) -> list[Row]:
    return [_run(one, outcome.get(one.id, RunOutcomes())) for one in runs]


def _run(run: Run, outcome: RunOutcomes) -> Row:
    label, kind = STATES.get(run.state, (run.state, ""))
    return {
        "id": str(run.id),
        "href": url_for(PATH, {"run": str(run.id)}),
        "at": run.claimed_at.isoformat(),
        "butler": visible_text(run.butler),
        "state": label,
        "kind": kind,
        "undone": outcome.undone,
        "episodes": count_text(run.episodes, "episode"),
        "outcomes": outcome_chips(outcome.outcomes),
        "nothing": run.state == "applied" and not outcome.outcomes,
        "cost": cost_text(run.input_tokens + run.output_tokens, run.cost_microdollars / 1e6),
        "error": visible_text(run.error or ""),
    }


def outcome_chips(outcomes: Mapping[str, int]) -> list[Row]:
    """Counts of items by outcome, always in the same order."""
    return [
        {"label": f"{outcomes[name]:,} {label}", "kind": kind}
        for name, (label, kind) in OUTCOMES.items()
        if outcomes.get(name)
    ]


def cost_text(tokens: int, dollars: float) -> str:
    parts = [f"{tokens:,} tokens"] if tokens else []
    parts += [dollar_text(dollars)] if dollars else []
    return ", ".join(parts)


def dollar_text(dollars: float) -> str:
    return f"${dollars:,.4f}" if 0 < dollars < 0.1 else f"${dollars:,.2f}"


# --- one run --------------------------------------------------------------------------------------


def item_groups(lines: Sequence[DiffLine], *, can_decide: bool) -> list[Row]:
    """The items of a run grouped by outcome; `can_decide` says whether they can still be reviewed."""
    groups = []
    for title, outcomes in _GROUPS:
        rows = [_item(line, can_decide=can_decide) for line in lines if line.outcome in outcomes]
        if rows:
            groups.append({"title": title, "rows": rows})
    return groups


def _item(line: DiffLine, *, can_decide: bool) -> Row:
    label, kind = OUTCOMES.get(line.outcome, (line.outcome, ""))
    about = subject_and_predicate(line.subject, line.predicate, line.content or "") if line.subject else ""
    old_text = line.old_content if line.old_content not in (None, line.content) else None
    return {
        "place": line.place,
        "type": _KINDS.get(line.kind, line.kind),
        "label": proposal_label(line) if line.outcome == "proposed" else label,
        "kind": kind,
        "about": visible_text(about),
        "text": visible_text(line.content or "(no text)"),
        "old_text": visible_text(old_text or ""),
        "date": (line.valid_at or "")[:10],
        "memory": _link(line.ref) if line.outcome not in ("proposed", "approved", "rejected", "refused") else None,
        "replaced": _link(line.replaced) if old_text is not None else None,
        "evidence": [link for one in line.evidence if (link := _link(one))],
        "reason": sentence(line.said or as_words(line.reason or "refused")) if line.outcome == "refused" else "",
        "can_decide": can_decide and line.outcome in DECIDABLE,
        "decision": line.outcome if line.outcome in ("approved", "rejected") else "",
    }


def proposal_label(line: DiffLine) -> str:
    """The effect that approving an item has now."""
    if line.kind == "confirmation" or (line.old_content is not None and line.old_content == line.content):
        return "confirms"
    return "new" if line.old_content is None else "updates"


def _link(handle: str | None) -> Row | None:
    """A link to a memory, or None if the handle is malformed: a proposal can contain anything."""
    kind, colon, ref = (handle or "").partition(":")
    if not colon or kind not in ("fact", "rule", "episode") or not ref.replace("-", "").isalnum() or not ref.isascii():
        return None
    return memory_link(f"{kind}:{ref}")


def episode_links(seen: RunReview) -> list[Row]:
    return [{"ref": f"episode:{ref}", "href": memory_path("episode", ref)} for ref in seen.episodes]


def progress_text(lines: Sequence[DiffLine]) -> str:
    tally = Counter(line.outcome for line in lines)
    open_items, decided = tally["proposed"], tally["approved"] + tally["rejected"]
    if not decided:
        return f"{count_text(open_items, 'item')} to review. Nothing is stored before you decide."
    return f"{decided:,} decided, {open_items:,} to go. Approved items are stored once all are decided."


def decision_text(lines: Sequence[DiffLine], place: int, decision: str) -> str:
    """Notification after a decision about an item."""
    content = next((line.content for line in lines if line.place == place), None)
    label = "Approved" if decision == "approve" else "Rejected"
    return f"{label}: {truncate(content, QUOTE_CHARACTERS)}" if content else label


def focus_after(lines: Sequence[DiffLine], place: int, decision: str) -> list[str]:
    """Selectors for the keyboard focus after a decision: an item, never a button of the next item, because a second
    press of the same key would decide about that one. After a rejection the next item gets the focus."""
    later = [line.place for line in lines if line.outcome in ("proposed", "approved") and line.place > place]
    places = [*later[:1], place] if decision == "reject" else [place]
    return [f'.mb-changes [data-place="{one}"]' for one in places]


def rejection_effects(lines: Sequence[DiffLine], place: int | None = None) -> list[str]:
    """The effects of rejecting all open items, or the last one at `place`."""
    approved = sum(line.outcome == "approved" and line.place != place for line in lines)
    stored = f"{count_text(approved, 'approved item is', 'approved items are')} stored, the others are not."
    return [
        stored if approved else "Nothing of this run is stored.",
        "Its episodes count as processed. This cannot be undone, but you can requeue the episodes afterwards.",
    ]


def requeued_text(done: RequeueResult) -> str:
    episodes = count_text(len(done.again), "episode")
    return f"Requeued {episodes}. Stored facts and rules stay as they are"


def not_requeued_text(done: RequeueResult) -> str:
    """The first reason why an episode was not requeued, and the number of other episodes."""
    more = len(done.left) - 1
    return done.left[0][1] + (
        f" {count_text(more, 'more was not requeued', 'more were not requeued')}." if more else ""
    )


def undone_text(seen: RunReview) -> str:
    undone = seen.undone
    if undone is None:
        return ""
    changes = "this run" if undone.undone >= undone.changes else f"{undone.undone:,} of its {undone.changes:,} changes"
    return visible_text(f"{undone.undone_by} undid {changes}:")


def undo_lines(report: UndoReport) -> tuple[list[str], list[str]]:
    """The changes that would be undone, and those that would stay with the reason; of each the first few."""
    back = [f"{line.ref}: {line.what}{f' ({line.remark})' if line.remark else ''}" for line in report.taken_back]
    stays = [f"{line.ref}: {line.what} stays, because {line.reason}" for line in report.left_alone]
    return _few(back, report.undone), _few(stays, report.skipped)


def _few(lines: Sequence[str], number: int) -> list[str]:
    more = [f"and {number - MAX_LINES:,} more"] if number > MAX_LINES else []
    return [visible_text(one) for one in lines[:MAX_LINES]] + more


# --- failed episodes and cost ---------------------------------------------------------------------


def dead_letter_rows(episodes: Sequence[Episode]) -> list[Row]:
    return [
        {
            "ref": f"episode:{one.ref}",
            "href": memory_path("episode", one.ref),
            "text": visible_text(one.content),
            "butler": visible_text(one.butler),
            "at": one.created_at.isoformat(),
            "attempts": count_text(one.consolidation_attempts, "attempt"),
            "reason": sentence(one.last_consolidation_error or "unknown reason"),
        }
        for one in episodes
    ]


def budget_lines(ledger: ConsolidationOverview) -> Iterator[tuple[str, float]]:
    """Today's use of each budget, as text and as a percentage."""
    today = ledger.days[-1]
    if ledger.daily_tokens:
        yield f"{today.tokens:,} of {ledger.daily_tokens:,} tokens today", _share(today.tokens, ledger.daily_tokens)
    if ledger.daily_dollars:
        words = f"{dollar_text(today.dollars)} of {dollar_text(ledger.daily_dollars)} today"
        yield words, _share(today.dollars, ledger.daily_dollars)


def _share(part: float, whole: float) -> float:
    return round(min(100.0, 100 * part / whole), 2)


def spent_text(days: Sequence[DailyCost]) -> str:
    """The total cost of the days; empty if there was none."""
    cost = cost_text(sum(day.tokens for day in days), sum(day.dollars for day in days))
    return f"{cost} in {len(days)} days" if cost else ""


def cost_chart(ledger: ConsolidationOverview) -> charts.Options:
    """One bar per day: dollars where they are known, else tokens."""
    in_dollars = any(day.dollars for day in ledger.days)
    values = [round(day.dollars, 4) if in_dollars else day.tokens for day in ledger.days]
    limit = ledger.daily_dollars if in_dollars else ledger.daily_tokens
    name = "dollars" if in_dollars else "tokens"
    series: charts.Options = {
        "type": "bar",
        "name": name,
        "data": values,
        "barMaxWidth": 18,
        "itemStyle": {"borderRadius": [3, 3, 0, 0]},
    }
    if limit:
        series["markLine"] = {
            "symbol": "none",
            "label": {"formatter": "budget", "color": charts.MUTED, "position": "insideEndTop"},
            "lineStyle": {"color": charts.RED, "type": "dashed"},
            "data": [{"yAxis": limit}],
        }
    return {
        "xAxis": charts.axis("category", data=[f"{day.day:%d %b}" for day in ledger.days]),
        # Keeps the budget line visible when little was spent.
        "yAxis": charts.axis("value", **({"max": max(limit, *values)} if limit else {})),
        "tooltip": charts.tooltip(trigger="axis"),
        "series": [series],
    }


def summary_text(reports: Iterable[RunReport]) -> str:
    """Summary of finished runs: 12 episodes: 3 new, 1 updated, 2 confirmed."""
    reports = list(reports)
    if not reports:
        return "There was nothing to process: no episode is waiting, or another worker has claimed them."
    tally = Counter(line.outcome for report in reports for line in report.lines)
    parts = [f"{tally[name]:,} {label}" for name, (label, _) in OUTCOMES.items() if tally[name]]
    failed = sum(report.state == "failed" for report in reports)
    parts += [f"{count_text(failed, 'run')} failed"] if failed else []
    empty = sum(len(report.nothing_kept) for report in reports)
    parts += [f"nothing kept of {empty:,}"] if empty else []
    episodes = len({ref for report in reports for ref in report.episodes})
    return f"{count_text(episodes, 'episode')}: {', '.join(parts) or 'nothing to store'}."


def nothing_kept_text(reviewed: RunReview) -> str:
    """The episodes of which a run kept nothing, with their words."""
    words = [f"“{one.words}”" for one in reviewed.nothing_kept]
    return f"Nothing kept of {count_text(len(words), 'episode')}: {' · '.join(words)}" if words else ""
