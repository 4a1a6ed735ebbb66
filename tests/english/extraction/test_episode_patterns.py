"""No pattern of the program runs away: every compiled expression is fed with pumped input of two sizes."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from tests.support.growth import CLOCK_RESOLUTION_SECONDS, assert_linear, cpu_seconds

import memory_butler
from memory_butler.english.extraction import distil
from memory_butler.english.extraction.grammar.turns import SENTENCE_CHARACTERS

NOW = datetime(2026, 3, 4, 10, tzinfo=UTC)
LAYERS = ("memory_butler.english", "memory_butler.languages", "memory_butler.policy")
# These read one sentence with single spaces and words of at most 80 characters, the others whole texts.
OF_SENTENCES = "memory_butler.english.extraction."
OF_TEXTS = ("turns", "speakers", "noise", "safety")
PUMPS = (
    " ", "\n", ",", "a", "A ", "Aa ", "0", "-", " -", "'", "a'", ".", ". ", ":", "(", "[", "<", "@", "a@", "a.", "小",
    "*", '"', "1:", "Anna's ", "not ", "http://", " \n", "a: \n", "\u0301",
)  # fmt: skip
SENTENCE_PUMPS = (
    ", ", "a ", "A ", "Aa ", "0 ", "- ", "I ", "my ", ". ", "a@ ", "Anna's ", "not ", "my sister ", "the a ",
    "a" * 60 + " ", "A" * 60 + " ", "0" * 60 + " ", "I like ", "on Friday ", "and ",
)  # fmt: skip
SMALL, LARGE = 500, 4_000
# Quadratic growth is 64-fold, linear 8-fold.
ALLOWED_GROWTH = 4 * LARGE / SMALL
# A pattern of sentences takes a fraction of this for the longest sentence; the cubic ones took seconds.
SENTENCE_SECONDS = 0.1


def patterns() -> dict[str, re.Pattern[str]]:
    found: dict[str, re.Pattern[str]] = {}
    for info in pkgutil.walk_packages(memory_butler.__path__, "memory_butler."):
        if info.name.startswith(LAYERS):
            for name, value in vars(importlib.import_module(info.name)).items():
                found |= {f"{info.name}.{name}{key}": one for key, one in _inside(value)}
    unique = {(one.pattern, one.flags): name for name, one in reversed(found.items())}
    return {name: found[name] for name in unique.values()}


def _inside(value: object) -> Iterator[tuple[str, re.Pattern[str]]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield "", value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from ((f"[{key}]{rest}", pattern) for rest, pattern in _inside(one))
    elif isinstance(value, list | tuple):
        for place, one in enumerate(value):
            yield from ((f"[{place}]{rest}", pattern) for rest, pattern in _inside(one))
    elif not isinstance(value, type) and isinstance(getattr(value, "pattern", None), str | re.Pattern):
        yield "", re.compile(value.pattern)  # type: ignore[attr-defined]


def _is_of_sentences(name: str) -> bool:
    return name.startswith(OF_SENTENCES) and not any(f".{module}." in name for module in OF_TEXTS)


def _seconds(pattern: re.Pattern[str], text: str) -> float:
    return cpu_seconds(lambda: (pattern.match(text), sum(1 for _ in pattern.finditer(text))))


def test_patterns_of_whole_texts_take_linear_time() -> None:
    """Eight times the text may take up to 32 times as long; a quadratic pattern takes 64 times as long."""
    slow = []
    for name, pattern in patterns().items():
        if _is_of_sentences(name):
            continue
        for pump in PUMPS:
            text = pump * LARGE
            base = max(_seconds(pattern, text[:SMALL]), CLOCK_RESOLUTION_SECONDS / ALLOWED_GROWTH)
            if _seconds(pattern, text[:LARGE]) > ALLOWED_GROWTH * base and all(
                _seconds(pattern, text[:LARGE]) > ALLOWED_GROWTH * base for _ in range(5)
            ):
                slow.append((name, pump))
    assert not slow


def test_patterns_of_sentences_are_quick_for_the_longest_sentence() -> None:
    slow = []
    for name, pattern in patterns().items():
        if not _is_of_sentences(name):
            continue
        for pump in SENTENCE_PUMPS:
            text = (pump * SENTENCE_CHARACTERS)[:SENTENCE_CHARACTERS]
            if _seconds(pattern, text) > SENTENCE_SECONDS and _seconds(pattern, text) > SENTENCE_SECONDS:
                slow.append((name, pump))
    assert not slow


@pytest.mark.parametrize(
    "pump", [" ", "\t", " \n", "  a", "a  ", "I  ", ",  ", "I like\t\t", "a:   ", "not    ", "x \u00a0"]
)
def test_an_episode_of_white_space_takes_linear_time(pump: str) -> None:
    """Runs of white space between words made patterns of the grammar cubic."""
    assert_linear(lambda size: distil((pump * size)[:size], NOW), 2_500, 20_000)


def test_white_space_between_words_changes_nothing() -> None:
    plain = distil("I live in Rome and I'm allergic to nuts, cats and dogs.", NOW)
    wide = distil("I  live \t in     Rome and\u00a0 I'm   allergic    to nuts,   cats  and dogs.", NOW)
    assert [(one.predicate, one.content) for one in wide] == [(one.predicate, one.content) for one in plain]
    assert len(plain) == 4
