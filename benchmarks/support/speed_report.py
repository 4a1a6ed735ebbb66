"""The figures of a speed run as a table, and what was aimed at."""

from typing import Any

from rich.console import Console
from rich.table import Table

Figures = dict[str, dict[str, float]]

WITHIN_FLOOR = {"small": 3.0, "large": 2.0}
WITHIN_MS = {"small": 25.0, "large": 60.0}
GROWTH = 0.20


def goals(latency: Figures) -> list[dict[str, Any]]:
    """Each goal with what was measured and whether it holds."""
    found = []
    for size in ("small", "large"):
        context = latency[f"context, {size} tenant, 1 client"]["p95"]
        floor = latency[f"floor, {size} tenant, 1 client"]["p95"]
        found.append(
            _goal(f"context p95, {size} tenant, as a multiple of the floor", context / floor, WITHIN_FLOOR[size])
        )
        found.append(_goal(f"context p95, {size} tenant, in ms", context, WITHIN_MS[size]))
    for name in ("context", "search"):
        alone = latency[f"{name}, small tenant alone, 1 client"]["p50"]
        among = latency[f"{name}, small tenant, 1 client"]["p50"]
        found.append(_goal(f"{name} p50 of a small tenant: growth as all others grow", among / alone - 1, GROWTH))
    return found


def _goal(name: str, measured: float, at_most: float) -> dict[str, Any]:
    shown = round(measured, 2)
    return {"goal": name, "measured": shown, "at_most": at_most, "holds": shown <= at_most}


def show(result: dict[str, Any], console: Console) -> None:
    table = Table("what", "p50 ms", "p95 ms", "p99 ms", "calls", title="Latency", title_justify="left")
    for name, row in result["latency_ms"].items():
        table.add_row(name, *(f"{row[key]:.1f}" for key in ("p50", "p95", "p99")), str(row["calls"]))
    console.print(table)
    table = Table("what", "per second", title="Rates", title_justify="left")
    for name, value in result["rates_per_second"].items():
        table.add_row(name, f"{value:.1f}")
    console.print(table)
    table = Table("what", "value", title="Also", title_justify="left")
    for name, value in result["other"].items():
        table.add_row(name.replace("_", " "), f"{value:g}")
    console.print(table)
    table = Table("goal", "measured", "at most", "", title="Goals", title_justify="left")
    for goal in result["goals"]:
        verdict = "[green]pass[/]" if goal["holds"] else "[red]fail[/]"
        table.add_row(goal["goal"], f"{goal['measured']:.2f}", f"{goal['at_most']:g}", verdict)
    console.print(table)
