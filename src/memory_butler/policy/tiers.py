"""The generation a memory belongs to, derived from what it is: one table, read in both directions."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory_butler.errors import InvalidInput
from memory_butler.models import Maturity, MemoryType, Permanence, Tier


@dataclass(frozen=True, slots=True)
class Members:
    """What belongs to a tier: memories of these types, facts of these permanences, rules of these maturities."""

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
# What a note becomes: an episode, or a fact that fades this slowly.
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
    """A tier as callers write it: eden, mid or long; short, short-term, mid-term and long-term mean the same."""
    found = _SPELLINGS.get(str(value).strip().casefold().replace("-", "_").replace(" ", "_"))
    if found is None:
        raise InvalidInput(f"tier {value!r} is not known; it is one of: {', '.join(Tier)}.")
    return found


def types_in(tier: Tier, types: Sequence[MemoryType]) -> tuple[MemoryType, ...]:
    """Those of the types asked for that a tier holds; all that it holds if none were asked for."""
    held = MEMBERS[tier].types
    both = tuple(kind for kind in types if kind in held) if types else held
    if not both:
        raise InvalidInput(
            f"The tier {tier} holds no {' and no '.join(f'{kind}s' for kind in types)}, so nothing could be found.",
            recovery=f"Leave out types, or ask for what is in {tier}: {', '.join(held)}.",
        )
    return both
