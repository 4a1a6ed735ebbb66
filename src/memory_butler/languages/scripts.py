"""The scripts of a text, and the pieces that can be compared: words, numbers, and runs without spaces."""

import re
from enum import StrEnum
from typing import NamedTuple

from memory_butler.languages.folding import fold


class Kind(StrEnum):
    """Kind of a piece of text. Each kind is compared in its own way."""

    WORD = "word"
    NUMBER = "number"
    HAN = "han"
    KATAKANA = "katakana"
    HIRAGANA = "hiragana"
    HANGUL = "hangul"
    UNSPACED = "unspaced"


class Piece(NamedTuple):
    kind: Kind
    text: str


_HAN = r"\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA = r"\u3041-\u309f"
_KATAKANA = r"\u30a0-\u30ff"
_HANGUL = r"\u1100-\u11ff\uac00-\ud7a3"
# Thai, Lao, Burmese and Khmer are written without spaces, too.
_UNSPACED = r"\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u109f\u1780-\u17d3"
# Vowel signs of Indian scripts, which Python does not count as letters.
_SIGNS = r"\u0900-\u0963\u0971-\u0dff"
_WITHOUT_LETTERS = _HAN + _HIRAGANA + _KATAKANA + _HANGUL + _UNSPACED
_LETTER = rf"(?:[^\W\d_{_WITHOUT_LETTERS}]|[{_SIGNS}])"
# A word or a number with its hyphens comes whole, so that a scan is linear whatever the text.
_PIECE = re.compile(
    rf"(?P<word>(?:{_LETTER}|\d)+(?:-(?:{_LETTER}|\d)+)*)|(?P<han>[{_HAN}]+)|(?P<katakana>[{_KATAKANA}]+)"
    rf"|(?P<hiragana>[{_HIRAGANA}]+)|(?P<hangul>[{_HANGUL}]+)|(?P<unspaced>[{_UNSPACED}]+)"
)
_DIGIT = re.compile(r"\d")
_LATIN = re.compile(r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff]")
_DENSE = re.compile(rf"[{_WITHOUT_LETTERS}]")
# A word as it is written, in any script; not a part of an identifier or address.
WRITTEN_WORD = re.compile(rf"(?<![\w./@-])(?:[^\W\d_]|[{_SIGNS}])+(?:['’][^\W\d_]+)*(?![\w/@-])")


def pieces(text: str) -> list[Piece]:
    """The pieces of a text in order, folded. A word with a digit is a number: "IB3166", "70-55812"."""
    found = []
    for match in _PIECE.finditer(fold(text)):
        kind, piece = Kind(match.lastgroup or Kind.WORD), match.group()
        if kind is not Kind.WORD:
            found.append(Piece(kind, piece))
        elif _DIGIT.search(piece):
            found.append(Piece(Kind.NUMBER, piece))
        else:
            found += (Piece(kind, word) for word in piece.split("-"))
    return found


def is_mostly_latin(text: str) -> bool:
    """True if at least half of the letters are Latin. A character of a dense script stands for several letters."""
    if text.isascii():
        return True
    latin, dense = len(_LATIN.findall(text)), len(_DENSE.findall(text))
    others = sum(char.isalpha() for char in text) - latin + 2 * dense
    return latin >= others
