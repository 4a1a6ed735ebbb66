"""What a caller may see and write."""

from itertools import product

import pytest

from memory_butler.errors import PermissionDenied
from memory_butler.models import Principal, Reach, Role
from memory_butler.policy.access.visibility import acting_butler, check_writable, may_see, readable

AGENT = Principal("t", "health", Role.AGENT)
ADMIN = Principal("t", "main", Role.ADMIN)
DENIED = PermissionDenied

READS = [
    (AGENT, None, None, Reach(("global", "health"), ("health",))),
    (AGENT, None, "health", Reach(("global", "health"), ("health",))),
    (AGENT, "health", None, Reach(("health",), ("health",))),
    (AGENT, "global", None, Reach(("global",), ())),
    (AGENT, "finance", None, DENIED),
    (AGENT, None, "finance", DENIED),
    (AGENT, "global", "finance", DENIED),
    (AGENT, "*", None, DENIED),
    (AGENT, "*", "health", DENIED),
    (ADMIN, None, None, Reach(("global", "main"), None)),
    (ADMIN, None, "health", Reach(("global", "health"), ("health",))),
    (ADMIN, None, "main", Reach(("global", "main"), ("main",))),
    (ADMIN, "finance", None, Reach(("finance",), ("finance",))),
    (ADMIN, "global", None, Reach(("global",), ())),
    (ADMIN, "*", None, Reach(None, None)),
    (ADMIN, "*", "health", Reach(None, ("health",))),
]


@pytest.mark.parametrize(("principal", "scope", "butler", "expected"), READS)
def test_what_a_read_reaches(
    principal: Principal, scope: str | None, butler: str | None, expected: Reach | type[Exception]
) -> None:
    """Role, scope and butler decide; every scope only for an administrator who asks for it."""
    if isinstance(expected, Reach):
        assert readable(principal, scope, butler) == expected
    else:
        with pytest.raises(expected):
            readable(principal, scope, butler)


def test_a_butler_called_global_does_not_share_its_episodes() -> None:
    """Asking for the scope 'global' reaches nobody's episodes, whatever a butler is called."""
    assert readable(AGENT, "global", None).butlers == ()


@pytest.mark.parametrize("scope", [None, "global", "health", "finance", "*"])
def test_an_agent_reads_no_other_butlers_episodes(scope: str | None) -> None:
    """Whatever an agent asks for, it gets its own butler's episodes or none."""
    try:
        reached = readable(AGENT, scope, None)
    except PermissionDenied:
        return
    assert reached.butlers in ((), ("health",))
    assert reached.scopes is not None
    assert set(reached.scopes) <= {"global", "health"}


@pytest.mark.parametrize(
    ("principal", "scope", "allowed"),
    [
        (AGENT, "global", True),
        (AGENT, "health", True),
        (AGENT, "finance", False),
        (ADMIN, "global", True),
        (ADMIN, "finance", True),
    ],
)
def test_what_may_be_written(principal: Principal, scope: str, allowed: bool) -> None:
    """An agent writes global and its own scope, an administrator any."""
    if allowed:
        check_writable(principal, scope)
    else:
        with pytest.raises(PermissionDenied, match="finance"):
            check_writable(principal, scope)


def test_who_acts_for_whom() -> None:
    """An agent is itself only; an administrator may act for another butler."""
    assert acting_butler(AGENT, None) == acting_butler(AGENT, "health") == "health"
    assert acting_butler(ADMIN, "health") == "health"
    with pytest.raises(PermissionDenied, match="cannot act as 'finance'"):
        acting_butler(AGENT, "finance")


@pytest.mark.parametrize(("role", "owner", "is_episode"), product(Role, ["global", "health", "finance"], [True, False]))
def test_who_sees_a_memory_by_name(role: Role, owner: str, is_episode: bool) -> None:
    """Who governs sees all; others their own, and what is global unless it is an episode."""
    expected = role.governs or owner == "health" or (owner == "global" and not is_episode)
    assert may_see(Principal("t", "health", role), owner, is_episode=is_episode) is expected
