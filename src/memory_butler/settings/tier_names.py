"""Other names of the tier settings: `[butler.memory.<tier>]` tables, mapped to the settings under `lifecycle`."""

from collections.abc import Mapping
from typing import Any

TIERS: Mapping[str, Mapping[str, str]] = {
    "eden": {
        "ttl_hours": "ttl_days",
        "max_entries": "capacity",
        "promote_after_refs": "first_after_sessions",
        "promote_after_hours": "first_after_hours",
    },
    "mid": {
        "ttl_days": "stale_after_days",
        "max_entries": "capacity",
        "promote_after_refs": "promote_after_references",
        "promote_after_days": "promote_after_days",
    },
    "long": {"ttl_days": "stale_after_days", "max_entries": "capacity"},
}
HOURS_PER_DAY = 24


def read_tier_names(values: Any) -> Any:
    """Settings with a `[butler.memory]` table as if its values had been given under `lifecycle`, which come first."""
    if not isinstance(values, Mapping) or not isinstance(values.get("butler"), Mapping):
        return values
    table = dict(values["butler"])
    memory, name = table.pop("memory", {}), table.pop("name", None)
    if table or not isinstance(memory, Mapping):
        raise ValueError(
            f"[butler] takes the tables of butler.memory and name, not {', '.join(sorted(table)) or memory}"
        )
    own = values.get("lifecycle")
    lifecycle = lifecycle_from(memory)
    for tier, chosen in own.items() if isinstance(own, Mapping) else ():
        lifecycle[tier] = {**lifecycle.get(tier, {}), **chosen} if isinstance(chosen, Mapping) else chosen
    rest = {key: value for key, value in values.items() if key not in ("butler", "lifecycle")}
    return {**rest, "lifecycle": lifecycle, **({"butler": name} if name else {})}


def lifecycle_from(memory: Mapping[str, Any]) -> dict[str, Any]:
    """The settings under `lifecycle` for a `memory` table. Unknown names are kept and refused by the settings."""
    found: dict[str, Any] = {}
    for tier, given in memory.items():
        if tier == "enabled":
            continue
        if tier not in TIERS or not isinstance(given, Mapping):
            raise ValueError(f"butler.memory.{tier} is not one of {', '.join(f'butler.memory.{one}' for one in TIERS)}")
        names = TIERS[tier]
        found[tier] = {
            names.get(name, name): value / HOURS_PER_DAY if name == "ttl_hours" and _is_number(value) else value
            for name, value in given.items()
        }
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
