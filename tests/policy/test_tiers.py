"""The generation a memory belongs to follows from what it is."""

import pytest

from memory_butler.models import Maturity, MemoryType, Permanence, Tier
from memory_butler.policy.tiers import tier_of

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
