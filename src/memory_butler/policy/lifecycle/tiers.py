"""Tiers: derived from type, permanence and maturity by one table."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory_butler.errors import InvalidInput
from memory_butler.models import Maturity, MemoryType, Permanence, Tier


@dataclass(frozen=True, slots=True)
class Members:
    """Members of a tier: types, permanence classes of facts, maturities of rules."""

    types: tuple[MemoryType, ...]
    permanences: tuple[Permanence, ...] = ()
    maturities: tuple[Maturity, ...] = ()


MEMBERS: dict[Tier, Members] = {
    Tier.EDEN: Members((MemoryType.EPISODE,)),
    Tier.MID: Members(
        (MemoryType.FACT, MemoryType.RULE),
        (Permanence.EPHEMERAL, Permanence.VOLATILE, Permanence.STANDARD),
        (Maturity.CANDIDATE, Maturity.ANTI_PATTERN),
    ),
    Tier.LONG: Members(
        (MemoryType.FACT, MemoryType.RULE),
        (Permanence.STABLE, Permanence.PERMANENT),
        (Maturity.ESTABLISHED, Maturity.PROVEN),
    ),
}
# Permanence class of a note that is stored in a tier other than Eden.
PERMANENCE_OF_NOTE: dict[Tier, Permanence] = {Tier.MID: Permanence.STANDARD, Tier.LONG: Permanence.STABLE}

_SPELLINGS: dict[str, Tier] = {
    **{str(tier): tier for tier in Tier},
    "short": Tier.EDEN,
    "short_term": Tier.EDEN,
    "mid_term": Tier.MID,
    "long_term": Tier.LONG,
}


def tier_of(memory_type: MemoryType, *, permanence: str | None = None, maturity: str | None = None) -> Tier:
    """The tier of a fact by its permanence, of a rule by its maturity; every episode is in Eden."""
    for tier, members in MEMBERS.items():
        if memory_type in members.types and (
            memory_type is MemoryType.EPISODE or permanence in members.permanences or maturity in members.maturities
        ):
            return tier
    raise ValueError(f"no tier for a {memory_type} with permanence {permanence!r} and maturity {maturity!r}")


def tier_named(value: object) -> Tier:
    """Parse a tier: eden, mid or long; short, short-term, mid-term and long-term are synonyms."""
    found = _SPELLINGS.get(str(value).strip().casefold().replace("-", "_").replace(" ", "_"))
    if found is None:
        raise InvalidInput(f"Unknown tier {str(value)[:100]!r}; must be one of: {', '.join(Tier)}.")
    return found


def types_in(tier: Tier, types: Sequence[MemoryType]) -> tuple[MemoryType, ...]:
    """The requested types that a tier holds; all of its types if none are requested."""
    held = MEMBERS[tier].types
    both = tuple(kind for kind in types if kind in held) if types else held
    if not both:
        raise InvalidInput(
            f"The tier {tier} holds no {' and no '.join(f'{kind}s' for kind in types)}, so nothing could be found.",
            recovery=f"Leave out types, or ask for what is in {tier}: {', '.join(held)}.",
        )
    return both
