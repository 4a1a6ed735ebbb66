"""The pieces of a text, by script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import assert_linear

from memory_butler.languages.scripts import Kind, is_mostly_latin, pieces

PIECES = {
    "Die Tür ist blau.": [("word", "die"), ("word", "tur"), ("word", "ist"), ("word", "blau")],
    "Zug ICE-572 um 9 Uhr": [("word", "zug"), ("number", "ice-572"), ("word", "um"), ("number", "9"), ("word", "uhr")],
    "arc-en-ciel": [("word", "arc"), ("word", "en"), ("word", "ciel")],
    "毎朝コーヒーを飲む": [
        ("han", "毎朝"),
        ("katakana", "コーヒー"),
        ("hiragana", "を"),
        ("han", "飲"),
        ("hiragana", "む"),
    ],
    "우산을 샀다": [("hangul", "우산을"), ("hangul", "샀다")],
    "ร่มสีแดง": [("unspaced", "ร่มสีแดง")],
    "छाता लाल है": [("word", "छाता"), ("word", "लाल"), ("word", "है")],
    "room 3階": [("word", "room"), ("number", "3"), ("han", "階")],
    "…!?": [],
}
LATIN = {"umbrella": True, "Żółw": True, "зонт": False, "傘 umbrella": True, "赤い傘 ok": False, "": True, "42": True}


@pytest.mark.parametrize(("text", "expected"), PIECES.items())
def test_a_text_is_cut_into_pieces(text: str, expected: list[tuple[str, str]]) -> None:
    assert pieces(text) == expected


@pytest.mark.parametrize(("text", "expected"), LATIN.items())
def test_the_script_of_most_letters_is_known(text: str, expected: bool) -> None:
    assert is_mostly_latin(text) is expected


@given(st.text(max_size=100))
def test_no_piece_is_empty(text: str) -> None:
    assert all(piece.text and isinstance(piece.kind, Kind) for piece in pieces(text))


@pytest.mark.parametrize("unit", ["a-", "a", "1-", "傘", "ก", "aé1-"])
def test_the_scan_is_linear(unit: str) -> None:
    assert_linear(lambda size: pieces(unit * size), 20_000, 80_000)
