"""Statistics: counts by type, state and tier, confidence, backlog, and the state of the jobs."""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from memory_butler.models import EVERY_SCOPE, LIVE, Caller, Episode, MemoryType, Tier
from memory_butler.operations.consolidation.shard_job import consolidation_stats
from memory_butler.operations.lifecycle import job_status
from memory_butler.policy.access import visibility
from memory_butler.policy.lifecycle.tiers import tier_of
from memory_butler.policy.memories.text import one_line
from memory_butler.policy.memories.validation import slug
from memory_butler.resources import Resources, on_replica
from memory_butler.settings import Settings
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.memories import episodes
from memory_butler.store.system import alerts
from memory_butler.store.system import stats as store

# A tenant may have any number of butlers; only those with the fullest tiers are listed.
BUTLERS_SHOWN = 20
EXPIRING_SHOWN = 5
WORDS = 160


def _tiers(
    settings: Settings, rows: Sequence[Row], own: str, *, everything: bool, scope: str | None
) -> dict[str, dict[str, Any]]:
    """Tier totals of the visible memories and, if no scope is given, per butler."""
    live = [row for row in rows if row["validity"] in LIVE]
    names = sorted({row["butler"] for row in live}) or [own]
    found = {"tiers": _by_tier(settings, live, names)}
    if scope is None:
        apart = {
            name: _by_tier(settings, [row for row in live if row["butler"] == name], [name])
            for name in (names if everything else [own])
        }
        fullest = sorted(apart, key=lambda name: (-_fullness(apart[name]), name))
        found["tiers_by_butler"] = {name: apart[name] for name in fullest[:BUTLERS_SHOWN]}
    return found


def _by_tier(settings: Settings, live: Sequence[Row], names: Collection[str]) -> dict[str, dict[str, Any]]:
    """Contents of each tier, and its capacity summed over these butlers."""
    limits = [settings.lifecycle_of(name) for name in names]
    capacities = {
        Tier.EDEN: sum(limit.eden.capacity for limit in limits),
        Tier.MID: sum(limit.mid.capacity for limit in limits),
        Tier.LONG: sum(limit.long.capacity for limit in limits),
    }
    held: dict[Tier, list[Row]] = {tier: [] for tier in Tier}
    for row in live:
        kind = MemoryType(row["type"])
        held[tier_of(kind, permanence=row["permanence"], maturity=row["maturity"])].append(row)
    found = {}
    for tier, rows in held.items():
        oldest = min((row["oldest"] for row in rows), default=None)
        found[str(tier)] = {
            "count": sum(row["count"] for row in rows),
            "capacity": capacities[tier],
            "oldest": oldest.isoformat() if oldest else None,
            "references": sum(row["references"] for row in rows),
        }
    return found


async def _first_in_line(settings: Settings, transaction: Transaction, rows: Sequence[Row], now: datetime) -> int:
    """Number of pending episodes with priority, by the thresholds of each butler."""
    names = {row["butler"] for row in rows if row["consolidation"] == "pending" and row["validity"] in LIVE}
    return sum(
        [await episodes.count_first_in_line(transaction, name, settings.lifecycle_of(name).eden, now) for name in names]
    )


def _fullness(tiers: dict[str, dict[str, Any]]) -> float:
    return max(float(tier["count"] / tier["capacity"]) for tier in tiers.values())


def _expiring(one: Episode) -> dict[str, str]:
    return {
        "ref": f"{one.type}:{one.ref}",
        "expires_at": one.expires_at.isoformat(),
        "words": one_line(one.content, WORDS),
    }


def _distiller(resources: Resources) -> str:
    return resources.distiller.name if resources.distiller else resources.settings.consolidation.distiller


@on_replica
async def stats(resources: Resources, scope: str | None = None, caller: Caller | None = None) -> dict[str, Any]:
    """Returns counts by type, state and tier, confidence, backlog, rule effectiveness and the last job runs."""
    caller = caller or resources.local_caller()
    wanted = None if scope is None else slug(scope, "scope")
    everything = wanted is None and caller.principal.role.governs
    reached = visibility.readable(caller.principal, EVERY_SCOPE if everything else wanted, None)
    now = resources.clock()
    intervals = resources.settings.upkeep.intervals()
    async with resources.database.read(caller.principal.tenant) as transaction:
        found = await store.overview(transaction, reached, now, list(intervals))
        first_in_line = await _first_in_line(resources.settings, transaction, found["counts"], now)
        distilled = await consolidation_stats(transaction, now, None if everything else caller.principal.butler)
        expiring, expiring_total = await alerts.expiring(
            transaction, resources.settings.eden_of_butlers(), now, butlers=reached.butlers, limit=EXPIRING_SHOWN
        )
    states: dict[str, Counter[str]] = {kind: Counter() for kind in MemoryType}
    maturities: Counter[str] = Counter()
    consolidation: Counter[str] = Counter()
    for row in found["counts"]:
        states[row["type"]][row["validity"]] += row["count"]
        if row["validity"] in LIVE and row["maturity"]:
            maturities[row["maturity"]] += row["count"]
        if row["consolidation"]:
            consolidation[row["consolidation"]] += row["count"]
    backlog, effectiveness, log = found["backlog"][0], found["effectiveness"][0], found["log"]
    oldest = backlog["oldest"]
    return {
        "scope": wanted or ("all" if everything else " and ".join(reached.scopes or ())),
        "memories": {f"{kind}s": dict(sorted(counts.items())) for kind, counts in states.items()},
        "rules_by_maturity": dict(sorted(maturities.items())),
        "episodes_by_consolidation": dict(sorted(consolidation.items())),
        **_tiers(resources.settings, found["counts"], caller.principal.butler, everything=everything, scope=wanted),
        "fact_confidence": {
            f"{row['step'] / 10:.1f}-{(row['step'] + 1) / 10:.1f}": row["count"] for row in found["confidence"]
        },
        "backlog": {
            "pending_episodes": backlog["pending"],
            "first_in_line": first_in_line,
            "oldest_created_at": oldest.isoformat() if oldest else None,
            "oldest_age_hours": round((now - oldest).total_seconds() / 3600, 1) if oldest else None,
        },
        "consolidation": {"distiller": _distiller(resources), **distilled},
        "expiring_unkept": {
            "episodes": expiring_total,
            "next": [_expiring(one) for one in expiring],
        },
        "rule_effectiveness": {
            "rules_applied": effectiveness["applied_rules"],
            "helpful_marks": effectiveness["successes"],
            "harmful_marks": effectiveness["harmful"],
            "mean_effectiveness": (
                round(effectiveness["mean_effectiveness"], 3)
                if effectiveness["mean_effectiveness"] is not None
                else None
            ),
        },
        "jobs": job_status.summarize(job_status.job_statuses(found["runs"], intervals, now), intervals),
        "events": log[0]["events"] if log else 0,
        "embedding_model": resources.embedder.version.name,
    }
