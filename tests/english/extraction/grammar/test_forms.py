"""Forms: which verb phrases they read, and the facts that come of it."""

from datetime import UTC, datetime

import pytest

from memory_butler.english.extraction.grammar.forms import Form
from memory_butler.english.extraction.grammar.verbs import read_phrase

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BANKS = Form("uses", r"with (?P<v>[A-Z]\w+)", "{word} with {v}", "{v}")


def facts(form: Form, phrase: str) -> list[tuple[str, str, str]]:
    vp = read_phrase(phrase, "user")
    assert vp
    return [(one.kind, one.content, one.key) for one in form(vp, NOW)]


def test_a_match_becomes_a_fact() -> None:
    assert facts(BANKS, "banks with Revolut, mostly") == [("uses", "banks with Revolut", "Revolut")]


@pytest.mark.parametrize(
    "phrase",
    ["banks with them", "banked with Revolut", "doesn't bank with Revolut", "would bank with Revolut"],
    ids=["no match", "another tense", "negated", "modal"],
)
def test_other_phrases_are_not_read(phrase: str) -> None:
    assert facts(BANKS, phrase) == []


def test_tenses_and_exceptions_can_be_chosen() -> None:
    form = Form("uses", r"with (?P<v>[A-Z]\w+)", tenses=(), unless=("negated",))
    assert facts(form, "would bank with Revolut") == facts(form, "banked with Revolut") == [("uses", "Revolut", "")]
    assert facts(form, "never banked with Revolut") == []


def test_the_first_piece_of_the_object_can_be_the_content() -> None:
    form = Form("owns", r"an?\s", "{word} {rest}", "{rest}")
    assert facts(form, "carries a knife, for work") == [("owns", "carries a knife", "a knife")]
