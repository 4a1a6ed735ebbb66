"""The generation a memory belongs to, derived from what it is."""

from memory_butler.models import Maturity, MemoryType, Permanence, Tier

_LONG_LIVED = {Permanence.STABLE, Permanence.PERMANENT}
_TRUSTED = {Maturity.ESTABLISHED, Maturity.PROVEN}


def tier_of(memory_type: MemoryType, *, permanence: str | None = None, maturity: str | None = None) -> Tier:
    if memory_type is MemoryType.EPISODE:
        return Tier.EDEN
    if memory_type is MemoryType.FACT:
        return Tier.LONG if permanence in _LONG_LIVED else Tier.MID
    return Tier.LONG if maturity in _TRUSTED else Tier.MID
