"""What each part of the ranking earns, and what is left of it on conversations it was not fitted to."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.ranking.candidates import Collected, Collection, Tick, headline, names_as_words, names_in_meaning
from benchmarks.ranking.fitting import BY_HAND, SHIPPED, examples, fit_weights, folded
from benchmarks.support import metrics
from benchmarks.support.conversations import Conversation, Sets, bounded
from benchmarks.support.metrics import Judged
from memory_butler.policy.retrieval import relevance
from memory_butler.policy.retrieval.ranking import RankingRules
from memory_butler.resources import Resources

GROUPS = {
    "meaning": ("similarity",),
    "words": ("bm25", "term_coverage"),
    "names": ("name_match", "exact_match"),
    "context": ("reply_match", "turn_match", "group_match", "session_start", "source_match"),
    "time": ("time_match",),
    "intent": ("answer_type",),
}
MEASURES = ("recall@5", "recall@10", "strict@10", "ndcg@10")
Order = Callable[[Collected], Sequence[int]]
Averages = dict[str, dict[str, float]]


async def ask_otherwise(resources: Resources, sets: Sets, collection: Collection, tick: Tick) -> dict[str, Collection]:
    """The candidates under another stage one, where names are not what they are by default."""
    conversations = {one.tenant: one for each in sets.values() for one in each}
    variants = {"names left in the meaning": names_in_meaning, "names as words only": names_as_words}

    async def again(how: Callable[[Resources, Conversation, Collected], Any], one: Collected) -> Collected:
        found = await how(resources, conversations[one.tenant], one)
        tick()
        return found

    return {
        label: {
            name: await bounded(again(how, one) for one in headline(collected))
            for name, collected in collection.items()
        }
        for label, how in variants.items()
    }


def average(collection: Collection, order: Order) -> Averages:
    """The measures of each set's headline questions under an order."""
    found = {}
    for name, collected in collection.items():
        measured = metrics.mean([one.judged(order(one)) for one in headline(collected)])
        found[name] = {measure: measured[measure] for measure in MEASURES}
    return found


def held_out_weights(collection: Collection, left_out: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """For every fold the weights fitted to all others."""
    folds = sorted({one.fold for collected in collection.values() for one in collected})
    start = fit_weights(examples(collection), left_out=left_out)
    return {fold: fit_weights(examples(collection, without=fold), left_out=left_out, start=start) for fold in folds}


def by_held_out(collection: Collection, left_out: Sequence[str] = ()) -> Averages:
    weights = held_out_weights(collection, left_out)
    return average(collection, lambda one: one.by_votes(weights[one.fold]))


def held_out(collection: Collection) -> dict[str, Any]:
    """How much of the quality comes from having been fitted to these very questions."""
    collection = folded(collection)
    refitted, per_fold = fit_weights(examples(collection)), held_out_weights(collection)
    rows: dict[str, Averages] = {
        "shipped weights": average(collection, lambda one: one.by_votes(SHIPPED)),
        "fitted to all of it": average(collection, lambda one: one.by_votes(refitted)),
        "fitted to the rest": average(collection, lambda one: one.by_votes(per_fold[one.fold])),
    }
    if len(collection) > 1:
        rows["fitted to the other set"] = {
            name: average({name: collection[name]}, partial(Collected.by_votes, weights=weights))[name]
            for name, weights in _fitted_to_others(collection).items()
        }
    tenants = sorted({one.tenant for collected in collection.values() for one in collected})
    by_tenant = {tenant: _of(collection, tenant) for tenant in tenants}
    return {"rows": rows, "conversations": average(by_tenant, lambda one: one.by_votes(per_fold[one.fold]))}


def ablation(
    collection: Collection, otherwise: Mapping[str, Collection], modes: Mapping[str, Averages], rules: RankingRules
) -> dict[str, Any]:
    """The measures without each part in turn; weights are fitted anew each time, and never to what they rank."""
    collection = folded(collection)
    rows: dict[str, Averages] = {
        "shipped default": average(collection, lambda one: one.returned),
        "nothing collapsed": average(collection, lambda one: one.ranked),
        "all signals, refitted": by_held_out(collection),
    }
    signals = {name: by_held_out(collection, (name,)) for name in relevance.Signals._fields if name not in BY_HAND}
    for group, names in GROUPS.items():
        label = f"without {group}: {', '.join(f'`{name}`' for name in names)}"
        rows[label] = by_held_out(collection, names) if len(names) > 1 else signals[names[0]]
    for label, other in otherwise.items():
        left_out = GROUPS["names"] if "words" in label else ()
        rows[label] = by_held_out(folded(other), left_out)
    votes = (rules.semantic_weight, rules.keyword_weight)
    rows["fused order, no second look"] = average(collection, lambda one: one.by_fusion(*votes))
    rows |= {f"{mode} list only": averages for mode, averages in modes.items()}
    return {"rows": rows, "signals": signals, "weights": relevance.WEIGHTS._asdict()}


def diversity(collected: Sequence[Collected]) -> dict[str, Any]:
    """What is lost because near-duplicates collapse: nothing should be."""
    asked = headline(collected)
    return {
        "questions": len(asked),
        "changed": sum(one.returned[: metrics.DEPTH] != one.ranked[: metrics.DEPTH] for one in asked),
        "with": metrics.mean([one.judged(one.returned) for one in asked]),
        "without": metrics.mean([one.judged(one.ranked) for one in asked]),
    }


def worth_of_sources(collected: Sequence[Collected]) -> dict[str, dict[str, float]]:
    """Facts under other weights for the episode that each came from."""
    at, asked = relevance.Signals._fields.index("source_match"), headline(collected)

    def ranked(one: Collected, weight: float) -> Judged:
        weights = SHIPPED.copy()
        weights[at] = weight
        return one.judged(one.by_votes(weights))

    return {f"{weight:g}": metrics.mean([ranked(one, weight) for one in asked]) for weight in (0, 1, 2, 3, 4, 5, 6, 8)}


def vote_sweep(collected: Sequence[Collected], votes: Sequence[tuple[float, float]]) -> dict[str, dict[str, float]]:
    """The fused order under other votes of the two lists."""
    return {
        f"{semantic:g}:{keyword:g}": metrics.mean(
            [one.judged(one.by_fusion(semantic, keyword)) for one in headline(collected)]
        )
        for semantic, keyword in votes
    }


def _of(collection: Collection, tenant: str) -> list[Collected]:
    return [one for collected in collection.values() for one in collected if one.tenant == tenant]


def _fitted_to_others(collection: Collection) -> dict[str, np.ndarray]:
    return {
        name: fit_weights(examples({other: each for other, each in collection.items() if other != name}))
        for name in collection
    }
