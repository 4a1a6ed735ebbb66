"""Redaction of a proposal: nothing that may hold words is left out, and what cannot is left as it is."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.policy.consolidation.redacted_proposal import redact_proposal
from memory_butler.policy.trust.redaction import DEFAULT, redact_values

SECRET = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
HARMLESS = {
    "subject": "user",
    "predicate": "lives_in",
    "content": "Lisbon",
    "permanence": "stable",
    "importance": 7,
    "tags": ["home"],
    "valid_at": "2026-03-01T09:30:00Z",
    "evidence": ["episode:k3f7"],
    "target": "fact:k3f8",
}


def test_a_proposal_without_secrets_stays_as_it_is() -> None:
    proposal = {"version": 1, "facts": [HARMLESS], "rules": [{"content": "Use tabs.", "evidence": ["episode:k3f7"]}]}
    assert redact_proposal(proposal, DEFAULT) == proposal


@pytest.mark.parametrize("field", [*HARMLESS, "unknown"])
@pytest.mark.parametrize("as_list", [False, True])
def test_a_secret_is_removed_from_every_field(field: str, as_list: bool) -> None:
    """Also from one that should hold a date, a number or a reference."""
    entry: dict[str, Any] = {**HARMLESS, field: [SECRET] if as_list else SECRET}
    assert SECRET not in str(redact_proposal({"version": 1, "facts": [entry]}, DEFAULT))


@pytest.mark.parametrize(
    "proposal", [SECRET, [SECRET], {SECRET: 1}, {"facts": SECRET}, {"facts": [SECRET]}, {"x": SECRET}]
)
def test_a_malformed_proposal_is_redacted_too(proposal: object) -> None:
    assert SECRET not in str(redact_proposal(proposal, DEFAULT))


@given(st.lists(st.fixed_dictionaries({"subject": st.text(), "content": st.text(), "tags": st.lists(st.text())})))
def test_it_finds_what_the_redaction_of_all_values_finds(entries: list[dict[str, Any]]) -> None:
    proposal = {"version": 1, "facts": entries}
    assert redact_proposal(proposal, DEFAULT) == redact_values(proposal, DEFAULT, Counter())
