"""Relevance of facts in a small store.

The judge was fitted to long conversations. There, many memories share a word or two with a question, so a match by
meaning alone proves little. A few dozen facts are different: a person asks in other words than those that were stored,
and the one fact that is nearest in meaning, with a lead over the next ones, is mostly the answer. A single common word
or a name in common, on the other hand, proves less than the judge believes.

The numbers were fitted to three stores of 26 to 28 invented facts and checked on three others
(`python -m benchmarks.small_stores`).
"""

import math
from collections.abc import Sequence

from memory_butler.models import Hit, MemoryType
from memory_butler.policy.retrieval.answer_form import form_of
from memory_butler.policy.retrieval.question import ParsedQuestion
from memory_butler.policy.retrieval.relevance import PER_MEMORY, SMALL_STORE, Signals

# Evidence by meaning: log odds of a candidate.
OF_SIMILARITY = 6.7
OF_LEAD = 4.15
OF_COVERAGE = 0.25
OF_NAME = 1.0
# The lead of a candidate is measured against the mean of the next ones, as if there were at least so many.
RIVALS = 5
USUAL_RIVAL = 0.2
# Relevance is 0.01 at this much evidence in a store of USUAL facts; it takes more in a larger store, where some fact is
# always near.
ENOUGH = 2.5
USUAL = 26
PER_LARGER = 0.45
OFFSET = math.log(0.01 / 0.99)
# Share of the judge's bonus for a small store that is left to facts.
BONUS = 0.45
# Log odds against what has not the form of an answer: no number for "how old".
WITHOUT_FORM = 3.5
TINY = 1e-12


def is_small(parsed: ParsedQuestion) -> bool:
    """True if the store is small; not for a question about somebody unknown, to which nothing near is the answer."""
    return parsed.memory_count < SMALL_STORE and not parsed.has_only_unknown_names


def with_facts_by_meaning(
    likelihoods: Sequence[float],
    hits: Sequence[Hit],
    signals: Sequence[Signals],
    parsed: ParsedQuestion,
    more: float = 0.0,
) -> list[float]:
    """The relevance of each candidate: of a fact by the judge with a smaller bonus, or by meaning if that is more; less
    for what has not the form of an answer. An embedding model may take `more` evidence."""
    found = _by_meaning(likelihoods, hits, signals, parsed, more)
    has_form = form_of(parsed)
    if has_form is None:
        return found
    return [
        likely if has_form(hit.content) else _probability(_log_odds(likely) - WITHOUT_FORM)
        for likely, hit in zip(found, hits, strict=True)
    ]


def _by_meaning(
    likelihoods: Sequence[float], hits: Sequence[Hit], signals: Sequence[Signals], parsed: ParsedQuestion, more: float
) -> list[float]:
    size = max(parsed.memory_count, 1)
    next_ones = _next_ones(hits)
    enough = ENOUGH + more + PER_LARGER * math.log(max(size, USUAL) / USUAL)
    less = (1 - BONUS) * PER_MEMORY * math.log(SMALL_STORE / size)
    found = []
    for likely, hit, own in zip(likelihoods, hits, signals, strict=True):
        if hit.type is not MemoryType.FACT:
            found.append(likely)
            continue
        by_judge = _probability(_log_odds(likely) - less)
        if hit.similarity is None:
            found.append(by_judge)
            continue
        evidence = (
            OF_SIMILARITY * hit.similarity
            + OF_LEAD * max(0.0, hit.similarity - next_ones)
            + OF_COVERAGE * own.term_coverage
            + OF_NAME * own.name_match
        )
        found.append(max(by_judge, _probability(evidence - enough + OFFSET)))
    return found


def _next_ones(hits: Sequence[Hit]) -> float:
    """The mean similarity of the facts behind the nearest."""
    falling = sorted((hit.similarity or 0.0 for hit in hits if hit.type is MemoryType.FACT), reverse=True)
    rivals = [*falling[1 : 1 + RIVALS], *[USUAL_RIVAL] * RIVALS][:RIVALS]
    return sum(rivals) / RIVALS


def _log_odds(probability: float) -> float:
    probability = min(max(probability, TINY), 1 - TINY)
    return math.log(probability / (1 - probability))


def _probability(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))
