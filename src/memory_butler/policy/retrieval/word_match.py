"""Relevance of memories that the judge cannot assess: the question or the memory is not in English.

The default embedding model knows English, so a similarity between other texts says little, and the judge's weights
were fitted to English questions. Such pairs are compared by their words alone: a rare word, a name or a number that
both have is evidence, and so is a form of the same word. Without any, nothing is relevant, unless a multilingual model
is used.
"""

import math
from collections.abc import Sequence

from memory_butler.languages.detection import Language, language_of, likely_languages
from memory_butler.languages.terms import ComparedText, Term, compared_text, strength, terms_of
from memory_butler.models import Hit
from memory_butler.policy.memories.text import subject_and_predicate
from memory_butler.policy.retrieval.calibration import UNCALIBRATED, Calibration
from memory_butler.policy.retrieval.question import ParsedQuestion

# Evidence: one point for a word that only one memory has, and the share of the question's words, weighted.
OF_COVERAGE = 1.5
OF_NAME = 0.3
# Relevance is a logistic function of the evidence: 0.01 at this much, 0.07 with one point more and 0.36 with two. So it
# is on the scale of the judge's, and the results of both stand in one list.
ENOUGH = 1.2
SLOPE = 2.0
OFFSET = math.log(0.01 / 0.99)
# A word counts as known to a memory from this strength on.
KNOWN = 0.5
# A common word that no candidate has is a function word, and nothing is missing.
UNKNOWN_COMMON = 0.2


def word_relevances(
    hits: Sequence[Hit], parsed: ParsedQuestion, calibration: Calibration = UNCALIBRATED
) -> list[float | None]:
    """The relevance of each candidate by words, or None where the judge decides. A multilingual model adds the
    relevance by meaning."""
    by_words = _by_words(hits, parsed)
    if not calibration.is_multilingual:
        return by_words
    by_meaning = calibration.by_meaning([hit.similarity for hit in hits])
    return [
        max(words or 0.0, meaning) if words is not None or _is_compared(hit, parsed) else None
        for hit, words, meaning in zip(hits, by_words, by_meaning, strict=True)
    ]


def _by_words(hits: Sequence[Hit], parsed: ParsedQuestion) -> list[float | None]:
    compared = [at for at, hit in enumerate(hits) if _has_words(hit) and _is_compared(hit, parsed)]
    # A candidate for a question in another language that has none of its words is not relevant.
    found: list[float | None] = [0.0 if parsed.language is Language.OTHER else None] * len(hits)
    if not compared:
        return found
    terms, languages = terms_of(parsed.text), likely_languages(parsed.text)
    strengths = [[strength(term, text, languages) for term in terms] for text in (_text(hits[at]) for at in compared)]
    weights = _weights(terms, strengths, parsed.memory_count)
    for at, own in zip(compared, strengths, strict=True):
        found[at] = _relevance(weights, own, is_named=hits[at].is_named)
    return found


def _has_words(hit: Hit) -> bool:
    return hit.keyword_score is not None or hit.word_score > 0 or hit.is_named


def _is_compared(hit: Hit, parsed: ParsedQuestion) -> bool:
    return parsed.language is Language.OTHER or language_of(hit.content) is Language.OTHER


def _text(hit: Hit) -> ComparedText:
    about = subject_and_predicate(hit.subject_label, hit.predicate_label)
    return compared_text(hit.content, " ".join([about, *hit.tags]))


def _weights(terms: Sequence[Term], strengths: Sequence[Sequence[float]], memories: int) -> list[float]:
    """The weight of each term by rarity, as in BM25, in units of a word that only one memory has. The memories that
    have a term are counted among the candidates."""
    unit = math.log(1 + (max(memories, 1) - 0.5) / 1.5)
    found = []
    for at, term in enumerate(terms):
        known = sum(own[at] >= KNOWN for own in strengths)
        count = max(1, known)
        rarity = math.log(1 + (max(memories, count) - count + 0.5) / (count + 0.5)) / unit
        found.append(term.weight * rarity * (UNKNOWN_COMMON if term.is_common and not known else 1.0))
    return found


def _relevance(weights: Sequence[float], strengths: Sequence[float], *, is_named: bool) -> float:
    total = sum(weights)
    score = sum(weight * own for weight, own in zip(weights, strengths, strict=True))
    if not score or not total:
        return 0.0
    evidence = score + OF_COVERAGE * score / total + OF_NAME * is_named
    return 1 / (1 + math.exp(-(SLOPE * (evidence - ENOUGH) + OFFSET)))
