"""How a memory's text is cut into passages, each with a vector of its own.

One vector blurs a long text, and a sentence alone forgets whose it is. So a short text stays whole, a longer one
becomes its sentences, and every passage keeps the speaker ("Name: …") it stands under. A memory matches as well as its
best passage. What this gives is measured in docs/why.md.
"""

import re
from bisect import bisect_right
from itertools import pairwise

PASSAGE_POLICY_VERSION = 1
# In UTF-8 bytes, because a character of Chinese says more than one of English.
SHORT_TEXT_BYTES = 120
MIN_PASSAGE_BYTES = 20
# In thirds of a token, guessed high by _cost: the model reads 256 tokens.
MAX_PASSAGE_COST = 720
MAX_PASSAGES = 64
MAX_LABEL_CHARACTERS = 40

Span = tuple[int, int]

TERMINATORS = ".!?…؟।"
CLOSERS = "\"'”’»)]}*_`"
# Neither branch can fail once it has begun, so the scan stays linear whatever the text.
BREAK = re.compile(r"\s+|[。！？｡]+[」』）】”’\"')\]]*")
LINE = re.compile(r"\n\s*")
FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
LABEL = re.compile(r"[^\W\d_][\w.'’-]*(?: [\w.'’-]+){0,2}(?::\s|：)")


def cut_passages(text: str, *, head: str = "") -> list[str]:
    """The passages of `text`: 1 to MAX_PASSAGES, none empty, together all of it; none at all if it is blank.

    `head` (for a fact its subject and predicate) is put before each of them. Text beyond what MAX_PASSAGES hold makes
    passages longer than the model reads; their ends then count for the keyword search only.
    """
    text, prefix = text.strip(), f"{head.strip()} " if head.strip() else ""
    if not text:
        return [prefix.strip()] if prefix else []
    labels = _labels(text)
    starts = [start for start, _ in labels]
    passages = []
    for start, end in passage_spans(text):
        position = bisect_right(starts, start) - 1
        label = labels[position][1] if position >= 0 and starts[position] < start else ""
        passages.append(f"{prefix}{label}{text[start:end].strip()}")
    return list(dict.fromkeys(passages))


def passage_spans(text: str) -> list[Span]:
    """Where the passages of a stripped text begin and end: in order, without a gap."""
    if _size(text) <= SHORT_TEXT_BYTES:
        return [(0, len(text))] if text else []
    pieces: list[Span] = []
    for start, end in (piece for span in _joined_short(text) for piece in _split_long(text, span)):
        if text[start:end].isspace():
            pieces[-1] = (pieces[-1][0], end)
        else:
            pieces.append((start, end))
    return pieces if len(pieces) <= MAX_PASSAGES else _joined_evenly(pieces)


def _boundaries(text: str) -> list[int]:
    """The places where a sentence, a line, a list item or a block of code begins, and the end of the text."""
    fences = [match.start() for match in FENCE.finditer(text)]
    closed = {0, len(text), *fences[::2], *(_line_end(text, fence) for fence in fences[1::2])}
    inner = (
        match.end()
        for match in BREAK.finditer(text)
        if bisect_right(fences, match.start()) % 2 == 0 and _ends_sentence(text, match)
    )
    return sorted(closed.union(inner))


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    gap, start = match.group(), match.start()
    if not gap.isspace():
        return True
    finished = text[max(0, start - 4) : start].rstrip(CLOSERS)[-1:] in (*TERMINATORS,)
    if "\n" not in gap or finished:
        return finished
    # A single line break in running prose is only where an editor wrapped the line.
    wrapped = start - text.rfind("\n", 0, start) > 60 and text[match.end() : match.end() + 1].islower()
    return gap.count("\n") > 1 or not wrapped


def _joined_short(text: str) -> list[Span]:
    """Fragments ("Hey!", "1.") go with what follows, a last one with what precedes, but never with another speaker."""
    labelled = {start for start, _ in _labels(text)}
    joined: list[Span] = []
    for start, end in pairwise(_boundaries(text)):
        dangling = end == len(text) and _is_short(text, (start, end))
        if joined and start not in labelled and (dangling or _is_short(text, joined[-1])):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _is_short(text: str, span: Span) -> bool:
    return _size(text[slice(*span)].strip()) < MIN_PASSAGE_BYTES


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _cost(text: str, position: int) -> int:
    """A token for each mark, each character of another script and each beginning of a word, less for what follows."""
    character = text[position]
    if character.isspace():
        return 1
    if not character.isascii() or not character.isalnum() or not text[position - 1 : position].isalnum():
        return 3
    return 2 if character.isdigit() else 1


def _split_long(text: str, span: Span) -> list[Span]:
    """A span in parts that the model can read whole, cut between words where there are any."""
    start, end = span
    parts: list[Span] = []
    cost, gap = 0, start
    for position in range(start, end):
        cost += _cost(text, position)
        if cost > MAX_PASSAGE_COST:
            cut = gap if gap > start else position
            parts.append((start, cut))
            cost, start = sum(_cost(text, place) for place in range(cut, position + 1)), cut
        if text[position].isspace():
            gap = position + 1
    return [*parts, (start, end)]


def _joined_evenly(spans: list[Span]) -> list[Span]:
    length = spans[-1][1]
    joined: dict[int, Span] = {}
    for start, end in spans:
        place = start * MAX_PASSAGES // length
        joined[place] = (joined[place][0] if place in joined else start, end)
    return list(joined.values())


def _labels(text: str) -> list[tuple[int, str]]:
    """Each "Name: " that begins a line outside code, and where it stands."""
    fences = [match.start() for match in FENCE.finditer(text)]
    starts = [0, *(match.end() for match in LINE.finditer(text))]
    found = (
        (start, LABEL.match(text[start : start + MAX_LABEL_CHARACTERS]))
        for start in starts
        if bisect_right(fences, start) % 2 == 0
    )
    return [(start, match.group().rstrip() + " ") for start, match in found if match]
