"""Content that should be several items, and content that only looks like it."""

import pytest
from tests.support.policy_batches import fact, make_batch, proposed, reasons, rule

from memory_butler.models import RefusalReason


@pytest.mark.parametrize(
    ("predicate", "content"),
    [
        ("note", "Lives in Porto. Allergic to peanuts."),
        ("note", "lives in Porto; allergic to peanuts"),
        ("note", "lives in Porto\nallergic to peanuts"),
        ("lives_in", "Porto and is allergic to peanuts"),
        ("lives_in", "Porto, and she works at Acme"),
        ("likes", "tea, coffee and cake"),
        ("likes:tea", "tea and coffee"),
        ("allergic_to", "peanuts and penicillin"),
        ("speaks", "French and Yoruba"),
        ("relationship", "sister Anna and brother Tom"),
        ("owns", "a Fairphone and a ThinkPad"),
        ("uses", "Vim for code and Typst for papers"),
        ("health", "asthma, diabetes and migraine"),
    ],
)
def test_what_should_be_several_facts_is_refused(predicate: str, content: str) -> None:
    """Each of them would have its own life."""
    assert reasons(proposed(make_batch(content), facts=[fact(content, predicate=predicate)])) == [
        RefusalReason.COMPOUND
    ]


@pytest.mark.parametrize(
    ("predicate", "content"),
    [
        ("likes", "salt and pepper"),
        ("likes", "Johnson and Johnson"),
        ("likes", "Ben and Jerry's"),
        ("likes", "green and black tea"),
        ("owns", "a house and garden"),
        ("works_at", "R&D"),
        ("works_at", "Smith & Sons, Ltd."),
        ("relationship", "dentist Dr. Okafor"),
        ("lives_in", "Portland, Oregon"),
        ("habit", "order pizza and watch a film every Friday"),
        ("plan", "renovate the kitchen and the bathroom"),
        ("email", "anna.k@acme.example"),
        ("project", "v2.0 of the parser"),
        ("note", "the key is with Anna and the alarm is off"),
        ("likes", "films with action and romance"),
    ],
)
def test_one_fact_with_an_and_in_it_stays(predicate: str, content: str) -> None:
    """What belongs together is not taken apart."""
    assert reasons(proposed(make_batch(content), facts=[fact(content, predicate=predicate)])) == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Always run the tests. Never deploy on Fridays.", [RefusalReason.COMPOUND]),
        ("Always run the tests; do not deploy on Fridays.", [RefusalReason.COMPOUND]),
        ("Never deploy on Fridays, because nobody is there to fix it.", []),
        ("Don't touch the vendored code. It gets overwritten by the sync job.", []),
        ("If a test is flaky, quarantine it and open a ticket.", []),
    ],
)
def test_a_rule_is_one_rule_with_its_reason(content: str, expected: list[RefusalReason]) -> None:
    """Another rule after it is another item."""
    assert reasons(proposed(make_batch(content), rules=[rule(content)])) == expected
