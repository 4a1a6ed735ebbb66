"""The older fact that a note speaks against."""

from typing import NamedTuple
from uuid import UUID

import pytest

from memory_butler.models import Item, ItemKind
from memory_butler.policy.consolidation.corrections import corrected, corrected_rule, may_correct, said_in
from memory_butler.policy.memories.text import NOTES_TAG, note_predicate


class Known(NamedTuple):
    subject: str
    predicate: str
    content: str
    id: UUID = UUID(int=1)


NOTE = note_predicate(b"123456")
VEGAN = Known("paloma", "diet", "vegan")
PUMP = Known("tove", NOTE, "tove (9) has type 1 diabetes, her pump is an omnipod")
SEAT = Known("user", "prefers:seat", "window seat")
BLOOD = Known("user", "medication:amlodipine", "amlodipine")
HOME = Known("user", "lives_in", "Porto")
KNOWN = [VEGAN, PUMP, SEAT, BLOOD, HOME]


def note(content: str, subject: str = "user", mentions: tuple[str, ...] = (), tag: str = NOTES_TAG) -> Item:
    return Item(
        kind=ItemKind.FACT,
        evidence=(),
        subject=subject,
        predicate=NOTE,
        content=content,
        tags=(tag,),
        mentions=mentions,
    )


@pytest.mark.parametrize(
    ("said", "subject", "older"),
    [
        ("Correction re Paloma: not vegan, vegetarian.", "Paloma", VEGAN),
        ("Correction: Tove's pump is NOT omnipod any more", "Tove", PUMP),
        ("changed my mind: aisle seat actually, my knee", "user", SEAT),
        ("scratch that, no window seat for me", "user", SEAT),
        ("I'm not on amlodipine any more, Dr. Rendall switched me to losartan 50mg", "user", BLOOD),
        ("Actually it is not Porto but Lisbon where we live", "user", HOME),
        ("Actually the bakery closes at noon", "user", None),
        ("Correction: the gig starts at nine", "user", None),
    ],
)
def test_a_correction_names_what_it_corrects(said: str, subject: str, older: Known | None) -> None:
    item = note(said, subject)
    assert may_correct(item)
    assert corrected(item, [one for one in KNOWN if one.subject == subject.lower()]) == older


def test_of_equal_statements_the_newest_is_corrected() -> None:
    newer = VEGAN._replace(id=UUID(int=2), predicate=NOTE)
    assert corrected(note("Correction re Paloma: not vegan.", "Paloma"), [VEGAN, newer]) is newer


def test_only_distilled_notes_with_a_cue_correct() -> None:
    assert not may_correct(note("Paloma brings a vegan cake on Sunday", "Paloma"))
    assert not may_correct(note("Actually Paloma is vegetarian", "Paloma", tag="mine"))


def test_the_name_alone_corrects_nothing() -> None:
    """Notes that share only the person are about different things."""
    other = Known("paloma", NOTE, "Paloma plays the cello")
    assert corrected(note("Actually Paloma comes on Friday", "Paloma"), [other]) is None


class Rule(NamedTuple):
    content: str


SPACES = Rule("Use spaces for indentation.")
FRIDAYS = Rule("Never deploy on Fridays.")
TESTS = Rule("Always run the tests before committing.")
PDF = Rule("Send quotes as PDF.")
RULES = [SPACES, FRIDAYS, TESTS, PDF]


@pytest.mark.parametrize(
    ("content", "said", "older"),
    [
        ("Use tabs, not spaces.", "use tabs, not spaces", SPACES),
        ("Deploy on Fridays, too.", "deploy on Fridays, too", FRIDAYS),
        ("Don't run the tests before committing.", "don't run the tests before committing", TESTS),
        ("Send quotes as a link.", "Actually, send quotes as a link from now on", PDF),
        ("Send quotes as PDF and in colour.", "send quotes as PDF and in colour", None),
        ("Never deploy without a review.", "never deploy without a review", None),
        ("Run the linter before pushing.", "run the linter before pushing", None),
        ("Answer in French.", "Actually, answer in French", None),
    ],
)
def test_a_rule_corrects_its_opposite_or_what_it_rejects(content: str, said: str, older: Rule | None) -> None:
    """Or what it revises in so many words."""
    assert corrected_rule(content, said, RULES) == older


def test_the_sentence_of_a_rule() -> None:
    texts = ["I met Tom. Actually, use tabs here! It rains.\nNothing else"]
    assert said_in("Use tabs here.", texts).strip() == "Actually, use tabs here!"
    assert said_in("Use tabs here.", ["It rains."]) == ""
