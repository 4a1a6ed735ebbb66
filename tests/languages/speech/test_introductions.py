"""Names that people give as their own."""

import pytest

from memory_butler.languages.speech.given_names import GIVEN_NAMES
from memory_butler.languages.speech.introductions import may_introduce, own_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ich bin Annegret Thoma, Hebamme", "Annegret Thoma"),
        ("Hallo, ich heiße Ute", "Ute"),
        ("Je m'appelle Luc, je suis boulanger", "Luc"),
        ("Me llamo Eva", "Eva"),
        ("mi chiamo Chiara", "Chiara"),
        ("O meu nome é Rui", "Rui"),
        ("меня зовут Ольга", "Ольга"),
        ("我叫李薇", "李薇"),
        ("私の名前は田中です", "田中"),
        ("Ich bin Hebamme", ""),
        ("Ich bin Der Geist, der stets verneint", ""),
        ("ich bin müde", ""),
        ("Wie heißt mein Hund?", ""),
    ],
)
def test_own_names(text: str, expected: str) -> None:
    assert own_name(text) == expected
    assert may_introduce(text) or not expected


def test_given_names_are_sorted_and_in_lower_case() -> None:
    assert all(name == name.casefold() and len(name) > 2 for name in GIVEN_NAMES)
