"""The tables of the retrieval measurement: on a terminal, and in docs/concepts/retrieval.md.

`python -m benchmarks.ranking.report --page docs/concepts/retrieval.md` writes the last result into the page.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.support import machine
from memory_butler.policy.retrieval import relevance

COLUMNS = ("recall@5", "recall@10", "recall@20", "strict@10", "hit@10", "ndcg@10", "questions")
NARROW = ("recall@10", "strict@10", "ndcg@10")
BASE = "all signals, refitted"
_MARKED = re.compile(r"(<!-- measured: (?P<key>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(slots=True)
class Sheet:
    """A table: what it is, its columns, and rows of which some stand out and some stand back."""

    title: str
    columns: Sequence[str]
    rows: list[tuple[str, list[str], str]] = field(default_factory=list)

    def add(self, label: str, cells: Sequence[str], style: str = "") -> None:
        self.rows.append((label, list(cells), style))


def show(result: Mapping[str, Any], console: Console) -> None:
    for sheet in _everything(result):
        printed(sheet, console)


def printed(sheet: Sheet, console: Console) -> None:
    table = Table(title=sheet.title, title_justify="left")
    table.add_column(sheet.columns[0])
    for column in sheet.columns[1:]:
        table.add_column(column, justify="right")
    for label, cells, style in sheet.rows:
        table.add_row(label, *cells, style=style)
    console.print(table)


def markdown(sheet: Sheet) -> str:
    lines = [f"| {' | '.join(sheet.columns)} |", "|---|" + "--:|" * (len(sheet.columns) - 1)]
    for label, cells, style in sheet.rows:
        mark = "**" if style == "bold" else ""
        lines.append(f"| {mark}{label.strip()}{mark} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def filled(page: str, result: Mapping[str, Any]) -> str:
    """The page with every table between its marks replaced by the one that was measured."""
    tables = for_page(result)

    def table(mark: re.Match[str]) -> str:
        if mark["key"] not in tables:
            raise KeyError(f"the page asks for the table {mark['key']!r}, which this result does not have")
        return f"{mark[1]}\n{markdown(tables[mark['key']])}\n{mark[3]}"

    return _MARKED.sub(table, page)


def for_page(result: Mapping[str, Any]) -> dict[str, Sheet]:
    """The tables that a page can have, by the names of their places."""
    found = {"headline": _headline(result["results"]), "categories": _categories(result["results"])}
    return found | dict(_studies(result))


def _everything(result: Mapping[str, Any]) -> Iterator[Sheet]:
    for name, kinds in result["results"].items():
        for kind, modes in kinds.items():
            yield _sweep(name, modes) if kind == "sweep" else _modes(name, kind, modes)
    for _, sheet in _studies(result):
        yield sheet


def _studies(result: Mapping[str, Any]) -> Iterator[tuple[str, Sheet]]:
    yield "held-out", averages_sheet("Weights fitted to something else", "weights", result["held_out"]["rows"])
    yield "conversations", _conversations(result["held_out"]["conversations"])
    if result["wrong_conversation"]["questions"]:
        yield "wrong-conversation", _curve(result["wrong_conversation"])
    yield "signals", _signals(result["ablation"])
    yield "parts", averages_sheet("What each part earns", "ranking", result["ablation"]["rows"])
    yield "diversity", _diversity(result["diversity"])
    if result.get("sources"):
        yield "sources", _sources(result["sources"])


def _headline(results: Mapping[str, Any]) -> Sheet:
    sheet = Sheet("Headline questions", ("set, mode", *COLUMNS))
    for name, kinds in results.items():
        for kind, modes in kinds.items():
            for mode, result in modes.items() if kind != "sweep" else ():
                sheet.add(f"{name} {kind}, {mode}", _measures(result["all"]), "bold" if mode == "hybrid" else "")
    return sheet


def _categories(results: Mapping[str, Any]) -> Sheet:
    sheet = Sheet("By category, hybrid", ("category", *COLUMNS))
    for name, kinds in results.items():
        for category, row in kinds["episodes"]["hybrid"]["categories"].items():
            sheet.add(f"{name}: {category}", _measures(row))
    return sheet


def _modes(name: str, kind: str, modes: Mapping[str, Any]) -> Sheet:
    sheet = Sheet(f"{name}, {kind}", ("mode / category", *COLUMNS))
    for mode, result in modes.items():
        sheet.add(mode, _measures(result["all"]), "bold")
        for category, row in result["categories"].items():
            sheet.add(f"  {category}", _measures(row), "dim")
    return sheet


def _sweep(name: str, votes: Mapping[str, Any]) -> Sheet:
    sheet = Sheet(f"{name}, fused order under other votes", ("votes semantic:keyword", *COLUMNS))
    for label, row in votes.items():
        sheet.add(label, _measures(row))
    return sheet


def _measures(row: Mapping[str, float]) -> list[str]:
    return [*(f"{row[column]:.3f}" for column in COLUMNS[:-1]), str(row["questions"])]


def averages_sheet(title: str, first: str, rows: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Sheet:
    """One row for each way of ranking, the measures of both sets beside each other."""
    names = list(next(iter(rows.values())))
    sheet = Sheet(title, (first, *(f"{name} {measure}" for name in names for measure in NARROW)))
    for label, row in rows.items():
        cells = [f"{row[name][measure]:.3f}" for name in names for measure in NARROW]
        sheet.add(label, cells, "bold" if label in (BASE, "shipped default", "shipped weights") else "")
    return sheet


def _signals(study: Mapping[str, Any]) -> Sheet:
    """What is lost without each signal, in points of the two measures."""
    base, shown = study["rows"][BASE], ("recall@10", "ndcg@10")
    columns = [(name, measure) for name in base for measure in shown]
    sheet = Sheet("What each signal earns, in points", ("signal", "weight", *map(" ".join, columns)))
    for signal, weight in study["weights"].items():
        without = study["signals"].get(signal)
        earned = [
            f"{100 * (base[name][measure] - without[name][measure]):+.1f}" if without else "set by hand"
            for name, measure in columns
        ]
        sheet.add(f"`{signal}`", [f"{weight:g}", *earned])
    return sheet


def _conversations(conversations: Mapping[str, Mapping[str, float]]) -> Sheet:
    sheet = Sheet("Each conversation under weights fitted to the rest", ("conversation", *NARROW))
    for tenant, row in conversations.items():
        sheet.add(tenant, [f"{row[measure]:.3f}" for measure in NARROW])
    return sheet


def _diversity(kinds: Mapping[str, Mapping[str, Any]]) -> Sheet:
    sheet = Sheet(
        "What collapsing near-duplicates costs",
        ("memories", "questions it changes", *("strict@10", "without it"), *("recall@10", "without it")),
    )
    for label, row in kinds.items():
        cells = [f"{row[how][measure]:.3f}" for measure in ("strict@10", "recall@10") for how in ("with", "without")]
        sheet.add(label, [f"{row['changed']} of {row['questions']}", *cells])
    return sheet


def _sources(weights: Mapping[str, Mapping[str, float]]) -> Sheet:
    sheet = Sheet("Facts under other weights of `source_match`", ("weight", *COLUMNS))
    for label, row in weights.items():
        sheet.add(label, _measures(row), "bold" if float(label) == relevance.WEIGHTS.source_match else "")
    return sheet


def _curve(wrong: Mapping[str, Any]) -> Sheet:
    kinds = list(wrong["questions"])
    sets = list(wrong["curve"][0]["recall@10"])
    sheet = Sheet(
        "Asked of the wrong conversation: share of questions that return nothing, and what that costs the right ones",
        (
            "min_relevance",
            *(f"nothing, {kind} ({wrong['questions'][kind]})" for kind in kinds),
            *(f"{name} recall@10" for name in sets),
            *(f"{name} results of 10" for name in sets),
            *(f"{name} nothing" for name in sets),
        ),
    )
    for row in wrong["curve"]:
        default = row["min_relevance"] == wrong["default"]
        sheet.add(
            f"{row['min_relevance']:g}" + (" (default)" if default else ""),
            [
                *(f"{row['nothing_returned'][kind]:.3f}" for kind in kinds),
                *(f"{row['recall@10'][name]:.3f}" for name in sets),
                *(f"{row['results'][name]:.1f}" for name in sets),
                *(f"{row['nothing_returned_right'][name]:.3f}" for name in sets),
            ],
            "bold" if default else "",
        )
    return sheet


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranking.report", description=__doc__)
    parser.add_argument("--json", type=Path, default=machine.RESULTS / "retrieval.json", help="the result to show")
    parser.add_argument("--page", type=Path, help="the page whose tables are written anew; else they are printed")
    arguments = parser.parse_args(given)
    result = json.loads(arguments.json.read_text(encoding="utf-8"))
    if arguments.page:
        arguments.page.write_text(filled(arguments.page.read_text(encoding="utf-8"), result), encoding="utf-8")
    else:
        print(all_markdown(result))
    return 0


def all_markdown(result: Mapping[str, Any]) -> str:
    return "\n".join(f"{sheet.title} ({key})\n\n{markdown(sheet)}" for key, sheet in for_page(result).items())


if __name__ == "__main__":
    sys.exit(main())
