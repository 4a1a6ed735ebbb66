"""How long memories of each generation stay, and how many there may be."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, ModelWrapValidatorHandler, model_validator

from memory_butler.settings.values import LONGEST_DAYS, Capacity, Days, Group, Times

StaleAfter = Annotated[
    float | None,
    Field(
        gt=0,
        le=LONGEST_DAYS,
        description="Days without a reference after which one is evicted; unset: fading alone decides.",
    ),
]


class EdenTier(Group):
    """Episodes: what happened, raw and short-lived."""

    ttl_days: Days = Field(7, description="Days an episode is kept.")
    capacity: Capacity = Field(50_000, description="Episodes a butler keeps; the oldest consolidated go first.")
    first_after_sessions: Times = Field(
        3, description="Sessions that must have referred to an episode to put it first in line for consolidation."
    )
    first_after_hours: float = Field(6, ge=0, description="Age that such an episode must have; less than `ttl_days`.")
    protected_from: Times = Field(
        3, description="References from which an episode is kept, past its time, until it is consolidated."
    )

    @model_validator(mode="after")
    def _live_long_enough(self) -> Self:
        if self.first_after_hours >= self.ttl_days * 24:
            raise ValueError(
                f"first_after_hours ({self.first_after_hours:g}) is no less than ttl_days ({self.ttl_days:g} days):"
                " no episode would ever be old enough"
            )
        return self


class MidTier(Group):
    """Facts that are ephemeral, volatile or standard, and rules that have yet to prove themselves."""

    capacity: Capacity = Field(
        100_000, description="Live mid-term memories a butler keeps; the least recently referenced go first."
    )
    stale_after_days: StaleAfter = None
    promote_after_references: Times = Field(10, description="References that promote a fact one permanence.")
    promote_after_days: float = Field(
        7, ge=0, le=LONGEST_DAYS, description="Days over which those references must be spread."
    )

    @model_validator(mode="after")
    def _promote_before_stale(self) -> Self:
        if self.stale_after_days is not None and self.promote_after_days > self.stale_after_days:
            raise ValueError(
                f"promote_after_days ({self.promote_after_days:g}) is more than stale_after_days"
                f" ({self.stale_after_days:g}): what is used steadily could be evicted before it is promoted"
            )
        return self


class LongTier(Group):
    """Facts that are stable or permanent, and rules that are established or proven."""

    capacity: Capacity = Field(
        100_000, description="Live long-term memories a butler keeps; the least recently referenced go first."
    )
    stale_after_days: StaleAfter = None


# What a preset sets. `generous` is the defaults; `generational` is small tiers with quick turnover.
PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "generous": {},
    "generational": {
        "eden": {"ttl_days": 1, "capacity": 1000, "first_after_sessions": 3, "first_after_hours": 6},
        "mid": {"capacity": 500, "stale_after_days": 30, "promote_after_references": 10, "promote_after_days": 7},
        "long": {"capacity": 200, "stale_after_days": 365},
    },
}


class Lifecycle(Group):
    """How memories move from one generation to the next, and out."""

    preset: Literal["generous", "generational"] = Field(
        "generous",
        description="Where the numbers below start from; `generational` has small tiers and quick turnover.",
    )
    eden: EdenTier = EdenTier()
    mid: MidTier = MidTier()
    long: LongTier = LongTier()

    @model_validator(mode="wrap")
    @classmethod
    def _start_from_preset(cls, given: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(given, dict):
            return build(given)
        given = {name: _chosen(value) for name, value in given.items()}
        preset = PRESETS.get(str(given.get("preset")), {})
        built = build(_merged(preset, given))
        # A preset's number is a default and no choice: only what was chosen is carried over to another preset.
        for name in preset:
            chosen = given.get(name, {})
            if isinstance(chosen, dict):
                getattr(built, name).model_fields_set.intersection_update(chosen)
        return built

    @model_validator(mode="after")
    def _last_longer_higher_up(self) -> Self:
        mid, long = self.mid.stale_after_days, self.long.stale_after_days
        if mid is not None and long is not None and long < mid:
            raise ValueError(
                f"long.stale_after_days ({long:g}) is less than mid.stale_after_days ({mid:g}):"
                " moving up would make a memory leave sooner"
            )
        return self

    def changed(self, by: dict[str, Any]) -> "Lifecycle":
        """The same with some numbers replaced."""
        return Lifecycle.model_validate(_merged(_chosen(self), by))


def _chosen(value: Any) -> Any:
    """A group as what was chosen in it; any other value as it is."""
    return value.model_dump(exclude_unset=True) if isinstance(value, BaseModel) else value


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Nested dictionaries, the second laid over the first."""
    both = dict(base)
    for name, value in over.items():
        mine = both.get(name)
        both[name] = _merged(mine, value) if isinstance(mine, dict) and isinstance(value, dict) else value
    return both
