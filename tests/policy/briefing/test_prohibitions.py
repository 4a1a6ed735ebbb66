"""Rules that forbid something or ask for a consent."""

import pytest

from memory_butler.policy.briefing.prohibitions import is_prohibition


@pytest.mark.parametrize(
    "text",
    [
        "Never commit to main.",
        "Nothing leaves in my name before I have read it.",
        "Above £75 Dwayne says yes first.",
        "Do not book visits on Wednesdays.",
        "Don't ring before two.",
        "Payments only with two signatures.",
        "Publish photos only after the couple has approved them.",
        "Ask Morag for each discount.",
    ],
)
def test_it_forbids_or_asks_for_a_consent(text: str) -> None:
    assert is_prohibition(text)


@pytest.mark.parametrize(
    "text", ["Use kg and ml.", "Answer briefly.", "Regenerate the client after a schema change.", "Write dates as ISO."]
)
def test_it_is_only_a_way_to_work(text: str) -> None:
    assert not is_prohibition(text)
