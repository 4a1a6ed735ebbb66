"""Statements that say the same come once, told by structure."""

from collections.abc import Callable
from typing import Any

import pytest

from memory_butler.models import Hit, MemoryType, Ranked
from memory_butler.policy.briefing.claims import Claim
from memory_butler.policy.briefing.repetitions import says_the_same, without_repetitions
from memory_butler.policy.briefing.selection import Chosen

F, R, E = MemoryType.FACT, MemoryType.RULE, MemoryType.EPISODE
USER = frozenset({"mia", "mia_berg"})

SAME = [
    (
        "user",
        "Mia wants metric measures and Celsius, inches are useless.",
        "Mia",
        "Mia prefers metric measures.",
    ),
    ("user", "Code is formatted with black, 88 columns.", "Python code", "black with 88 columns formats all code."),
    ("Anna", "Anna is allergic to walnuts and pecans.", "Anna", "allergic to walnuts and pecans"),
]
DIFFERENT = [
    ("user", "Mia runs on Mondays at 7.", "user", "Mia swims on Mondays at 8."),
    ("Anna", "allergic to walnuts and pecans", "Ben", "allergic to walnuts and pecans"),
    ("user", "Mia eats fish and eggs.", "user", "Mia does not eat fish and eggs."),
    ("user", "The rent is 900 a month.", "user", "The rent is 950 a month."),
    ("user", "Tea.", "user", "Tea."),
]


@pytest.mark.parametrize("pair", SAME)
@pytest.mark.parametrize("turned", [False, True])
def test_two_wordings_of_one_fact(make_hit: Callable[..., Hit], pair: tuple[str, str, str, str], turned: bool) -> None:
    one = make_hit(1, F, subject_label=pair[0], content=pair[1])
    other = make_hit(2, F, subject_label=pair[2], content=pair[3])
    assert says_the_same(*((other, one) if turned else (one, other)), USER)


@pytest.mark.parametrize("pair", DIFFERENT)
def test_what_differs_in_what_matters(make_hit: Callable[..., Hit], pair: tuple[str, str, str, str]) -> None:
    """Another person, number, activity or a denial: two facts."""
    one = make_hit(1, F, subject_label=pair[0], content=pair[1])
    other = make_hit(2, F, subject_label=pair[2], content=pair[3])
    assert not says_the_same(one, other, USER)
    assert not says_the_same(other, one, USER)


NOTE, OTHER_NOTE = "note:0123456789ab", "note:ba9876543210"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Ana is allergic to shellfish", "Ana likes green tea", False),
        ("Ana is allergic to shellfish", "Ana is allergic to peanuts", False),
        ("Ana is allergic to tea", "Ana likes green tea", False),
        ("Ana is allergic to shellfish", "Since she was six, Ana is allergic to shellfish.", True),
    ],
)
def test_notes_differ_by_one_word(make_hit: Callable[..., Hit], one: str, other: str, expected: bool) -> None:
    """They have no predicate: the verb and each name matter."""
    first, second = (
        make_hit(number, F, subject_label="main", predicate_label=predicate, content=content)
        for number, predicate, content in ((1, NOTE, one), (2, OTHER_NOTE, other))
    )
    assert says_the_same(first, second, USER) is expected
    assert says_the_same(second, first, USER) is expected


def test_a_rule_and_a_warning_never_say_the_same(make_hit: Callable[..., Hit]) -> None:
    words = "Deploy on Friday evening from a laptop."
    rule, warning = (make_hit(n, R, content=words, maturity=m) for n, m in ((1, "proven"), (2, "anti_pattern")))
    assert not says_the_same(rule, warning, USER)


def test_the_better_claim_is_kept_and_names_what_it_stands_for(make_ranked: Callable[..., Ranked]) -> None:
    given: dict[str, Any] = {"subject_label": "user", "predicate_label": "code_style"}
    weak = make_ranked(1, F, content="black with 88 columns formats all code.", **{**given, "predicate_label": "uses"})
    strong = make_ranked(2, F, content="Code is formatted with black, 88 columns.", **given)
    apart = make_ranked(3, F, content="Mia lives in Oslo near the harbour.", **given)
    chosen = [
        Chosen(weak, Claim.STANDING, 0.3),
        Chosen(strong, Claim.RELEVANT, 0.6),
        Chosen(apart, Claim.STANDING, 0.3),
    ]
    profiles = {weak.hit.id: (1.0, 0.1), strong.hit.id: (0.9, 0.2), apart.hit.id: (0.0, 1.0)}
    kept, repeated = without_repetitions(chosen, profiles, USER)
    assert [one.entry for one in kept] == [strong, apart]
    assert repeated == [(weak, f"fact:{strong.hit.ref}")]
    kept, repeated = without_repetitions(chosen, {**profiles, weak.hit.id: (0.0, 1.0)}, USER)
    assert len(kept) == 3 and not repeated, "another kind of work: not the same statement"


def test_equal_episodes_come_once(make_ranked: Callable[..., Ranked]) -> None:
    twins = [make_ranked(n, E, content="Tea was served.") for n in (1, 2)]
    kept, repeated = without_repetitions([Chosen(one, Claim.RECENT, 0.3) for one in twins], {}, USER)
    assert len(kept) == len(repeated) == 1


def test_an_episode_and_what_was_kept_of_it_come_once(make_ranked: Callable[..., Ranked]) -> None:
    """Whichever of them is told first; an episode that says much more than its note stays."""
    words = "The gate at Birsay sticks in wet weather."
    note = make_ranked(1, MemoryType.FACT, content=words, subject_label="gate", predicate_label="note:0123456789ab")
    fact = make_ranked(4, MemoryType.FACT, content="Birsay", subject_label="gate")
    same = make_ranked(2, MemoryType.EPISODE, content=words)
    longer = make_ranked(
        3, MemoryType.EPISODE, content=f"{words} The vet came about the old ewes and took blood samples."
    )

    def kept(*lines: tuple[Ranked, Claim]) -> list[Ranked]:
        return [one.entry for one in without_repetitions([Chosen(*line, 0.5) for line in lines], {}, frozenset())[0]]

    assert kept((note, Claim.RELEVANT), (same, Claim.RECENT)) == [note]
    assert kept((note, Claim.STANDING), (same, Claim.RELEVANT)) == [same]
    assert kept((note, Claim.RELEVANT), (longer, Claim.RECENT)) == [note, longer]
    assert kept((note, Claim.STANDING), (longer, Claim.RELEVANT)) == [longer]
    assert kept((fact, Claim.STANDING), (longer, Claim.RELEVANT)) == [fact, longer], "a word of it is no quotation"


@pytest.mark.parametrize(
    ("words", "is_told"),
    [
        ("my daughter Lea is allergic to hazelnuts", True),
        ("Lea, my daughter: allergic to hazelnuts!", True),
        ("my daughter Lea is not allergic to hazelnuts", False),
        ("my daughter Lea is allergic to hazelnuts since 2019", False),
        ("my daughter Lea and Tom are allergic to hazelnuts and sesame", False),
        ("my daughter Mia is allergic to hazelnuts", False),
    ],
)
def test_an_episode_that_several_facts_tell(make_ranked: Callable[..., Ranked], words: str, is_told: bool) -> None:
    """With its names, numbers and denials, in whatever order they claim their place."""
    allergy = make_ranked(1, F, content="hazelnuts", subject_label="Lea", predicate_label="allergic_to:hazelnuts")
    child = make_ranked(2, F, content="daughter Lea", subject_label="user", predicate_label="relationship")
    episode = make_ranked(3, E, content=words)
    lines = [
        Chosen(allergy, Claim.VITAL, 0.9),
        Chosen(episode, Claim.RELEVANT, 0.8),
        Chosen(child, Claim.STANDING, 0.4),
    ]
    kept, repeated = without_repetitions(lines, {}, frozenset())
    assert [one.entry for one in kept] == ([allergy, child] if is_told else [allergy, episode, child])
    assert repeated == ([(episode, f"fact:{allergy.hit.ref}")] if is_told else [])


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (("diet", "vegetarian since this spring"), ("diet:vegetarian", "vegetarian"), True),
        (("diet", "vegetarian"), ("diet:vegan", "vegan"), False),
        (("diet", "not vegetarian any more"), ("diet:vegetarian", "vegetarian"), False),
        (("runs", "Mondays"), ("swims", "Mondays"), False),
        (("pays", "rent, 900"), ("pays", "rent, 950"), False),
    ],
)
def test_values_of_one_word(
    make_ranked: Callable[..., Ranked], one: tuple[str, str], other: tuple[str, str], is_same: bool
) -> None:
    """They say the same if they are values of one property."""
    lines = [
        Chosen(make_ranked(n, F, content=content, subject_label="Ana", predicate_label=predicate), Claim.VITAL, 0.5)
        for n, (predicate, content) in enumerate((one, other), start=1)
    ]
    kept, _ = without_repetitions(lines, {}, USER)
    assert len(kept) == (1 if is_same else 2)
