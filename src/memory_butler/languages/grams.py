"""Character n-grams: the keyword index of texts that are not in English.

They find the candidates. Forms of one word and the parts of a compound share n-grams in every language, so no stemmer
and no dictionary is needed. How well a candidate really fits is decided by comparing its words, see terms.py.
"""

from memory_butler.languages.detection import function_words
from memory_butler.languages.scripts import Kind, pieces
from memory_butler.languages.terms import MIN_COMMON_WORD

# Letters of an n-gram, with a mark for the beginning of a word: "_gat", "gato".
LETTERS = 4
SYLLABLES = 2
MAX_INDEXED = 4_000
MAX_ASKED = 150
_LENGTHS = {Kind.WORD: LETTERS, Kind.UNSPACED: LETTERS, Kind.HANGUL: SYLLABLES}


def indexed_grams(text: str) -> list[str]:
    """The n-grams under which a text is found."""
    return _grams(text, frozenset())[:MAX_INDEXED]


def asked_grams(question: str) -> list[str]:
    """The n-grams of a question, without short function words."""
    short = frozenset(word for word in function_words(question) if len(word) < MIN_COMMON_WORD)
    return _grams(question, short)[:MAX_ASKED]


def _grams(text: str, ignored: frozenset[str]) -> list[str]:
    """Chinese and Japanese are not among them: each of their characters is a word of the index."""
    found: dict[str, None] = {}
    for kind, piece in pieces(text):
        length = _LENGTHS.get(kind)
        if length is None or piece in ignored:
            continue
        marked = f"_{piece}" if kind is Kind.WORD else piece
        for place in range(max(1, len(marked) - length + 1)):
            found[marked[place : place + length]] = None
    return list(found)
