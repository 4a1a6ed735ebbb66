"""Cards, charts and attention items of the overview."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memory_butler.adapters.dashboard.components import charts
from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.server.page_url import url_for
from memory_butler.adapters.dashboard.server.routes import memory_path
from memory_butler.adapters.dashboard.view_models.phrases import count_text, state_label, truncate
from memory_butler.models import LIVE, ConsolidationStatus, Fact
from memory_butler.models.days import Day, Growth
from memory_butler.operations.system.alerts import IMPORTANT, Alerts
from memory_butler.policy.lifecycle.schedule import JobState
from memory_butler.policy.memories.sentence import memory_sentence
from memory_butler.policy.trust.reasons import describe_reason
from memory_butler.store.system.alerts import EpisodeCounts

Props = dict[str, Any]
Report = Mapping[str, Any]
SHOWN_CHARACTERS = 160
MIN_DAYS = 28
_STATES = ("fading", "superseded", "expired", "retracted")
_MATURITIES = {"proven": "proven", "established": "established", "candidate": "candidate", "anti_pattern": "warning"}
_CONSOLIDATION = "/consolidation"
_PROPOSALS = url_for(_CONSOLIDATION, {"state": "waiting"})
_DEAD_LETTERS = f"{_CONSOLIDATION}#failed-episodes"
_JOB_PROBLEMS = {JobState.NEVER: "has never run", JobState.OVERDUE: "is overdue", JobState.FAILING: "keeps failing"}
_UNKEPT = {
    ConsolidationStatus.PENDING: "This episode waits for consolidation.",
    ConsolidationStatus.CONSOLIDATED: "Nothing was kept of this episode.",
    ConsolidationStatus.FAILED: "This episode could not be processed.",
    ConsolidationStatus.DEAD_LETTER: "This episode could not be processed.",
}
# Additions point up, removals down.
_UP = (("Stored", ("created", "imported"), charts.BLUE), ("Confirmed", ("confirmed",), charts.TEAL),
       ("Restored", ("restored", "revived"), charts.OLIVE))  # fmt: skip
_DOWN = (("Superseded", ("superseded",), charts.PLUM), ("Faded", ("faded",), charts.BRASS),
         ("Expired", ("expired", "deleted"), charts.GREY), ("Forgotten", ("retracted",), charts.RED))  # fmt: skip


def is_empty(report: Report) -> bool:
    """True if the user has never had a memory to see."""
    return not any(count for states in report["memories"].values() for count in states.values())


def count_cards(report: Report, line: EpisodeCounts, *, governs: bool) -> list[Props]:
    """One card per memory type, with links to its parts. Links to consolidation are for admins."""
    memories = report["memories"]
    facts, rules, episodes = memories["facts"], memories["rules"], memories["episodes"]
    return [
        _card("Facts", "/facts", facts, _states("/facts", facts)),
        _card("Rules", "/rules", rules, _maturities(report["rules_by_maturity"])),
        _card("Episodes", "/episodes", episodes, _episode_parts(report, line, governs=governs)),
    ]


def _card(title: str, href: str, states: Mapping[str, int], parts: list[Props]) -> Props:
    count = sum(states.get(state, 0) for state in LIVE)
    return {
        "name": title.lower(),
        "title": title,
        "href": href,
        "count": count,
        "unit": "in use",
        "parts": parts,
        "note": "" if parts else "all active" if count else "none yet",
    }


def _part(label: str, count: int, href: str, kind: str) -> Props:
    return {"label": label, "count": count, "href": href, "kind": kind}


def _maturities(counts: Mapping[str, int]) -> list[Props]:
    parts = []
    for name, label in _MATURITIES.items():
        count = counts.get(name, 0)
        many = "s" * (count != 1 and name in ("candidate", "anti_pattern"))
        if count:
            parts.append(_part(f"{label}{many}", count, url_for("/rules", {"maturity": name}), name))
    return parts


def _states(path: str, states: Mapping[str, int]) -> list[Props]:
    return [
        _part(state_label(name), states[name], url_for(path, {"validity": name}), name)
        for name in _STATES
        if states.get(name)
    ]


def _episode_parts(report: Report, line: EpisodeCounts, *, governs: bool) -> list[Props]:
    processed = report["episodes_by_consolidation"].get("consolidated", 0)
    parts = [
        _part("waiting", line.waiting, _CONSOLIDATION, "info"),
        _part("in review", line.deciding, _PROPOSALS, "warn"),
        _part("processed", processed, "", "active"),
        _part("failed", line.given_up, _DEAD_LETTERS, "bad"),
    ]
    return [part if governs else part | {"href": ""} for part in parts if part["count"]]


def backlog(report: Report, line: EpisodeCounts, now: datetime) -> tuple[str, str]:
    """The number of waiting episodes, and a text about the oldest."""
    in_review = f" {line.deciding:,} more in review." if line.deciding else ""
    if not line.waiting:
        return "0", f"All episodes have been processed.{in_review}"
    first = report["backlog"]["first_in_line"]
    urgent = (
        f" {first:,} of them {'has' if first == 1 else 'have'} priority because others refer to them." if first else ""
    )
    hours = (now - line.oldest).total_seconds() / 3600 if line.oldest else 0
    return f"{line.waiting:,}", f"The oldest has waited {_span(hours)}.{urgent}{in_review}"


def _span(hours: float) -> str:
    if hours < 1:
        return "less than an hour"
    if hours < 48:
        return f"{hours:.0f} hour{'s' * (round(hours) != 1)}"
    return f"{hours / 24:.0f} days"


def effectiveness(report: Report) -> tuple[str, list[Props]]:
    """The mean effectiveness of rules as text, and bars of helpful and harmful marks."""
    record = report["rule_effectiveness"]
    helpful, harmful, mean = record["helpful_marks"], record["harmful_marks"], record["mean_effectiveness"]
    marks = max(1, helpful + harmful)
    bars = [
        {"label": "Helpful", "count": helpful, "of": 0, "share": helpful / marks, "tone": "good", "note": ""},
        {"label": "Harmful", "count": harmful, "of": 0, "share": harmful / marks, "tone": "bad", "note": ""},
    ]
    if mean is None:
        return "No feedback yet. Agents mark rules as helpful or harmful.", bars
    applied = record["rules_applied"]
    return f"{mean:.0%} effective on average, over {applied:,} rule{'s' * (applied != 1)} with feedback.", bars


def confidence_chart(report: Report, fading_below: float) -> charts.Options:
    """Histogram of the confidence of facts in use; those below the fading threshold in another colour."""
    counts = report["fact_confidence"]
    steps = [f"{step / 10:.1f}-{(step + 1) / 10:.1f}" for step in range(10)]
    data = [
        {
            "value": counts.get(name, 0),
            "itemStyle": {"color": charts.BRASS if step / 10 < fading_below else charts.GREEN},
        }
        for step, name in enumerate(steps)
    ]
    return {
        "grid": {"left": 4, "right": 8, "top": 12, "bottom": 4, "containLabel": True},
        "xAxis": charts.axis("category", data=[name.replace("-", "–") for name in steps]),
        "yAxis": charts.axis("value", minInterval=1),
        "tooltip": charts.tooltip(trigger="axis", axisPointer={"type": "shadow"}),
        "series": [{"type": "bar", "name": "Facts", "data": data, "barCategoryGap": "18%"}],
    }


def growth_chart(growth: Growth) -> charts.Options:
    """Additions and removals per day, and the number of memories in use."""
    days = _charted_days(growth)
    series: list[charts.Options] = []
    for sign, group in ((1, _UP), (-1, _DOWN)):
        for label, actions, colour in group:
            counts = [sign * sum(day.happened.get(action, 0) for action in actions) for day in days]
            if any(counts):
                series.append(
                    {
                        "type": "bar",
                        "name": label,
                        "stack": "day",
                        "xAxisIndex": 1,
                        "yAxisIndex": 1,
                        "data": counts,
                        "itemStyle": {"color": colour},
                        "barCategoryGap": "25%",
                    }
                )
    series.append(
        {
            "type": "line",
            "name": "In use",
            "data": [sum(day.in_use.values()) for day in days],
            "showSymbol": False,
            "smooth": 0.25,
            "lineStyle": {"width": 2, "color": charts.GREEN},
            "areaStyle": {"color": charts.GREEN, "opacity": 0.12},
            "itemStyle": {"color": charts.GREEN},
        }
    )
    dates = [f"{day.day.day} {day.day:%b}" for day in days]
    sides = {"left": 48, "right": 12}
    whole = {"minInterval": 1, "splitNumber": 3}
    unsigned = {"color": charts.MUTED, ":formatter": "(n) => Math.abs(n)"}
    return {
        "legend": charts.legend(type="scroll"),
        "grid": [{**sides, "top": 36, "height": 84}, {**sides, "top": 140, "bottom": 26}],
        "axisPointer": {"link": [{"xAxisIndex": "all"}]},
        "xAxis": [
            charts.axis("category", data=dates, axisLabel={"show": False}),
            charts.axis("category", data=dates, gridIndex=1, axisLine={"show": False}),
        ],
        "yAxis": [
            charts.axis("value", **whole),
            # Removals are drawn downwards, but their counts are positive.
            charts.axis("value", **whole, gridIndex=1, axisLabel=unsigned),
        ],
        "tooltip": charts.tooltip(
            trigger="axis", axisPointer={"type": "shadow"}, **{":valueFormatter": "(n) => Math.abs(n)"}
        ),
        "series": series,
    }


def _charted_days(growth: Growth) -> Sequence[Day]:
    """The days since the first event, but at least four weeks."""
    active = [number for number, day in enumerate(growth.days) if day.happened or any(day.in_use.values())]
    first = active[0] if active else len(growth.days)
    return growth.days[max(0, min(first - 1, len(growth.days) - MIN_DAYS)) :]


def attention_list(attention: Alerts, *, may_confirm: bool, has_inbox: bool = False) -> list[Props]:
    """The items that need attention, most urgent first; without those that the inbox beside them shows."""
    waiting = [*_consolidation_items(attention), *_quarantined_items(attention)]
    return [
        *(one for one in waiting if not has_inbox or one["key"] == "dead_letters"),
        *_job_items(attention),
        *_expiring_items(attention),
        *_fading_items(attention, may_confirm=may_confirm),
        *_warning_items(attention),
        *_burst_items(attention),
    ]


def _consolidation_items(attention: Alerts) -> Iterable[Props]:
    failed, proposals = attention.dead_letters, attention.proposals
    if failed.count:
        title = f"{count_text(failed.count, 'episode')} could not be processed"
        more = {"detail": "Oldest:", "at": failed.oldest, "go": "Details"}
        yield _item("dead_letters", "mark_email_unread", "bad", title, _DEAD_LETTERS, **more)
    if proposals.count:
        title = f"{count_text(proposals.count, 'consolidation run')} to review"
        detail = "Facts and rules are stored once you approve them. Oldest:"
        more = {"detail": detail, "at": proposals.oldest, "go": "Review"}
        yield _item("proposals", "rate_review", "warn", title, _PROPOSALS, **more)


def _quarantined_items(attention: Alerts) -> Iterable[Props]:
    for one in attention.quarantined:
        title = fact_text(one) if isinstance(one, Fact) else truncate(one.content, SHOWN_CHARACTERS)
        detail = f"Not in use until you decide: {describe_reason(one.quarantine_reason or '', one.origin)}. Stored:"
        more = {"kind": "quarantined", "detail": detail, "at": one.created_at, "go": "Review"}
        yield _item(str(one.id), "gpp_maybe", "warn", title, memory_path(one.type, one.ref), **more)
    left = attention.quarantined_total - len(attention.quarantined)
    if left > 0:
        title = f"{count_text(left, 'more quarantined memory', 'more quarantined memories')} to review"
        detail = "memory-butler review lists all of them."
        yield _item("more-quarantined", "more_horiz", "warn", title, "/", detail=detail, go="")


def _job_items(attention: Alerts) -> Iterable[Props]:
    by_job: dict[tuple[str, JobState], list[str]] = {}
    for late in attention.jobs:
        by_job.setdefault((late.job, late.status), []).append(late.butler)
    for (job, status), butlers in by_job.items():
        owner = butlers[0] if len(butlers) == 1 else f"{len(butlers)} butlers"
        title = f"The job {job.replace('_', ' ')} {_JOB_PROBLEMS[status]} for {visible_text(owner)}"
        more = {"kind": "job", "detail": "memory-butler work runs jobs on schedule.", "go": "Jobs"}
        yield _item(f"job-{job}-{status}", "schedule", "warn", title, "/system", **more)


def _expiring_items(attention: Alerts) -> Iterable[Props]:
    for one in attention.expiring:
        detail = f"{_UNKEPT[one.consolidation_status]} It is deleted on"
        more = {"kind": "expiring", "detail": detail, "at": one.expires_at, "go": "Details"}
        title = truncate(one.content, SHOWN_CHARACTERS)
        yield _item(str(one.id), "auto_delete", "warn", title, memory_path("episode", one.ref), **more)
    left = attention.expiring_total - len(attention.expiring)
    if left > 0:
        title = f"{count_text(left, 'more important episode')} of which nothing was kept"
        yield _item("more-expiring", "more_horiz", "warn", title, "/episodes", detail="Deleted soon", go="View")


def _fading_items(attention: Alerts, *, may_confirm: bool) -> Iterable[Props]:
    for one in attention.fading:
        fact, href = one.fact, memory_path("fact", one.fact.ref)
        detail = f"Importance {fact.importance}; {'fading since' if fact.validity == 'fading' else 'fades on'}"
        more = {"kind": "fading", "detail": detail, "at": one.fades_at, "action": "Confirm" if may_confirm else ""}
        yield _item(str(fact.id), "hourglass_bottom", "warn", fact_text(fact), href, **more)
    left = attention.fading_total - len(attention.fading)
    if left > 0:
        href = url_for("/facts", {"importance_min": str(IMPORTANT), "sort": "confidence", "order": "asc"})
        title = f"{left:,} more important fact{'s' * (left > 1)} fading soon"
        yield _item("more-fading", "more_horiz", "warn", title, href, detail="Lowest confidence first", go="View")


def _warning_items(attention: Alerts) -> Iterable[Props]:
    for one in attention.warnings:
        title, href = f"Do not: {truncate(one.rule.content, SHOWN_CHARACTERS)}", memory_path("rule", one.rule.ref)
        detail = "Became a warning after too many harmful marks:"
        more = {"kind": "warning", "detail": detail, "at": one.since, "go": "Details"}
        yield _item(str(one.rule.id), "dangerous", "bad", title, href, **more)
    left = attention.warnings_total - len(attention.warnings)
    if left > 0:
        title, href = f"{left:,} more new warnings", "/rules?maturity=anti_pattern"
        detail = "Rules with too many harmful marks"
        yield _item("more-warnings", "more_horiz", "bad", title, href, detail=detail, go="View")


def _burst_items(attention: Alerts) -> Iterable[Props]:
    for one in attention.bursts:
        title = f"{one.marks} {one.outcome} marks in an hour: {truncate(one.rule.content, SHOWN_CHARACTERS)}"
        detail = f"All of one session of {visible_text(one.butler)}:"
        more = {"kind": "burst", "detail": detail, "at": one.at, "go": "Details"}
        yield _item(f"burst-{one.rule.id}", "bolt", "warn", title, memory_path("rule", one.rule.ref), **more)
    left = attention.bursts_total - len(attention.bursts)
    if left > 0:
        title = f"{left:,} more rule{'s' * (left > 1)} marked many times by one session"
        yield _item("more-bursts", "more_horiz", "warn", title, "/rules", detail="Within one hour", go="View")


def _item(key: str, icon: str, tone: str, title: str, href: str, **more: Any) -> Props:
    at = more.pop("at", None)
    item = {"key": key, "kind": key, "icon": icon, "tone": tone, "title": title, "href": href}
    return {**item, "detail": "", "go": "Open", "action": "", **more, "at": at.isoformat() if at else None}


def fact_text(fact: Fact) -> str:
    return truncate(memory_sentence(fact), SHOWN_CHARACTERS)
