"""Figures of briefings: what they should have told, and what they told for nothing."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.briefing.sets import LabelledSet

TIGHT = 300


@dataclass(frozen=True, slots=True)
class Told:
    """The keys of the memories that a briefing tells for a task within a budget."""

    task: Mapping[str, Any]
    budget: int
    keys: Sequence[str]


def figures(labelled: LabelledSet, told: Iterable[Told]) -> dict[str, float]:
    """Must-recall, vital at 300 tokens, standing recall, first must, noise share and the rest."""
    counts: Counter[str] = Counter()
    for one in told:
        counts.update(_counts(labelled, one))

    def share(part: str, whole: str) -> float:
        return round(counts[part] / max(1, counts[whole]), 3)

    return {
        "must": share("hit", "asked"),
        "vital_at_300": share("vital_hit", "vital"),
        "standing": share("standing_hit", "standing"),
        "first_must": share("first_hit", "first"),
        "noise": share("noise", "lines"),
        "empty_when_nothing": share("silent", "nothing"),
        "lines": share("lines", "briefings"),
        "outdated": counts["outdated"],
        "repeated": counts["repeated"],
    }


def _counts(labelled: LabelledSet, told: Told) -> Counter[str]:
    task, groups = told.task, labelled.groups
    outdated = {memory["key"] for memory in labelled.memories if memory.get("outdated")}
    seen = [groups[key] for key in told.keys]
    musts = [groups[must["key"]] for must in task["must"]]
    fine = {*musts, *(groups[key] for key in task.get("may", ()))}
    noise = sum(key not in fine for key in seen)
    counts = Counter(
        briefings=1,
        lines=len(seen),
        noise=noise,
        outdated=sum(key in outdated for key in told.keys),
        repeated=len(seen) - len(set(seen)),
    )
    if task.get("nothing"):
        return counts + Counter(nothing=1, silent=int(not noise))
    is_tight = told.budget <= TIGHT
    asked = [groups[key] for key in task["must_at_300"]] if is_tight and task.get("must_at_300") else musts
    hits = sum(key in seen for key in asked)
    counts.update(asked=len(asked), hit=hits)
    if is_tight:
        counts.update(vital=len(asked), vital_hit=hits)
        return counts
    standing = [groups[must["key"]] for must in task["must"] if must.get("standing")]
    counts.update(first=1, first_hit=int(musts[0] in seen))
    counts.update(standing=len(standing), standing_hit=sum(key in seen for key in standing))
    return counts
