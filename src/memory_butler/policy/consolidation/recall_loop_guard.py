"""Recall-loop guard: remove text that memory itself returned from incoming text, so that it is not learned again.

Reads leave no record. Recalled text is recognised by its form:

| text | recognised by | removed |
|---|---|---|
| a line of a briefing | its reference in square brackets, [fact:k3f9] | the line up to there, and its annotation |
| the same, wrapped at a margin | the reference ends indented lines under a bullet | all these lines |
| a line of a fact without its reference | " · ", a colon and "confidence 0.87" | the line |
| a warning without its reference | "ANTI-PATTERN: Do NOT" | the line |
| title and headings of a briefing | the exact words; headings only beside its lines | the line |
| a tool result | a JSON object with "ref": "fact:k3f9", or with such lines in it | the object |
| a search row of the terminal | a score and a reference at its start | the row and the lines indented under it |
| a line that is the content of a fact or rule | its hash | the line |

A user may say a short line without having read it in a briefing: hashes count only from four words on, or after the
subject and predicate of a fact. All other text stays unchanged.
"""

import hashlib
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator

from memory_butler.english.text.word_sets import caseless
from memory_butler.languages.admission import nfc
from memory_butler.policy.briefing.composition import HEADINGS, NOTHING, TITLE
from memory_butler.policy.memories.references import ALPHABET, SHORTEST

FEWEST_WORDS = 4
ENDING_CHARACTERS = 100
WRAPPED_LINES = 12

_TYPE = r"(?:fact|rule|episode)s?"
_REF = rf"{_TYPE}\s*:\s*[{ALPHABET}]{{{SHORTEST},13}}"
REFERENCE = caseless(
    rf"\[\s*{_REF}(?:\s*[,;]\s*{_REF})*\s*\]"
    r"(?:\s*(?:confidence\s+[01]\.\d\d|(?:candidate|established|proven)\b))?(?:\s*\(unverified[^)\n]{0,60}\))?[ .,;]*"
)
_CONFIDENT = re.compile(r"\bconfidence [01]\.\d\d\W*(?:\(unverified[^)]{0,60}\)\W*)?$")
_WARNING = re.compile(r"\bANTI-PATTERN: Do NOT ")
_ROW = re.compile(rf"\s{{0,40}}\d\.\d{{3}}\s{{1,40}}{_TYPE}:[{ALPHABET}]{{{SHORTEST},13}}\s")
_UNDER_ROW = re.compile(r"\s{12}\s{0,100}\S")
_BULLET = re.compile(r"\s{0,80}[-*•+]\s")
_INDENTED = re.compile(r"[ \t]{1,100}\S")
_QUOTE = r"(?:\\?[\"'])"
_FIELD = re.compile(rf"{_QUOTE}ref{_QUOTE}\s*:\s*{_QUOTE}{_TYPE}:[{ALPHABET}]{{{SHORTEST},13}}{_QUOTE}")
# Objects around results, and the lines of a memory's history.
_AROUND = re.compile(
    rf"{_QUOTE}results{_QUOTE}\s*:\s*\[\s*{{\s*{_QUOTE}ref{_QUOTE}|{_QUOTE}memory{_QUOTE}\s*:\s*{{\s*{_QUOTE}type{_QUOTE}"
    rf"|{_QUOTE}event{_QUOTE}\s*:\s*{_QUOTE}\w+{_QUOTE}\s*,\s*{_QUOTE}words{_QUOTE}"
)
_LEADING = re.compile(r"^(?:[\s>*•+–—-]+|#+\s|\d{1,3}[.)]\s)+")
_LABEL = re.compile(r"^[^\W\d_][\w .'’-]{0,40}:\s+")
_HEADINGS = frozenset(HEADINGS.values())
_QUOTES = "\"'“”„«»`*_ "


def line_hashes(text: str) -> list[bytes]:
    """Returns the hashes under which lines of a text may be stored, without duplicates, in order."""
    return list(dict.fromkeys(digest for line in text.splitlines() for digest in _hashes(line)))


def strip_recalled(text: str, is_stored: Collection[bytes]) -> str:
    """Returns the text without recalled text; `is_stored` are those of its line hashes that are stored."""
    lines = _without_objects(text).splitlines(keepends=True)
    removed = _recalled_lines(lines, is_stored)
    has_recalled = bool(removed) or any(line.strip() == TITLE for line in lines)
    kept = [
        rest
        for place, line in enumerate(lines)
        if place not in removed and not (has_recalled and line.strip() in _HEADINGS)
        for rest in [_after_references(line)]
        if rest
    ]
    return "".join(kept)


def _recalled_lines(lines: list[str], is_stored: Collection[bytes]) -> set[int]:
    """Returns the numbers of the lines to remove completely."""
    removed: set[int] = set()
    under_row = False
    for place, line in enumerate(lines):
        under_row = bool(_ROW.match(line)) or (under_row and bool(_UNDER_ROW.match(line)))
        if under_row or _is_recalled(line.strip()) or any(digest in is_stored for digest in _hashes(line)):
            removed.add(place)
        elif REFERENCE.search(line):
            removed |= _wrapped(lines, place)
            if not _after_references(line):
                removed.add(place)
    return removed


def _is_recalled(line: str) -> bool:
    if line in (TITLE, NOTHING) or _WARNING.search(line):
        return True
    return bool(_CONFIDENT.search(line[-ENDING_CHARACTERS:])) and bool(_value(line))


def _wrapped(lines: list[str], place: int) -> set[int]:
    """Returns the lines above an indented line with a reference, up to their common bullet."""
    found: set[int] = set()
    for at in range(place, max(-1, place - WRAPPED_LINES), -1):
        if at < place:
            if REFERENCE.search(lines[at]) or not lines[at].strip():
                return set()
            found.add(at)
        if _BULLET.match(lines[at]):
            return found
        if not _INDENTED.match(lines[at]):
            return set()
    return set()


def _after_references(line: str) -> str:
    """Returns the rest of a line after its last reference; empty if it has no word."""
    ends = [match.end() for match in REFERENCE.finditer(line)]
    if not ends:
        return line
    rest = line[ends[-1] :]
    return rest if any(map(str.isalnum, rest)) else ""


def _without_objects(text: str) -> str:
    """Returns the text without the innermost JSON objects that are tool results or quote briefing lines."""
    fields = [match.start() for match in (*_FIELD.finditer(text), *_AROUND.finditer(text))]
    lines = [match.start() for match in REFERENCE.finditer(text)]
    lines += [match.start() for match in re.finditer(re.escape(TITLE), text)]
    if "{" not in text or not (fields or lines):
        return text
    left = sorted({*fields, *lines})
    certain = frozenset(fields)
    cut: list[tuple[int, int]] = []
    for begin, end, closed in _objects(text):
        first, last = bisect_left(left, begin), bisect_left(left, end)
        if first < last and (closed or not certain.isdisjoint(left[first:last])):
            del left[first:last]
            cut.append((begin, end))
    kept, at = [], 0
    for begin, end in sorted(cut):
        kept.append(text[at:begin] if begin > at else "")
        at = max(at, end)
    return "".join([*kept, text[at:]])


def _objects(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yields start, end and completeness of each JSON object, inner ones first. A truncated object ends at the next
    empty line. Braces inside strings are not counted."""
    begun: list[int] = []
    quote, before, escaped = "", "", False
    for at, char in enumerate(text):
        if escaped:
            escaped = False
        elif quote:
            escaped = char == "\\"
            quote = "" if char == quote else quote
        elif char in "\"'" and begun and before in "{[,:(":
            quote = char
        elif char == "{":
            begun.append(at)
        elif char == "}" and begun:
            yield begun.pop(), at + 1, True
        before = before if char.isspace() else char
    for at in reversed(begun):
        end = text.find("\n\n", at)
        yield at, end if end >= 0 else len(text), False


def _value(line: str) -> str:
    """Returns the value of a line in the form `subject · predicate: value`; empty for other lines."""
    subject, dot, rest = line.partition(" · ")
    predicate, colon, value = rest.partition(": ")
    return value.strip() if subject and dot and predicate and colon else ""


def _hashes(line: str) -> Iterator[bytes]:
    """Yields the hashes of a line with and without its bullet, label and quotation marks."""
    text = nfc(line).strip()
    forms = dict.fromkeys([text, _LEADING.sub("", text)])
    forms |= dict.fromkeys([_LABEL.sub("", form) for form in forms])
    forms |= dict.fromkeys([form.strip(_QUOTES) for form in forms])
    for form in forms:
        if len(form.split()) >= FEWEST_WORDS:
            yield _digest(form)
        if value := _value(form):
            yield _digest(value)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="replace")).digest()
