"""Find seed phrases of wallets: 12 to 24 short words without any word of a usual sentence."""

import re
from collections.abc import Iterator

from memory_butler.english.text.word_sets import word_set
from memory_butler.policy.trust.vendor_formats import Finding

_SIZES = frozenset({12, 15, 18, 21, 24})
_WORDS = re.compile(r"(?<![\w,;.-])[a-z]{3,8}(?:(?: |\n)(?:\d{1,2}[.)] ?)?[a-z]{3,8}(?![\w-])){11,40}(?![ ]?[\w,;-])")
_NUMBERED = re.compile(r"(?<!\w)1[.):] ?[a-z]{3,8}(?:[ ,;\n]{1,3}\d{1,2}[.):] ?[a-z]{3,8}(?!\w)){11,23}")
_COMMA = re.compile(r"(?<![\w-])[a-z]{3,8}(?:, ?[a-z]{3,8}(?![\w-])){11,23}(?![ ]?\w)")
_SENTENCE = word_set(
    """
    the and for are was were has have had not you your they them with from this that which when where what who
    how but his her its our their then than will would should could may might must into onto over been being
    does did done use used using also only very just like more most some any all each every here there these
    those per via between while because since until red green blue yellow black white one two three four five
    six alpha beta gamma delta epsilon monday tuesday january und der die das ist nicht mit von für les des
    une est pas pour dans que los las del por con
    """
)


def find_seed_phrases(text: str) -> Iterator[Finding]:
    if text.count(" ") + text.count("\n") < 11:
        return
    for pattern in (_WORDS, _NUMBERED):
        for found in pattern.finditer(text):
            words = re.findall(r"[a-z]+", found[0])
            if len(words) in _SIZES and len(set(words)) >= len(words) - 2 and not _SENTENCE.intersection(words):
                yield Finding(found.start(), found.end(), "seed_phrase")
