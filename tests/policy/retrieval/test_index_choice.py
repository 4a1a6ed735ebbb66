"""Which index so many rows deserve."""

from dataclasses import replace

import pytest

from memory_butler.models.vector_index import Shape
from memory_butler.policy.retrieval.index_choice import PostureRules, wanted_shape

RULES = PostureRules(posture="auto", exact_below=1_000, hnsw_from=10_000, lists=None, m=16, ef_construction=64)
HNSW = Shape("hnsw", (("ef_construction", 64), ("m", 16)))


def test_few_rows_are_searched_exactly_then_ivfflat_then_hnsw() -> None:
    """The thresholds are the first row at which the next kind is taken."""
    assert wanted_shape(999, RULES) is None
    assert wanted_shape(1_000, RULES) == Shape("ivfflat", (("lists", 32),))
    assert wanted_shape(9_999, RULES) == Shape("ivfflat", (("lists", 100),))
    assert wanted_shape(10_000, RULES) == HNSW


@pytest.mark.parametrize("posture", ["ivfflat", "hnsw"])
def test_a_named_kind_is_taken_however_many_rows_there_are(posture: str) -> None:
    """From the threshold on: what is below it is searched exactly all the same."""
    rules = replace(RULES, posture=posture)
    assert wanted_shape(999, rules) is None
    for rows in (1_000, 1_000_000):
        shape = wanted_shape(rows, rules)
        assert shape
        assert shape.kind == posture


def test_exact_is_exact() -> None:
    """No number of rows brings an index where none is wanted, and one that is there is wanted no longer."""
    assert wanted_shape(10**9, replace(RULES, posture="exact"), HNSW) is None


def test_an_index_stays_until_the_rows_have_halved() -> None:
    """A store that grows and shrinks around a threshold is not rebuilt each time."""
    ivfflat = Shape("ivfflat", (("lists", 32),))
    assert wanted_shape(500, RULES, ivfflat) == ivfflat
    assert wanted_shape(499, RULES, ivfflat) is None
    assert wanted_shape(5_000, RULES, HNSW) == HNSW
    assert wanted_shape(4_999, RULES, HNSW) == Shape("ivfflat", (("lists", 71),))


def test_lists_are_changed_only_if_they_are_far_off() -> None:
    """Twice or half as many as would fit best is good enough; a number that was set is kept to."""
    assert wanted_shape(3_600, RULES, Shape("ivfflat", (("lists", 32),))) == Shape("ivfflat", (("lists", 32),))
    assert wanted_shape(4_900, RULES, Shape("ivfflat", (("lists", 32),))) == Shape("ivfflat", (("lists", 70),))
    fixed = replace(RULES, lists=7)
    assert wanted_shape(3_600, fixed, Shape("ivfflat", (("lists", 32),))) == Shape("ivfflat", (("lists", 7),))
