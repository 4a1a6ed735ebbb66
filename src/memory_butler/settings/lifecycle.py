"""Lifecycle settings: tier sizes and lifetimes, decay rates, confidence thresholds and maturity thresholds."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, ModelWrapValidatorHandler, model_validator

from memory_butler.settings.values import LONGEST_DAYS, Capacity, Days, Group, Share, Times

StaleAfter = Annotated[
    float | None,
    Field(
        gt=0,
        le=LONGEST_DAYS,
        description="Days without a reference after which a memory is evicted. Unset: only decay removes it.",
    ),
]
# The upper bound keeps rate × days inside the range of a double.
RatePerDay = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]


class EdenTier(Group):
    """Episodes: raw observations, kept for a short time."""

    ttl_days: Days = Field(7, description="Days an episode is kept.")
    capacity: Capacity = Field(
        50_000, description="Maximum number of episodes per butler. The oldest consolidated ones are deleted first."
    )
    first_after_sessions: Times = Field(
        3, description="Number of agent sessions that must reference an episode to move it to the front of the backlog."
    )
    first_after_hours: float = Field(
        6, ge=0, description="Minimum age of such an episode in hours. Must be less than `ttl_days`."
    )
    protected_from: Times = Field(
        3, description="Number of references from which an episode is kept beyond its TTL until it is consolidated."
    )
    warn_days: float = Field(
        2,
        ge=0,
        le=LONGEST_DAYS,
        description="Days before an important episode of which nothing was kept expires that it is reported. 0: never.",
    )
    warn_importance: int = Field(
        7,
        ge=1,
        le=11,
        description="Importance from which such an episode is reported. One with `protected_from` references is "
        "reported, too. 11: only those.",
    )

    @model_validator(mode="after")
    def _check_age_within_ttl(self) -> Self:
        if self.first_after_hours >= self.ttl_days * 24:
            raise ValueError(
                f"first_after_hours ({self.first_after_hours:g}) must be less than ttl_days ({self.ttl_days:g} days):"
                " otherwise no episode is ever old enough"
            )
        return self


class MidTier(Group):
    """Ephemeral, volatile and standard facts, and candidate rules."""

    capacity: Capacity = Field(
        100_000,
        description="Maximum number of live mid-term memories per butler. The least recently referenced are evicted.",
    )
    stale_after_days: StaleAfter = None
    promote_after_references: Times = Field(
        10, description="Number of references that promote a fact to the next permanence class."
    )
    promote_after_days: float = Field(
        7, ge=0, le=LONGEST_DAYS, description="Minimum number of days between the first and the last of them."
    )

    @model_validator(mode="after")
    def _check_promotion_before_eviction(self) -> Self:
        if self.stale_after_days is not None and self.promote_after_days > self.stale_after_days:
            raise ValueError(
                f"promote_after_days ({self.promote_after_days:g}) is more than stale_after_days"
                f" ({self.stale_after_days:g}): a fact in regular use could be evicted before it is promoted"
            )
        return self


class LongTier(Group):
    """Stable and permanent facts, and established or proven rules."""

    capacity: Capacity = Field(
        100_000,
        description="Maximum number of live long-term memories per butler. The least recently referenced are evicted.",
    )
    stale_after_days: StaleAfter = None


class DecaySettings(Group):
    """Decay of confidence: effective confidence = confidence × exp(-rate × days since the last confirmation).

    After a change the next sweep writes the new rate to every live fact and rule, with an event for each.
    """

    permanent_per_day: RatePerDay = Field(0.0, description="Decay rate of permanent facts per day.")
    stable_per_day: RatePerDay = Field(0.002, description="Decay rate of stable facts per day.")
    standard_per_day: RatePerDay = Field(0.008, description="Decay rate of standard facts and of all rules per day.")
    volatile_per_day: RatePerDay = Field(0.03, description="Decay rate of volatile facts per day.")
    ephemeral_per_day: RatePerDay = Field(0.1, description="Decay rate of ephemeral facts per day.")
    fading_below: Share = Field(
        0.2, description="Effective confidence below which the sweep marks a fact or rule as fading."
    )
    expired_below: Share = Field(
        0.05, description="Effective confidence below which the sweep marks a fact or rule as expired. 0: never."
    )

    @model_validator(mode="after")
    def _check_threshold_order(self) -> Self:
        if self.expired_below >= self.fading_below:
            raise ValueError(
                f"expired_below ({self.expired_below:g}) must be less than fading_below ({self.fading_below:g})"
            )
        return self


class MaturitySettings(Group):
    """Evidence that changes the maturity of a rule. Effectiveness = successes / (successes + 4 × harmful)."""

    established_successes: Times = Field(5, description="Minimum number of successes of an established rule.")
    established_effectiveness: Share = Field(0.6, description="Minimum effectiveness of an established rule.")
    proven_successes: Times = Field(15, description="Minimum number of successes of a proven rule.")
    proven_effectiveness: Share = Field(0.8, description="Minimum effectiveness of a proven rule.")
    proven_age_days: float = Field(30, ge=0, le=LONGEST_DAYS, description="Minimum age of a proven rule in days.")
    inverted_harmful: Times = Field(3, description="Minimum number of harmful marks that turn a rule into a warning.")
    inverted_below: Share = Field(0.3, description="Effectiveness below which such a rule turns into a warning.")

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        ordered = (
            ("established_successes", "proven_successes"),
            ("established_effectiveness", "proven_effectiveness"),
            ("inverted_below", "established_effectiveness"),
        )
        for low, high in ordered:
            if getattr(self, low) > getattr(self, high):
                raise ValueError(
                    f"{low} ({getattr(self, low):g}) must not be more than {high} ({getattr(self, high):g})"
                )
        return self


# The values of each preset. `generous` has the defaults; `generational` has small tiers with quick turnover.
PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "generous": {},
    "generational": {
        "eden": {"ttl_days": 1, "capacity": 1000, "first_after_sessions": 3, "first_after_hours": 6},
        "mid": {"capacity": 500, "stale_after_days": 30, "promote_after_references": 10, "promote_after_days": 7},
        "long": {"capacity": 200, "stale_after_days": 365},
    },
}


class Lifecycle(Group):
    """Tiers, decay and maturity of memories."""

    preset: Literal["generous", "generational"] = Field(
        "generous",
        description="Defaults of the tier settings. `generational` has small tiers and quick turnover.",
    )
    eden: EdenTier = EdenTier()
    mid: MidTier = MidTier()
    long: LongTier = LongTier()
    decay: DecaySettings = DecaySettings()
    maturity: MaturitySettings = MaturitySettings()

    @model_validator(mode="wrap")
    @classmethod
    def _start_from_preset(cls, given: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(given, dict):
            return build(given)
        given = {name: _chosen(value) for name, value in given.items()}
        preset = PRESETS.get(str(given.get("preset")), {})
        built = build(_merged(preset, given))
        # A value from a preset is a default: only values that the user set carry over to another preset.
        for name in preset:
            chosen = given.get(name, {})
            if isinstance(chosen, dict):
                getattr(built, name).model_fields_set.intersection_update(chosen)
        return built

    @model_validator(mode="after")
    def _check_eviction_order(self) -> Self:
        mid, long = self.mid.stale_after_days, self.long.stale_after_days
        if mid is not None and long is not None and long < mid:
            raise ValueError(
                f"long.stale_after_days ({long:g}) is less than mid.stale_after_days ({mid:g}):"
                " a promotion would evict a memory sooner"
            )
        return self

    def changed(self, by: dict[str, Any]) -> "Lifecycle":
        """A copy with some values replaced."""
        return Lifecycle.model_validate(_merged(_chosen(self), by))


def _chosen(value: Any) -> Any:
    """The explicitly set fields of a group; any other value unchanged."""
    return value.model_dump(exclude_unset=True) if isinstance(value, BaseModel) else value


def _merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Merge nested dictionaries; the second wins."""
    both = dict(base)
    for name, value in over.items():
        mine = both.get(name)
        both[name] = _merged(mine, value) if isinstance(mine, dict) and isinstance(value, dict) else value
    return both
