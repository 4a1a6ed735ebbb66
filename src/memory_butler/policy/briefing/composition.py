"""Composition of a briefing: exact to the token, and deterministic.

The budget is given out by claim. Among lines of one claim the most useful comes first, as long as its section has not
gone far beyond its quota; then the sections take turns in proportion to their quotas. The first line that does not fit
ends the briefing, so a larger budget never loses a line. In the text, facts come first, then warnings and rules by
maturity, then episodes, each by score.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from memory_butler.models import Briefing, BriefingLine, Maturity, MemoryType, Ranked, Receipt, SectionReceipt
from memory_butler.models.answers import Reembedding
from memory_butler.policy.briefing.claims import Claim
from memory_butler.policy.briefing.selection import Chosen
from memory_butler.policy.memories.text import NOTES_TAG, briefing_line, is_note
from memory_butler.policy.retrieval.ranking import behind_replacements, ranking_order
from memory_butler.policy.trust.origin import is_trusted

TITLE = "# What I remember"
NOTHING = "Nothing I remember bears on this."
HEADINGS: dict[MemoryType, str] = {
    MemoryType.FACT: "## Facts",
    MemoryType.RULE: "## Rules",
    MemoryType.EPISODE: "## Recent episodes",
}
ORDER = tuple(HEADINGS)
# Warnings come before all other rules.
RULE_ORDER = (Maturity.ANTI_PATTERN, Maturity.PROVEN, Maturity.ESTABLISHED, Maturity.CANDIDATE)
# A section without a quota comes last in its claim.
MIN_QUOTA = 1e-6
# A section may go beyond its quota by its share of so many tokens.
BEYOND_QUOTA = 300
# One line in so many may be a note.
NOTES_SHARE = 3
FEW_NOTES = 5

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefingFrame:
    """Limits of a briefing, its tokenizer, and the data for its receipt."""

    token_budget: int
    quotas: dict[MemoryType, float]
    count: Count
    tokenizer: str
    degraded: tuple[str, ...] = ()
    reembedding: Reembedding | None = None
    hidden: dict[str, int] = field(default_factory=dict)
    request_id: str | None = None


class _Line(NamedTuple):
    """A chosen memory as it is told, with its length."""

    chosen: Chosen
    type: MemoryType
    text: str
    tokens: int
    place: tuple[object, ...]
    """Most useful first, then in ranking order."""


# The lines of each section, in text order.
_Sections = Mapping[MemoryType, Sequence[_Line]]


def compose(chosen: Sequence[Chosen], frame: BriefingFrame, repeated: Sequence[tuple[Ranked, str]] = ()) -> Briefing:
    """Returns the text and its receipt. `repeated`: memories that say the same as a chosen one, and its reference."""
    queue = _queue([_line(one, frame) for one in chosen], frame)
    kept, used = queue[: _fitting(queue, frame)], 0
    sections = _sections(kept)
    text = _text(sections)
    while kept and (used := frame.count(text)) > frame.token_budget:
        # Only for tokenizers that count a text higher than the sum of its lines.
        kept = kept[:-1]
        sections = _sections(kept)
        text = _text(sections)
    if not queue:
        text = f"{TITLE}\n{NOTHING}\n"
        used = frame.count(text)
    if used > frame.token_budget:
        text, used = "", 0
    return Briefing(text=text, receipt=_receipt(sections, queue[len(kept) :], repeated, used, frame))


def _line(one: Chosen, frame: BriefingFrame) -> _Line:
    text = briefing_line(one.entry.hit, one.entry.parts.effective_confidence)
    place = -one.usefulness, *ranking_order(one.entry)
    return _Line(one, one.entry.hit.type, text, frame.count(f"{text}\n"), place)


def _queue(chosen: Sequence[_Line], frame: BriefingFrame) -> list[_Line]:
    """All lines in the order in which they get a place."""
    spent = dict.fromkeys(ORDER, 0)
    queue: list[_Line] = []
    for claim in Claim:
        mine = sorted((one for one in chosen if one.chosen.claim is claim), key=attrgetter("place"))
        waiting = {kind: deque(one for one in mine if one.type is kind) for kind in ORDER}
        while sum(map(bool, waiting.values())) > 1:
            kind = _next_section(waiting, spent, frame)
            queue.append(waiting[kind].popleft())
            spent[kind] += queue[-1].tokens
        for kind, rest in waiting.items():
            queue += rest
            spent[kind] += sum(one.tokens for one in rest)
    return _with_few_notes(queue)


def _next_section(
    waiting: dict[MemoryType, deque[_Line]], spent: dict[MemoryType, int], frame: BriefingFrame
) -> MemoryType:
    """The section whose first line gets the next place."""
    total = sum(spent.values())
    first = {kind: lines[0] for kind, lines in waiting.items() if lines}
    share = {kind: (spent[kind] + one.tokens) / max(frame.quotas[kind], MIN_QUOTA) for kind, one in first.items()}
    within = [kind for kind, one in first.items() if share[kind] <= total + one.tokens + BEYOND_QUOTA]
    if within:
        return min(within, key=lambda kind: first[kind].place)
    return min(share, key=lambda kind: share[kind])


def _with_few_notes(queue: Sequence[_Line]) -> list[_Line]:
    """The lines in order, where at most a third of those up to any place are distilled notes; the others move back.

    If there are hardly any other lines, FEW_NOTES follow at the end. The order does not depend on the budget.
    """
    kept: list[_Line] = []
    held: list[_Line] = []
    notes = 0
    for one in queue:
        if _is_distilled_note(one):
            held.append(one)
        else:
            kept.append(one)
        while held and NOTES_SHARE * (notes + 1) <= len(kept) + 1:
            kept.append(held.pop(0))
            notes += 1
    return kept + held[: max(0, FEW_NOTES - notes)]


def _is_distilled_note(one: _Line) -> bool:
    hit = one.chosen.entry.hit
    return NOTES_TAG in hit.tags and is_note(hit.predicate_label)


def _fitting(queue: Sequence[_Line], frame: BriefingFrame) -> int:
    """The number of lines that fit, counted one by one."""
    room = frame.token_budget - frame.count(f"{TITLE}\n")
    begun: set[MemoryType] = set()
    for place, one in enumerate(queue):
        kind = one.type
        room -= one.tokens + (0 if kind in begun else frame.count(f"{HEADINGS[kind]}\n"))
        if room < 0:
            return place
        begun.add(kind)
    return len(queue)


def _sections(kept: Sequence[_Line]) -> _Sections:
    return {kind: in_order(kind, kept) for kind in ORDER}


def _section(kind: MemoryType, lines: Sequence[_Line]) -> str:
    return "\n".join([HEADINGS[kind], *(line.text for line in lines)]) + "\n" if lines else ""


def in_order(kind: MemoryType, lines: Sequence[_Line]) -> list[_Line]:
    """The lines of a section in text order: by score, rules by maturity first; less trusted ones after the others,
    and corrected facts behind the note that corrects them."""
    ordered = sorted((one for one in lines if one.type is kind), key=lambda one: one.place[1:])
    if kind is MemoryType.RULE:
        ordered.sort(key=lambda one: RULE_ORDER.index(Maturity(one.chosen.entry.hit.maturity or Maturity.CANDIDATE)))
    ordered.sort(key=lambda one: not is_trusted(one.chosen.entry.hit.origin))
    entries = [one.chosen.entry for one in ordered]
    moved = behind_replacements(entries)
    if moved is entries:
        return ordered
    by_id = {one.chosen.entry.hit.id: one for one in ordered}
    return [by_id[entry.hit.id] for entry in moved]


def _text(sections: _Sections) -> str:
    text = "".join(_section(kind, lines) for kind, lines in sections.items())
    return f"{TITLE}\n{text}" if text else ""


def _reference(entry: Ranked) -> str:
    return f"{entry.hit.type}:{entry.hit.ref}"


def _receipt(
    sections: _Sections,
    left: Sequence[_Line],
    repeated: Sequence[tuple[Ranked, str]],
    used: int,
    frame: BriefingFrame,
) -> Receipt:
    body = max(0, frame.token_budget - frame.count(TITLE + "\n"))
    lines = [one.chosen for told in sections.values() for one in told]
    left_out = Counter(one.type for one in left)
    return Receipt(
        token_budget=frame.token_budget,
        used_tokens=used,
        tokenizer=frame.tokenizer,
        sections=tuple(
            SectionReceipt(
                section=f"{kind}s",
                quota_tokens=int(body * frame.quotas[kind]),
                used_tokens=frame.count(_section(kind, told)),
                lines=len(told),
                left_out={"budget": left_out[kind]} if left_out[kind] else {},
            )
            for kind, told in sections.items()
        ),
        lines=tuple(
            BriefingLine(ref=_reference(one.entry), claim=one.claim.name.lower(), usefulness=one.usefulness)
            for one in lines
        ),
        left_out=(
            *({"ref": _reference(one.chosen.entry), "reason": "budget"} for one in left),
            *({"ref": _reference(entry), "reason": f"says the same as {other}"} for entry, other in repeated),
        ),
        hidden=dict(frame.hidden),
        degraded=frame.degraded,
        reembedding=frame.reembedding,
        request_id=frame.request_id,
    )
