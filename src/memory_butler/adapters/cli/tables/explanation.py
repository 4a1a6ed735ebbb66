"""Explanation of a search result in the terminal: the verdict, then each step with its numbers."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from memory_butler.adapters.cli.tables.memories import indented, plain_table, safe
from memory_butler.models.explanation import Explanation, Listing, QuestionReading, Term
from memory_butler.policy.memories.text import ordinal

TINY = 0.0005


def explanation(result: Explanation) -> RenderableType:
    parts: list[RenderableType] = [Text(f"! {safe(note)}", style="yellow") for note in result.degraded]
    parts.append(
        Text.assemble(
            (f"{result.type}:{result.ref}", "cyan"),
            "  ",
            (safe(result.verdict), "bold green" if result.returned else "bold"),
        )
    )
    if result.briefing:
        parts.append(Text(safe(result.briefing.verdict), style="bold green" if result.briefing.included else "bold"))
    parts += _section("Question", _lines(_reading(result.reading)))
    parts += _section("Ranks", _lists(result))
    parts += _section("Filters", _filters(result))
    if result.second_look:
        look = result.second_look
        words = f"{look.why}: {ordinal(look.place)} of {look.candidates}, {ordinal(look.fused_place)} before."
        if look.cross_encoder_score is not None:
            words += f" It scores {look.cross_encoder_score:.3f}."
        parts += _section(
            "Reranking", Text(safe(words[:1].upper() + words[1:])), _terms(look.signals, "vote", look.vote)
        )
    if result.gate:
        sign = "≥" if result.gate.passed else "<"
        text = f"{result.gate.relevance:.6g} {sign} {result.gate.min_relevance:g}"
        parts += _section("Relevance", Text(text, style="" if result.gate.passed else "yellow"))
    if result.scoring:
        words = f"{ordinal(result.scoring.place)} of {result.scoring.candidates} by score."
        parts += _section("Score", Text(words), _terms(result.scoring.terms, "score", result.scoring.score))
    diversity = list(_diversity(result))
    parts += _section("Diversity", *diversity) if diversity else []
    return Group(*parts)


def _reading(read: QuestionReading) -> Iterator[tuple[str, str]]:
    yield "embedded text", read.compared
    yield "keywords", read.words
    yield "intent", read.intent
    yield "names", ", ".join(read.names)
    yield "unknown names", ", ".join(read.unheard)
    yield "time", read.time or ""


def _lists(result: Explanation) -> RenderableType:
    table = _grid()
    for name, listing in (("by meaning", result.by_meaning), ("by words", result.by_words)):
        table.add_row(Text(name), Text(_number(listing)), Text(safe(listing.why)))
    for name, matches in (("matched words", result.matched_words), ("matched names", result.matched_names)):
        if matches:
            table.add_row(Text(name), "", Text(safe(", ".join(matches))))
    return table


def _number(listing: Listing) -> str:
    return "–" if listing.score is None else f"{listing.score:.3f}"


def _filters(result: Explanation) -> RenderableType:
    table = _grid()
    for check in result.filters:
        mark = Text("✓", style="green") if check.passed else Text("✗", style="bold red")
        table.add_row(Text(check.name), mark, Text(safe(check.why)))
    return table


def _diversity(result: Explanation) -> Iterator[RenderableType]:
    variety = result.variety
    if variety and variety.repeats:
        yield Text(f"Duplicate of {variety.repeats}.")
    if variety and variety.also:
        yield Text(f"Represents its duplicates {', '.join(variety.also)}.")
    if variety and variety.waited:
        yield Text("Moved down: its cluster had used its share of the results.")


def _terms(terms: Sequence[Term], name: str, total: float) -> RenderableType:
    """The terms of a sum, the largest first; terms below 0.0005 are omitted."""
    columns = ("", ">value", ">weight", ">adds")
    table = plain_table(*columns, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
    for term in sorted(terms, key=lambda term: -abs(term.contribution)):
        if abs(term.contribution) >= TINY:
            numbers = (f"{term.value:.3f}", f"{term.weight:g}", f"{term.contribution:+.3f}")
            table.add_row(Text(term.name.replace("_", " ")), *numbers)
    table.add_row(Text(name, style="bold"), "", "", Text(f"{total:.3f}", style="bold"))
    return table


def _lines(pairs: Iterator[tuple[str, str]]) -> RenderableType:
    table = _grid()
    for name, value in pairs:
        if value:
            table.add_row(Text(name), Text(safe(value)))
    return table


def _grid() -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    return grid


def _section(title: str, *parts: RenderableType) -> list[RenderableType]:
    return [Text(title, style="bold"), *(indented(part) for part in parts)]
