"""Questions asked where nobody can know the answer: what comes back is noise, and nothing should."""

from collections.abc import Sequence
from itertools import product
from typing import Any

from benchmarks.ranking.candidates import Collected, Collection, Tick, collect, headline, renamed
from benchmarks.support import metrics
from benchmarks.support.conversations import APART, LOCOMO, LONGMEMEVAL, Asked, Conversation, Sets
from memory_butler.models import MemoryType
from memory_butler.resources import Resources

AS_ASKED = "as asked"
"""Each conversation's questions, asked of the two that come after it."""
NAMES_EXCHANGED = "names exchanged"
"""The same with the asked conversation's two speakers in the place of the asking one's."""
OTHER_SET = "of the other set"
"""Questions of a user about himself, asked of a conversation between two others."""
FURTHER = (1, 2)
LIMITS = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2)
RETURNED = 10


async def ask_wrongly(resources: Resources, sets: Sets, tick: Tick) -> dict[str, list[Collected]]:
    """The candidates of every headline question in conversations that it is not about."""
    wrong: dict[str, list[Collected]] = {}
    conversations = sets.get(LOCOMO, [])
    for asking, asked in _pairs(conversations):
        questions = _headline(asking.questions)
        names = dict(zip(asking.speakers, asked.speakers, strict=False))
        variants = {AS_ASKED: questions, NAMES_EXCHANGED: [renamed(one, names) for one in questions]}
        for name, these in variants.items():
            wrong.setdefault(name, []).extend(await collect(resources, asked, these, MemoryType.EPISODE, tick))
    for asking, asked in product(sets.get(LONGMEMEVAL, []), conversations[:1]):
        wrong[OTHER_SET] = await collect(resources, asked, _headline(asking.questions), MemoryType.EPISODE, tick)
    return wrong


def how_many(sets: Sets) -> int:
    """How many questions that makes."""
    conversations = sets.get(LOCOMO, [])
    others = sum(len(_headline(one.questions)) for one in sets.get(LONGMEMEVAL, [])) if conversations else 0
    return 2 * sum(len(_headline(asking.questions)) for asking, _ in _pairs(conversations)) + others


def trade_off(right: Collection, wrong: Collection, default: float) -> dict[str, Any]:
    """What every limit keeps away, and what it costs where there is something to find."""
    return {
        "default": default,
        "questions": {name: len(collected) for name, collected in wrong.items()},
        "curve": [_at(limit, right, wrong) for limit in sorted({*LIMITS, default})],
    }


def _at(limit: float, right: Collection, wrong: Collection) -> dict[str, Any]:
    kept = {name: [one.at_least(limit) for one in headline(collected)] for name, collected in right.items()}
    return {
        "min_relevance": limit,
        "nothing_returned": {name: _share_empty(collected, limit) for name, collected in wrong.items()},
        "nothing_returned_right": {name: _mean([not order for order in orders]) for name, orders in kept.items()},
        "results": {name: _mean([len(order[:RETURNED]) for order in orders]) for name, orders in kept.items()},
        "recall@10": {
            name: metrics.mean([one.judged(order) for one, order in zip(headline(right[name]), orders, strict=True)])[
                "recall@10"
            ]
            for name, orders in kept.items()
        },
    }


def _share_empty(collected: Sequence[Collected], limit: float) -> float:
    return _mean([not (one.relevance >= limit).any() for one in collected])


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0


def _pairs(conversations: Sequence[Conversation]) -> list[tuple[Conversation, Conversation]]:
    """Each conversation with the ones that come after it, around the circle; never with itself."""
    count = len(conversations)
    return [
        (conversations[at], conversations[(at + further) % count])
        for further in FURTHER
        if further < count
        for at in range(count)
    ]


def _headline(questions: Sequence[Asked]) -> list[Asked]:
    return [one for one in questions if one.category != APART]
