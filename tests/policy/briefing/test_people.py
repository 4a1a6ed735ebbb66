"""Roles of people, as far as facts about them tell."""

from collections.abc import Callable

import pytest

from memory_butler.models import MemoryType, Ranked
from memory_butler.policy.briefing.people import Role, roles_of


@pytest.mark.parametrize(
    ("subject", "predicate", "content", "role"),
    [
        ("Tove", "condition", "Tove, Ada's daughter (8), has diabetes.", Role.CHILD),
        ("Tove", "condition", "Ada's daughter Tove has diabetes.", Role.CHILD),
        ("Ole", "allergy", "Ole (4) is allergic to eggs.", Role.CHILD),
        ("Ole", "school", "Ole goes to Nordre.", Role.CHILD),
        ("our son", "diet", "Eats no fish.", Role.CHILD),
        ("Ida and Kaj", "sleep", "The twins Ida and Kaj, born in May, sleep at seven.", Role.CHILD),
        ("Grace", "job", "Grace is Ada's grown-up daughter (34).", Role.ADULT),
        ("Per", "diet", "Per, Ada's husband, is a vegetarian.", Role.ADULT),
        ("Mum", "phone", "0151 5550182", Role.ADULT),
        ("Juan", "asthma", "Juan is our apprentice and has asthma.", Role.OTHER),
        ("Kornhus", "business", "Kornhus is Ada's bakery.", Role.OTHER),
        ("Per", "diet", "Per is a vegetarian.", None),
        ("Dana", "custody", "The kids are with Dana every other weekend.", None),
    ],
)
def test_the_first_sentence_and_the_predicate_tell(
    entry: Callable[..., Ranked], subject: str, predicate: str, content: str, role: Role | None
) -> None:
    hit = entry(subject_label=subject, predicate_label=predicate, content=content).hit
    assert list(roles_of([hit]).values()) == ([role] if role else [])


def test_another_fact_may_tell_and_a_child_stays_a_child(entry: Callable[..., Ranked]) -> None:
    texts = ["Tove has diabetes.", "Tove is Ada's daughter.", "Tove, the neighbour's friend, plays chess."]
    hits = [entry(n, subject_label="Tove", content=text).hit for n, text in enumerate(texts, 1)]
    assert roles_of(hits) == {"tove": Role.CHILD}
    assert roles_of([entry(kind=MemoryType.RULE, content="Tove, Ada's daughter, eats first.").hit]) == {}
