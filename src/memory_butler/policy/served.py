"""Text that the memory itself served, found again in what comes in, so that it is not learned a second time.

Nothing is recorded when something is served. It is recognised by how it looks:

| what | how | what is taken out |
|---|---|---|
| a line of a briefing | its reference in square brackets, [fact:k3f9] | the line up to there, and its annotation |
| the same, wrapped at a margin | the reference ends indented lines under a bullet | all these lines |
| a line of a fact without its reference | " · ", a colon and "confidence 0.87" | the line |
| a warning without its reference | "ANTI-PATTERN: Do NOT" | the line |
| title and headings of a briefing | the exact words; headings only beside its lines | the line |
| a result of a tool | a JSON object with "ref": "fact:k3f9", or with such lines in it | the object |
| a row of a search in the terminal | a score and a reference begin it | the row, and what is indented under it |
| a line that is the content of a fact or rule | its hash | the line |

A short line may well be said by somebody who never read it in a briefing: the hash counts from four words on, or behind
the subject and predicate of a fact. Everything else is left as it is, to the letter.
"""

import hashlib
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterator

from memory_butler.policy.briefing import HEADINGS, NOTHING, TITLE
from memory_butler.policy.references import ALPHABET, SHORTEST

FEWEST_WORDS = 4
ENDING_CHARACTERS = 40
WRAPPED_LINES = 12

_TYPE = r"(?:fact|rule|episode)s?"
_REF = rf"{_TYPE}\s*:\s*[{ALPHABET}]{{{SHORTEST},13}}"
REFERENCE = re.compile(
    rf"\[\s*{_REF}(?:\s*[,;]\s*{_REF})*\s*\]"
    r"(?:\s*(?:confidence\s+[01]\.\d\d|(?:candidate|established|proven)\b))?[ .,;]*",
    re.IGNORECASE,
)
_CONFIDENT = re.compile(r"\bconfidence [01]\.\d\d\W*$")
_WARNING = re.compile(r"\bANTI-PATTERN: Do NOT ")
_ROW = re.compile(rf"\s*\d\.\d{{3}}\s+{_TYPE}:[{ALPHABET}]{{{SHORTEST},13}}\s")
_UNDER_ROW = re.compile(r"\s{12,}\S")
_BULLET = re.compile(r"\s*[-*•+]\s")
_INDENTED = re.compile(r"[ \t]+\S")
_QUOTE = r"(?:\\?[\"'])"
_FIELD = re.compile(rf"{_QUOTE}ref{_QUOTE}\s*:\s*{_QUOTE}{_TYPE}:[{ALPHABET}]{{{SHORTEST},13}}{_QUOTE}")
# The objects around results, and the lines of a memory's story.
_AROUND = re.compile(
    rf"{_QUOTE}results{_QUOTE}\s*:\s*\[\s*{{\s*{_QUOTE}ref{_QUOTE}|{_QUOTE}memory{_QUOTE}\s*:\s*{{\s*{_QUOTE}type{_QUOTE}"
    rf"|{_QUOTE}event{_QUOTE}\s*:\s*{_QUOTE}\w+{_QUOTE}\s*,\s*{_QUOTE}words{_QUOTE}"
)
_LEADING = re.compile(r"^(?:[\s>*•+–—-]+|#+\s|\d{1,3}[.)]\s)+")
_LABEL = re.compile(r"^[^\W\d_][\w .'’-]{0,40}:\s+")
_HEADINGS = frozenset(HEADINGS.values())
_QUOTES = "\"'“”„«»`*_ "


def line_hashes(text: str) -> list[bytes]:
    """The hashes under which the lines of a text may be stored, each once, in their order."""
    return list(dict.fromkeys(digest for line in text.splitlines() for digest in _hashes(line)))


def without_served(text: str, is_stored: Collection[bytes]) -> str:
    """The text less what the memory served; `is_stored` has those of its line hashes that are stored."""
    lines = _without_objects(text).splitlines(keepends=True)
    gone = _gone(lines, is_stored)
    has_served = bool(gone) or any(line.strip() == TITLE for line in lines)
    kept = [
        rest
        for place, line in enumerate(lines)
        if place not in gone and not (has_served and line.strip() in _HEADINGS)
        for rest in [_without_marks(line)]
        if rest
    ]
    return "".join(kept)


def _gone(lines: list[str], is_stored: Collection[bytes]) -> set[int]:
    """The lines that go as a whole."""
    gone: set[int] = set()
    under_row = False
    for place, line in enumerate(lines):
        under_row = bool(_ROW.match(line)) or (under_row and bool(_UNDER_ROW.match(line)))
        said = line.strip()
        if under_row or _is_served(said) or any(digest in is_stored for digest in _hashes(line)):
            gone.add(place)
        elif REFERENCE.search(line):
            gone |= _wrapped(lines, place)
            if not _without_marks(line):
                gone.add(place)
    return gone


def _is_served(line: str) -> bool:
    if line in (TITLE, NOTHING) or _WARNING.search(line):
        return True
    return bool(_CONFIDENT.search(line[-ENDING_CHARACTERS:])) and bool(_value(line))


def _wrapped(lines: list[str], place: int) -> set[int]:
    """The lines above an indented one with a reference, up to the bullet that they all belong to."""
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


def _without_marks(line: str) -> str:
    """What stands on a line after the last reference; nothing if that is no word."""
    ends = [match.end() for match in REFERENCE.finditer(line)]
    if not ends:
        return line
    rest = line[ends[-1] :]
    return rest if any(map(str.isalnum, rest)) else ""


def _without_objects(text: str) -> str:
    """The text less the innermost JSON objects that are results of the memory or quote its lines."""
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
    """Where each object begins and ends, inner ones first, and whether it ends at all; one that was cut off goes on to
    the next empty line. Braces inside quoted texts are not counted."""
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
    """What a line in the form of a fact says of its subject; nothing if it has not that form."""
    subject, dot, rest = line.partition(" · ")
    predicate, colon, value = rest.partition(": ")
    return value.strip() if subject and dot and predicate and colon else ""


def _hashes(line: str) -> Iterator[bytes]:
    """The hash of what a line says, without the marks, the label and the quotation marks around it."""
    text = unicodedata.normalize("NFC", line).strip()
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
