"""Counts of the store in the terminal."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from memory_butler.adapters.cli.tables.memories import (
    bar,
    date_of,
    indented,
    pairs_grid,
    plain_table,
    rows_grid,
    safe,
)


def stats(report: Mapping[str, Any]) -> RenderableType:
    parts: list[RenderableType] = [Text(f"Scope: {report['scope']}")]
    for title, values in report.items():
        if title == "scope":
            continue
        if title == "tiers":
            parts += [Text("Tiers", style="bold"), _tiers(values)]
        elif title == "tiers_by_butler":
            if len(values) > 1:
                parts += [Text("Tiers by butler, fullest first", style="bold"), _tiers_by_butler(values)]
        elif title == "consolidation":
            parts += [Text("Consolidation", style="bold"), pairs_grid(_consolidation(values))]
        elif title == "expiring_unkept":
            parts += _expiring(values)
        elif isinstance(values, Mapping):
            parts.append(Text(title.replace("_", " ").capitalize(), style="bold"))
            parts.append(pairs_grid({str(name): _words(value) for name, value in values.items()} or {"none": ""}))
        else:
            parts.append(Text.assemble((f"{title.replace('_', ' ').capitalize()}: ", "bold"), str(values)))
    return Group(*parts)


def _expiring(values: Mapping[str, Any]) -> list[RenderableType]:
    """Important episodes that expire soon and of which nothing was kept."""
    if not values["episodes"]:
        return []
    rows = [(one["ref"], one["expires_at"][:16].replace("T", " "), one["words"]) for one in values["next"]]
    number = values["episodes"]
    what, them = ("episode expires", "it") if number == 1 else ("episodes expire", "them")
    title = f"{number:,} important {what} soon and nothing was kept of {them}"
    return [Text(title, style="bold yellow"), rows_grid(rows)]


def _consolidation(values: Mapping[str, Any]) -> dict[str, str]:
    rate = values["success_rate"]
    pairs = {"distiller": values["distiller"], f"runs in {values['days']} days": _words(values["runs"])}
    if values["runs"]:
        pairs |= {
            "success rate": "–" if rate is None else f"{rate:.0%}",
            "by distiller": _words(values["by_distiller"]),
        }
        pairs |= {"episodes": str(values["episodes"]), "nothing kept of": str(values["nothing_kept"])}
        pairs |= {"items per episode": _words(values["items_per_episode"])}
        pairs |= {"items": _words(values["items"]), "refused": _words(values["refused"])}
        pairs |= {"awaiting review": str(values["awaiting_review"])}
    if values["tokens"]:
        pairs |= {"cost": f"{values['tokens']:,} tokens, {values['dollars']:.4f} dollars"}
    return pairs


def _tiers(tiers: Mapping[str, Any]) -> RenderableType:
    """Fill level, age and use of each tier."""
    columns = ("tier", ">memories", ">capacity", "full", ">references", "oldest")
    table = plain_table(*columns, padding=(0, 2, 0, 0))
    for name, tier in tiers.items():
        counts = (str(tier["count"]), str(tier["capacity"]), bar(tier["count"] / tier["capacity"]))
        table.add_row(name, *counts, str(tier["references"]), (tier["oldest"] or "–")[:10])
    return indented(table)


def _tiers_by_butler(butlers: Mapping[str, Any]) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("butler", overflow="fold")
    for column in next(iter(butlers.values())):
        table.add_column(column, justify="right", overflow="fold")
    for name, tiers in butlers.items():
        table.add_row(Text(safe(name)), *(f"{tier['count']} of {tier['capacity']}" for tier in tiers.values()))
    return indented(table)


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} {_words(count)}" for name, count in value.items()) or "none"
    if isinstance(value, float):
        return f"{value:.2f}"
    return "–" if value is None else _without_seconds(str(value))


def _without_seconds(text: str) -> str:
    try:
        return date_of(datetime.fromisoformat(text)) if "T" in text else text
    except ValueError:
        return text
