"""Names in sentences, and whom a sentence is about."""

import pytest

from memory_butler.languages.speech.mentions import likely_subject, mentions, subject_of_note
from memory_butler.languages.speech.utterances import USER, Utterance


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my daughter Ida starts at Lindenhof Primary in August", ["Ida", "Lindenhof Primary"]),
        ("Nora can't do Tuesdays anymore", ["Nora"]),
        ("Trains are late on Mondays", []),
        ("Mein Bruder Jonas wohnt in Graz", ["Jonas", "Graz"]),
        ("Die Heizung wird jeden Herbst gewartet", []),
        ("Hannes und Ulrike bitte nie nebeneinander setzen, die streiten", ["Hannes", "Ulrike"]),
        ("Bernd (mein Mann) darf keine Grapefruit wegen der Tabletten", ["Bernd"]),
        ("Ines Termin: Mittwoch um zwei in der Praxis", ["Ines"]),
        ("Kasia approves anything above 2k", ["Kasia"]),
        ("Сестра Ольга выходит замуж", ["Ольга"]),
        ("合鍵は田中さんに預けてあります", ["田中"]),
        ("the Year 4 trip to Big Pit is in May", ["Big Pit"]),
        ("Chose Infomaniak because of the price", ["Infomaniak"]),
        ("I like tea", []),
    ],
)
def test_names(text: str, expected: list[str]) -> None:
    assert mentions(text) == expected


@pytest.mark.parametrize(
    ("text", "label", "expected"),
    [
        ("I met Anna in Rome", "", USER),
        ("my brother Emil works at a bakery", "", "Emil"),
        ("no onions for me, ever", "", USER),
        ("Hi Agnes, I'm diabetic, type 1", "Ines", "Ines"),
        ("live in Gdańsk w/ my wife Ola", "", USER),
        ("Root cause was the shared cache", "", USER),
        ("Me llamo Eva, soy enfermera", "", USER),
        ("I'm celiac", "Anna", "Anna"),
        ("the key is with the concierge", "Eva", "Eva"),
        ("Moved from Berlin to Lisbon in January.", "", USER),
        ("User lives in Utrecht with two cats", "", USER),
        ("Dr. Rendall said I should rest", "", USER),
        ("Magnus' teacher Mr Sinclair reckons he's dyslexic", "", "Magnus"),
        ("Fenrik (the collie, 11) gets meloxicam", "", "Fenrik"),
        ("tove (9) has type 1 diabetes", "", "Tove"),
        ("this is CONFIDENTIAL, tell nobody", "", USER),
        ("Bonjour Madame, la visite est annulée", "", USER),
        ("Y trabajo en Telefónica", "Lucía", "Lucía"),
    ],
)
def test_whom_it_is_about(text: str, label: str, expected: str) -> None:
    one = Utterance(text, 0, label or USER, label, False)
    assert likely_subject(one, mentions(text)) == expected


@pytest.mark.parametrize(
    ("content", "is_user", "expected"),
    [
        ("Ana is allergic to shellfish", True, "Ana"),
        ("Ana is allergic to shellfish", False, "Ana"),
        ("I like tea", True, "user"),
        ("I like tea", False, "coder"),
        ("Run the tests before each commit.", False, "coder"),
        ("the key is under the mat", True, "user"),
    ],
)
def test_a_note_is_about_whom_it_names_or_who_wrote_it(content: str, is_user: bool, expected: str) -> None:
    assert subject_of_note(content, "coder", is_user=is_user) == expected
