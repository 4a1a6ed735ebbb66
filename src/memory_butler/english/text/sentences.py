"""Cuts English text into sentences.

Passages for embedding are cut elsewhere (policy/retrieval/passages.py): they cover every character of a text in any
language, and another cut would mean another vector for every stored memory.
"""

import re

from memory_butler.english.text.word_sets import any_of, caseless, word_set
from memory_butler.english.time.calendar import MONTHS

# A point after these ends no sentence.
ABBREVIATIONS = frozenset((*(name[:3] for name in MONTHS if name != "may"), "sept")) | word_set("""
dr mr mrs ms prof st sr jr vs no nr etc approx dept ext tel inc ltd co ave blvd apt mt incl excl esp resp wks hrs mins
""")
_END = re.compile(r"[.!?…]+[)\"'”’\]]*(?=\s|$)|[。！？]")
_ABBREVIATED = caseless(rf"(?<![^\s(])(?:{any_of(sorted(ABBREVIATIONS))}|e\.g|i\.e|u\.s|u\.k|[a-z])\.$")
_ABBREVIATION_CHARACTERS = 8


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of each sentence, with its punctuation; the spans cover the whole text."""
    found, begin = [], 0
    for match in _END.finditer(text):
        start = match.start()
        if text[start] == "." and _ABBREVIATED.search(text, max(begin, start - _ABBREVIATION_CHARACTERS), start + 1):
            continue
        found.append((begin, match.end()))
        begin = match.end()
    return [*found, (begin, len(text))]
