"""One spelling for words that are written in several ways: ü and ue, é and e, ё and е, Ｋ and K."""

import re
import unicodedata

# Accents of Latin, Greek and Cyrillic letters, and the vowel points of Arabic and Hebrew. The vowel signs of other
# scripts are letters.
_MARKS = re.compile(r"[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0640]+")
# Letters that Unicode does not take apart.
_LETTERS = str.maketrans(
    {
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "æ": "a",
        "œ": "o",
        "ø": "o",
        "ı": "i",
        "ى": "ي",
        "ة": "ه",
        "ی": "ي",
        "ک": "ك",
    }
)
# How German, Danish and others write ä, ö and ü on a keyboard without them. It shortens words of other languages, too,
# in all texts alike.
_DIGRAPHS = re.compile(r"([aou])e")


def fold(text: str) -> str:
    """The text in lower case without accents and other differences of spelling."""
    return _DIGRAPHS.sub(r"\1", without_accents(text))


def without_accents(text: str) -> str:
    """The text in lower case without accents."""
    if text.isascii():
        return text.casefold()
    folded = unicodedata.normalize("NFKC", text).casefold()
    if folded.isascii():
        return folded
    bare = _MARKS.sub("", unicodedata.normalize("NFD", folded).translate(_LETTERS))
    return unicodedata.normalize("NFC", bare)
