"""How one wording differs from another."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from memory_butler.adapters.dashboard.view_models import word_diff as module
from memory_butler.adapters.dashboard.view_models.word_diff import differences


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("same", "same", "same"),
        ("TP 4471 0923", "TP 4471 0932", "TP 4471 [-0923-][+0932+]"),
        ("lives in Porto, Foz", "lives in Porto", "lives in Porto[-, Foz-]"),
        ("Ana lives there now", "Ana lives in Porto now", "Ana lives [-there-][+in Porto+] now"),
        ("a b c d e f g", "a x y d e f g", "a [-b c-][+x y+] d e f g"),
        ("window, near the front", "aisle, since the knee", "[-window, near the front-]\n[+aisle, since the knee+]"),
        ("", "new", "[+new+]"),
        ("old", "", "[-old-]"),
        ("", "", ""),
    ],
)
def test_words_that_went_and_came_are_marked(before: str, after: str, shown: str) -> None:
    """A changed phrase is one change, and two wordings that have little in common stand one after the other."""
    marks = {"same": "{}", "removed": "[-{}-]", "added": "[+{}+]"}
    assert "".join(marks[kind].format(text) for kind, text in differences(before, after)) == shown


words = some.text(some.sampled_from("ab ,\n<é"), max_size=30)


@given(words, words)
def test_nothing_is_lost(before: str, after: str) -> None:
    """Without what came it is the old wording, without what went the new one; but for the break between two wholes."""
    found = differences(before, after)
    whole = [kind for kind, _ in found] == ["removed", "same", "added"] and found[1][1] == "\n"
    if not whole:
        assert "".join(text for kind, text in found if kind != "added") == before
        assert "".join(text for kind, text in found if kind != "removed") == after
    else:
        assert (found[0][1], found[2][1]) == (before, after) or "\n" in before


def test_very_long_texts_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """They stand one after the other."""
    monkeypatch.setattr(module, "MAX_PIECES", 5)
    assert differences("a b c d", "a b c e") == [("removed", "a b c d"), ("same", "\n"), ("added", "a b c e")]
