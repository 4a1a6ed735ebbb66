"""Patterns made of word lists."""

from memory_butler.languages.speech.cues import opening, spaced, unspaced


def test_lists_match_whole_words_and_phrases() -> None:
    pattern = spaced("no longer, allerg*", "can't")
    assert pattern.search("I no  longer smoke")
    assert pattern.search("allergisch gegen Nüsse")
    assert pattern.search("I can’t come")
    assert not pattern.search("nonallergic")


def test_openings_allow_small_words_before_them() -> None:
    pattern = opening("i, we")
    assert pattern.match("oh, by the way, I moved")
    assert not pattern.match("Anna and I moved")


def test_words_of_scripts_without_spaces_match_anywhere() -> None:
    assert unspaced("必ず 毎日").search("これから必ず書く")
