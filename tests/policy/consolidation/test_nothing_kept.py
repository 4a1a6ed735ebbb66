"""Episodes of which a run kept nothing."""

from datetime import UTC, datetime

import pytest
from benchmarks.support.one_episode import batch_of

from memory_butler.models import ItemKind, ItemResult
from memory_butler.policy.consolidation.nothing_kept import SHOWN_CHARACTERS, nothing_kept

(EPISODE,) = batch_of("small talk\n" + "word " * 100, datetime(2026, 5, 1, tzinfo=UTC)).episodes


def line(outcome: str) -> ItemResult:
    return ItemResult(place=1, kind=ItemKind.FACT, outcome=outcome, shown={"evidence": [str(EPISODE.id)]})


@pytest.mark.parametrize("outcome", ["created", "superseded", "confirmed", "proposed", "approved"])
def test_an_episode_that_a_kept_item_cites_is_not_told(outcome: str) -> None:
    assert nothing_kept([EPISODE], [line("refused"), line(outcome)]) == ()


def test_an_episode_without_kept_items_is_told_with_its_words() -> None:
    (told,) = nothing_kept([EPISODE], [line("refused")])
    assert told.ref == EPISODE.ref
    assert told.words.startswith("small talk word word") and len(told.words) <= SHOWN_CHARACTERS
