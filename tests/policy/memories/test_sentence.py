"""Memories as sentences: properties in English and others, notes, and values that repeat them."""

import pytest

from memory_butler.policy.memories.sentence import fact_sentence

NOTE = "note:0123456789ab"


@pytest.mark.parametrize(
    ("subject", "predicate", "content", "said"),
    [
        ("Ana", "lives in", "Porto, Foz", "Ana lives in Porto, Foz"),
        ("Sofia", "birthday", "12 June", "Sofia's birthday: 12 June"),
        ("Ana", "favorite_tea", "genmaicha", "Ana's favorite tea: genmaicha"),
        ("Bruno", "allergic_to", "penicillin", "Bruno is allergic to penicillin"),
        ("Sofia", "is", "Ana's sister", "Sofia is Ana's sister"),
        ("Ana", "likes:night trains", "night trains", "Ana likes night trains"),
        ("Ana", "prefers:hotels", "small, quiet", "Ana prefers hotels: small, quiet"),
        ("Ana", "diet:vegetarian", "vegetarian", "Ana's diet: vegetarian"),
        ("Miso", "habit:take half tablet", "takes half a tablet", "Miso's habit: takes half a tablet"),
        ("Ana", "wohnt in", "Porto", "Ana wohnt in Porto"),
        ("Ana", NOTE, "Never ship vases on Friday.", "Never ship vases on Friday."),
        ("Bruno", "note", "Bruno: never plan anything.", "Bruno: never plan anything."),
        ("Ana", "note", "Anabel calls on Mondays.", "Ana's note: Anabel calls on Mondays."),
        (None, None, "Wake them at seven", "Wake them at seven"),
        ("", "", "", ""),
    ],
)
def test_a_fact_reads_as_a_sentence(subject: str | None, predicate: str | None, content: str, said: str) -> None:
    assert fact_sentence(subject, predicate, content) == said
