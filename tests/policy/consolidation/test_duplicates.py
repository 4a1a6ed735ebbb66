"""What says the same, and what only looks like it."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.models import Item, ItemKind
from memory_butler.policy.consolidation.duplicates import item_key, same_fact_content, same_rule, significant_words

EPISODE = UUID(int=1)
ITEM = Item(kind=ItemKind.FACT, evidence=(EPISODE,), content="the tea", subject="User", predicate="likes:tea")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Always run the tests before committing.", "always run tests before committing"),
        ("Don't deploy on Fridays!", "Do not deploy on Fridays"),
        ("Don’t deploy on Fridays", "don't deploy on fridays"),
        ("You can't retry", "You cannot retry"),
        ("Please just ask first", "Ask first"),
        ("It's green", "it is green"),
        ("“Acme”, Inc.", "Acme Inc"),
        ("a Fairphone 5", "Fairphone 5"),
    ],
)
def test_idle_words_marks_case_and_contractions_make_no_difference(one: str, other: str) -> None:
    """Whichever comes first."""
    assert same_rule(one, other)
    assert same_rule(other, one)
    assert same_fact_content(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Always deploy on Fridays", "Never deploy on Fridays"),
        ("Deploy on Fridays", "Don't deploy on Fridays"),
        ("You can retry", "You can't retry"),
        ("Retry 3 times", "Retry 30 times"),
        ("Version 2.5", "Version 2 5"),
        ("at most 5 °C", "at most -5 °C"),
        ("Tell Anna about Ben", "Tell Ben about Anna"),
        ("C", "C++"),
        ("> 5 items", "< 5 items"),
        ("vitamin A", "vitamin"),
        ("blood type A", "blood type"),
        ("likes 🐱", "likes 🐶"),
        ("!!!", "???"),
        ("Ask before deleting", "Ask after deleting"),
        ("owns a well", "owns"),
        ("$5", "€5"),
    ],
)
def test_what_matters_makes_a_difference(one: str, other: str) -> None:
    """Opposites, numbers, signs, names and order."""
    assert not same_rule(one, other)
    assert not same_fact_content(other, one)


def test_a_rule_is_for_whoever_acts() -> None:
    """Whom it speaks to and the form of its verb make no difference to a rule; to a fact they may."""
    assert same_rule("Always run the tests before committing.", "Always run the tests before you commit")
    assert not same_rule("Run the tests before you commit", "Run the tests after you commit")
    assert not same_fact_content("likes running", "likes runs")


@given(st.text(max_size=60), st.sampled_from(["not", "never", "always", "no", "5", "Anna"]))
def test_a_word_that_counts_is_never_lost(text: str, word: str) -> None:
    """Any text is the same as itself, and another one with such a word in front."""
    assert same_rule(text, text)
    assert not same_rule(text, f"{word} {text}")


@given(st.text(max_size=60))
def test_every_text_has_words(text: str) -> None:
    """Even one without any, so that two of those are told apart."""
    assert significant_words(text)


def test_the_key_of_an_item_is_what_it_says_and_where() -> None:
    """Its weight, tags and other evidence do not count."""
    key = item_key(ITEM, EPISODE)
    assert len(key) == 32
    same = replace(ITEM, content="Tea!", subject="user", predicate="Likes:Tea", importance=9, tags=("x",), evidence=())
    assert item_key(same, EPISODE) == key
    others = [
        replace(ITEM, kind=ItemKind.RULE),
        replace(ITEM, content="not the tea"),
        replace(ITEM, subject="Anna"),
        replace(ITEM, predicate="dislikes:tea"),
        replace(ITEM, valid_at=datetime(2026, 3, 4, tzinfo=UTC)),
        replace(ITEM, target=UUID(int=2)),
    ]
    keys = [key, item_key(ITEM, UUID(int=2)), *(item_key(other, EPISODE) for other in others)]
    assert len(set(keys)) == len(keys)
