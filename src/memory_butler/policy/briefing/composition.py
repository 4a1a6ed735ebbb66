"""Composition of a briefing: exact to the token, and deterministic.

Sections come in a fixed order, each with a quota of the token budget. Tokens that a section does not use go to the next
one, and from the last section to the first again. A section takes its lines in ranking order up to the first line that
does not fit; that line and all below it are left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from memory_butler.english.text.names import mentions_name
from memory_butler.models import Briefing, Hit, Maturity, MemoryType, Ranked, Receipt, SectionReceipt
from memory_butler.policy.memories.text import briefing_line
from memory_butler.policy.retrieval.relevance import is_about

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
TRUSTED = frozenset(RULE_ORDER) - {Maturity.CANDIDATE}
MAX_EXTRAS = 10

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefingFrame:
    """Limits of a briefing, its tokenizer, and the data for its receipt."""

    token_budget: int
    quotas: dict[MemoryType, float]
    count: Count
    tokenizer: str
    degraded: tuple[str, ...] = ()
    hidden: dict[str, int] = field(default_factory=dict)
    request_id: str | None = None


@dataclass(slots=True)
class _Section:
    """A section under construction. Lines are formatted and counted only when they are added."""

    type: MemoryType
    quota: int
    candidates: list[Ranked]
    lines: list[str] = field(default_factory=list)

    @property
    def line_count(self) -> int:
        return len(self.lines)

    def next_line(self) -> str:
        entry = self.candidates[self.line_count]
        return briefing_line(entry.hit, entry.parts.effective_confidence)

    def text(self) -> str:
        return "\n".join([HEADINGS[self.type], *self.lines]) + "\n" if self.lines else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraMemories:
    """Selects memories below the relevance threshold that a briefing includes nevertheless. A task names people and
    things, but rarely what to watch out for: "cook for Ana" must bring up her allergy, "deploy" the deploy warning.

    `names` are the keys of the known names in the prompt. `is_first_person`: the prompt says "I" or "my".
    """

    names: frozenset[str]
    is_first_person: bool
    important_from: int

    def includes(self, hit: Hit) -> bool:
        if hit.type is MemoryType.RULE:
            return (hit.maturity in TRUSTED and hit.word_coverage > 0) or mentions_name(hit.content, self.names)
        if hit.type is MemoryType.FACT:
            important = (hit.importance or 0) >= self.important_from
            return hit.is_named or (important and is_about(hit, is_first_person=self.is_first_person))
        return False

    def select(self, ranked: Sequence[Ranked], min_relevance: float) -> list[Ranked]:
        """Returns the included memories below `min_relevance`, most important first."""
        below = (entry for entry in ranked if entry.parts.relevance < min_relevance and self.includes(entry.hit))
        return sorted(below, key=lambda entry: -entry.parts.importance)


def in_order(memory_type: MemoryType, ranked: Sequence[Ranked]) -> list[Ranked]:
    """Returns the entries of a section in order: by score, rules by maturity first."""
    entries = [entry for entry in ranked if entry.hit.type is memory_type]
    if memory_type is MemoryType.RULE:
        entries.sort(key=lambda entry: RULE_ORDER.index(Maturity(entry.hit.maturity or Maturity.CANDIDATE)))
    return entries


def compose(ranked: Sequence[Ranked], frame: BriefingFrame, extras: Sequence[Ranked] = ()) -> Briefing:
    """Returns the text and its receipt. Extras get the tokens that all other lines leave unused."""
    count = frame.count
    body = max(0, frame.token_budget - count(TITLE + "\n"))
    sections = [
        _Section(type=kind, quota=int(body * frame.quotas[kind]), candidates=in_order(kind, ranked)) for kind in ORDER
    ]
    spare = 0
    for section in sections:
        spare = _fill(section, section.quota + spare, count)
    for section in sections:
        spare = _fill(section, spare, count)
    for section in sections:
        section.candidates += in_order(section.type, extras)
        spare = _fill(section, spare, count)
    text = _text(sections)
    used = count(text)
    while used > frame.token_budget and any(section.lines for section in sections):
        # Only for tokenizers that count a text higher than the sum of its lines: drop the last line.
        next(section for section in reversed(sections) if section.lines).lines.pop()
        text = _text(sections)
        used = count(text)
    if not any(section.candidates for section in sections):
        text = f"{TITLE}\n{NOTHING}\n"
        used = count(text)
    if used > frame.token_budget:
        text, used = "", 0
    return Briefing(text=text, receipt=_receipt(sections, used, frame))


def _fill(section: _Section, room: int, count: Count) -> int:
    """Add lines while they fit; returns the unused tokens for the next section."""
    heading = 0 if section.lines else count(HEADINGS[section.type] + "\n")
    while section.line_count < len(section.candidates):
        line = section.next_line()
        tokens = count(line + "\n") + heading
        if tokens > room:
            break
        section.lines.append(line)
        room -= tokens
        heading = 0
    return room


def _text(sections: Sequence[_Section]) -> str:
    filled = "".join(section.text() for section in sections)
    return f"{TITLE}\n{filled}" if filled else ""


def _reason(section: _Section, frame: BriefingFrame, used: int) -> str:
    """Returns the reason why lines were left out, which the first of them decides."""
    if not used:
        return "budget"
    heading = "" if section.lines else HEADINGS[section.type] + "\n"
    needed = frame.count(f"{heading}{section.next_line()}\n")
    return "quota" if needed <= frame.token_budget - used else "budget"


def _receipt(sections: Sequence[_Section], used: int, frame: BriefingFrame) -> Receipt:
    left_out: list[dict[str, str]] = []
    receipts = []
    for section in sections:
        omitted = section.candidates[section.line_count :]
        reason = _reason(section, frame, used) if omitted else ""
        left_out += [{"ref": f"{entry.hit.type}:{entry.hit.ref}", "reason": reason} for entry in omitted]
        receipts.append(
            SectionReceipt(
                section=f"{section.type}s",
                quota_tokens=section.quota,
                used_tokens=frame.count(section.text()),
                lines=section.line_count,
                left_out={reason: len(omitted)} if omitted else {},
            )
        )
    return Receipt(
        token_budget=frame.token_budget,
        used_tokens=used,
        tokenizer=frame.tokenizer,
        sections=tuple(receipts),
        left_out=tuple(left_out),
        hidden=dict(frame.hidden),
        degraded=frame.degraded,
        request_id=frame.request_id,
    )
