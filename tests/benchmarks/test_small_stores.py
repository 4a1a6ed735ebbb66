"""The labelled small stores: every answer is a fact of its store, and half of the stores is held out."""

from pathlib import Path

import pytest
from benchmarks.small_stores.__main__ import FITTED, LITERAL, NEVER, PARAPHRASE, STORES, read

PATHS = sorted(STORES.glob("*.txt"))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_each_store_has_facts_and_three_classes_of_questions(path: Path) -> None:
    store = read(path)
    assert 20 <= len(store.facts) <= 60
    assert {kind for _, kind, _ in store.questions} == {PARAPHRASE, LITERAL, NEVER}
    assert all((answer in store.facts) == (kind != NEVER) for _, kind, answer in store.questions)


def test_half_of_the_stores_is_held_out() -> None:
    assert {*FITTED} < {path.stem for path in PATHS}
    assert len(PATHS) == 2 * len(FITTED)
