"""Kinds of work: activations from phrases, words and tags."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_butler.policy.briefing.domains import MAX_ACTIVATION, Domain, DomainPhrases, strongest


def domain(name: str, word: str, tag: str, tasks: tuple[str, ...] = ("do it",), verb: str = "x") -> Domain:
    words, verbs, tags = frozenset({word}), frozenset({verb}), frozenset({tag})
    return Domain(name=name, tasks=tasks, memories=("so it is",), words=words, verbs=verbs, tags=tags)


DOMAINS = (
    domain("food", "dinner", "food"),
    domain("code", "bug", "coding"),
    domain("answer_style", "answers", "style", tasks=()),
    domain("home", "boiler", "home"),
    domain("money", "invoice", "money", verb="pay"),
)


def axis(*places: int) -> np.ndarray:
    """Unit vectors along these axes: texts that have nothing or everything in common."""
    return np.eye(6, dtype=np.float32)[list(places)]


NONE = np.empty((0, 6), np.float32)
PHRASES = DomainPhrases(DOMAINS, (axis(0), axis(1), NONE, axis(4), axis(5)), tuple(axis(n) for n in (0, 1, 2, 4, 5)))


def test_a_text_belongs_to_the_domain_whose_phrases_it_resembles() -> None:
    food, code, *_ = PHRASES.task_profile(axis(0), "?")
    assert food > 1 and code == 0


def test_the_best_sentence_or_passage_counts() -> None:
    """A task of two sentences belongs to both kinds of work."""
    food, code, *_ = PHRASES.task_profile(axis(0, 1), "?")
    assert food == code > 1


def test_words_and_tags_speak_for_a_domain_by_themselves() -> None:
    nothing = axis(3)
    assert PHRASES.memory_profile(nothing, "no idea", ()).max() == 0
    assert PHRASES.memory_profile(nothing, "We had two DINNERS.", ())[0] > 0
    assert PHRASES.memory_profile(nothing, "no idea", ("Coding",))[1] > 0
    assert PHRASES.memory_profile(nothing, "bugs", ("coding",))[1] > PHRASES.memory_profile(nothing, "bugs", ())[1]


@pytest.mark.parametrize(
    ("text", "speaks"),
    [
        ("Pay the roofer", True),
        ("look at it and pay them", True),
        ("1) count 2) pay", True),
        ("could you pay it", True),
        ("Done. Pay now!", True),
        ("pay me back", False),
        ("the pay was late", False),
        ("Payment", False),
    ],
)
def test_the_verb_that_a_request_begins_with_speaks_for_a_domain(text: str, speaks: bool) -> None:
    assert (PHRASES.task_profile(axis(3), text)[4] > 0) == speaks


def test_tags_say_nothing_about_a_task_and_a_domain_without_tasks_has_none() -> None:
    assert PHRASES.task_profile(axis(2), "short answers")[2] == 0
    assert PHRASES.memory_profile(axis(2), "short answers", ())[2] > 1


def test_a_text_without_passages_has_a_profile() -> None:
    assert PHRASES.memory_profile(NONE, "dinner", ())[0] > 0


@settings(max_examples=100)
@given(
    numbers=st.lists(st.floats(-1, 1, width=32), min_size=6, max_size=6),
    text=st.text(max_size=40),
    tags=st.lists(st.sampled_from(["food", "coding", "x"]), max_size=3),
)
def test_activations_are_bounded(numbers: list[float], text: str, tags: list[str]) -> None:
    vector = np.array([numbers], np.float32) / max(1e-6, float(np.linalg.norm(numbers)))
    profile = PHRASES.memory_profile(vector, text, tags)
    assert ((profile >= 0) & (profile <= MAX_ACTIVATION)).all()


@pytest.mark.parametrize(("share", "kept"), [(0.0, [1.0, 0.5, 0.1]), (0.3, [1.0, 0.5, 0.0]), (1.0, [1.0, 0.0, 0.0])])
def test_weak_activations_are_dropped(share: float, kept: list[float]) -> None:
    assert strongest(np.array([1.0, 0.5, 0.1], np.float32), share).tolist() == pytest.approx(kept)
    assert strongest(np.zeros(3, np.float32), share).tolist() == [0, 0, 0]
