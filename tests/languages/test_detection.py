"""Which language a text is in; English unless another one is certain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.languages.detection import Language, function_words, language_of, likely_languages

ENGLISH = [
    "Where is the umbrella?",
    "I moved to Los Angeles in May.",
    "Do we have tickets for Die Hard at the cinema?",
    "La Paz and El Alto are on the list",
    "What does 田中 like?",
    "She said «la vie est belle» and left us with the bill for all of it.",
    "Anna: I was in São Paulo with my brother.",
    "Never deploy on Fridays.",
]
OTHER = {
    "Wo ist der rote Regenschirm?": "de",
    "Ich habe den Schirm im Zug vergessen.": "de",
    "¿Dónde dejé el paraguas?": "es",
    "J'ai oublié mon parapluie dans le train.": "fr",
    "Dove ho lasciato l'ombrello?": "it",
    "Onde deixei o guarda-chuva da minha irmã?": "pt",
    "Ik heb mijn paraplu in de trein laten liggen.": "nl",
    "Gdzie jest mój parasol?": "pl",
    "Şemsiyemi trende unuttum, çok üzgünüm.": "tr",
    "Где мой зонт?": "ru",
    "傘はどこ？": None,
    "우산이 어디 있어?": None,
    "أين مظلتي؟": "ar",
    "मेरा छाता कहाँ है?": "hi",
    "ร่มอยู่ที่ไหน": None,
    "Πού είναι η ομπρέλα μου;": "el",
}
UNCERTAIN = ["Theo birthday", "oat milk", "postgres 18", "", "!!!", "Die Hard", "Casa Lã"]


@pytest.mark.parametrize("text", ENGLISH)
def test_english_is_recognized(text: str) -> None:
    assert language_of(text) is Language.ENGLISH


@pytest.mark.parametrize(("text", "language"), OTHER.items())
def test_another_language_is_recognized(text: str, language: str | None) -> None:
    assert language_of(text) is Language.OTHER
    assert language is None or likely_languages(text) <= {language} or language in likely_languages(text)


@pytest.mark.parametrize("text", UNCERTAIN)
def test_a_text_without_function_words_is_uncertain(text: str) -> None:
    assert language_of(text) is Language.UNCERTAIN


def test_function_words_are_those_of_the_language() -> None:
    assert function_words("Wo ist der rote Schirm?") == {"wo", "ist", "der"}
    assert function_words("Where is the red umbrella?") == {"where", "is", "the"}
    assert function_words("Regenschirm") == frozenset()


@given(st.text(max_size=200))
def test_any_text_has_an_answer(text: str) -> None:
    assert language_of(text) in Language
    assert isinstance(function_words(text), frozenset)
