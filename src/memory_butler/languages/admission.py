"""Unicode normalization in linear time.

Normalization sorts the combining marks of a letter, in time that grows with the square of their number: 100,000 marks
on one letter take seconds, during which the process answers nobody. So a run of marks is cut off before it is sorted.
"""

import re
import unicodedata
from functools import cache

# Unicode's Stream-Safe Text Format allows as many marks in a row. No writing system needs more than a handful.
MOST_MARKS = 30
# The most characters that NFC joins into one: a Greek letter with breathing, accent and iota subscript.
MOST_COMPOSED = 4
_FIRST_MARK, _LAST_PLANE = 0x300, 0x20000


def nfc(text: str) -> str:
    """The text in NFC. Of a run of combining marks the first 30 are kept."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", without_long_runs(text))


def without_long_runs(text: str) -> str:
    """The text with runs of combining marks cut to 30, so that normalizing it takes linear time."""
    return text if text.isascii() else _long_runs().sub(r"\1", text)


@cache
def _long_runs() -> re.Pattern[str]:
    # Some characters are no marks themselves, but are taken apart into marks.
    marks = [code for code in range(_FIRST_MARK, _LAST_PLANE) if _begins_with_mark(chr(code))]
    ranges: list[list[int]] = []
    for code in marks:
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    mark = "[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges) + "]"
    return re.compile(f"({mark}{{{MOST_MARKS}}}){mark}+")


def _begins_with_mark(character: str) -> bool:
    return bool(unicodedata.combining(unicodedata.normalize("NFKD", character)[0]))
