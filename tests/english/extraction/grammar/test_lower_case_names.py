"""Names without a capital, and sentences that are about another than the user."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.english.extraction import distil
from memory_butler.english.extraction.grammar.lower_case_names import is_of_another, puts_right, with_capitals

WEDNESDAY = datetime(2026, 11, 18, 12, tzinfo=UTC)
PERSONAL = ("allergic_to", "health", "diet", "relationship")


def told(text: str) -> list[str]:
    return [f"{one.subject} · {one.predicate}" for one in distil(text, WEDNESDAY)]


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("sam (my son, 6) is scared of needles", "Sam"),
        ("tove (9) has type 1 diabetes", "Tove"),
        ("anna, my sister, takes lithium", "Anna"),
        ("my colleague ben is coeliac", "Ben"),
        ("My neighbour walter is allergic to strawberries", "Walter"),
        ("our au pair lucía is allergic to cats", "Lucía"),
        ("omar has epilepsy, no strobe lights.", "Omar"),
        ("jonas doesn't eat pork", "Jonas"),
        ("btw mia hates mushrooms", "Mia"),
    ],
)
def test_a_lower_case_name_gets_its_capital(said: str, name: str) -> None:
    capitals = with_capitals(said)
    assert name in capitals
    assert capitals.lower() == said.lower()


@pytest.mark.parametrize(
    "said",
    [
        "everyone is allergic to something",
        "dinner (my treat) is at eight",
        "milk has lactose",
        "the dog is allergic to chicken",
        "she is allergic to nuts",
        "my sister is allergic to nuts",
        "my boss really is scared of dogs",
        "kid is allergic to milk",
        "is allergic to milk",
    ],
)
def test_other_words_stay_as_they_are(said: str) -> None:
    assert with_capitals(said) == said


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        (
            "sam (my son, 6) is scared of needles and allergic to amoxicillin",
            ["Sam · dislikes:needles", "Sam · allergic_to:amoxicillin"],
        ),
        ("Bastien is NOT the one with the peanut thing, that's Ilyes (bass). carries an epipen.", []),
        ("Rosa isn't the diabetic, her twin Marta is. injects insulin. allergic to nuts.", []),
        ("It's not Yusuf who's getting married but Idris. wedding is 14 Feb in Izmir.", []),
        ("funeral 1pm St Magnus on 20 November", []),
        (
            "Grandad died last Friday. The funeral is on Thursday.",
            ["user's grandad · event:died", "user's grandad · event:funeral"],
        ),
        (
            "User mentioned that he has asthma. He can't lift heavy boxes.",
            ["user · health:asthma", "user · health:cannot_lift_heavy_boxes"],
        ),
        ("teacher is scared of needles and allergic to latex", []),
        ("Our wedding is on 14 Feb.", ["user · event:wedding"]),
        ("allergic to penicillin", ["user · allergic_to:penicillin"]),
    ],
)
def test_nothing_of_another_is_told_of_the_user(said: str, facts: list[str]) -> None:
    assert told(said) == facts


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Bastien is NOT the one with the peanut thing, that's Ilyes (bass).", "Ilyes"),
        ("It's not Yusuf who's getting married but Idris.", "Idris"),
        ("Rosa isn't the diabetic, her twin Marta is.", "Marta"),
        ("Nadia, not me, is the one with the bee allergy", "Nadia"),
        ("Paloma is not vegan but hates meat", ""),
        ("I'm not sure that's right", ""),
    ],
)
def test_the_person_whom_a_correction_names(said: str, name: str) -> None:
    assert puts_right(said) == name


def test_sentences_of_the_speaker_are_not_of_another() -> None:
    assert is_of_another("teacher is allergic to latex")
    assert not is_of_another("Anna has nuts at home and I am allergic to them")


names = st.sampled_from(["sam", "leo", "tove", "omar", "walter", "lucía", "jonas", "mia", "ben", "priya"])
conditions = st.sampled_from(
    ["allergic to eggs", "diabetic", "coeliac", "scared of needles", "vegan", "on metformin", "lactose intolerant"]
)
shapes = st.sampled_from(
    [
        "{name} (my son, 6) is {one} and {two}",
        "{name}, my sister, is {one} and {two}",
        "my colleague {name} is {one} and {two}",
        "{name} is {one} and {two}",
        "{name} (4) is {one}. {two}.",
        "teacher is {one} and {two}",
        "{Name} is NOT the one who is {one}, that's Ilyes. {two}.",
        "It isn't {Name} who is {one} but Marta. is {two}.",
    ]
)


@given(name=names, one=conditions, two=conditions, shape=shapes)
def test_a_condition_of_another_never_falls_to_the_user(name: str, one: str, two: str, shape: str) -> None:
    text = shape.format(name=name, Name=name.capitalize(), one=one, two=two)
    wrong = [fact for fact in told(text) if fact.startswith("user · ") and not fact.startswith("user · relationship")]
    assert not [fact for fact in wrong if fact.removeprefix("user · ").partition(":")[0] in PERSONAL], text
    denied = name.capitalize() if "Ilyes" in text or "Marta" in text else ""
    assert not denied or not [fact for fact in told(text) if fact.startswith(denied)], text
