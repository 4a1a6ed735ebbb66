"""Results in the terminal: plain tables that fit 80 columns and work in a pipe."""

import unicodedata
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from memory_butler import models
from memory_butler.english.text.normalize import as_words
from memory_butler.policy.briefing.claims import CLAIM_WORDS, Claim
from memory_butler.policy.lifecycle.tiers import tier_of
from memory_butler.policy.memories.anti_patterns import warning
from memory_butler.policy.memories.text import one_line, ordinal, subject_and_predicate, trust_mark
from memory_butler.policy.retrieval.relevance import level_of
from memory_butler.policy.trust.origin import mark
from memory_butler.policy.trust.reasons import describe_reason

BAR_CELLS = 5
NEIGHBOUR_CHARACTERS = 160
_BIDI = {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)}
_OUTCOMES = {
    "created": "Stored {ref}",
    "confirmed": "Confirmed {ref}",
    "superseded": "Stored {ref}; it supersedes {old}",
    "retracted": "Forgot {ref}: it is out of use and can be restored",
    "already_retracted": "{ref} was already forgotten",
    "marked_helpful": "Marked {ref} helpful",
    "marked_harmful": "Marked {ref} harmful",
    "restored": "Restored {ref}: it is in use again",
    "already_active": "{ref} is already in use",
    "corrected": "Stored {ref}; it corrects {old}",
    "updated": "Updated {ref}",
    "unchanged": "{ref} already has this value",
    "pinned": "Pinned {ref}: it does not decay until it is unpinned",
    "already_pinned": "{ref} was already pinned",
    "unpinned": "Unpinned {ref}: decay restarts now",
    "already_unpinned": "{ref} is not pinned",
    "linked": "Linked {ref}",
    "already_linked": "{ref} is linked so already",
    "reversed": "Reversed {ref}: it is a candidate rule again",
    "quarantined": "Stored {ref} in quarantine: it is not used until you approve it (memory-butler review)",
    "approved": "Approved {ref}: it is in use",
    "rejected": "Rejected {ref}: it stays out of use",
}
TIERS = {models.Tier.EDEN: "Eden", models.Tier.MID: "mid-term", models.Tier.LONG: "long-term"}
_KINSHIPS = {
    models.NeighbourRelation.BEFORE: "before",
    models.NeighbourRelation.AFTER: "after",
    models.NeighbourRelation.SAME_SUBJECT: "same subject",
    models.NeighbourRelation.SOURCE: "source",
}
REASONS = {
    "budget": "the token budget is used up",
    "confidence": "their confidence is too low",
    "scope": "they belong to another butler's scope",
}


def safe(text: str) -> str:
    """Text without control characters (except line breaks and tabs) and bidirectional marks."""
    return "".join(
        "�" if (unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t") or char in _BIDI else char
        for char in text
    )


def date_of(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M") if moment else "never"


def bar(share: float) -> str:
    """A share between 0 and 1 as a bar."""
    filled = round(max(0.0, min(1.0, share)) * BAR_CELLS)
    return "█" * filled + "░" * (BAR_CELLS - filled)


def plain_table(*columns: str, **options: Any) -> Table:
    """A table without lines; a column whose name begins with `>` holds numbers."""
    table = Table(box=None, **options)
    for name in columns:
        table.add_column(name.removeprefix(">"), justify="right" if name.startswith(">") else "left")
    return table


def unwrapped(text: str) -> Text:
    """A line to copy, such as a command: it is never wrapped."""
    return Text(text, no_wrap=True, overflow="ignore")


def indented(part: RenderableType) -> RenderableType:
    return Padding(part, (0, 0, 0, 2), expand=False)


def describe_memory(hit: models.Hit) -> Text:
    """The text of a memory; for an anti-pattern the warning."""
    if hit.maturity == models.Maturity.ANTI_PATTERN:
        return Text(safe(warning(hit.content, hit.harmful_reasons or [])), style="yellow")
    if hit.subject_label is None:
        return Text(safe(hit.content))
    name = f"{subject_and_predicate(hit.subject_label, hit.predicate_label, hit.content)}: "
    return Text.assemble((safe(name), "bold"), safe(hit.content))


def describe_state(hit: models.Hit) -> str:
    """State, tier, scope and date."""
    parts = [hit.maturity or (hit.validity if hit.validity != "active" else ""), hit.permanence or ""]
    parts.append(TIERS[tier_of(hit.type, permanence=hit.permanence, maturity=hit.maturity)])
    if hit.subject_label is None and hit.maturity is None:
        parts.append(f"seen {(hit.observed_at or hit.created_at).date()} by {hit.butler}")
    else:
        parts.append(f"from {hit.created_at.date()}")
        parts.append(f"happened {hit.valid_at.date()}" if hit.valid_at else "")
        parts.append(f"scope {hit.scope}" if hit.scope != "global" else "")
    parts.append("since changed" if hit.since_changed else "")
    return " · ".join(part.replace("_", "-") for part in parts if part)


def describe_ranks(parts: models.ScoreParts) -> str:
    places = []
    if parts.semantic_rank is not None:
        places.append(f"{ordinal(parts.semantic_rank)} by meaning")
    if parts.keyword_rank is not None:
        places.append(f"{ordinal(parts.keyword_rank)} by words")
    return ", ".join(places)


def describe_relevance(parts: models.ScoreParts) -> str:
    percent = 100 * parts.relevance
    number = f"{percent:.0f} % relevant" if percent >= 1 else "< 1 % relevant"
    return f"{level_of(parts.relevance)}, {number}"


def answer(result: models.Answer, *, verbose: bool = False) -> RenderableType:
    """The results, each with its relevance in words; with `verbose` also scores, ranks and states."""
    lines: list[RenderableType] = [Text(f"! {safe(note)}", style="yellow") for note in result.degraded]
    if not result.results:
        return Group(*lines, Text("No results."))
    if result.overview:
        lines.append(Text("Overview: the question is broad; these are the best of its kind.", style="dim"))
    table = Table(box=None, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("score" if verbose else "relevance", justify="right" if verbose else "left", no_wrap=True)
    table.add_column("reference", no_wrap=True)
    table.add_column("memory", overflow="fold")
    for entry in result.results:
        details = f"{describe_state(entry.hit)} · {describe_relevance(entry.parts)} · {describe_ranks(entry.parts)}"
        if entry.also:
            details += f" · duplicates: {', '.join(entry.also)}"
        marked = trust_mark(entry.hit)
        unverified = (f" ({marked})", "yellow") if marked else ""
        text = Text.assemble(describe_memory(entry.hit), unverified)
        if verbose:
            text.append(f"\n{safe(details)}", "dim")
        elif note := _worth_knowing(entry):
            text.append(f" ({note})", "dim")
        first = f"{entry.parts.score:.3f}" if verbose else level_of(entry.parts.relevance)
        reference = Text(f"{entry.hit.type}:{entry.hit.ref}", style="cyan")
        table.add_row(first, reference, text)
        for related in result.neighbours.get(entry.hit.id, ()):
            table.add_row("", Text(f"  {related.type}:{related.ref}", style="dim cyan"), neighbour(related))
    return Group(*lines, table)


def _worth_knowing(entry: models.Ranked) -> str:
    """Remarks on a result that a reader needs: it is old, uncertain or of another time."""
    hit = entry.hit
    parts = [hit.validity.replace("_", "-") if hit.validity != "active" else ""]
    parts.append(f"happened {hit.valid_at.date()}" if hit.valid_at else "")
    parts.append("since changed" if hit.since_changed else "")
    return ", ".join(part for part in parts if part)


def neighbour(related: models.Neighbour) -> Text:
    """Its relation to the result above it, and the start of its text."""
    text = Text(f"  {_KINSHIPS[related.relation]}: ", style="dim")
    if related.content is None:
        return text.append("also in these results")
    name = f"{as_words(related.predicate_label)}: " if related.predicate_label else ""
    words = " ".join((name + related.content).split())
    cut = words if len(words) <= NEIGHBOUR_CHARACTERS else f"{words[:NEIGHBOUR_CHARACTERS]}…"
    return text.append(safe(cut), "not dim")


def stored(result: models.Stored) -> RenderableType:
    template = _OUTCOMES.get(result.outcome, f"{result.outcome}: {{ref}}")
    if result.outcome in ("restored", "approved") and result.superseded_ref:
        template += "; it supersedes {old}"
    text = template.format(ref=f"{result.type}:{result.ref}", old=f"fact:{result.superseded_ref}") + "."
    if result.quarantine_reason and result.outcome == "quarantined":
        text += f" Reason: {describe_reason(result.quarantine_reason)}."
    if result.redacted:
        text += f" Redacted {counted_kinds(result.redacted)}."
    return Text(text)


def counted_kinds(counts: Mapping[str, int]) -> str:
    """Kinds of secrets with their counts: 1 aws_key, 2 password."""
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))


def learned(result: tuple[models.Stored, tuple[models.DerivedMemory, ...]]) -> RenderableType:
    """What became of a remembered sentence."""
    episode, items = result
    if not items:
        return Group(stored(episode), Text("Nothing more was learned from it; it is searchable until it expires."))
    return Group(*(unwrapped(f"Learned {one.ref}: {safe(one.line or '').removeprefix('- ')}") for one in items))


def memory_line(memory: models.Memory) -> Text:
    """A memory as one line."""
    if isinstance(memory, models.Fact):
        name = f"{subject_and_predicate(memory.subject_label, memory.predicate_label, memory.content)}: "
        return Text.assemble((safe(name), "bold"), one_line(safe(memory.content), NEIGHBOUR_CHARACTERS))
    return Text(one_line(safe(memory.content), NEIGHBOUR_CHARACTERS))


def portrait(result: models.MemoryDetails) -> RenderableType:
    memory = result.memory
    parts: list[RenderableType] = [
        Text(f"{memory.type}:{memory.ref}", style="bold cyan"),
        indented(Text(safe(memory.content))),
        pairs_grid(_properties(result)),
    ]
    if result.chain:
        parts.append(Text("Supersession", style="bold"))
        rows = [
            (f"fact:{fact.ref}", fact.validity.value, date_of(fact.created_at), fact.content) for fact in result.chain
        ]
        parts.append(rows_grid(rows))
    if result.links:
        parts.append(Text("Links", style="bold"))
        parts.append(rows_grid(_link_row(link, memory.id) for link in result.links))
    return Group(*parts)


def _properties(result: models.MemoryDetails) -> dict[str, str]:
    memory = result.memory
    pairs: dict[str, Any] = {"id": memory.id}
    if isinstance(memory, models.Fact):
        pairs |= {"subject": memory.subject_label, "predicate": memory.predicate_label}
        pairs |= {"permanence": memory.permanence, "aliases": ", ".join(result.aliases), "happened": memory.valid_at}
    if isinstance(memory, models.Episode):
        pairs |= {"butler": memory.butler, "session": memory.session_id, "observed": date_of(memory.observed_at)}
        pairs |= {"consolidation": memory.consolidation_status.value.replace("_", " ")} | _attempts(memory)
    else:
        confidence = f"{result.effective_confidence:.2f} now, {memory.confidence:g} stored"
        pairs |= {"scope": memory.scope, "confidence": confidence, "last confirmed": date_of(memory.last_confirmed_at)}
    if isinstance(memory, models.Fact | models.Episode):
        pairs |= {"importance": memory.importance}
    else:
        score = memory.effectiveness_score
        marks = f"{memory.success_count} helpful, {memory.harmful_count} harmful"
        pairs |= {"maturity": memory.maturity, "feedback": marks}
        pairs |= {"effectiveness": "" if score is None else f"{score:.2f}"}
        pairs |= {"harmful because": "; ".join(memory.harmful_reasons)}
    marked, reason = mark(memory.origin), memory.quarantine_reason
    pairs |= {"origin": f"{memory.origin} ({marked})" if marked else memory.origin}
    pairs |= {"quarantined": reason and describe_reason(reason, memory.origin)}
    pairs |= {"state": "quarantined" if reason else memory.validity, "tier": result.tier, "stored": memory.created_at}
    pairs |= {"referenced": f"{memory.reference_count} times, last {date_of(memory.last_referenced_at)}"}
    pairs |= {"fades": result.fades_at, "expires": result.expires_at, "outlook": result.outlook}
    pairs |= {"tags": ", ".join(memory.tags)}
    return {
        name: date_of(value) if isinstance(value, datetime) else str(value) for name, value in pairs.items() if value
    }


def _attempts(memory: models.Episode) -> dict[str, Any]:
    """Failed consolidation attempts, the last error and the next retry."""
    if not memory.consolidation_attempts:
        return {}
    attempts = {"attempts": memory.consolidation_attempts, "last error": memory.last_consolidation_error}
    return {**attempts, "next retry": memory.next_consolidation_retry_at}


def _link_row(link: Any, here: Any) -> tuple[str, ...]:
    outward = link.source_id == here
    kind, other = (link.target_type, link.target_id) if outward else (link.source_type, link.source_id)
    name = f"{kind}:{link.other_ref}" if link.other_ref else f"{kind} {other}"
    return ("→" if outward else "←", link.relation.value, name, link.availability)


def receipt(report: models.Receipt) -> RenderableType:
    """Token counts of a briefing, and the omitted memories with the reason."""
    table = plain_table("section", ">lines", ">tokens", ">quota", padding=(0, 2, 0, 0))
    for section in report.sections:
        table.add_row(section.section, str(section.lines), str(section.used_tokens), str(section.quota_tokens))
    head = Text(f"{report.used_tokens} of {report.token_budget} tokens used, counted by {report.tokenizer}")
    lines = [Text(f"! {safe(note)}", style="yellow") for note in report.degraded]
    return Group(head, table, *lines, *(Text(line) for line in (*_reasons(report), *omissions(report))))


def _reasons(report: models.Receipt) -> list[str]:
    """The lines by claim, each claim in words."""
    by_claim: dict[Claim, list[str]] = {}
    for line in report.lines:
        by_claim.setdefault(Claim[line.claim.upper()], []).append(line.ref)
    return [
        f"{claim.name.capitalize()} ({CLAIM_WORDS[claim]}): {', '.join(by_claim[claim])}." for claim in sorted(by_claim)
    ]


def omissions(report: models.Receipt) -> list[str]:
    """The omitted memories, one sentence per reason."""
    by_reason: dict[str, list[str]] = {}
    for entry in report.left_out:
        by_reason.setdefault(entry["reason"], []).append(entry["ref"])
    lines = [f"Left out: {', '.join(refs)}, because {REASONS.get(why, why)}." for why, refs in by_reason.items()]
    lines += [
        f"Hidden: {count} live {'memory' if count == 1 else 'memories'}, because {REASONS.get(why, why)}."
        for why, count in report.hidden.items()
        if count
    ]
    return lines or ["Nothing was left out."]


def finding_line(check: str, status: str, message: str, advice: str | None) -> RenderableType:
    """One line of `doctor`, and the fix."""
    mark, style = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "bold red")}[status]
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text(mark, style=style), Text.assemble((check, "bold"), f": {safe(message)}"))
    if advice:
        grid.add_row("", Text(f"→ {safe(advice)}"))
    return grid


def problem_block(message: str, recovery: str) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text("✗", style="bold red"), Text(safe(message)))
    grid.add_row(Text("→", style="bold"), Text(safe(recovery)))
    return grid


def pairs_grid(pairs: Mapping[str, str]) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs.items():
        grid.add_row(Text(name.replace("_", " ")), Text(safe(value)))
    return indented(grid)


def rows_grid(rows: Iterable[Iterable[str]]) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for row in rows:
        grid.add_row(*(Text(safe(cell)) for cell in row))
    return indented(grid)
