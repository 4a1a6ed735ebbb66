"""The warning text of an anti-pattern is a sentence in the contract's wording."""

import pytest

from memory_butler.policy.memories.anti_patterns import warning


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        ("Retry at once.", "Do NOT retry at once."),
        ("Restart the service when a test hangs", "Do NOT restart the service when a test hangs."),
        ("use tabs", "Do NOT use tabs."),
        ("Do the dishes first.", "Do NOT do the dishes first."),
        ("Never deploy on Fridays.", 'Do NOT follow the rule "Never deploy on Fridays".'),
        ("Always deploy on Fridays", 'Do NOT follow the rule "Always deploy on Fridays".'),
        ("Don't ask.", 'Do NOT follow the rule "Don\'t ask".'),
        ("Don’t ask.", 'Do NOT follow the rule "Don’t ask".'),
        ("Do not ask.", 'Do NOT follow the rule "Do not ask".'),
        ("If a test hangs, restart it.", 'Do NOT follow the rule "If a test hangs, restart it".'),
        ("The tests can wait.", 'Do NOT follow the rule "The tests can wait".'),
        ("Green tea should be boiled.", 'Do NOT follow the rule "Green tea should be boiled".'),
        ("Retry at once. Then give up.", 'Do NOT follow the rule "Retry at once. Then give up".'),
        ('Always say "no".', 'Do NOT follow the rule “Always say "no"”.'),
        ("SSH into production.", 'Do NOT follow the rule "SSH into production".'),
        ("重试。", 'Do NOT follow the rule "重试。".'),
    ],
)
def test_a_warning_reads_as_a_sentence(rule: str, shown: str) -> None:
    """An instruction follows "Do NOT" directly; any other rule is quoted, word for word."""
    assert warning(rule, ["it hung"]) == f"ANTI-PATTERN: {shown} This caused problems because: it hung."


def test_a_warning_names_the_harmful_feedback() -> None:
    """All reasons are listed; without a reason the text says that the rule was reported as harmful."""
    assert warning("Retry at once", ["a", "b."]).endswith("This caused problems because: a; b.")
    assert "because: it was reported as harmful." in warning("Retry at once", [])
