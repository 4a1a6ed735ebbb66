"""Threads copied from a chat program: who speaks where names stand on lines of their own, or in lower case."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_butler.english.extraction import distil
from memory_butler.english.text.chat_threads import thread
from memory_butler.languages.speech.utterances import is_conversation, utterances

NOW = datetime(2026, 3, 4, 10, tzinfo=UTC)
OTHERS = ("anna", "Tomasz", "Ann Lee", "yuki", "fatima")
STATEMENTS = ("I live in Leeds", "I'm allergic to cats", "I work at Acme", "my sister is called Ida")
STAMPS = ("{}  10:21 AM", "{} [10:21]", "{} — Today at 10:21 AM", "{}  16:05")


@pytest.mark.parametrize("stamp", STAMPS)
def test_a_name_with_a_time_on_its_own_line_begins_a_turn(stamp: str) -> None:
    text = f"{stamp.format('tomasz')}\nstaging moved\nit is slower now\n{stamp.format('Fatima')}\nthanks"
    assert [(one.speaker, one.text) for one in utterances(text)] == [
        ("tomasz", "staging moved"),
        ("tomasz", "it is slower now"),
        ("Fatima", "thanks"),
    ]
    assert is_conversation(text)


def test_names_in_lower_case_speak_if_one_answers() -> None:
    assert thread("yuki: who owns it\nnadia: me since monday").handles == {"yuki", "nadia"}
    assert thread("wifi: larch\nbins: tuesday\nmilkman: fridays").handles == frozenset()


def test_an_agenda_is_no_thread() -> None:
    assert thread("Dentist 10:30\nbring the x-ray\nGym 14:00\ntowel").headings == {}
    assert thread("Ann  10:30\nTom  11:30").headings == {}


@given(
    st.lists(st.tuples(st.sampled_from(OTHERS), st.sampled_from(STATEMENTS)), min_size=2, max_size=5),
    st.sampled_from((*STAMPS, "handles")),
)
@settings(max_examples=300, deadline=None)
def test_what_others_say_in_a_thread_is_never_the_users(said: list[tuple[str, str]], stamp: str) -> None:
    if stamp == "handles":
        text = "\n".join(f"{name.split()[0].lower()}: {words}" for name, words in said)
    else:
        text = "\n".join(f"{stamp.format(name)}\n{words}" for name, words in said)
    assert [one for one in distil(text, NOW) if one.subject == "user"] == []
    assert all(one.speaker != "user" for one in utterances(text))
