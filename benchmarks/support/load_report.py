"""The figures of a load run as a table, and what was aimed at."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.table import Table

Figures = dict[str, Any]

CALLS = {"context": "context", "store_episode": "episode"}
STEADY_P95_MS = 50.0
REFUSED_P95_MS = 50.0
# What an overload may add to the server's memory: the calls that are worked on and wait, and nothing that piles up.
MORE_MB = 100.0
BACK_SECONDS = 5.0
REFUSED = "429"


def goals(result: Figures) -> list[dict[str, Any]]:
    """Each goal with what was measured and whether it holds."""
    steady, overload = result["steady"], result["overload"]
    resident = overload["resident_mb"]
    failed = _failed([overload], also=(REFUSED,))
    found = [_goal("steady load: calls that failed", _failed([steady]), 0)]
    found += [
        _goal(f"steady load: {name} p95, ms", steady[kind]["ms"]["p95"], STEADY_P95_MS) for kind, name in _calls()
    ]
    found.append(_goal("overload: calls that failed other than by being refused", failed, 0))
    found += [
        _goal(f"overload: {name} refused within, p95, ms", overload[kind]["refused_ms"]["p95"], REFUSED_P95_MS)
        for kind, name in _calls()
        # Where nothing had to be refused there is nothing to hold.
        if overload[kind]["refused_ms"]["p95"] is not None
    ]
    found.append(_goal("overload: more resident memory, MB", resident["most"] - resident["first"], MORE_MB))
    found.append(_goal("seconds until all is served again", result["back_after_seconds"], BACK_SECONDS))
    return found


def _calls() -> Iterable[tuple[str, str]]:
    return CALLS.items()


def _failed(parts: Iterable[Figures], also: tuple[str, ...] = ()) -> int:
    outcomes = [item for part in parts for kind in CALLS for item in part[kind]["outcomes"].items()]
    return sum(count for outcome, count in outcomes if not outcome.startswith(("ok", *also)))


def _goal(name: str, measured: float | None, at_most: float) -> dict[str, Any]:
    return {
        "goal": name,
        "measured": measured,
        "at_most": at_most,
        "holds": measured is not None and measured <= at_most,
    }


def show(result: Figures, console: Console) -> None:
    table = Table("load", "call", "p50 ms", "p95 ms", "p99 ms", "refused p95", "outcomes", title="Load")
    parts = ("server", "worker", "database", "client")
    used = Table("load", *(f"{part} cores" for part in parts), "client late p95 ms", "server MB, most", title="Used")
    named = [("steady", result["steady"])]
    named += [(f"{step['factor']:.2f} ×", step) for step in result["steps"]]
    named.append((f"{result['overload']['factor']:.2f} ×", result["overload"]))
    for title, part in named:
        for kind, name in _calls():
            row = part[kind]
            outcomes = ", ".join(f"{count:,} {what}" for what, count in sorted(row["outcomes"].items()))
            table.add_row(title, name, *map(_said, (*row["ms"].values(), row["refused_ms"]["p95"])), outcomes)
        cores = [part["cores"][name] for name in parts]
        used.add_row(title, *map(_said, (*cores, part["client_late_p95_ms"], part["resident_mb"]["most"])))
    aims = Table("goal", "measured", "at most", "", title="Goals")
    for goal in result["goals"]:
        verdict = "[green]pass[/]" if goal["holds"] else "[red]fail[/]"
        aims.add_row(goal["goal"], _said(goal["measured"]), f"{goal['at_most']:g}", verdict)
    for each in (table, used, aims):
        each.title_justify = "left"
        console.print(each)
    console.print(f"Sustained: {result['sustained_factor']:.2f} × the steady load.")


def _said(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"
