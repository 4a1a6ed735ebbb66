"""What a question asks for, and how far a text has it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.languages.detection import likely_languages
from memory_butler.languages.terms import MAX_TERMS, compared_text, strength, terms_of

TERMS = {
    "Wo ist der rote Schirm?": ["rote", "schirm"],
    "Where is the red umbrella?": ["red", "umbrella"],
    "Kommt der Zug 572?": ["kommt", "zug", "572"],
    "赤い傘はどこ？": ["赤", "傘"],
    "図書館カード": ["図書", "書館", "カード"],
    "雨伞在哪里？": ["雨伞"],
    "우산이 파란색": ["우산이", "파란색"],
    "¿Qué?": ["qu"],
    "?": [],
}
FOUND = [
    ("Welche Farbe hat der Schirm?", "Der Regenschirm ist rot.", 0.5),
    ("Wie ist die Nummer der Karte?", "Die Bibliothekskarte hat die Nummer 77.", 1.0),
    ("Was ist mit 90417?", "Der Vertrag hat die Nummer K-90417.", 0.9),
    ("傘を買ったのはいつ？", "五月に傘を買いました。", 1.0),
    ("우산은 어디에?", "우산을 현관에 두었다.", 0.8),
    ("Где моя книга?", "Книги лежат на полке.", 0.9),
]
MISSING = [
    ("Welche Farbe hat der Schirm?", "La farbe est rouge et je suis dans la schirmerie."),
    ("電話番号は？", "五月に傘を買いました。"),
    ("¿Cuánto cuesta el alquiler?", "The boiler is broken and we need a new one."),
]


@pytest.mark.parametrize(("question", "expected"), TERMS.items())
def test_a_question_has_terms(question: str, expected: list[str]) -> None:
    assert [term.text for term in terms_of(question)] == expected


def strengths(question: str, text: str) -> list[float]:
    languages = likely_languages(question)
    return [strength(term, compared_text(text), languages) for term in terms_of(question)]


@pytest.mark.parametrize(("question", "text", "least"), FOUND)
def test_a_text_has_a_term_in_another_form(question: str, text: str, least: float) -> None:
    assert max(strengths(question, text)) >= least


@pytest.mark.parametrize(("question", "text"), MISSING)
def test_a_text_does_not_have_what_only_looks_alike(question: str, text: str) -> None:
    """Words of two languages are not forms of one word."""
    assert [one for one in strengths(question, text) if one not in (0.0, 1.0)] == []
    assert sum(strengths(question, text)) <= 1


def test_forms_count_less_in_a_long_text() -> None:
    long = " ".join(f"wort{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(300))
    (term,) = terms_of("Regenschirme")
    short = strength(term, compared_text("Regenschirm"), frozenset())
    assert 0 < strength(term, compared_text(f"{long} Regenschirm"), frozenset()) < short


@given(st.text(max_size=200), st.text(max_size=200))
def test_strength_is_a_share(question: str, text: str) -> None:
    terms = terms_of(question)
    assert len(terms) <= MAX_TERMS
    assert all(0 <= one <= 1 for one in strengths(question, text))
