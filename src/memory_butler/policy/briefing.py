"""How a briefing is put together: pure, exact to the token, the same bytes for the same input.

Sections come in a fixed order, each with a quota of the budget. What a section leaves unused flows to the next one,
and what the last leaves flows round to the first again. Inside a section the best-ranked lines are kept: as soon as
one does not fit, it and everything below it stay out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from memory_butler.models import Briefing, Hit, Maturity, MemoryType, Ranked, Receipt, SectionReceipt
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
    type: MemoryType
    quota: int
    waiting: list[tuple[Hit, str, int]]
    lines: list[str] = field(default_factory=list)
    kept: int = 0


def in_order(memory_type: MemoryType, ranked: Sequence[Ranked]) -> list[Ranked]:
    """The order inside a section: by score, and for rules by maturity first."""
    mine = [entry for entry in ranked if entry.hit.type is memory_type]
    if memory_type is MemoryType.RULE:
        mine.sort(key=lambda entry: RULE_ORDER.index(Maturity(entry.hit.maturity or Maturity.CANDIDATE)))
    return mine


def compose(ranked: Sequence[Ranked], frame: Frame) -> Briefing:
    """The block and its receipt."""
    count = frame.count
    body = max(0, frame.token_budget - count(TITLE + "\n"))
    sections = [_section(kind, ranked, frame, body) for kind in ORDER]
    spare = 0
    for section in sections:
        spare = _fill(section, section.quota + spare, count)
    for section in sections:
        spare = _fill(section, spare, count)
    text = _text(sections)
    while sections and count(text) > frame.token_budget and any(section.lines for section in sections):
        _drop_last(sections)
        text = _text(sections)
    if not any(section.lines for section in sections) and not any(section.waiting for section in sections):
        text = f"{TITLE}\n{NOTHING}\n"
    if count(text) > frame.token_budget:
        text = ""
    return Briefing(text=text, receipt=_receipt(sections, text, frame))


def _section(kind: MemoryType, ranked: Sequence[Ranked], frame: Frame, body: int) -> _Section:
    waiting = []
    for entry in in_order(kind, ranked):
        line = briefing_line(entry.hit, entry.parts.effective_confidence)
        waiting.append((entry.hit, line, frame.count(line + "\n")))
    return _Section(type=kind, quota=int(body * frame.quotas[kind]), waiting=waiting)


def _fill(section: _Section, room: int, count: Count) -> int:
    """Keep lines while they fit; returns the room that is left and goes on to the next section."""
    heading = 0 if section.lines else count(HEADINGS[section.type] + "\n")
    while section.kept < len(section.waiting):
        _, line, tokens = section.waiting[section.kept]
        if tokens + heading > room:
            break
        section.lines.append(line)
        section.kept += 1
        room -= tokens + heading
        heading = 0
    return room


def _drop_last(sections: list[_Section]) -> None:
    """Only for tokenizers that count a text as more than its lines: the last line of the last section goes."""
    section = next(section for section in reversed(sections) if section.lines)
    section.lines.pop()
    section.kept -= 1


def _text(sections: Sequence[_Section]) -> str:
    parts = [TITLE]
    for section in sections:
        if section.lines:
            parts += [HEADINGS[section.type], *section.lines]
    return "\n".join(parts) + "\n" if len(parts) > 1 else ""


def _reason(section: _Section, kept: int, frame: Frame, used: int) -> str:
    """Why lines stayed out: the first of them decides, because those below it wait for it."""
    if kept == len(section.waiting):
        return "budget"
    heading = 0 if kept else frame.count(HEADINGS[section.type] + "\n")
    return "quota" if section.waiting[kept][2] + heading <= frame.token_budget - used else "budget"


def _receipt(sections: Sequence[_Section], text: str, frame: Frame) -> Receipt:
    used = frame.count(text) if text else 0
    left_out: list[dict[str, str]] = []
    receipts = []
    for section in sections:
        kept = section.kept if text else 0
        stayed = section.waiting[kept:]
        reason = _reason(section, kept, frame, used) if text else "budget"
        left_out += [{"ref": f"{hit.type}:{hit.ref}", "reason": reason} for hit, _, _ in stayed]
        lines = "\n".join([HEADINGS[section.type], *section.lines]) + "\n" if kept else ""
        receipts.append(
            SectionReceipt(
                section=f"{section.type}s",
                quota_tokens=section.quota,
                used_tokens=frame.count(lines) if lines else 0,
                lines=kept,
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
