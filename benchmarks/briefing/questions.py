"""How well searches answer the questions of the labelled people, and how often they answer what was never mentioned."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from benchmarks.briefing.sets import LabelledSet
from memory_butler.models import MemoryType, Question
from memory_butler.operations.retrieval import search
from memory_butler.resources import Resources

LIMIT = 3


async def ask(resources: Resources, keys: Mapping[str, str], labelled: LabelledSet) -> tuple[dict[str, int], list[str]]:
    """Ask everything; returns the counts, and a line for each question that went wrong."""
    counts: Counter[str] = Counter()
    wrong = []
    for row in labelled.questions:
        question = Question(query=row["question"], types=tuple(MemoryType), limit=LIMIT)
        found = await search.search(resources, question, bump=False)
        got = [keys.get(one.hit.ref, "?") for one in found.results]
        counts.update(_counts(row, got))
        if got if row["answer"] is None else got[:1] != [row["answer"]]:
            relevance = [round(one.parts.relevance, 3) for one in found.results]
            wrong.append(f"{row['question']} (wanted {row['answer']}): {dict(zip(got, relevance, strict=True))}")
    names = ("asked", "hit@1", "hit@3", "nothing", "never mentioned", "answered")
    return {name: counts[name] for name in names}, wrong


def _counts(row: Mapping[str, Any], got: list[str]) -> dict[str, int]:
    if row["answer"] is None:
        return {"never mentioned": 1, "answered": int(bool(got))}
    return {
        "asked": 1,
        "hit@1": int(got[:1] == [row["answer"]]),
        "hit@3": int(row["answer"] in got),
        "nothing": int(not got),
    }
