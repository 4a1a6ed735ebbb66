"""How an explanation looks in a terminal: the verdict, then each step of the way with its numbers."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memory_butler.adapters.tables import safe
from memory_butler.models.explanation import Explanation, Listing, Reading, Term
from memory_butler.policy.wording import ordinal

TINY = 0.0005


def explanation(told: Explanation) -> RenderableType:
    parts: list[RenderableType] = [Text(f"! {safe(said)}", style="yellow") for said in told.degraded]
    parts.append(
        Text.assemble(
            (f"{told.type}:{told.ref}", "cyan"), "  ", (safe(told.verdict), "bold green" if told.returned else "bold")
        )
    )
    if told.briefing:
        parts.append(Text(safe(told.briefing.verdict), style="bold green" if told.briefing.included else "bold"))
    parts += _section("The question", _lines(_reading(told.reading)))
    parts += _section("The two lists", _lists(told))
    parts += _section("Filters", _filters(told))
    if told.second_look:
        look = told.second_look
        words = f"{look.why}: {ordinal(look.place)} of {look.candidates}, {ordinal(look.fused_place)} before."
        if look.cross_encoder_score is not None:
            words += f" It scores {look.cross_encoder_score:.3f}."
        parts += _section(
            "Second look", Text(safe(words[:1].upper() + words[1:])), _terms(look.signals, "vote", look.vote)
        )
    if told.gate:
        sign = "≥" if told.gate.passed else "<"
        text = f"{told.gate.relevance:.6g} {sign} {told.gate.min_relevance:g}"
        parts += _section("Relevance", Text(text, style="" if told.gate.passed else "yellow"))
    if told.scoring:
        words = f"{ordinal(told.scoring.place)} of {told.scoring.candidates} by score."
        parts += _section("Score", Text(words), _terms(told.scoring.terms, "score", told.scoring.score))
    said = list(_variety(told))
    parts += _section("Variety", *said) if said else []
    return Group(*parts)


def _reading(read: Reading) -> Iterator[tuple[str, str]]:
    yield "compared", read.compared
    yield "looked for", read.words
    yield "asks for", read.intent
    yield "names", ", ".join(read.names)
    yield "never heard of", ", ".join(read.unheard)
    yield "time", read.time or ""


def _lists(told: Explanation) -> RenderableType:
    table = _grid()
    for name, listing in (("by meaning", told.by_meaning), ("by words", told.by_words)):
        table.add_row(Text(name), Text(_number(listing)), Text(safe(listing.why)))
    for name, found in (("its words", told.matched_words), ("its names", told.matched_names)):
        if found:
            table.add_row(Text(name), "", Text(safe(", ".join(found))))
    return table


def _number(listing: Listing) -> str:
    return "–" if listing.score is None else f"{listing.score:.3f}"


def _filters(told: Explanation) -> RenderableType:
    table = _grid()
    for check in told.filters:
        mark = Text("✓", style="green") if check.passed else Text("✗", style="bold red")
        table.add_row(Text(check.name), mark, Text(safe(check.why)))
    return table


def _variety(told: Explanation) -> Iterator[RenderableType]:
    variety = told.variety
    if variety and variety.repeats:
        yield Text(f"Says the same as {variety.repeats}.")
    if variety and variety.also:
        yield Text(f"Stands also for {', '.join(variety.also)}, which say the same.")
    if variety and variety.waited:
        yield Text("Waited until other properties had their turn.")


def _terms(terms: Sequence[Term], name: str, total: float) -> RenderableType:
    """A sum, the largest contributions first; what contributes nothing is left out."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
    table.add_column("")
    for column in ("value", "weight", "adds"):
        table.add_column(column, justify="right")
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
    return [Text(title, style="bold"), *(Padding(part, (0, 0, 0, 2), expand=False) for part in parts)]
