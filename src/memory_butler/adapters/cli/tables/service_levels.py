"""Service levels as a table and as JSON."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from memory_butler.adapters.cli.tables.memories import plain_table
from memory_butler.operations.system.objectives import ServiceLevels
from memory_butler.policy.system import level_texts as texts


def encode_levels(found: ServiceLevels) -> dict[str, Any]:
    return {
        "since": found.since.isoformat(),
        "days": found.days,
        "is_met": found.is_met,
        "objectives": [
            {
                "objective": one.objective.name,
                "share": one.objective.share,
                "limit_seconds": one.objective.limit,
                "measurements": one.total,
                "good": one.good,
                # JSON has no infinity.
                "value": None if one.is_beyond else one.value,
                "is_met": one.is_met,
                "error_budget_left": one.budget_left,
            }
            for one in found.levels
        ],
    }


def level_table(found: ServiceLevels) -> RenderableType:
    columns = ("objective", "goal", ">measured", ">good", ">of", ">error budget left", "")
    title = f"The last {found.days} days" if found.days > 1 else "The last day"
    table = plain_table(*columns, title=title, title_justify="left", pad_edge=False)
    for one in found.levels:
        style = {True: "green", False: "bold red", None: "dim"}[one.is_met]
        figures = (texts.value_text(one), texts.good_text(one), f"{one.total:,}", texts.budget_text(one))
        row = (one.objective.title, texts.goal_text(one.objective), *figures)
        table.add_row(*row, Text(texts.verdict_text(one), style=style))
    return Group(table, Text("Calls over MCP, REST and hooks count, those of the command line do not.", style="dim"))
