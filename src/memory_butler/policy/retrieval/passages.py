"""How a memory's text is cut into passages, each with a vector of its own.

One vector blurs a long text. So a short text stays whole and a longer one becomes its sentences; a memory matches as
well as its best passage. Who speaks ("Name: …") is left out: two texts are not alike because both begin with "Anna:",
and the subject of a memory is matched by name, see names.py. The effect is measured in docs/concepts/why.md.
"""

import re
from bisect import bisect_right
from itertools import pairwise

from memory_butler.english.text.names import is_speaker, looks_like_name
from memory_butler.english.text.normalize import as_words
from memory_butler.english.text.speaker_labels import FENCE, Label, labels

PASSAGE_POLICY_VERSION = 4
# In UTF-8 bytes, because a character of Chinese says more than one of English.
SHORT_TEXT_BYTES = 120
MIN_PASSAGE_BYTES = 20
# In thirds of a token, guessed high by _cost: the model reads 256 tokens.
MAX_PASSAGE_COST = 720
MAX_PASSAGES = 64

Span = tuple[int, int]

WORD = re.compile(r"\w+")

TERMINATORS = ".!?…؟।"
CLOSERS = "\"'”’»)]}*_`"
# Neither branch can fail once it has begun, so the scan stays linear whatever the text.
BREAK = re.compile(r"\s+|[。！？｡]+[」』）】”’\"')\]]*")


def cut_passages(text: str, *, head: str = "") -> list[str]:
    """The passages of `text`: 1 to MAX_PASSAGES, none empty, together the whole text; none if it is blank.

    `head` (for a fact what it is about) is put before each of them. Text beyond what MAX_PASSAGES hold makes passages
    longer than the model reads; their ends then count for the keyword search only.
    """
    text, prefix = text.strip(), f"{head.strip()} " if head.strip() else ""
    if not text:
        return [prefix.strip()] if prefix else []
    speech = _Speech(text)
    passages = [speech.between(*span).strip() for span in _spans(speech)]
    return list(dict.fromkeys(f"{prefix}{passage}" for passage in passages if passage)) or [f"{prefix}{text}"]


def passage_head(subject: str | None, predicate: str | None, content: str) -> str:
    """Subject and predicate of a fact, to put before its passages. Left out are a subject that is a name, and words of
    the predicate that the content repeats: `likes:green_tea` with the content "green tea" gives "likes:"."""
    if subject is None or predicate is None:
        return ""
    repeated = set(WORD.findall(content.lower()))
    about = [] if looks_like_name(subject) else as_words(subject).split()
    words = [*about, *(word for word in as_words(predicate).split() if word.lower() not in repeated)]
    return f"{' '.join(words)}:" if words else ""


class _Speech:
    """A text, its speaker labels, and the text without them."""

    def __init__(self, text: str) -> None:
        self.text = text
        found = labels(text)
        self.turns = {label.start for label in found}
        self._speakers: list[Label] = [label for label in found if is_speaker(label)]
        self._starts = [label.start for label in self._speakers]

    def between(self, start: int, end: int) -> str:
        """The text from here to there without the labels of its speakers."""
        parts = []
        for label in self._speakers[max(0, bisect_right(self._starts, start) - 1) :]:
            if label.start >= end:
                break
            parts.append(self.text[start : max(start, label.start)])
            start = max(start, min(label.end, end))
        return "".join([*parts, self.text[start:end]])


def _spans(speech: _Speech) -> list[Span]:
    text = speech.text
    if _size(speech.between(0, len(text))) <= SHORT_TEXT_BYTES:
        return [(0, len(text))] if text else []
    pieces: list[Span] = []
    for start, end in (piece for span in _joined_short(speech) for piece in _split_long(text, span)):
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


def _joined_short(speech: _Speech) -> list[Span]:
    """Fragments ("Hey!", "1.") go with what follows, a last one with what precedes, but never with another speaker."""
    joined: list[Span] = []
    for start, end in pairwise(_boundaries(speech.text)):
        dangling = end == len(speech.text) and _is_short(speech, (start, end))
        if joined and start not in speech.turns and (dangling or _is_short(speech, joined[-1])):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def _is_short(speech: _Speech, span: Span) -> bool:
    return _size(speech.between(*span).strip()) < MIN_PASSAGE_BYTES


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
