"""How a caller names a memory: by id or by short reference, as it may be copied from anywhere."""

from uuid import UUID

import pytest

from memory_butler.errors import InvalidInput
from memory_butler.models import MemoryType
from memory_butler.policy.memories.validation import Handle, parse_handle

AN_ID = "018f0000-0000-7000-8000-000000000001"


@pytest.mark.parametrize(
    "given_text",
    ["k3f7", "K3F7", "fact:k3f7", "[fact:k3f7]", "(fact:k3f7)", " Fact : k3f7 ", "facts:k3f7", "[FACT:K3F7]\n"],
)
def test_a_reference_is_understood_as_agents_copy_it(given_text: str) -> None:
    """With or without type, brackets, case, blanks and plural."""
    assert parse_handle("facts", given_text) == Handle(MemoryType.FACT, None, "k3f7")


@pytest.mark.parametrize("given_text", [AN_ID, AN_ID.upper(), f"fact:{AN_ID}", f"[{AN_ID}]", AN_ID.replace("-", "")])
def test_an_id_is_understood(given_text: str) -> None:
    """A whole id, with or without its type."""
    assert parse_handle("fact", given_text) == Handle(MemoryType.FACT, UUID(AN_ID), None)


@pytest.mark.parametrize(
    ("given_text", "message"),
    [
        ("rule:k3f7", "is of type rule, but the requested type is fact"),
        ("memory:k3f7", "Unknown type 'memory'"),
        ("k3f", "neither an id nor a short reference"),
        ("k3fo", "neither an id nor a short reference"),
        ("'; DROP TABLE facts; --", "neither an id nor a short reference"),
        (AN_ID[:-1], "neither an id nor a short reference"),
        ("", "id is empty"),
        ("[]", "neither an id nor a short reference"),
        ("k3\x00f7", "NUL"),
        (17, "id must be text"),
    ],
)
def test_a_malformed_handle_is_refused(given_text: object, message: str) -> None:
    """Bad ids are errors that say what is wrong, never an empty answer."""
    with pytest.raises(InvalidInput, match=message):
        parse_handle("fact", given_text)


def test_a_refused_handle_says_what_to_pass() -> None:
    """The way to recover shows a reference of the type asked for."""
    with pytest.raises(InvalidInput) as caught:
        parse_handle("rule", "the one about tea")
    assert "rule:k3f7" in caught.value.recovery
