"""Own patterns of redaction are accepted only if they take linear time."""

import pytest

from memory_butler.errors import InvalidInput
from memory_butler.settings import RedactionSettings, load_settings
from memory_butler.settings.redaction import pattern_problem


@pytest.mark.parametrize("pattern", [r"EMP-\d{6}", r"[A-Z]{2}\d{4,8}", r"(?:ab|cd)-\w{1,32}x?", r"a\+b\*", r"[+*]{3}"])
def test_bounded_patterns_are_accepted(pattern: str) -> None:
    """Bounded repetition of characters and classes, alternatives and optional parts."""
    assert pattern_problem(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        (r"\d+", "repeats without limit"),
        (r"(a|b)*c", "repeats without limit"),
        (r"a{3,}", "repeats without limit"),
        (r"(?:ab){1,5}c", "repeats a group"),
        (r"(a)\1", "back reference"),
        (r"a{1,999}", "more than 256"),
        (r"a{1,99}b{1,99}", "ways"),
        (r"(", "no regular expression"),
        (r"a?", "empty text"),
    ],
)
def test_patterns_that_may_backtrack_are_refused(pattern: str, problem: str) -> None:
    """The error says why."""
    assert problem in (pattern_problem(pattern) or "")


def test_settings_of_tenant_and_butler_are_joined() -> None:
    """The butler's action wins over the tenant's, and the tenant's over the general one; allow lists are joined."""
    general = RedactionSettings(actions={"iban": "keep", "pin": "keep"}, allow=("a",))
    joined = general.changed({"actions": {"iban": "refuse"}, "allow": ("b*",)})
    assert (joined.actions, joined.allow) == ({"iban": "refuse", "pin": "keep"}, ("a", "b*"))


def test_a_bad_setting_is_named(tmp_path: object) -> None:
    """The error names the tenant and the pattern."""
    with pytest.raises(InvalidInput, match=r"tenants\.acme\.redaction: the pattern 'badge' repeats without limit"):
        load_settings(home=tmp_path, tenants={"acme": {"redaction": {"patterns": {"badge": r"\d+"}}}})
