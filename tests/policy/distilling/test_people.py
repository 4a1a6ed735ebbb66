"""Who is spoken of: speakers, pronouns, notes in the third person."""

from datetime import UTC, datetime

import pytest

from memory_butler.policy.distilling import distil

NOW = datetime(2026, 3, 4, 10, tzinfo=UTC)


def told(content: str) -> set[str]:
    return {f"{one.subject} · {one.predicate}: {one.content}" for one in distil(content, NOW)}


def test_a_labelled_speaker_is_i() -> None:
    """In a conversation, "I" is whoever the label names."""
    assert told("Tom: I live in Rome\nWei: my sister Xin is a vet") == {
        "Tom · lives_in: Rome",
        "Wei · relationship:xin: sister Xin",
        "Xin · works_as: vet",
    }


@pytest.mark.parametrize("label", ["User", "Human", "Me", "Customer"])
def test_the_user_has_many_labels(label: str) -> None:
    assert told(f"{label}: I live in Rome") == {"user · lives_in: Rome"}


@pytest.mark.parametrize("label", ["Assistant", "AI", "Bot", "Agent", "System"])
def test_the_assistant_tells_nothing(label: str) -> None:
    """What it says about itself or guesses about others is no knowledge."""
    assert told(f"{label}: I live in the cloud. Your name is Bob. Always be kind.") == set()


@pytest.mark.parametrize(
    "note",
    [
        "User said they live in Rome.",
        "The user lives in Rome.",
        "Lives in Rome.",
        "User mentioned that she lives in Rome.",
        "- lives in Rome",
        "I live in Rome.",
    ],
)
def test_notes_are_about_the_user(note: str) -> None:
    """With or without a subject, in the first or third person."""
    assert told(note) == {"user · lives_in: Rome"}


def test_he_and_she_are_who_was_named() -> None:
    """A pronoun stands for the person that was spoken of last."""
    assert told("Spoke to Ikechukwu about the venue. He lives in Enugu and hates being texted.") == {
        "Ikechukwu · lives_in: Enugu",
        "Ikechukwu · dislikes:being_texted: being texted",
    }


def test_a_pronoun_without_anybody_tells_nothing() -> None:
    """Nobody is guessed."""
    assert told("He lives in Enugu.") == set()


def test_two_people_can_share_a_statement() -> None:
    assert told("Tom and Lisa live in Rome.") == {"Tom · lives_in: Rome", "Lisa · lives_in: Rome"}


def test_plural_nouns_are_not_people() -> None:
    """A sentence about dogs or customers has no person in it."""
    assert told("Dogs love bones. Customers like free shipping.") == set()


def test_my_becomes_theirs() -> None:
    """A value does not speak in the first person."""
    assert told("I call my mum every Sunday.") == {"user · habit:call_mum: call their mum every Sunday"}
