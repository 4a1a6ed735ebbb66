"""What the overview shows, from what the operations say. Nothing is drawn here."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memory_butler.adapters.dashboard import charts
from memory_butler.adapters.dashboard.address import address
from memory_butler.adapters.dashboard.charts import Options
from memory_butler.adapters.dashboard.elements import text_of
from memory_butler.adapters.dashboard.places import memory_path
from memory_butler.adapters.dashboard.saying import counted, short_of, state_of
from memory_butler.models import LIVE, Fact
from memory_butler.models.days import Day, Growth
from memory_butler.operations.attention import IMPORTANT, Attention
from memory_butler.policy.confidence import FADING_BELOW
from memory_butler.policy.schedule import Standing
from memory_butler.policy.wording import about_of
from memory_butler.store.attention import Line

Drawn = dict[str, Any]
Report = Mapping[str, Any]
SHOWN_CHARACTERS = 160
FEWEST_DAYS = 28
_STATES = ("fading", "superseded", "expired", "retracted")
_MATURITIES = {"proven": "proven", "established": "established", "candidate": "candidate", "anti_pattern": "warning"}
_CONSOLIDATION = "/consolidation"
_PROPOSALS = address(_CONSOLIDATION, {"state": "waiting"})
_GIVEN_UP = f"{_CONSOLIDATION}#given-up"
_TIERS = {
    "eden": ("Eden", "what was said lately"),
    "mid": ("Mid-term", "facts that fade, rules on trial"),
    "long": ("Long-term", "what has proved to last"),
}
_LATE = {Standing.NEVER: "has never run", Standing.OVERDUE: "is overdue", Standing.FAILING: "keeps failing"}
# What adds to memory is drawn upwards, what takes from it downwards.
_UP = (("Stored", ("created", "imported"), charts.BLUE), ("Confirmed", ("confirmed",), charts.TEAL),
       ("Brought back", ("restored",), charts.OLIVE))  # fmt: skip
_DOWN = (("Superseded", ("superseded",), charts.PLUM), ("Faded", ("faded",), charts.BRASS),
         ("Expired", ("expired", "deleted"), charts.GREY), ("Forgotten", ("retracted",), charts.RED))  # fmt: skip


def is_empty(report: Report) -> bool:
    """Whether nothing has ever been remembered that this person could see."""
    return not any(count for states in report["memories"].values() for count in states.values())


def figures(report: Report, line: Line, *, governs: bool) -> list[Drawn]:
    """What is counted, each part with the way to it. Consolidation is for those who govern."""
    memories = report["memories"]
    facts, rules, episodes = memories["facts"], memories["rules"], memories["episodes"]
    return [
        _card("Facts", "/facts", facts, _states("/facts", facts)),
        _card("Rules", "/rules", rules, _maturities(report["rules_by_maturity"])),
        _card("Episodes", "/episodes", episodes, _on_their_way(report, line, governs=governs)),
    ]


def _card(title: str, href: str, states: Mapping[str, int], parts: list[Drawn]) -> Drawn:
    count = sum(states.get(state, 0) for state in LIVE)
    return {
        "name": title.lower(),
        "title": title,
        "href": href,
        "count": count,
        "unit": "in use",
        "parts": parts,
        "note": "" if parts else "all as they should be" if count else "none yet",
    }


def _part(label: str, count: int, href: str, kind: str) -> Drawn:
    return {"label": label, "count": count, "href": href, "kind": kind}


def _maturities(counts: Mapping[str, int]) -> list[Drawn]:
    found = []
    for name, label in _MATURITIES.items():
        count = counts.get(name, 0)
        many = "s" * (count != 1 and name in ("candidate", "anti_pattern"))
        if count:
            found.append(_part(f"{label}{many}", count, address("/rules", {"maturity": name}), name))
    return found


def _states(path: str, states: Mapping[str, int]) -> list[Drawn]:
    return [
        _part(state_of(name), states[name], address(path, {"validity": name}), name)
        for name in _STATES
        if states.get(name)
    ]


def _on_their_way(report: Report, line: Line, *, governs: bool) -> list[Drawn]:
    distilled = report["episodes_by_consolidation"].get("consolidated", 0)
    parts = [
        _part("waiting", line.waiting, _CONSOLIDATION, "info"),
        _part("await your decision" if governs else "await a decision", line.deciding, _PROPOSALS, "warn"),
        _part("distilled", distilled, "", "active"),
        _part("given up", line.given_up, _GIVEN_UP, "bad"),
    ]
    return [part if governs else part | {"href": ""} for part in parts if part["count"]]


def backlog(report: Report, line: Line, now: datetime) -> tuple[str, str]:
    """How much waits to be distilled and for how long, as a figure and in words."""
    held = f" {counted(line.deciding, 'more awaits', 'more await')} a decision." if line.deciding else ""
    if not line.waiting:
        return "0", f"Nothing waits: all episodes have been looked at.{held}"
    first = report["backlog"]["first_in_line"]
    ahead = f" {first:,} of them come{'s' * (first == 1)} first, because others refer to them." if first else ""
    hours = (now - line.oldest).total_seconds() / 3600 if line.oldest else 0
    return f"{line.waiting:,}", f"The oldest has waited {_span(hours)}.{ahead}{held}"


def _span(hours: float) -> str:
    if hours < 1:
        return "less than an hour"
    if hours < 48:
        return f"{hours:.0f} hour{'s' * (round(hours) != 1)}"
    return f"{hours / 24:.0f} days"


def tiers(report: Report) -> list[Drawn]:
    bars = []
    for name, (label, note) in _TIERS.items():
        tier = report["tiers"][name]
        share = min(1.0, tier["count"] / tier["capacity"])
        bars.append(
            {
                "label": label,
                "count": tier["count"],
                "of": tier["capacity"],
                # Whatever there is can be seen.
                "share": max(share, 0.012) if tier["count"] else 0.0,
                "tone": "warn" if share > 0.9 else "good",
                "note": note,
            }
        )
    return bars


def effectiveness(report: Report) -> tuple[str, list[Drawn]]:
    """How well rules did: the mean in words, and helpful against harmful marks."""
    found = report["rule_effectiveness"]
    helpful, harmful, mean = found["helpful_marks"], found["harmful_marks"], found["mean_effectiveness"]
    marks = max(1, helpful + harmful)
    bars = [
        {"label": "Helped", "count": helpful, "of": 0, "share": helpful / marks, "tone": "good", "note": ""},
        {"label": "Did harm", "count": harmful, "of": 0, "share": harmful / marks, "tone": "bad", "note": ""},
    ]
    if mean is None:
        return "No rule has been judged yet. Agents report which rules helped and which did harm.", bars
    applied = found["rules_applied"]
    return f"{mean:.0%} effective on average, over {applied:,} judged rule{'s' * (applied != 1)}.", bars


def confidence_chart(report: Report) -> Options:
    """Facts in use by how certain they are now; those below the line of fading in another colour."""
    found = report["fact_confidence"]
    steps = [f"{step / 10:.1f}-{(step + 1) / 10:.1f}" for step in range(10)]
    data = [
        {
            "value": found.get(name, 0),
            "itemStyle": {"color": charts.BRASS if step / 10 < FADING_BELOW else charts.GREEN},
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


def growth_chart(growth: Growth) -> Options:
    """What came and what went each day, and how much was in use."""
    days = _lived(growth)
    series: list[Options] = []
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
    unsigned = {"color": charts.QUIET, ":formatter": "(n) => Math.abs(n)"}
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
            # What went is drawn downwards, and is no less than nothing for that.
            charts.axis("value", **whole, gridIndex=1, axisLabel=unsigned),
        ],
        "tooltip": charts.tooltip(
            trigger="axis", axisPointer={"type": "shadow"}, **{":valueFormatter": "(n) => Math.abs(n)"}
        ),
        "series": series,
    }


def _lived(growth: Growth) -> Sequence[Day]:
    """The days from the first on which there was anything; a few weeks at least, so that a young store has a past."""
    lived = [number for number, day in enumerate(growth.days) if day.happened or any(day.in_use.values())]
    first = lived[0] if lived else len(growth.days)
    return growth.days[max(0, min(first - 1, len(growth.days) - FEWEST_DAYS)) :]


def attention_list(found: Attention, *, may_confirm: bool) -> list[Drawn]:
    """What to look at, the most pressing first."""
    return [*_stuck(found), *_late(found), *_fading(found, may_confirm=may_confirm), *_warnings(found)]


def _stuck(found: Attention) -> Iterable[Drawn]:
    letters, proposals = found.given_up, found.proposals
    if letters.count:
        title = f"{counted(letters.count, 'episode was', 'episodes were')} given up"
        yield _item("dead_letters", "mark_email_unread", "bad", title, _GIVEN_UP) | {
            "detail": "Nothing could be distilled; the oldest is of",
            "at": letters.oldest.isoformat() if letters.oldest else None,
            "go": "See why",
        }
    if proposals.count:
        title = f"{proposals.count:,} proposal{'s' * (proposals.count > 1)} wait{'s' * (proposals.count == 1)} for you"
        yield _item("proposals", "rate_review", "warn", title, _PROPOSALS) | {
            "detail": "What was distilled is stored once you approve it; the oldest is of",
            "at": proposals.oldest.isoformat() if proposals.oldest else None,
            "go": "Review",
        }


def _late(found: Attention) -> Iterable[Drawn]:
    by_job: dict[tuple[str, Standing], list[str]] = {}
    for late in found.jobs:
        by_job.setdefault((late.job, late.status), []).append(late.butler)
    for (job, status), butlers in by_job.items():
        whose = butlers[0] if len(butlers) == 1 else f"{len(butlers)} butlers"
        title = f"The job {job.replace('_', ' ')} {_LATE[status]} for {text_of(whose)}"
        yield _item(f"job-{job}-{status}", "schedule", "warn", title, "/system") | {
            "kind": "job",
            "detail": "memory-butler work runs each job in its time.",
            "go": "See the jobs",
        }


def _fading(found: Attention, *, may_confirm: bool) -> Iterable[Drawn]:
    for one in found.fading:
        fact = one.fact
        begun = fact.validity == "fading"
        yield _item(str(fact.id), "hourglass_bottom", "warn", about(fact), memory_path("fact", fact.ref)) | {
            "kind": "fading",
            "detail": f"Importance {fact.importance}; {'fading since' if begun else 'fades on'}",
            "at": one.fades_at.isoformat() if one.fades_at else None,
            "go": "Look",
            "action": "Confirm" if may_confirm else "",
        }
    if found.fading_total > len(found.fading):
        left = found.fading_total - len(found.fading)
        wanted = {"importance_min": str(IMPORTANT), "sort": "confidence", "order": "asc"}
        title = f"{left:,} more important fact{'s' * (left > 1)} about to fade"
        yield _item("more-fading", "more_horiz", "warn", title, address("/facts", wanted)) | {
            "detail": "The least certain first",
            "go": "See them",
        }


def _warnings(found: Attention) -> Iterable[Drawn]:
    for one in found.warnings:
        title = f"Do not: {short_of(one.rule.content, SHOWN_CHARACTERS)}"
        yield _item(str(one.rule.id), "dangerous", "bad", title, memory_path("rule", one.rule.ref)) | {
            "kind": "warning",
            "detail": "A rule that did harm too often is a warning since",
            "at": one.since.isoformat(),
            "go": "See why",
        }
    if found.warnings_total > len(found.warnings):
        left = found.warnings_total - len(found.warnings)
        yield _item(
            "more-warnings", "more_horiz", "bad", f"{left:,} more new warnings", "/rules?maturity=anti_pattern"
        ) | {"detail": "Rules that did harm too often", "go": "See them"}


def _item(key: str, icon: str, tone: str, title: str, href: str) -> Drawn:
    return {
        "key": key,
        "kind": key,
        "icon": icon,
        "tone": tone,
        "title": title,
        "href": href,
        "detail": "",
        "at": None,
        "go": "Look",
        "action": "",
    }


def about(fact: Fact) -> str:
    return short_of(f"{about_of(fact.subject_label, fact.predicate_label)}: {fact.content}", SHOWN_CHARACTERS)
