"""Normal forms of names and labels."""

import re
import unicodedata
from functools import lru_cache

CACHED_NAMES = 4096
_GAPS = re.compile(r"[\s_\-‐-―]+")
# Scripts written without spaces, which full-text search would index as one long word.
UNSPACED = re.compile(r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])")
# A note's predicate carries the hash of its content, which is meaningless to a reader.
_NOTE = re.compile(r"note:[0-9a-f]{12}")


def normal_name(label: str) -> str:
    """One form for 'Favorite Color', 'favorite-color' and 'favorite_color'."""
    folded = label.casefold()
    if folded.isascii() and folded.isalnum():
        return folded
    return _with_gaps(folded)


@lru_cache(CACHED_NAMES)
def _with_gaps(folded: str) -> str:
    folded = unicodedata.normalize("NFC", folded)
    return _GAPS.sub("_", folded).strip("_") or folded


@lru_cache(CACHED_NAMES)
def as_words(name: str) -> str:
    """A predicate or subject as words: favorite_color → favorite color."""
    if _NOTE.fullmatch(name):
        return "note"
    return " ".join(name.replace("_", " ").replace(":", " ").split())
