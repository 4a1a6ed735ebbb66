"""Lists in which several people report: each item is its own speaker's."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memory_butler.english.extraction import distil
from memory_butler.languages.speech.utterances import USER, utterances

WEDNESDAY = datetime(2026, 3, 4, 10, tzinfo=UTC)
NAMES = ("Petra", "Dawid", "Agnes", "Ivo")
STATEMENTS = (
    "I live in Leith now",
    "I'm allergic to nuts",
    "I work at Acme",
    "on vacation until Thursday",
    "I moved to Porto",
    "dentist on 24 March",
    "took over the billing export",
)
items = st.lists(st.tuples(st.sampled_from(("me", "", *NAMES)), st.sampled_from(STATEMENTS)), min_size=2, max_size=6)


def report(lines: list[tuple[str, str]]) -> str:
    return "standup\n" + "\n".join(f"- {name}: {said}" if name else f"- {said}" for name, said in lines)


@given(items)
def test_nobody_gets_the_words_of_another(lines: list[tuple[str, str]]) -> None:
    """A fact is about the one whose item has its words: the user only for their own and for items without a name."""
    text = report(lines)
    for found in distil(text, WEDNESDAY):
        begin = text.rfind("\n", 0, found.span[0] + 1) + 1
        line = text[begin : text.find("\n", begin) if "\n" in text[begin:] else len(text)]
        name = next((one for one in NAMES if line.startswith(f"- {one}:")), USER)
        assert found.subject == name, (found, line)


@given(items)
def test_each_sentence_has_the_speaker_of_its_item(lines: list[tuple[str, str]]) -> None:
    said = [one for one in utterances(report(lines)) if one.text != "standup"]
    expected = [USER if name in ("me", "") else name for name, _ in lines]
    speakers = [one.speaker for one in said]
    # A list without "me" and "I" may be one of things: its names stay in the sentences.
    assert speakers == expected or all(
        one.speaker == who or one.text.startswith(f"{who}:") for one, who in zip(said, expected, strict=True)
    )
