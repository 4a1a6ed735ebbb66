"""Origins: ranks, the lowest of a lineage, and the words of a mark."""

from itertools import pairwise

import pytest

from memory_butler.models import Origin
from memory_butler.policy.trust import origin


def test_the_user_and_agents_rank_alike_and_outside_sources_last() -> None:
    """user = agent > import > tool > external."""
    assert origin.rank("user") == origin.rank("agent")
    ordered = [Origin.AGENT, Origin.IMPORT, Origin.TOOL, Origin.EXTERNAL]
    assert all(origin.outranks(one, other) for one, other in pairwise(ordered))
    assert not origin.outranks("user", "agent") and not origin.outranks("agent", "user")


@pytest.mark.parametrize(
    ("origins", "expected"),
    [
        ([], "agent"),
        (["user", "agent"], "user"),
        (["user", "tool", "import"], "tool"),
        (["external", "user"], "external"),
    ],
)
def test_what_is_derived_has_the_lowest_origin(origins: list[str], expected: str) -> None:
    """The first of equal ones; without sources an agent's."""
    assert origin.lowest(origins) == expected


def test_only_what_is_below_agent_is_marked() -> None:
    """Every mark says that the memory is unverified."""
    assert origin.mark("user") is None and origin.mark("agent") is None
    for name in ("import", "tool", "external"):
        assert (origin.mark(name) or "").startswith("unverified") and not origin.is_trusted(name)
