"""How a briefing is put together: pure, exact to the token, the same bytes for the same input.

Sections come in a fixed order, each with a quota of the budget. What a section leaves unused flows to the next one,
and what the last leaves flows round to the first again. Inside a section the best-ranked lines are kept: as soon as
one does not fit, it and everything below it stay out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from memory_butler.models import Briefing, Hit, Maturity, MemoryType, Ranked, Receipt, SectionReceipt
from memory_butler.policy.judge import is_about
from memory_butler.policy.names import says_name
from memory_butler.policy.wording import briefing_line

TITLE = "# What I remember"
NOTHING = "Nothing I remember bears on this."
HEADINGS: dict[MemoryType, str] = {
    MemoryType.FACT: "## Facts",
    MemoryType.RULE: "## Rules",
    MemoryType.EPISODE: "## Recent episodes",
}
ORDER = tuple(HEADINGS)
# Warnings lead the rules: what must not be done is read before what may be.
RULE_ORDER = (Maturity.ANTI_PATTERN, Maturity.PROVEN, Maturity.ESTABLISHED, Maturity.CANDIDATE)
EARNED = frozenset(RULE_ORDER) - {Maturity.CANDIDATE}
MOST_ANYWAY = 10

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What a briefing must fit into."""

    token_budget: int
    quotas: dict[MemoryType, float]
    count: Count
    tokenizer: str
    degraded: tuple[str, ...] = ()
    hidden: dict[str, int] = field(default_factory=dict)
    request_id: str | None = None


@dataclass(slots=True)
class _Section:
    """A section being filled; lines are written and counted only when it is their turn."""

    type: MemoryType
    quota: int
    waiting: list[Ranked]
    lines: list[str] = field(default_factory=list)

    @property
    def kept(self) -> int:
        return len(self.lines)

    def next_line(self) -> str:
        entry = self.waiting[self.kept]
        return briefing_line(entry.hit, entry.parts.effective_confidence)

    def text(self) -> str:
        return "\n".join([HEADINGS[self.type], *self.lines]) + "\n" if self.lines else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Minding:
    """What is to be told though the prompt does not ask for it. Who cooks for Ana must know of her allergy, and who
    deploys of the warning about deploying: a task says whom and what it is about, and hardly ever what to mind."""

    names: frozenset[str]
    """The keys of those whom the prompt names and the store knows."""
    is_own: bool
    important_from: int

    def wants(self, hit: Hit) -> bool:
        if hit.type is MemoryType.RULE:
            return (hit.maturity in EARNED and hit.covered > 0) or says_name(hit.content, self.names)
        if hit.type is MemoryType.FACT:
            important = (hit.importance or 0) >= self.important_from
            return hit.named or (important and is_about(hit, is_own=self.is_own))
        return False

    def chosen(self, ranked: Sequence[Ranked], min_relevance: float) -> list[Ranked]:
        """What it wants of what is not relevant enough, the most important first."""
        below = (entry for entry in ranked if entry.parts.relevance < min_relevance and self.wants(entry.hit))
        return sorted(below, key=lambda entry: -entry.parts.importance)


def in_order(memory_type: MemoryType, ranked: Sequence[Ranked]) -> list[Ranked]:
    """The order inside a section: by score, and for rules by maturity first."""
    mine = [entry for entry in ranked if entry.hit.type is memory_type]
    if memory_type is MemoryType.RULE:
        mine.sort(key=lambda entry: RULE_ORDER.index(Maturity(entry.hit.maturity or Maturity.CANDIDATE)))
    return mine


def compose(ranked: Sequence[Ranked], frame: Frame, anyway: Sequence[Ranked] = ()) -> Briefing:
    """The block and its receipt. What is told anyway gets the room that all the rest has left."""
    count = frame.count
    body = max(0, frame.token_budget - count(TITLE + "\n"))
    sections = [
        _Section(type=kind, quota=int(body * frame.quotas[kind]), waiting=in_order(kind, ranked)) for kind in ORDER
    ]
    spare = 0
    for section in sections:
        spare = _fill(section, section.quota + spare, count)
    for section in sections:
        spare = _fill(section, spare, count)
    for section in sections:
        section.waiting += in_order(section.type, anyway)
        spare = _fill(section, spare, count)
    text = _text(sections)
    used = count(text)
    while used > frame.token_budget and any(section.lines for section in sections):
        # Only for tokenizers that count a text as more than its lines: the last line of the last section goes.
        next(section for section in reversed(sections) if section.lines).lines.pop()
        text = _text(sections)
        used = count(text)
    if not any(section.waiting for section in sections):
        text = f"{TITLE}\n{NOTHING}\n"
        used = count(text)
    if used > frame.token_budget:
        text, used = "", 0
    return Briefing(text=text, receipt=_receipt(sections, used, frame))


def _fill(section: _Section, room: int, count: Count) -> int:
    """Keep lines while they fit; returns the room that is left and goes on to the next section."""
    heading = 0 if section.lines else count(HEADINGS[section.type] + "\n")
    while section.kept < len(section.waiting):
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


def _reason(section: _Section, frame: Frame, used: int) -> str:
    """Why lines stayed out: the first of them decides, because those below it wait for it."""
    if not used:
        return "budget"
    heading = "" if section.lines else HEADINGS[section.type] + "\n"
    needed = frame.count(f"{heading}{section.next_line()}\n")
    return "quota" if needed <= frame.token_budget - used else "budget"


def _receipt(sections: Sequence[_Section], used: int, frame: Frame) -> Receipt:
    left_out: list[dict[str, str]] = []
    receipts = []
    for section in sections:
        stayed = section.waiting[section.kept :]
        reason = _reason(section, frame, used) if stayed else ""
        left_out += [{"ref": f"{entry.hit.type}:{entry.hit.ref}", "reason": reason} for entry in stayed]
        receipts.append(
            SectionReceipt(
                section=f"{section.type}s",
                quota_tokens=section.quota,
                used_tokens=frame.count(section.text()),
                lines=section.kept,
                left_out={reason: len(stayed)} if stayed else {},
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
