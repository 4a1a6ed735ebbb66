"""What is about people concerns all butlers."""

import pytest

from memory_butler.models import Item, ItemKind
from memory_butler.policy.consolidation.scopes import is_about_people

NOTE = "note:0123456789ab"


@pytest.mark.parametrize(
    ("subject", "predicate", "content", "expected"),
    [
        ("user", "lives_in", "Porto", True),
        ("the user's brother", "works_at", "Acme", True),
        ("Anna", "allergic_to:nuts", "nuts", True),
        ("user", "project:nightjar", "Nightjar", False),
        ("billing service", "port", "8080", False),
        ("Nightjar", "deadline:beta", "beta in May", False),
        ("user", NOTE, "my sister hates surprises", True),
        ("user", NOTE, "the staging database runs on port 5433", False),
    ],
)
def test_facts(subject: str, predicate: str, content: str, expected: bool) -> None:
    item = Item(kind=ItemKind.FACT, evidence=(), subject=subject, predicate=predicate, content=content)
    assert is_about_people(item) is expected


def test_rules_belong_to_the_butler() -> None:
    assert not is_about_people(Item(kind=ItemKind.RULE, evidence=(), content="Ask my wife first."))
