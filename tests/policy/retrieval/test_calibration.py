"""Cosines of other models on the scale of the default model."""

from collections.abc import Callable

import pytest

from memory_butler.models import Hit
from memory_butler.policy.retrieval.calibration import UNCALIBRATED, Calibration

E5 = Calibration(zero=0.75, scale=4.0, lead=3.0, enough=0.6)


def test_similarities_are_mapped_and_missing_ones_stay(make_hit: Callable[..., Hit]) -> None:
    hits = [make_hit(1, similarity=0.85, context_similarity=0.75), make_hit(2, similarity=None)]
    mapped = E5.hits(hits)
    assert mapped[0].similarity == pytest.approx(0.4)
    assert mapped[0].context_similarity == pytest.approx(0.0)
    assert mapped[1].similarity is None


def test_the_default_needs_none_and_judges_english_only() -> None:
    assert not UNCALIBRATED.is_needed
    assert UNCALIBRATED.by_meaning([0.9, 0.2]) == [0.0, 0.0]


def test_two_models_are_compared_on_one_scale() -> None:
    """A cosine of one, scaled and shifted, means as much as that cosine of the other."""
    other = Calibration(zero=0.4, scale=2.0)
    scale, shift = E5.relative_to(other)
    for cosine in (0.7, 0.85):
        assert other.scale * (scale * cosine + shift - other.zero) == pytest.approx(E5.scale * (cosine - E5.zero))
    assert other.relative_to(other) == (1, 0)


def test_a_lead_over_the_next_candidates_is_evidence() -> None:
    alone = E5.by_meaning([0.4, 0.1, 0.1, None])
    among = E5.by_meaning([0.4, 0.38, 0.38, None])
    assert alone[0] > 0.01 > among[0]
    assert alone[3] == 0.0
