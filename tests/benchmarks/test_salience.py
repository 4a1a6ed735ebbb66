"""The examples of the salience model, its fit, and the table of capture."""

import numpy as np
from benchmarks.consolidation.scoring import LIFE_HALVES, MESSY_HALVES, labelled
from benchmarks.salience.capture import measure, summary
from benchmarks.salience.fitting import cross_validated, fit, probability, samples

from memory_butler.policy.consolidation.salience import Features


def test_no_example_is_labelled_both_ways() -> None:
    found = samples()
    wanted = {one.text.casefold().rstrip(".!") for one in found if one.wanted}
    assert wanted.isdisjoint(one.text.casefold().rstrip(".!") for one in found if not one.wanted)
    assert len({one.language for one in found}) == 9


def test_no_example_is_a_sentence_of_the_held_out_episodes() -> None:
    held_out = "\n".join(
        one.content for half in ("held_out", MESSY_HALVES[1], LIFE_HALVES[1]) for one in labelled(half)
    ).casefold()
    copied = [one.text for one in samples() if len(one.text.split()) > 4 and one.text.casefold() in held_out]
    assert copied == []


def test_the_fit_separates_what_can_be_separated() -> None:
    source = np.random.default_rng(1)
    wanted = np.asarray(np.arange(80) % 2, np.float64)
    rows = np.hstack([np.ones((80, 1)), source.normal(size=(80, len(Features._fields) + 4)) + 3 * wanted[:, None]])
    assert ((probability(rows, fit(rows, wanted)) > 0.5) == wanted).all()
    assert ((cross_validated(rows, wanted) > 0.5) == wanted).mean() > 0.9


async def test_capture_measures_messy_notes_with_notes() -> None:
    groups = await measure(labelled("messy_development")[:12])
    assert groups["all"].episodes == 12 and "language en" in groups
    assert groups["all"].items > groups["all"].structured_items
    assert "misattributions" in summary(groups["all"])
