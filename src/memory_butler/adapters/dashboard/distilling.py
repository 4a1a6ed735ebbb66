"""Consolidation as it is shown: pure, from what operations say to rows, words and figures."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from memory_butler.adapters.dashboard import charts
from memory_butler.adapters.dashboard.address import address
from memory_butler.adapters.dashboard.asking import also, sentence
from memory_butler.adapters.dashboard.elements import text_of
from memory_butler.adapters.dashboard.places import memory_path
from memory_butler.adapters.dashboard.saying import counted, short_of
from memory_butler.models import Episode, RunReport, UndoReport
from memory_butler.operations.dead_letters import Requeued
from memory_butler.operations.diff import DiffLine
from memory_butler.operations.ledger import CameTo, Day, Ledger
from memory_butler.operations.review import DECIDABLE, Reviewed
from memory_butler.policy.wording import about_of, spoken
from memory_butler.store.consolidation import Run

Row = dict[str, Any]
PATH = "/consolidation"
GIVEN_UP = "given-up"
STATES = {
    "waiting": ("awaits a decision", "warn"),
    "applied": ("stored", "good"),
    "claimed": ("under way", "info"),
    "rejected": ("rejected", ""),
    "failed": ("failed", "bad"),
    "lost": ("lost", "bad"),
    "rehearsed": ("dry run", ""),
}
OUTCOMES = {
    "proposed": ("to decide on", "warn"),
    "approved": ("approved", "good"),
    "created": ("new", "good"),
    "superseded": ("updated", "info"),
    "confirmed": ("confirmed", ""),
    "rejected": ("rejected", "bad"),
    "refused": ("refused", "bad"),
}
_GROUPS = (
    ("To decide on", ("proposed", "approved")),
    ("New", ("created",)),
    ("Updated", ("superseded",)),
    ("Confirmed", ("confirmed",)),
    ("Rejected", ("rejected",)),
    ("Refused", ("refused",)),
)
_KINDS = {"fact": "fact", "update": "fact", "rule": "rule", "confirmation": "confirmation"}
_DISTILLERS = {
    "built-in": "The built-in distiller works by itself, offline, and costs nothing.",
    "agent": "Connected agents distil when they ask for a batch.",
    "off": "Consolidation is switched off: episodes wait until somebody distils them.",
}
SHOWN = 8
NAMED = 80
AGAIN = "What was rejected is not stored. Distil again has its episodes wait once more, to be distilled afresh."


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What an address asks for: one run, or which runs, and which part of both lists."""

    run: str = ""
    butler: str = ""
    state: str = ""
    runs: str = ""
    letters: str = ""

    def in_address(self) -> dict[str, str | None]:
        return {
            "run": self.run,
            "butler": self.butler,
            "state": self.state,
            "runs": self.runs,
            "letters": self.letters,
        }


def view_from(query: Mapping[str, str]) -> View:
    state = query.get("state", "")
    return View(
        run=query.get("run", "").strip(),
        butler=query.get("butler", "").strip(),
        state=state if state in STATES else "",
        runs=query.get("runs", ""),
        letters=query.get("letters", ""),
    )


def distiller_words(ledger: Ledger) -> str:
    """Who distils here, in a sentence."""
    if ledger.works_by_itself and ledger.distiller not in _DISTILLERS:
        return f"{ledger.distiller} works by itself; what it costs is below."
    return _DISTILLERS.get(ledger.distiller, f"{ledger.distiller} distils.")


def open_ends(ledger: Ledger) -> list[tuple[int, str, str]]:
    """What wants a look: how many, what, and where it is found."""
    one = ledger.proposals == 1
    return [
        (ledger.proposals, "proposal awaits a decision" if one else "proposals await a decision", _runs_in("waiting")),
        (ledger.claimed, "run under way" if ledger.claimed == 1 else "runs under way", _runs_in("claimed")),
        (ledger.dead_letters, "episode given up" if ledger.dead_letters == 1 else "episodes given up", f"#{GIVEN_UP}"),
    ]


def _runs_in(state: str) -> str:
    return address(PATH, {"state": state})


def backlog_rows(ledger: Ledger) -> list[Row]:
    """Butler by butler what waits, those with most first."""
    rows = [one for one in ledger.backlogs if one.waiting or one.later]
    return [
        {
            "butler": text_of(one.butler),
            "waiting": one.waiting + one.later,
            "later": f"{one.later:,} after a failure" if one.later else "",
            "oldest": one.oldest,
            "next_run": one.next_run,
        }
        for one in sorted(rows, key=lambda one: (-one.waiting - one.later, one.butler))
    ]


# --- runs -----------------------------------------------------------------------------------------


def run_rows(runs: Sequence[Run], came: Mapping[UUID, CameTo]) -> list[Row]:
    return [_run(one, came.get(one.id, CameTo())) for one in runs]


def _run(run: Run, came: CameTo) -> Row:
    label, kind = STATES.get(run.state, (run.state, ""))
    return {
        "id": str(run.id),
        "href": address(PATH, {"run": str(run.id)}),
        "at": run.claimed_at.isoformat(),
        "butler": text_of(run.butler),
        "state": label,
        "kind": kind,
        "undone": came.undone,
        "episodes": counted(run.episodes, "episode"),
        "outcomes": outcome_chips(came.outcomes),
        "nothing": run.state == "applied" and not came.outcomes,
        "cost": cost_words(run.input_tokens + run.output_tokens, run.cost_microdollars / 1e6),
        "error": text_of(run.error or ""),
    }


def outcome_chips(outcomes: Mapping[str, int]) -> list[Row]:
    """How many items have which outcome, always in the same order."""
    return [
        {"label": f"{outcomes[name]:,} {label}", "kind": kind}
        for name, (label, kind) in OUTCOMES.items()
        if outcomes.get(name)
    ]


def cost_words(tokens: int, dollars: float) -> str:
    said = [f"{tokens:,} tokens"] if tokens else []
    said += [dollar_words(dollars)] if dollars else []
    return ", ".join(said)


def dollar_words(dollars: float) -> str:
    return f"${dollars:,.4f}" if 0 < dollars < 0.1 else f"${dollars:,.2f}"


# --- one run --------------------------------------------------------------------------------------


def groups(lines: Sequence[DiffLine], *, decides: bool) -> list[Row]:
    """The items of a run by what became of them; `decides` says whether they still await a decision."""
    found = []
    for title, outcomes in _GROUPS:
        rows = [_item(line, decides=decides) for line in lines if line.outcome in outcomes]
        if rows:
            found.append({"title": title, "rows": rows})
    return found


def _item(line: DiffLine, *, decides: bool) -> Row:
    label, kind = OUTCOMES.get(line.outcome, (line.outcome, ""))
    about = about_of(line.subject, line.predicate) if line.subject else ""
    was = line.old_content if line.old_content not in (None, line.content) else None
    return {
        "place": line.place,
        "type": _KINDS.get(line.kind, line.kind),
        "label": would_words(line) if line.outcome == "proposed" else label,
        "kind": kind,
        "about": text_of(about),
        "words": text_of(line.content or "(nothing that can be shown)"),
        "was": text_of(was or ""),
        "on": (line.valid_at or "")[:10],
        "memory": _link(line.ref) if line.outcome not in ("proposed", "approved", "rejected", "refused") else None,
        "replaced": _link(line.replaced) if was is not None else None,
        "evidence": [found for one in line.evidence if (found := _link(one))],
        "why": sentence(line.said or spoken(line.reason or "refused")) if line.outcome == "refused" else "",
        "decides": decides and line.outcome in DECIDABLE,
        "decision": line.outcome if line.outcome in ("approved", "rejected") else "",
    }


def would_words(line: DiffLine) -> str:
    """What an item would do, as things stand."""
    if line.kind == "confirmation" or (line.old_content is not None and line.old_content == line.content):
        return "would confirm"
    return "would be new" if line.old_content is None else "would update"


def _link(handle: str | None) -> Row | None:
    """The page of a memory, if what is named may be one: a proposal can name anything."""
    kind, colon, ref = (handle or "").partition(":")
    if not colon or kind not in ("fact", "rule", "episode") or not ref.replace("-", "").isalnum() or not ref.isascii():
        return None
    return also(f"{kind}:{ref}")


def episode_links(seen: Reviewed) -> list[Row]:
    return [{"ref": f"episode:{ref}", "href": memory_path("episode", ref)} for ref in seen.episodes]


def decided_words(lines: Sequence[DiffLine]) -> str:
    """How far a decision is."""
    tally = Counter(line.outcome for line in lines)
    open_items, decided = tally["proposed"], tally["approved"] + tally["rejected"]
    if not decided:
        return f"{counted(open_items, 'item awaits', 'items await')} your decision. Nothing is stored before that."
    return f"{decided:,} decided, {open_items:,} to go. When all are decided, what was approved is stored."


def decision_words(lines: Sequence[DiffLine], place: int, how: str) -> str:
    """What was decided about an item."""
    words = next((line.content for line in lines if line.place == place), None)
    said = "Approved" if how == "approve" else "Rejected"
    return f"{said}: {short_of(words, NAMED)}" if words else said


def places_after(lines: Sequence[DiffLine], place: int, how: str) -> list[str]:
    """Where the keyboard goes on after a decision: on an item, never on a button of the next one, which a second press
    of the same key would decide on. What was rejected leaves its place to the one after it."""
    later = [line.place for line in lines if line.outcome in ("proposed", "approved") and line.place > place]
    found = [*later[:1], place] if how == "reject" else [place]
    return [f'.mb-changes [data-place="{one}"]' for one in found]


def rejected_means(lines: Sequence[DiffLine], place: int | None = None) -> list[str]:
    """What comes of it if all that is open is rejected, and the item at a place."""
    kept = sum(line.outcome == "approved" and line.place != place for line in lines)
    stored = f"{counted(kept, 'item that was approved is', 'items that were approved are')} stored, the others are not."
    return [
        stored if kept else "Nothing of this proposal is stored.",
        "Its episodes count as distilled. This cannot be undone, but the run then offers to distil them again.",
    ]


def requeued_words(done: Requeued) -> str:
    said = counted(len(done.again), "episode waits", "episodes wait")
    return f"{said} to be distilled again. Nothing is lost: what is known stays as it is"


def left_words(done: Requeued) -> str:
    """Why some were left as they are: the first reason, and how many more there are."""
    more = len(done.left) - 1
    return done.left[0][1] + (f" {counted(more, 'more stays as it is', 'more stay as they are')}." if more else "")


def undone_words(seen: Reviewed) -> str:
    undone = seen.undone
    if undone is None:
        return ""
    what = (
        "This run was"
        if undone.undone >= undone.changes
        else f"{undone.undone:,} of its {undone.changes:,} changes were"
    )
    return text_of(f"{what} taken back by {undone.undone_by}.")


def undo_lines(report: UndoReport) -> tuple[list[str], list[str]]:
    """What would be taken back, and what would stay as it is and why; of each the first few."""
    back = [f"{line.ref}: {line.what}{f' ({line.remark})' if line.remark else ''}" for line in report.taken_back]
    stays = [f"{line.ref}: {line.what} stays, because {line.reason}" for line in report.left_alone]
    return _few(back, report.undone), _few(stays, report.skipped)


def _few(lines: Sequence[str], number: int) -> list[str]:
    more = [f"and {number - SHOWN:,} more"] if number > SHOWN else []
    return [text_of(one) for one in lines[:SHOWN]] + more


# --- what was given up, and what it costs ---------------------------------------------------------


def letter_rows(found: Sequence[Episode]) -> list[Row]:
    return [
        {
            "ref": f"episode:{one.ref}",
            "href": memory_path("episode", one.ref),
            "words": text_of(one.content),
            "butler": text_of(one.butler),
            "at": one.created_at.isoformat(),
            "tries": counted(one.consolidation_attempts, "try", "tries"),
            "why": sentence(one.last_consolidation_error or "no reason is known"),
        }
        for one in found
    ]


def budget_lines(ledger: Ledger) -> Iterator[tuple[str, float]]:
    """What was spent today of what may be, in words and as a share."""
    today = ledger.days[-1]
    if ledger.daily_tokens:
        yield f"{today.tokens:,} of {ledger.daily_tokens:,} tokens today", _share(today.tokens, ledger.daily_tokens)
    if ledger.daily_dollars:
        words = f"{dollar_words(today.dollars)} of {dollar_words(ledger.daily_dollars)} today"
        yield words, _share(today.dollars, ledger.daily_dollars)


def _share(part: float, whole: float) -> float:
    return round(min(100.0, 100 * part / whole), 2)


def spent_words(days: Sequence[Day]) -> str:
    """What the days have cost together."""
    said = cost_words(sum(day.tokens for day in days), sum(day.dollars for day in days))
    return f"{said} in {len(days)} days" if said else ""


def cost_options(ledger: Ledger) -> charts.Options:
    """A bar for each day: dollars where they are known, else tokens."""
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
            "label": {"formatter": "budget", "color": charts.QUIET, "position": "insideEndTop"},
            "lineStyle": {"color": charts.RED, "type": "dashed"},
            "data": [{"yAxis": limit}],
        }
    return {
        "xAxis": charts.axis("category", data=[f"{day.day:%d %b}" for day in ledger.days]),
        # So that the budget is in sight, however little was spent.
        "yAxis": charts.axis("value", **({"max": max(limit, *values)} if limit else {})),
        "tooltip": charts.tooltip(trigger="axis"),
        "series": [series],
    }


def came_to_words(reports: Iterable[RunReport]) -> str:
    """What distilling came to: 12 episodes: 3 new, 1 updated, 2 confirmed."""
    reports = list(reports)
    if not reports:
        return "Nothing could be distilled now: nothing waits, or somebody else is at it."
    tally = Counter(line.outcome for report in reports for line in report.lines)
    said = [f"{tally[name]:,} {label}" for name, (label, _) in OUTCOMES.items() if tally[name]]
    failed = sum(report.state == "failed" for report in reports)
    said += [f"{counted(failed, 'run')} failed"] if failed else []
    episodes = len({ref for report in reports for ref in report.episodes})
    return f"{counted(episodes, 'episode')}: {', '.join(said) or 'nothing worth keeping'}."
