"""Whatever comes in: an answer, the same every time, in bounded time, and nothing that was not said."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.growth import assert_quick

from memory_butler.english.extraction import Finding, distil

NOW = datetime(2026, 3, 4, 10, tzinfo=UTC)
# A hundred thousand characters take a fraction of this on an idle machine; a runaway pattern would take hours.
SECONDS = 20.0

# The wording that the distiller adds by itself, and the forms that it bends words into.
ADDED = """
no longer does not never cannot have has own owns works at lives in allergic to the user s their theirs is will would
don t doesn use uses play plays speak drink drinks eat eats smoke smokes vape vapes take takes eating smoking kid child
twin boy girl brother sister son daughter gave up usually them off on grew cancelled from you your
"""
FIXED = set(ADDED.split())
ENGLISH = """
I my we user he she they Anna Tom Rome Acme is am are was have has live work like love hate prefer use own don't never
always not no longer at in to from and but because if when who with a an the two dog sister wife nurse tea coffee on
Friday tomorrow yesterday next every morning remember that please , . ; : ? ! ( ) " ' - 3 14 May 2026
"""
WORDS = st.sampled_from([*ENGLISH.split(), "\n"])


def checked(content: str) -> list[Finding]:
    """What was found, once it is known to be in order."""
    found = distil(content, NOW)
    assert found == distil(content, NOW)
    for one in found:
        start, end = one.span
        assert 0 <= start < end <= len(content)
        assert one.content and len(one.content) <= 400
        assert (one.kind == "fact") == bool(one.subject) == bool(one.predicate)
        assert 1 <= one.importance <= 10
        assert one.valid_at is None or one.valid_at.tzinfo is not None
    return found


@given(st.text(max_size=400))
def test_any_text_has_an_answer(content: str) -> None:
    """Nothing raises, nothing depends on chance, and spans lie inside the episode."""
    checked(content)


@settings(max_examples=300)
@given(st.lists(WORDS, max_size=40).map(" ".join))
def test_any_order_of_english_words_has_an_answer(content: str) -> None:
    """The same for text that looks like sentences; and every word of an answer was said, but for the fixed wording."""
    said = set(re.findall(r"\w+", content.lower()))
    for one in checked(content):
        bent = {word + ending for word in said for ending in ("s", "es")} | said
        assert set(re.findall(r"\w+", one.content.lower())) <= bent | FIXED


@pytest.mark.parametrize(
    "piece",
    [
        "a", "A ", "I ", '"', "'", "(", ". ", "\n", "1 ", "a@", "- ", "my sister ", "tea and ", "tea, ", "Anna's ",
        "if I, ", "when a ", "on Friday ", "remember ", "please ", "who is ", "+1 234 ", "A: b\n", "I have old ", "😀",
        "I work at Acme as a cook and live in Rome with my wife Anna. ", "Always run tests. ", "\x00", "```\n",
    ],
)  # fmt: skip
def test_hostile_text_takes_bounded_time(piece: str) -> None:
    """A hundred thousand characters of anything are read in seconds: no pattern runs away."""
    content = (piece * (100_000 // len(piece) + 1))[:100_000]
    assert_quick(lambda: distil(content, NOW), SECONDS)


@pytest.mark.parametrize(
    "words", ["I have old ", "the ", "Anna ", "my brother Tom, ", "I work at big ", "every ", "a-"]
)
def test_the_longest_sentences_take_bounded_time(words: str) -> None:
    """Sentences as long as any that is read, a hundred and sixty of them."""
    content = ((words * 200)[:590] + ". ") * 160
    assert_quick(lambda: distil(content, NOW), SECONDS)
