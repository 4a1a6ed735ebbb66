"""Facts whose value or property names another subject."""

import pytest

from memory_butler.policy.memories.relations import relation_of

KNOWN = {"ana": "ana", "sofia": "sofia", "initech": "initech", "olaria_sul": "olaria_sul", "anna_silva": "ana"}


@pytest.mark.parametrize(
    ("subject", "predicate", "content", "expected"),
    [
        ("ana", "employer", "Initech", ("initech", "employer")),
        ("ana", "works_at", "the Olaria Sul.", ("olaria_sul", "works at")),
        ("ana", "relationship:sofia", "sister", ("sofia", "sister")),
        ("ana", "sister_sofia", "Sofia", ("sofia", "sister")),
        ("ana", "relationship:sofia", "sister Sofia", ("sofia", "sister")),
        ("sofia", "relationship", "sister of Ana", ("ana", "sister of")),
        ("sofia", "boss", "Anna Silva", ("ana", "boss")),
        ("sofia", "note:0123456789ab", "Ana", None),
        ("ana", "nickname", "Ana", None),
        ("ana", "drink", "green tea", None),
        ("ana", "plan", "meets Sofia on Friday at the station to go home", None),
        ("ana", "trip", "not without Sofia", None),
        ("ana", "drink", "", None),
    ],
)
def test_relations(subject: str, predicate: str, content: str, expected: tuple[str, str] | None) -> None:
    assert relation_of(subject, predicate, content, KNOWN) == expected
