"""Consolidation of a shard as a scheduled job: its run, its urgency and its statistics."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from memory_butler.models import Caller, RunReport
from memory_butler.operations.consolidation.backlog import locked_note
from memory_butler.operations.consolidation.consolidate import consolidate
from memory_butler.policy.lifecycle.schedule import is_pressing
from memory_butler.resources import Resources
from memory_butler.settings import Settings
from memory_butler.store.consolidation import runs
from memory_butler.store.gate.database import Transaction
from memory_butler.store.memories.episodes import NEAR_EXPIRY

STATS_DAYS = 30


async def consolidate_shard(resources: Resources, shard: Caller) -> dict[str, Any]:
    """Consolidate the shard's backlog. Without an automatic distiller, report its size and the reason."""
    if resources.distiller is None:
        name = resources.settings.consolidation.distiller
        reason = "connected agents are the distiller" if name == "agent" else "consolidation is switched off"
        async with resources.database.read(shard.principal.tenant) as transaction:
            waiting = await runs.waiting_shards(transaction, resources.clock(), shard.principal.butler)
        return {
            "pending": sum(row["backlog"] for row in waiting),
            "distilled": 0,
            "note": f"Nothing was done: {reason}.",
        }
    figures = summarize(await consolidate(resources, shard))
    note = await locked_note(resources, shard, only_butler=shard.principal.butler)
    return {**figures, "note": note} if note else figures


def summarize(reports: list[RunReport]) -> dict[str, Any]:
    """Returns the totals of runs for the job record."""
    applied = [report for report in reports if report.state in ("applied", "waiting")]
    outcomes = Counter(line.outcome for report in reports for line in report.lines)
    figures: dict[str, Any] = {
        "runs": len(reports),
        "distilled": sum(len(report.episodes) for report in applied),
        "failed": sum(len(report.episodes) for report in reports if report.state == "failed"),
        "nothing_kept": sum(len(report.nothing_kept) for report in applied),
        **{outcome: outcomes[outcome] for outcome in sorted(outcomes)},
    }
    tokens = sum(report.usage.input_tokens + report.usage.output_tokens for report in reports)
    if tokens:
        figures["tokens"] = tokens
    failed = [report.error for report in reports if report.state == "failed" and report.error]
    if failed:
        figures["note"] = failed[-1]
    return figures


async def urgent_butlers(
    resources: Resources, transaction: Transaction, now: datetime, only_butler: str | None = None
) -> dict[str, datetime]:
    """Returns the butlers to consolidate ahead of schedule, each with the time since when: large backlog, important,
    expiring or old episode. A run since that time need not be repeated early."""
    if resources.distiller is None:
        return {}
    rules, waits = resources.settings.consolidation, early_age(resources.settings)
    found: dict[str, datetime] = {}
    for row in await runs.waiting_shards(transaction, now, only_butler):
        if is_pressing(
            backlog=row["backlog"],
            importance=row["importance"],
            expires_in=row["expires_at"] - now,
            early_from=rules.early_from,
            early_importance=rules.early_importance,
            near_expiry=NEAR_EXPIRY,
        ):
            found[row["butler"]] = now
        elif waits and row["oldest"] + waits <= now:
            # Episodes that a run left, for want of a budget for example, wait for the timetable.
            found[row["butler"]] = row["oldest"] + waits
    return found


def early_age(settings: Settings) -> timedelta | None:
    """The age of an episode that starts a consolidation early; None if the timetable comes first."""
    early = timedelta(hours=settings.consolidation.early_hours)
    return early if early < settings.upkeep.intervals()["consolidation"] else None


async def consolidation_stats(transaction: Transaction, now: datetime, only_butler: str | None) -> dict[str, Any]:
    """Returns the consolidation statistics of the last STATS_DAYS days."""
    since = now - timedelta(days=STATS_DAYS)
    states = await runs.states(transaction, since, only_butler)
    outcomes = await runs.outcomes(transaction, since, only_butler)
    ended = Counter[str]()
    for row in states:
        ended[row["state"]] += row["runs"]
    done = sum(row["episodes"] for row in states if row["state"] in ("applied", "rejected"))
    empty = await runs.count_empty(transaction, only_butler)
    stored = sum(row["items"] for row in outcomes if row["state"] == "applied")
    tried = ended["applied"] + ended["rejected"] + ended["waiting"] + ended["failed"] + ended["lost"]
    return {
        "days": STATS_DAYS,
        "runs": dict(sorted(ended.items())),
        "success_rate": round((tried - ended["failed"] - ended["lost"]) / tried, 3) if tried else None,
        "episodes": done,
        "nothing_kept": empty,
        "items_per_episode": round(stored / done, 2) if done else None,
        "items": _by(outcomes, "outcome", state="applied"),
        "refused": _by(outcomes, "reason", state="refused"),
        "awaiting_review": sum(row["items"] for row in outcomes if row["state"] == "proposed"),
        "tokens": sum(row["input_tokens"] + row["output_tokens"] for row in states),
        "dollars": round(sum(row["cost_microdollars"] for row in states) / 1e6, 4),
        "by_distiller": _by(states, "distiller", of="runs"),
    }


def _by(rows: list[dict[str, Any]], key: str, *, state: str | None = None, of: str = "items") -> dict[str, int]:
    totals = Counter[str]()
    for row in rows:
        if row[key] and (state is None or row["state"] == state):
            totals[row[key]] += row[of]
    return dict(sorted(totals.items()))
