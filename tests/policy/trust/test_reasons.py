"""Reasons of a quarantine in words."""

import pytest

from memory_butler.policy.trust.reasons import describe_reason


@pytest.mark.parametrize(
    ("reason", "origin", "expected"),
    [
        ("instruction:command", "tool", "a tool or file asks to run commands"),
        ("contested", "external", "an outside source contradicts a more trusted fact"),
        ("rule_from_untrusted_source", "tool", "a tool or file cannot set a rule"),
        ("secret", "tool", "a tool or file holds what looks like a password, key or token"),
        ("redaction:card", "user", "redaction: card"),
    ],
)
def test_reasons_are_phrases(reason: str, origin: str, expected: str) -> None:
    """A reason that is not known is shown as it is."""
    assert describe_reason(reason, origin) == expected
