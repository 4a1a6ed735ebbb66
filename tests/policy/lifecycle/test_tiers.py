"""The generation a memory belongs to follows from what it is."""

import pytest

from memory_butler.errors import InvalidInput
from memory_butler.models import Maturity, MemoryType, Permanence, Question, Tier
from memory_butler.policy.lifecycle.tiers import MEMBERS, PERMANENCE_OF_NOTE, tier_named, tier_of, types_in
from memory_butler.policy.memories.validation import validate_question

TABLE = [
    (MemoryType.EPISODE, None, None, Tier.EDEN),
    (MemoryType.FACT, Permanence.EPHEMERAL, None, Tier.MID),
    (MemoryType.FACT, Permanence.VOLATILE, None, Tier.MID),
    (MemoryType.FACT, Permanence.STANDARD, None, Tier.MID),
    (MemoryType.FACT, Permanence.STABLE, None, Tier.LONG),
    (MemoryType.FACT, Permanence.PERMANENT, None, Tier.LONG),
    (MemoryType.RULE, None, Maturity.CANDIDATE, Tier.MID),
    (MemoryType.RULE, None, Maturity.ESTABLISHED, Tier.LONG),
    (MemoryType.RULE, None, Maturity.PROVEN, Tier.LONG),
    (MemoryType.RULE, None, Maturity.ANTI_PATTERN, Tier.MID),
]


@pytest.mark.parametrize(("memory_type", "permanence", "maturity", "expected"), TABLE)
def test_tier(memory_type: MemoryType, permanence: str | None, maturity: str | None, expected: Tier) -> None:
    """Every type, permanence and maturity has its tier, given as an enum or as the database writes it."""
    assert tier_of(memory_type, permanence=permanence, maturity=maturity) is expected
    plain = {"permanence": permanence and str(permanence), "maturity": maturity and str(maturity)}
    assert tier_of(memory_type, **plain) is expected


def test_the_table_covers_everything() -> None:
    """No permanence and no maturity is without a tier."""
    assert {row[1] for row in TABLE if row[1]} == set(Permanence)
    assert {row[2] for row in TABLE if row[2]} == set(Maturity)


def test_the_tiers_share_nothing_and_leave_nothing_out() -> None:
    """Every permanence and every maturity is in exactly one tier, so what a filter finds is what the tier shows."""
    assert sorted(kind for tier in Tier for kind in MEMBERS[tier].permanences) == sorted(Permanence)
    assert sorted(kind for tier in Tier for kind in MEMBERS[tier].maturities) == sorted(Maturity)


def test_what_cannot_be_is_in_no_tier() -> None:
    """A fact without a permanence is a fault, not a mid-term memory."""
    with pytest.raises(ValueError, match="no tier for a fact"):
        tier_of(MemoryType.FACT)


@pytest.mark.parametrize("tier", PERMANENCE_OF_NOTE)
def test_a_note_is_in_the_tier_it_was_stored_into(tier: Tier) -> None:
    """The permanence that a note gets belongs to the tier that was asked for."""
    assert tier_of(MemoryType.FACT, permanence=PERMANENCE_OF_NOTE[tier]) is tier


SPELLINGS = {
    Tier.EDEN: ("eden", "Eden", " EDEN ", "short", "short-term", "short_term", "Short Term"),
    Tier.MID: ("mid", "mid-term", "Mid_Term", "mid term"),
    Tier.LONG: ("long", "long-term", "LONG TERM", Tier.LONG),
}


@pytest.mark.parametrize(("tier", "word"), [(tier, word) for tier, words in SPELLINGS.items() for word in words])
def test_what_is_unambiguous_is_understood(tier: Tier, word: str) -> None:
    """Case, hyphens and the usual other names do not matter."""
    assert tier_named(word) is tier


@pytest.mark.parametrize("word", ["", "term", "middle-aged", "forever", 3, None, "edens"])
def test_any_other_word_is_refused(word: object) -> None:
    """The error names the tiers there are."""
    with pytest.raises(InvalidInput, match="one of: eden, mid, long"):
        tier_named(word)


@pytest.mark.parametrize(
    ("tier", "types", "both"),
    [
        (Tier.EDEN, [], ["episode"]),
        (Tier.EDEN, ["episode", "fact"], ["episode"]),
        (Tier.MID, [], ["fact", "rule"]),
        (Tier.LONG, ["rule", "episode"], ["rule"]),
    ],
)
def test_types_and_tier_are_combined(tier: Tier, types: list[str], both: list[str]) -> None:
    """What is searched is of a type asked for and in the tier asked for."""
    assert list(types_in(tier, [MemoryType(kind) for kind in types])) == both
    admitted = validate_question(Question(query="x", types=tuple(types), tier=tier))
    assert (list(admitted.types), admitted.tier) == (both, tier)


@pytest.mark.parametrize(
    ("tier", "types", "message"),
    [
        ("eden", ("facts", "rule"), "eden holds no facts and no rules"),
        ("mid-term", ("episodes",), "mid holds no episodes"),
        ("long", ("episode",), "long holds no episodes"),
    ],
)
def test_types_that_the_tier_does_not_hold_are_refused(tier: str, types: tuple[str, ...], message: str) -> None:
    """A question that nothing can answer is an error that says why, not an empty list."""
    with pytest.raises(InvalidInput, match=message) as caught:
        validate_question(Question(query="x", types=types, tier=tier))
    assert "Leave out types" in caught.value.recovery
