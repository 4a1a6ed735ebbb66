"""Labels: the "Name: …" with which a line of a transcript says who speaks, or a line of notes what it is about."""

import re
from bisect import bisect_right
from dataclasses import dataclass

MAX_LABEL_CHARACTERS = 40

LINE = re.compile(r"\n\s*")
FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
LABEL = re.compile(r"([^\W\d_][\w.'’-]{0,39}(?: [\w.'’-]{1,39}){0,2})(?::\s|：)")
_SAID = re.compile(r"[^\S\n]{0,200}[^\s]")


@dataclass(frozen=True, slots=True)
class Label:
    """A label from `start` to `end`; a heading has nothing after it on its line."""

    start: int
    end: int
    name: str
    is_heading: bool


def labels(text: str) -> list[Label]:
    """Each label that begins a line outside code, in order."""
    if ":" not in text and "：" not in text:
        return []
    fences = [match.start() for match in FENCE.finditer(text)]
    starts = [0, *(match.end() for match in LINE.finditer(text))]
    found = []
    for start in starts:
        match = LABEL.match(text[start : start + MAX_LABEL_CHARACTERS])
        if match and bisect_right(fences, start) % 2 == 0:
            end = start + match.end()
            is_heading = text[end - 1] == "\n" or not _SAID.match(text, end)
            found.append(Label(start, end, match[1], is_heading))
    return found
