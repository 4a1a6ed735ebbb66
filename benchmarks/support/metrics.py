"""The measures of retrieval, for one question and for many. Pure."""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

CUTS = (5, 10, 20)
DEPTH = 10
Found = Sequence[Set[str]]


@dataclass(frozen=True, slots=True)
class Judged:
    """A question's evidence, and for each result in order the evidence it carries (none: an empty set)."""

    category: str
    evidence: Set[str]
    found: Found
    relevant_results: int
    """How many results exist, returned or not, that carry evidence: what an ideal ranking would begin with."""


def scores(judged: Judged) -> dict[str, float]:
    """All measures of one question."""
    result = {}
    for cut in CUTS:
        result[f"recall@{cut}"] = len(_seen(judged.found, cut)) / len(judged.evidence)
    result["strict@10"] = float(len(_seen(judged.found, DEPTH)) == len(judged.evidence))
    result["hit@10"] = float(bool(_seen(judged.found, DEPTH)))
    result["ndcg@10"] = _ndcg(judged)
    return result


def mean(judged: Sequence[Judged]) -> dict[str, float]:
    """Every measure averaged over questions, and how many there were."""
    rows = [scores(one) for one in judged]
    averages = {name: round(sum(row[name] for row in rows) / len(rows), 4) for name in (rows[0] if rows else ())}
    return {**averages, "questions": len(rows)}


def by_category(judged: Sequence[Judged]) -> Mapping[str, dict[str, float]]:
    names = sorted({one.category for one in judged})
    return {name: mean([one for one in judged if one.category == name]) for name in names}


def _seen(found: Found, cut: int) -> set[str]:
    return set().union(*found[:cut])


def _ndcg(judged: Judged) -> float:
    gain = sum(1 / math.log2(place + 1) for place, carried in enumerate(judged.found[:DEPTH], start=1) if carried)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(judged.relevant_results, DEPTH) + 1))
    return gain / ideal if ideal else 0.0
