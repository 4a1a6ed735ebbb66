"""What people abbreviate when they type is spelled out, and nothing else is changed."""

import pytest

from memory_butler.english.text.shorthand import spelled_out
from memory_butler.policy.retrieval.question import in_full


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("msg mum abt tmrw pls", "message mum about tomorrow please"),
        ("can i do the extra nite on thurs", "can i do the extra night on Thursday"),
        ("cook sth on sat, w/o nuts", "cook something on Saturday, without nuts"),
        ("whats for tea, 4 ppl?", "what is for tea, 4 people?"),
        # Words, names and code that only look like abbreviations.
        ("she sat in the sun", "she sat in the sun"),
        ("THU is a team, Thu is a name", "THU is a team, Thu is a name"),
        ("fix msg.py and --msg, then u() and pic-1", "fix msg.py and --msg, then u() and pic-1"),
        ("mail sth@acme.example or u@acme.example", "mail sth@acme.example or u@acme.example"),
        ("the ppl's choice", "the ppl's choice"),
    ],
)
def test_spelled_out(typed: str, meant: str) -> None:
    assert spelled_out(typed) == meant


def test_other_languages_are_left_alone() -> None:
    dutch = "Kunt u mij zeggen hoe laat de trein naar Utrecht vertrekt?"
    assert in_full(dutch) == dutch
    assert in_full("who did u msg") == "who did you message"
