"""The consolidation of a shard as a job: what it does when its turn comes, and when its turn comes early."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from memory_butler.butler import Butler
from memory_butler.models import Caller, RunReport
from memory_butler.operations.consolidate import consolidate
from memory_butler.policy.schedule import is_pressing
from memory_butler.store import consolidation
from memory_butler.store.database import Session
from memory_butler.store.episodes import NEAR_EXPIRY

STATS_DAYS = 30


async def consolidate_shard(butler: Butler, shard: Caller) -> dict[str, Any]:
    """Distil what waits. Where nobody distils by themselves, say how much waits and for whom."""
    if butler.distiller is None:
        name = butler.settings.consolidation.distiller
        why = "connected agents distil here" if name == "agent" else "consolidation is switched off"
        async with butler.database.read(shard.principal.tenant) as session:
            waiting = await consolidation.waiting_shards(session, butler.clock(), shard.principal.butler)
        return {"pending": sum(row["backlog"] for row in waiting), "distilled": 0, "note": f"Nothing was done: {why}."}
    return in_figures(await consolidate(butler, shard))


def in_figures(reports: list[RunReport]) -> dict[str, Any]:
    """What runs came to, for the record."""
    applied = [report for report in reports if report.state in ("applied", "waiting")]
    outcomes = Counter(line.outcome for report in reports for line in report.lines)
    figures: dict[str, Any] = {
        "runs": len(reports),
        "distilled": sum(len(report.episodes) for report in applied),
        "failed": sum(len(report.episodes) for report in reports if report.state == "failed"),
        **{outcome: outcomes[outcome] for outcome in sorted(outcomes)},
    }
    tokens = sum(report.usage.input_tokens + report.usage.output_tokens for report in reports)
    if tokens:
        figures["tokens"] = tokens
    failed = [report.error for report in reports if report.state == "failed" and report.error]
    if failed:
        figures["note"] = failed[-1]
    return figures


async def pressing(butler: Butler, session: Session, now: datetime, only_butler: str | None = None) -> set[str]:
    """Butlers whose episodes should not wait for their turn: there are many, one is important, or one soon expires."""
    if butler.distiller is None:
        return set()
    rules = butler.settings.consolidation
    rows = await consolidation.waiting_shards(session, now, only_butler)
    return {
        row["butler"]
        for row in rows
        if is_pressing(
            backlog=row["backlog"],
            importance=row["importance"],
            expires_in=row["expires_at"] - now,
            early_from=rules.early_from,
            early_importance=rules.early_importance,
            near_expiry=NEAR_EXPIRY,
        )
    }


async def figures(session: Session, now: datetime, only_butler: str | None) -> dict[str, Any]:
    """How consolidation went in the last days."""
    since = now - timedelta(days=STATS_DAYS)
    states = await consolidation.states(session, since, only_butler)
    outcomes = await consolidation.outcomes(session, since, only_butler)
    ended = Counter[str]()
    for row in states:
        ended[row["state"]] += row["runs"]
    done = sum(row["episodes"] for row in states if row["state"] in ("applied", "rejected"))
    stored = sum(row["items"] for row in outcomes if row["state"] == "applied")
    tried = ended["applied"] + ended["rejected"] + ended["waiting"] + ended["failed"] + ended["lost"]
    return {
        "days": STATS_DAYS,
        "runs": dict(sorted(ended.items())),
        "success_rate": round((tried - ended["failed"] - ended["lost"]) / tried, 3) if tried else None,
        "episodes": done,
        "items_per_episode": round(stored / done, 2) if done else None,
        "items": _by(outcomes, "outcome", state="applied"),
        "refused": _by(outcomes, "reason", state="refused"),
        "awaiting_review": sum(row["items"] for row in outcomes if row["state"] == "proposed"),
        "tokens": sum(row["input_tokens"] + row["output_tokens"] for row in states),
        "dollars": round(sum(row["cost_microdollars"] for row in states) / 1e6, 4),
        "by_distiller": _by(states, "distiller", of="runs"),
    }


def _by(rows: list[dict[str, Any]], key: str, *, state: str | None = None, of: str = "items") -> dict[str, int]:
    found = Counter[str]()
    for row in rows:
        if row[key] and (state is None or row["state"] == state):
            found[row[key]] += row[of]
    return dict(sorted(found.items()))
