"""Texts of memories: for the keyword index, for embedding, and as one line of a briefing."""

import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime

from memory_butler.english.text.normalize import UNSPACED, as_words
from memory_butler.models import Hit, Maturity, MemoryType
from memory_butler.policy.memories.anti_patterns import warning
from memory_butler.policy.trust.origin import PARTLY, mark
from memory_butler.policy.trust.quoted_parts import has_quoted_parts

LINE_CHARACTERS = 500
# Tag of the notes that consolidation keeps.
NOTES_TAG = "notes"
SINCE_CHANGED = "since changed"
_WORD = re.compile(r"[^\W_]+")
_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
# Markdown markers of headings, lists and quotations. A minus sign or hash in front of a number is kept.
_MARKER = "#*+•>-"
_MARKERS = re.compile(rf"(?:#{{2,}} *|[{_MARKER}](?: +|$))+")
# Only the butler may write references in square brackets, because feedback is sent to them.
_BRACKETS = "[［【〔"
_FORGED = re.compile(
    rf"[{re.escape(_BRACKETS)}]\s*((?:fact|rule|episode)s?\s*[:：][^\[\]［］【】〔〕]{{0,40}})[\]］】〕]?",
    re.IGNORECASE,
)
_NOTE = re.compile(r"note:[0-9a-f]{12}")


def note_predicate(digest: bytes) -> str:
    """Predicate of a note, from the hash of its content: different notes coexist, an equal note restates."""
    return f"note:{digest.hex()[:12]}"


def is_note(predicate: str | None) -> bool:
    """True for the predicate of a note, whose content is somebody's own words."""
    return bool(predicate and _NOTE.fullmatch(predicate))


def subject_and_predicate(subject: str | None, predicate: str | None, content: str = "") -> str:
    """Subject and predicate as words: Ada · favorite color. In front of the content, without a key that only repeats
    it: Fiona · allergic to."""
    head, _, key = (predicate or "").partition(":")
    if key and not is_note(predicate) and _words(key) <= _words(content):
        predicate = head
    return f"{as_words(subject or '')} · {as_words(predicate or '')}"


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def fact_text(subject: str, predicate: str, content: str) -> str:
    """Text that is embedded and indexed for a fact: subject, predicate and content."""
    return f"{as_words(subject)} {as_words(predicate)}: {content}"


def indexed_text(memory_type: MemoryType, subject: str | None, predicate: str | None, content: str) -> str:
    """Text that is embedded and indexed for a memory of any type."""
    if memory_type is MemoryType.FACT:
        return fact_text(subject or "", predicate or "", content)
    return content


def indexed_words(text: str, tags: Sequence[str]) -> str:
    """Text of the keyword index. It includes the tags, which are not embedded."""
    return searched_words(" ".join([text, *tags]))


def searched_words(text: str) -> str:
    """Text for full-text search: each Chinese or Japanese character becomes a word."""
    return UNSPACED.sub(r" \1 ", text)


def one_line(text: str, limit: int = LINE_CHARACTERS) -> str:
    """Text as one bounded line that cannot forge a line, heading or reference; no control or format characters."""
    safe = text
    if not text.isprintable():
        safe = "".join(" " if unicodedata.category(char) in _UNSAFE else char for char in text)
    line = " ".join(safe.split())
    # Checked before the substitution: nearly every line has neither, and a regular expression takes ten times as long.
    if any(bracket in line for bracket in _BRACKETS):
        line = _FORGED.sub(r"(\1)", line)
    if line[:1] in _MARKER and (markers := _MARKERS.match(line)):
        line = line[markers.end() :]
    line = line or "…"
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd …"""
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def day(moment: datetime) -> str:
    return moment.date().isoformat()


def trust_mark(hit: Hit) -> str | None:
    """The words that mark a memory from a less trusted source; also an episode that quotes one."""
    if marked := mark(hit.origin):
        return marked
    return PARTLY if hit.type is MemoryType.EPISODE and has_quoted_parts(hit.content) else None


def briefing_line(hit: Hit, effective_confidence: float) -> str:
    """A memory as one line: content, reference, confidence or maturity, and the marks of a less trusted source and
    of a fact that a newer note corrects."""
    line, marked = _briefing_line(hit, effective_confidence), trust_mark(hit)
    if hit.since_changed:
        line = f"{line} ({SINCE_CHANGED})"
    return f"{line} ({marked})" if marked else line


def _briefing_line(hit: Hit, effective_confidence: float) -> str:
    reference = f"[{hit.type}:{hit.ref}]"
    if hit.type is MemoryType.FACT:
        when = f" (on {day(hit.valid_at)})" if hit.valid_at else ""
        content = hit.content
        about = subject_and_predicate(hit.subject_label, hit.predicate_label, content)
        is_quoted = is_note(hit.predicate_label) and NOTES_TAG in hit.tags
        if is_quoted and not when:
            when = f" (noted {day(hit.created_at)})"
        line = one_line(f"{about}: “{content}”" if is_quoted else f"{about}: {content}")
        return f"- {line}{when} {reference} confidence {effective_confidence:.2f}"
    if hit.type is MemoryType.EPISODE:
        return f"- {day(hit.observed_at or hit.created_at)}: {one_line(hit.content)} {reference}"
    if hit.maturity == Maturity.ANTI_PATTERN:
        return f"- WARNING {one_line(warning(hit.content, hit.harmful_reasons or []))} {reference}"
    return f"- {one_line(hit.content)} {reference} {hit.maturity}"
