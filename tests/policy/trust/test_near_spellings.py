"""Near spellings: listed with their kind, and never the identifier itself or another person's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_butler.policy.trust.identifiers import normal_text
from memory_butler.policy.trust.near_spellings import (
    COUNTRY_CODE,
    LEADING_SIGN,
    LONGER,
    PLUS_TAG,
    SEPARATORS,
    near_prefilter,
    near_spellings,
)

PHONE = "+49 170 1234567"
NEAR = [
    ("anna@x.org", "Write to Anna+News@x.org.", {"anna+news@x.org": PLUS_TAG}),
    ("anna+news@x.org", "anna@x.org or anna+shop@x.org", {"anna@x.org": PLUS_TAG, "anna+shop@x.org": PLUS_TAG}),
    ("anna@x.org", "anna@x.org.uk, anna@x.organic", {"anna@x.org.uk": LONGER, "anna@x.organic": LONGER}),
    ("anna.k@x.org", "(annak@x.org), anna_k@x.org's", {"annak@x.org": SEPARATORS, "anna_k@x.org": SEPARATORS}),
    (PHONE, "0170 1234567, 0170/123 45 67", {"0170 1234567": COUNTRY_CODE, "0170/123 45 67": COUNTRY_CODE}),
    (PHONE, "call +49 (0)170 1234567!", {"+49 (0)170 1234567": COUNTRY_CODE}),
    (PHONE, "1. 0170.1234567, 0. 0170-1234567", {"0170.1234567": COUNTRY_CODE, "0170-1234567": COUNTRY_CODE}),
    (PHONE, "0049-170-1234567", {"0049-170-1234567": COUNTRY_CODE}),
    (PHONE, "tel:491701234567", {"491701234567": SEPARATORS}),
    (PHONE, "+49 170 12345678", {"+49 170 12345678": LONGER}),
    ("0170 1234567", "+49\u00a0170\u20091234567", {"+49 170 1234567": COUNTRY_CODE}),
    ("123-45-6789", "123 45 6789 and 123456789", {"123 45 6789": SEPARATORS, "123456789": SEPARATORS}),
    ("@anna_k", "anna_k, anna k's dog", {"anna_k": LEADING_SIGN, "anna k": SEPARATORS}),
    (
        "anna smith",
        "AnnaSmith, anna-smith, Anna Smithson",
        {"annasmith": SEPARATORS, "anna-smith": SEPARATORS, "anna smithson": LONGER},
    ),
    ("anna", "Annabel has anna@x.org", {"annabel": LONGER, "anna@x.org": LONGER}),
    ("straße", "STRASSEN", {}),
    (normal_text("Straße"), "STRASSEN", {"strassen": LONGER}),
]
NOT_NEAR = [
    ("anna@x.org", "anna@x.org, <ANNA@x.org>"),
    ("anna@x.org", "joanna@x.org bob.anna@x.org anna@y.org"),
    (PHONE, "tel:+49 170 1234567."),
    (PHONE, "+43 170 1234567, +49 171 1234567, 2024-01-12, 4567"),
    ("123456", "12345 and 345678"),
    ("anna", "an. na, Joanna, Hanna and Anna's"),
    ("anna smith", "I met Anna. Smith was there; Anna, Smith"),
    ("bo", "Bobby, b-o"),
]  # fmt: skip


@pytest.mark.parametrize(("identifier", "text", "expected"), NEAR)
def test_a_near_spelling_is_listed_with_its_kind(identifier: str, text: str, expected: dict[str, str]) -> None:
    """As the text writes it, in normal form."""
    assert near_spellings(text, identifier) == expected


@pytest.mark.parametrize(("identifier", "text"), NOT_NEAR)
def test_the_identifier_and_others_are_not_listed(identifier: str, text: str) -> None:
    """The exact spelling is a match and no near one; a different person's is neither."""
    assert near_spellings(text, identifier) == {}


@given(
    st.sampled_from(["anna.k@x.org", "+49 170 1234567", "@anna_k", "Anna Smith", "AB-12 34"]),
    st.lists(st.sampled_from("ank smith@x.org+49170123456 -_/()AB"), max_size=30).map("".join),
)
def test_the_prefilter_passes_every_near_spelling(identifier: str, text: str) -> None:
    """The database never drops a text in which policy finds a near spelling."""
    wanted = normal_text(identifier)
    prefilter = near_prefilter(wanted)
    bare = text.lower().translate({ord(char): None for char in prefilter.dropped})
    if near_spellings(text, wanted):
        assert all(piece in bare for piece in prefilter.pieces)
