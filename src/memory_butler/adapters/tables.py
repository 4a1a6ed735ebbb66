"""How answers look to a person in a terminal: plain tables that fit 80 columns and survive a pipe."""

import unicodedata
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memory_butler.models import (
    Answer,
    Briefing,
    Episode,
    Fact,
    Hit,
    Kinship,
    Maturity,
    Neighbour,
    Portrait,
    Receipt,
    ScoreParts,
    Stored,
    Tier,
)
from memory_butler.policy.maturity import warning
from memory_butler.policy.tiers import tier_of
from memory_butler.policy.wording import about_of, ordinal, spoken

BAR_CELLS = 5
NEIGHBOUR_CHARACTERS = 160
_BIDI = {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)}
_OUTCOMES = {
    "created": "Stored {ref}",
    "confirmed": "Confirmed {ref}",
    "superseded": "Stored {ref}; it supersedes {old}",
    "retracted": "Forgot {ref}: it is out of use, and nothing of it is lost",
    "already_retracted": "{ref} was forgotten before",
    "marked_helpful": "Noted that {ref} helped",
    "marked_harmful": "Noted that {ref} did harm",
    "restored": "Restored {ref}: it is in use again",
    "already_active": "{ref} is in use already",
    "corrected": "Stored {ref}; it corrects {old}",
    "unchanged": "{ref} says so already",
    "pinned": "Pinned {ref}: it is kept as it is until it is unpinned",
    "already_pinned": "{ref} was pinned before",
    "unpinned": "Unpinned {ref}: its time runs again, from now on",
    "already_unpinned": "{ref} is not pinned",
    "reversed": "Reversed {ref}: no warning any more, but a candidate",
}
TIERS = {Tier.EDEN: "Eden", Tier.MID: "mid-term", Tier.LONG: "long-term"}
_KINSHIPS = {
    Kinship.BEFORE: "before it",
    Kinship.AFTER: "after it",
    Kinship.SAME_SUBJECT: "same subject",
    Kinship.SOURCE: "learned from",
}
REASONS = {
    "budget": "there was no room left in the budget",
    "quota": "the section had used its share of the budget",
    "confidence": "their confidence has faded too far",
    "scope": "they belong to another butler's scope",
}


def safe(text: str) -> str:
    """Text that cannot give orders to the terminal: no control characters but line breaks, no reordering marks."""
    return "".join(
        "�" if (unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t") or char in _BIDI else char
        for char in text
    )


def date_of(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M") if moment else "never"


def bar(share: float, cells: int = BAR_CELLS) -> str:
    """A share of 1 as a bar."""
    filled = round(max(0.0, min(1.0, share)) * cells)
    return "█" * filled + "░" * (cells - filled)


def what_it_says(hit: Hit) -> Text:
    """A memory in words, the way a person would say it."""
    if hit.maturity == Maturity.ANTI_PATTERN:
        return Text(safe(warning(hit.content, hit.harmful_reasons or [])), style="yellow")
    if hit.subject_label is None:
        return Text(safe(hit.content))
    name = f"{about_of(hit.subject_label, hit.predicate_label)}: "
    return Text.assemble((safe(name), "bold"), safe(hit.content))


def how_it_stands(hit: Hit) -> str:
    """State, tier, scope and day, in a few words."""
    parts = [hit.maturity or (hit.validity if hit.validity != "active" else ""), hit.permanence or ""]
    parts.append(TIERS[tier_of(hit.type, permanence=hit.permanence, maturity=hit.maturity)])
    if hit.subject_label is None and hit.maturity is None:
        parts.append(f"seen {(hit.observed_at or hit.created_at).date()} by {hit.butler}")
    else:
        parts.append(f"from {hit.created_at.date()}")
        parts.append(f"happened {hit.valid_at.date()}" if hit.valid_at else "")
        parts.append(f"scope {hit.scope}" if hit.scope != "global" else "")
    return " · ".join(part.replace("_", "-") for part in parts if part)


def why_it_ranks(parts: ScoreParts) -> str:
    """The places on both lists, in words."""
    places = []
    if parts.semantic_rank is not None:
        places.append(f"{ordinal(parts.semantic_rank)} by meaning")
    if parts.keyword_rank is not None:
        places.append(f"{ordinal(parts.keyword_rank)} by words")
    return ", ".join(places)


def how_relevant(parts: ScoreParts) -> str:
    """How likely it bears on the question, as a share of a hundred."""
    percent = 100 * parts.relevance
    return f"{percent:.0f} % relevant" if percent >= 1 else "< 1 % relevant"


def answer(found: Answer) -> RenderableType:
    lines: list[RenderableType] = [Text(f"! {safe(said)}", style="yellow") for said in found.degraded]
    if not found.results:
        return Group(*lines, Text("Nothing found."))
    table = Table(box=None, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("reference", no_wrap=True)
    table.add_column("memory", overflow="fold")
    for entry in found.results:
        under = f"{how_it_stands(entry.hit)} · {how_relevant(entry.parts)} · {why_it_ranks(entry.parts)}"
        if entry.also:
            under += f" · {', '.join(entry.also)} {'says' if len(entry.also) == 1 else 'say'} the same"
        said = Text.assemble(what_it_says(entry.hit), "\n", (safe(under), "dim"))
        reference = Text(f"{entry.hit.type}:{entry.hit.ref}", style="cyan")
        table.add_row(f"{entry.parts.score:.3f}", reference, said)
        for beside in found.neighbours.get(entry.hit.id, ()):
            table.add_row("", Text(f"  {beside.type}:{beside.ref}", style="dim cyan"), neighbour(beside))
    return Group(*lines, table)


def neighbour(beside: Neighbour) -> Text:
    """How it belongs to the result above it, and the beginning of what it says."""
    said = Text(f"  {_KINSHIPS[beside.relation]}: ", style="dim")
    if beside.content is None:
        return said.append("it is in this answer already")
    name = f"{spoken(beside.predicate_label)}: " if beside.predicate_label else ""
    words = " ".join((name + beside.content).split())
    cut = words if len(words) <= NEIGHBOUR_CHARACTERS else f"{words[:NEIGHBOUR_CHARACTERS]}…"
    return said.append(safe(cut), "not dim")


def stored(done: Stored) -> RenderableType:
    said = _OUTCOMES.get(done.outcome, f"{done.outcome}: {{ref}}")
    if done.outcome == "restored" and done.superseded_ref:
        said += "; {old} is superseded by it"
    return Text(said.format(ref=f"{done.type}:{done.ref}", old=f"fact:{done.superseded_ref}") + ".")


def portrait(seen: Portrait) -> RenderableType:
    kept = seen.memory
    parts: list[RenderableType] = [
        Text(f"{kept.type}:{kept.ref}", style="bold cyan"),
        Padding(Text(safe(kept.content)), (0, 0, 0, 2), expand=False),
        _pairs(_facts_of(seen)),
    ]
    if seen.chain:
        parts.append(Text("Line of supersession", style="bold"))
        rows = [
            (f"fact:{fact.ref}", fact.validity.value, date_of(fact.created_at), fact.content) for fact in seen.chain
        ]
        parts.append(_rows(rows))
    if seen.links:
        parts.append(Text("Links", style="bold"))
        parts.append(_rows(_link_row(link, kept.id) for link in seen.links))
    return Group(*parts)


def _facts_of(seen: Portrait) -> dict[str, str]:
    kept = seen.memory
    pairs: dict[str, str] = {"id": str(kept.id)}
    if isinstance(kept, Fact):
        pairs |= {"subject": kept.subject_label, "predicate": kept.predicate_label, "permanence": kept.permanence.value}
        pairs |= {"also called": ", ".join(seen.aliases)} if seen.aliases else {}
        pairs |= {"happened": date_of(kept.valid_at)} if kept.valid_at else {}
    if isinstance(kept, Episode):
        pairs |= {"butler": kept.butler, "session": kept.session_id or "", "observed": date_of(kept.observed_at)}
        pairs |= {"consolidation": kept.consolidation_status.value.replace("_", " ")} | _tries(kept)
        pairs |= {"importance": str(kept.importance)}
    else:
        pairs |= {"scope": kept.scope, "confidence": f"{seen.effective_confidence:.2f} now, {kept.confidence:g} stored"}
        pairs |= {"last confirmed": date_of(kept.last_confirmed_at)}
    if isinstance(kept, Fact):
        pairs |= {"importance": str(kept.importance)}
    if not isinstance(kept, Fact | Episode):
        score = kept.effectiveness_score
        marks = f"{kept.success_count} helpful, {kept.harmful_count} harmful"
        pairs |= {"maturity": kept.maturity.value, "applied": marks}
        pairs |= {"effectiveness": f"{score:.2f}"} if score is not None else {}
        pairs |= {"did harm because": "; ".join(kept.harmful_reasons)} if kept.harmful_reasons else {}
    pairs |= {"state": kept.validity.value, "tier": seen.tier.value, "stored": date_of(kept.created_at)}
    pairs |= {"referenced": f"{kept.reference_count} times, last {date_of(kept.last_referenced_at)}"}
    pairs |= {"fades": date_of(seen.fades_at)} if seen.fades_at else {}
    pairs |= {"expires": date_of(seen.expires_at)} if seen.expires_at else {}
    pairs |= {"outlook": seen.outlook}
    pairs |= {"tags": ", ".join(kept.tags)} if kept.tags else {}
    return {name: value for name, value in pairs.items() if value}


def _tries(kept: Episode) -> dict[str, str]:
    """How often it could not be distilled, why, and when it is tried again."""
    if not kept.consolidation_attempts:
        return {}
    tried = {"tries": str(kept.consolidation_attempts), "went wrong": kept.last_consolidation_error or ""}
    again = kept.next_consolidation_retry_at
    return tried | ({"next try": date_of(again)} if again else {})


def _link_row(link: Any, here: Any) -> tuple[str, ...]:
    outward = link.source_id == here
    kind, other = (link.target_type, link.target_id) if outward else (link.source_type, link.source_id)
    name = f"{kind}:{link.other_ref}" if link.other_ref else f"{kind} {other}"
    return ("→" if outward else "←", link.relation.value, name, link.availability)


def receipt(given: Receipt) -> RenderableType:
    """What a briefing cost, what was left out of it, and why."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("section", "lines", "tokens", "quota"):
        table.add_column(column, justify="left" if column == "section" else "right")
    for section in given.sections:
        table.add_row(section.section, str(section.lines), str(section.used_tokens), str(section.quota_tokens))
    head = Text(f"{given.used_tokens} of {given.token_budget} tokens used, counted by {given.tokenizer}")
    lines = [Text(f"! {safe(said)}", style="yellow") for said in given.degraded]
    return Group(head, table, *lines, *(Text(said) for said in left_out(given)))


def left_out(given: Receipt) -> list[str]:
    """Why something is not in a briefing, one sentence for each reason."""
    by_reason: dict[str, list[str]] = {}
    for entry in given.left_out:
        by_reason.setdefault(entry["reason"], []).append(entry["ref"])
    said = [f"Left out: {', '.join(refs)}, because {REASONS.get(why, why)}." for why, refs in by_reason.items()]
    said += [
        f"Hidden: {count} live {'memory' if count == 1 else 'memories'}, because {REASONS.get(why, why)}."
        for why, count in given.hidden.items()
        if count
    ]
    return said or ["Nothing was left out."]


def briefing(built: Briefing) -> RenderableType:
    return receipt(built.receipt)


def stats(found: Mapping[str, Any]) -> RenderableType:
    parts: list[RenderableType] = [Text(f"Scope: {found['scope']}")]
    for title, values in found.items():
        if title == "scope":
            continue
        if title == "tiers":
            parts += [Text("Tiers", style="bold"), _tiers(values)]
        elif title == "tiers_by_butler":
            if len(values) > 1:
                parts += [Text("Tiers by butler, the fullest first", style="bold"), _tiers_by_butler(values)]
        elif title == "consolidation":
            parts += [Text("Consolidation", style="bold"), _pairs(_consolidation(values))]
        elif isinstance(values, Mapping):
            parts.append(Text(title.replace("_", " ").capitalize(), style="bold"))
            parts.append(_pairs({str(name): _words(value) for name, value in values.items()} or {"none": ""}))
        else:
            parts.append(Text.assemble((f"{title.replace('_', ' ').capitalize()}: ", "bold"), str(values)))
    return Group(*parts)


def _consolidation(values: Mapping[str, Any]) -> dict[str, str]:
    """Who distils, and how it went in the last days."""
    rate = values["success_rate"]
    pairs = {"distiller": values["distiller"], f"runs in {values['days']} days": _words(values["runs"])}
    if values["runs"]:
        pairs |= {"went well": "–" if rate is None else f"{rate:.0%}", "by distiller": _words(values["by_distiller"])}
        pairs |= {"episodes": str(values["episodes"]), "items an episode": _words(values["items_per_episode"])}
        pairs |= {"items": _words(values["items"]), "refused": _words(values["refused"])}
        pairs |= {"awaiting review": str(values["awaiting_review"])}
    if values["tokens"]:
        pairs |= {"cost": f"{values['tokens']:,} tokens, {values['dollars']:.4f} dollars"}
    return pairs


def _tiers(tiers: Mapping[str, Any]) -> RenderableType:
    """How full each generation is, how old, how much used."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("tier")
    for column in ("memories", "capacity"):
        table.add_column(column, justify="right")
    table.add_column("full")
    table.add_column("references", justify="right")
    table.add_column("oldest")
    for name, tier in tiers.items():
        counts = (str(tier["count"]), str(tier["capacity"]), bar(tier["count"] / tier["capacity"]))
        table.add_row(name, *counts, str(tier["references"]), (tier["oldest"] or "–")[:10])
    return Padding(table, (0, 0, 0, 2), expand=False)


def _tiers_by_butler(butlers: Mapping[str, Any]) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("butler", overflow="fold")
    for column in next(iter(butlers.values())):
        table.add_column(column, justify="right", overflow="fold")
    for name, tiers in butlers.items():
        table.add_row(Text(safe(name)), *(f"{tier['count']} of {tier['capacity']}" for tier in tiers.values()))
    return Padding(table, (0, 0, 0, 2), expand=False)


def finding_line(check: str, status: str, message: str, advice: str | None) -> RenderableType:
    """One line of a check-up, and what to do about it."""
    mark, style = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "bold red")}[status]
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text(mark, style=style), Text.assemble((check, "bold"), f": {safe(message)}"))
    if advice:
        grid.add_row("", Text(f"→ {safe(advice)}"))
    return grid


def problem_block(message: str, recovery: str) -> RenderableType:
    """An error: what went wrong, and how to recover."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text("✗", style="bold red"), Text(safe(message)))
    grid.add_row(Text("→", style="bold"), Text(safe(recovery)))
    return grid


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} {_words(count)}" for name, count in value.items()) or "none"
    return "–" if value is None else str(value)


def _pairs(pairs: Mapping[str, str]) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs.items():
        grid.add_row(Text(name.replace("_", " ")), Text(safe(value)))
    return Padding(grid, (0, 0, 0, 2), expand=False)


def _rows(rows: Iterable[Iterable[str]]) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for row in rows:
        grid.add_row(*(Text(safe(cell)) for cell in row))
    return Padding(grid, (0, 0, 0, 2), expand=False)
