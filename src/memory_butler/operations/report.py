"""Report: how much is remembered, in which state, and whether upkeep is keeping up."""

from collections import Counter
from typing import Any

from memory_butler.butler import Butler
from memory_butler.models import EVERY_SCOPE, Caller, MemoryType, Role, Tier
from memory_butler.policy import reach
from memory_butler.policy.admission import slug
from memory_butler.policy.tiers import tier_of
from memory_butler.store import stats

# The upkeep every store needs; a duty that has no recorded run says so instead of staying silent.
DUTIES = ("consolidation", "sweep", "cleanup")


def _jobs(runs: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    latest = {run["job"]: run for run in runs}
    return {
        duty: {"last_run": latest[duty]["started_at"].isoformat(), "outcome": latest[duty]["outcome"] or "running"}
        if duty in latest
        else {"last_run": "never"}
        for duty in DUTIES
    }


async def report(butler: Butler, scope: str | None = None, caller: Caller | None = None) -> dict[str, Any]:
    """Counts by type, state and tier; confidence; backlog; rule effectiveness; the last run of each duty."""
    caller = caller or butler.local_caller()
    wanted = None if scope is None else slug(scope, "scope")
    everything = wanted is None and caller.principal.role is Role.ADMIN
    reached = reach.readable(caller.principal, EVERY_SCOPE if everything else wanted, None)
    now = butler.clock()
    async with butler.database.read(caller.principal.tenant) as session:
        found = await stats.overview(session, reached, now)
    states: dict[str, Counter[str]] = {kind: Counter() for kind in MemoryType}
    maturities: Counter[str] = Counter()
    consolidation: Counter[str] = Counter()
    tiers: Counter[str] = Counter(dict.fromkeys(Tier, 0))
    for row in found["counts"]:
        states[row["type"]][row["validity"]] += row["count"]
        if row["validity"] in ("active", "fading"):
            kind = MemoryType(row["type"])
            tiers[tier_of(kind, permanence=row["permanence"], maturity=row["maturity"])] += row["count"]
            if row["maturity"]:
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
        "tiers": dict(tiers),
        "fact_confidence": {
            f"{row['step'] / 10:.1f}-{(row['step'] + 1) / 10:.1f}": row["count"] for row in found["confidence"]
        },
        "backlog": {
            "pending_episodes": backlog["pending"],
            "oldest_created_at": oldest.isoformat() if oldest else None,
            "oldest_age_hours": round((now - oldest).total_seconds() / 3600, 1) if oldest else None,
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
        "jobs": _jobs(found["runs"]),
        "events": log[0]["events"] if log else 0,
        "embedding_model": butler.embedder.version.name,
    }
