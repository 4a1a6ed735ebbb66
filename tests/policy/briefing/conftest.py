"""Candidates of a briefing."""

from collections.abc import Callable
from typing import Any

import pytest

from memory_butler.models import MemoryType, Ranked

MakeRanked = Callable[..., Ranked]
STRANGER: dict[str, Any] = {"similarity": 0.05, "content": "something else entirely"}


@pytest.fixture(scope="session")
def entry(make_ranked: MakeRanked) -> Callable[..., Ranked]:
    """A candidate that a search would not return."""

    def make(number: int = 1, kind: MemoryType = MemoryType.FACT, *, relevance: float = 0.001, **given: Any) -> Ranked:
        made = make_ranked(number, kind, **{**STRANGER, **given})
        return made._replace(parts=made.parts._replace(relevance=relevance))

    return make
