"""Who is spoken of: speakers, pronouns, notes in the third person."""

from datetime import UTC, datetime

import pytest

from memory_butler.english.extraction import distil

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


@pytest.mark.parametrize("label", ["User", "Human", "Me", "I", "You", "Ich", "Yo", "Moi", "Eu", "Io", "Я", "私", "我"])
def test_the_user_has_many_labels(label: str) -> None:
    assert told(f"{label}: I live in Rome") == {"user · lives_in: Rome"}


def test_a_customer_is_the_user_where_an_assistant_answers() -> None:
    assert told("Customer: I live in Rome\nAgent: Thank you.") == {"user · lives_in: Rome"}
    assert told("Customer: I live in Rome") == set()


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


@pytest.mark.parametrize(
    ("note", "facts"),
    [
        (
            "Helped Marta. She moved from Porto to Utrecht. She prefers vim.",
            {"Marta · lives_in: Utrecht", "Marta · prefers:vim: vim"},
        ),
        ("Long call with Microsoft support. She lives in Rome.", set()),
        ("Moved the desk to Acme. They want answers in Spanish.", set()),
        ("Talked to Lars and Mette. He works at Novo.", set()),
        ("Bumped into Gordon in Turin. He's a vet.", {"Gordon · works_as: vet"}),
        ("With my dad next summer. he's obsessed with horses", {"user's dad · likes:horses: horses"}),
        ("My dad remarried, his wife is called Denise.", {"user's dad · relationship:denise: wife Denise"}),
        ("He's the user's co-founder. His name is Luca.", set()),
        (
            "User's mother likes old films. He works part-time.",
            {"user's mother · likes:films: old films", "user · habit:work_part_time: works part-time"},
        ),
        ("Mum is 70 and dad is 72. They live in Dundee.", {
            "user's mum · age: 70", "user's dad · age: 72", "user's mum · lives_in: Dundee",
            "user's dad · lives_in: Dundee",
        }),
        ("I have a cat called Minka. Reach her at minka@example.org.", {"user · pet:minka: cat Minka"}),
    ],
)  # fmt: skip
def test_a_pronoun_means_a_person_who_fits(note: str, facts: set[str]) -> None:
    """Neither a place nor a company, neither a man by "she" nor the speaker by "he"; two who fit are nobody."""
    assert told(note) == facts


def test_notes_after_a_meeting_are_about_whom_was_met() -> None:
    """Bullet points under a name, without a subject of their own."""
    assert told("Notes from 1:1 with Kenji\n- hobbies: bouldering\n- lives in Osaka") == {
        "Kenji · likes:bouldering: bouldering",
        "Kenji · lives_in: Osaka",
    }


def test_what_follows_an_unknown_subject_is_about_nobody() -> None:
    """A company that uses Slack does not make the user use it."""
    assert told("The company has forty people and uses Slack. Deploys go out on Tuesdays.") == set()


def test_brackets_behind_a_name_tell_of_the_person() -> None:
    assert told("Met with Priya (head of design at Northwind).") == {
        "Priya · works_as: head of design",
        "Priya · works_at: Northwind",
    }
    assert told("Upgraded to Windows (11).") == set()


@pytest.mark.parametrize(
    "text",
    [
        "John Lennon was born in Liverpool.",
        "Elon Musk works at Tesla and owns SpaceX.",
        "Messi lives in Florida. He has three kids.",
        "Read an article about tea. Gustav lives in Omaha and drinks five cups a day.",
        "Agnes was born in Corsica.",
        "Tesla is based in Austin.",
    ],
)
def test_general_knowledge_is_no_memory(text: str) -> None:
    """People whom nothing ties to the user, and companies."""
    assert told(text) == set()


def test_a_friend_may_be_called_like_anybody() -> None:
    """Who is tied to the user is theirs, whatever the name."""
    assert told("My friend Elon Musk works at a bakery.") == {
        "user · relationship:elon_musk: friend Elon Musk",
        "Elon Musk · works_at: a bakery",
    }


def test_the_customer_is_the_user_only_where_nobody_else_is() -> None:
    """In the notes of a call; not in notes about one's own clients."""
    assert told("Customer called about a parcel. He lives in Norwich.") == {"user · lives_in: Norwich"}
    assert told("Call with a client. The client lives in Oslo and has two dogs.") == set()


def test_in_notes_about_the_user_i_is_the_assistant() -> None:
    """What the assistant likes or does is no memory of the user."""
    assert told("User asked for a list. I like lists and I work at night.") == set()
    assert told("User said: I live in Rome.") == {"user · lives_in: Rome"}


def test_a_name_that_was_given_is_known() -> None:
    """Once the user's name is told, it stands for the user."""
    assert told("The user's name is Jonas Weber. Jonas likes tea.") == {
        "user · name: Jonas Weber",
        "user · likes:tea: tea",
    }
