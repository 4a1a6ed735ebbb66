"""Recognises content that should be several facts or rules.

| it is several when | for example | not |
|---|---|---|
| sentences, lines or semicolons divide it | "Works at Acme. Lives in Rome." | "Dr. Okafor" |
| "and" or "but" begins another statement | "Berlin, and works at Acme" | "Rome and around" |
| it lists values of a class in which each stands for itself | likes "tea, coffee and cake" | "salt and pepper" |
| a rule is followed by another rule | "Always test. Never deploy on Fridays." | "Don't, because it hangs." |

Careful rather than eager: what is left whole does little harm, what is refused is lost.
"""

import re

from memory_butler.english.text.sentences import sentence_spans
from memory_butler.english.text.word_sets import caseless, word_set
from memory_butler.models import ItemKind

# Classes whose values are separate facts, also when there are only two of them.
LISTED = word_set("likes dislikes allergic_to speaks uses owns pet relationship skill")
LISTED_FROM_THREE = LISTED | word_set("health diet prefers")
NAMES_APART = word_set("speaks relationship pet uses")
ITEM_WORDS = 4
_PAIRS = """
salt and pepper, fish and chips, mac and cheese, rock and roll, peanut butter and jelly, black and white, drum and
bass, gin and tonic, bed and breakfast, arts and crafts, cheese and onion, research and development, track and
field, pros and cons, trial and error, dungeons and dragons, rhythm and blues, health and safety, sales and
marketing, oil and vinegar, bread and butter, bacon and eggs, ham and cheese, cookies and cream, hide and seek, rice
and beans, food and wine, wine and cheese, design and technology, tom and jerry, q and a, r and [bd], sweet and
sour, war and peace, pride and prejudice, rum and coke, strawberries and cream, knife and fork, nuts and bolts,
science and technology
"""
PAIRS = caseless(rf"\b(?:{'|'.join(' '.join(_PAIRS.split()).split(', '))})\b")
_PARTS = re.compile(r"[ \t]{0,8}(?:;|；|\n|\r|\u2028)\s{0,8}")
_STATEMENT = caseless(
    r"[\w)\"'],?\s+(?:and|but)\s+(?:also\s+)?(?:(?:he|she|they|i|it|we|user|the user)\s+\w|"
    r"(?:is|was|has|lives|works|likes|loves|hates|dislikes|speaks|owns|uses|prefers|plays|drinks|eats|drives|wants|plans"
    r"|enjoys|studies|moved|doesn't|does not|cannot|can't)\s+\w)"
)
_ANOTHER_RULE = caseless(
    r"(?:always|never|do(?:n't| not)\s|whenever\s|when\s|if\s|avoid\s|make sure|ensure\s|use\s|ask\s|only\s|before\s"
    r"|after\s|please\s)"
)
_SERIES = re.compile(r"\s{0,8},\s{0,8}(?:and\s{1,8}|or\s{1,8})?|\s{1,8}(?:and|or)\s{1,8}")
_FINITE = caseless(r"\b(?:is|are|was|were|has|have|had|lives?|works?|can|will|who|that|which)\b")
_PREPOSITION = caseless(r"\b(with|of|in|for|between|from|about|on|at|by|to|over|than|without|like)\b")
_DETERMINER = caseless(r"(?:an?|the|two|three|four|five|some|his|her|their|\d{1,12})\s")


def is_compound(kind: ItemKind, predicate: str, content: str) -> bool:
    """True if this content should be several items."""
    parts = [part for part in _PARTS.split(content) if any(map(str.isalnum, part))]
    said = [sentence for part in parts for sentence in _sentences(part)]
    if kind is ItemKind.RULE:
        return any(len(part.split()) > 2 and _ANOTHER_RULE.match(part) for part in said[1:])
    if len(said) > 1:
        return True
    name = predicate.partition(":")[0].strip().casefold().replace(" ", "_").replace("-", "_")
    return (name != "note" and bool(_STATEMENT.search(content))) or _is_list(name, content)


def _sentences(text: str) -> list[str]:
    pieces = (text[start:end].strip() for start, end in sentence_spans(text))
    return [piece for piece in pieces if any(map(str.isalnum, piece))]


def _is_list(name: str, content: str) -> bool:
    if name not in LISTED_FROM_THREE or _FINITE.search(content):
        return False
    text = PAIRS.sub("pair", content.strip(" .!"))
    items = [item for item in _SERIES.split(text) if item]
    if len(items) < 2 or any(len(item.split()) > ITEM_WORDS for item in items):
        return False
    has_joint = bool(re.search(r"\s(?:and|or)\s", text))
    if len(items) > 2:
        return has_joint and not _PREPOSITION.search(text)
    return has_joint and name in LISTED and _are_apart(name, items[0], items[1])


def _are_apart(name: str, one: str, other: str) -> bool:
    """Are these two values, and not one with two halves as "Ben and Jerry's" or "green and black tea"?"""
    if one.casefold().rstrip("s") == other.casefold().rstrip("s"):
        return False
    if one[0].isupper() and other[0].isupper() and name not in NAMES_APART:
        return False
    before, after = _PREPOSITION.search(one), _PREPOSITION.search(other)
    if before:
        return after is not None and before[1].casefold() == after[1].casefold()
    if _DETERMINER.match(one) and not _DETERMINER.match(other):
        return False
    return _DETERMINER.match(other) is not None or len(other.split()) <= len(one.split())
