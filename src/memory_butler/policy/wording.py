"""How memories read: as indexed words, as passages to embed, as one line in a briefing."""

import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from memory_butler.models import Hit, Maturity, MemoryType
from memory_butler.policy.maturity import warning

LINE_CHARACTERS = 500
KEPT_NAMES = 4096
_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
# What would start a heading, a list or a quotation; a minus sign or a hash in front of a number is left alone.
_MARKER = "#*+•>-"
_MARKERS = re.compile(rf"(?:#{{2,}} *|[{_MARKER}](?: +|$))+")
# The square brackets of a reference are the butler's own: feedback goes where they point.
_BRACKETS = "[［【〔"
_FORGED = re.compile(
    rf"[{re.escape(_BRACKETS)}]\s*((?:fact|rule|episode)s?\s*[:：][^\[\]［］【】〔〕]{{0,40}})[\]］】〕]?",
    re.IGNORECASE,
)
# Scripts written without spaces, which the text search would take for one long word.
UNSPACED = re.compile(r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])")
# A note's predicate carries the hash of its content, which says nothing to anybody.
_NOTE = re.compile(r"note:[0-9a-f]{12}")


def note_predicate(digest: bytes) -> str:
    """The predicate of a note, from the hash of its content: notes stand side by side, the same one again restates."""
    return f"note:{digest.hex()[:12]}"


@lru_cache(KEPT_NAMES)
def spoken(name: str) -> str:
    """A predicate or subject as words: favorite_color → favorite color."""
    if _NOTE.fullmatch(name):
        return "note"
    return " ".join(name.replace("_", " ").replace(":", " ").split())


def about_of(subject: str | None, predicate: str | None) -> str:
    """What a fact is about, as words: Ada · favorite color."""
    return f"{spoken(subject or '')} · {spoken(predicate or '')}"


def fact_text(subject: str, predicate: str, content: str) -> str:
    """What is embedded and indexed for a fact: all three parts together."""
    return f"{spoken(subject)} {spoken(predicate)}: {content}"


def indexed_text(memory_type: MemoryType, subject: str | None, predicate: str | None, content: str) -> str:
    """The text a memory of any type is found by."""
    if memory_type is MemoryType.FACT:
        return fact_text(subject or "", predicate or "", content)
    return content


def indexed_words(text: str, tags: Sequence[str]) -> str:
    """Tags are found as words but have no part in the meaning."""
    return searched_words(" ".join([text, *tags]))


def searched_words(text: str) -> str:
    """Text as words can be found in it: a character of Chinese or Japanese counts as a word."""
    return UNSPACED.sub(r" \1 ", text)


def one_line(text: str, limit: int = LINE_CHARACTERS) -> str:
    """Text that cannot forge a line, a heading or a reference: no control or format characters, one line, bounded."""
    safe = text
    if not text.isprintable():
        safe = "".join(" " if unicodedata.category(char) in _UNSAFE else char for char in text)
    line = " ".join(safe.split())
    # Looked for before they are replaced: nearly every line has neither, and a pattern takes ten times as long.
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


def briefing_line(hit: Hit, effective_confidence: float) -> str:
    """One memory as one line: what it says, its short reference, a light annotation."""
    reference = f"[{hit.type}:{hit.ref}]"
    if hit.type is MemoryType.FACT:
        when = f" (on {day(hit.valid_at)})" if hit.valid_at else ""
        said = one_line(f"{about_of(hit.subject_label, hit.predicate_label)}: {hit.content}")
        return f"- {said}{when} {reference} confidence {effective_confidence:.2f}"
    if hit.type is MemoryType.EPISODE:
        return f"- {day(hit.observed_at or hit.created_at)}: {one_line(hit.content)} {reference}"
    if hit.maturity == Maturity.ANTI_PATTERN:
        return f"- WARNING {one_line(warning(hit.content, hit.harmful_reasons or []))} {reference}"
    return f"- {one_line(hit.content)} {reference} {hit.maturity}"
