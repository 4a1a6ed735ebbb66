"""How far the look of a word is trusted."""

import pytest

from memory_butler.policy.guessing import FIRST_TRUST, MOST_TRUST, is_believed, trust_after


def after(*questions: tuple[set[str], set[str]]) -> int:
    trust = FIRST_TRUST
    for new, names in questions:
        trust = trust_after(trust, new, names)
    return trust


NAME, CITY = ({"anna"}, {"anna"}), ({"seattle"}, set[str]())


@pytest.mark.parametrize(
    ("questions", "believed"),
    [
        ((), True),
        ((CITY,), False),
        ((NAME, CITY), True),
        ((NAME, CITY, CITY), False),
        ((CITY, NAME), True),
        ((CITY, CITY, NAME), False),
        ((CITY, CITY, NAME, NAME), True),
        (((set(), {"anna"}),), True),
        ((({"anna", "seattle"}, {"anna"}),), True),
    ],
)
def test_a_look_is_believed_as_long_as_it_was_right(
    questions: tuple[tuple[set[str], set[str]], ...], believed: bool
) -> None:
    """One surprise is enough at first; after names that were known it takes two, and as many to come back."""
    assert is_believed(after(*questions)) is believed


def test_trust_has_bounds() -> None:
    """However long it was right or wrong, two surprises change it."""
    assert after(*[NAME] * 9) == MOST_TRUST
    assert after(*[CITY] * 9) == 0
