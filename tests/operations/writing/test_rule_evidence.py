"""One caller's feedback: in a service it cannot make or break a rule; in the local store every mark counts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.conftest import MovingClock

from memory_butler.models import Caller, Maturity, NewRule, Outcome, Rule
from memory_butler.operations.history import replay, undo
from memory_butler.operations.retrieval import get
from memory_butler.operations.writing import feedback, remember
from memory_butler.resources import Resources

HELPED, HARMED = Outcome.HELPFUL, Outcome.HARMFUL
Agent = Callable[..., Caller]
Rows = Callable[[str], list[dict[str, Any]]]


@pytest.fixture
def service(resources: Resources) -> Resources:
    """The same store, as a service."""
    settings = resources.settings
    return replace(
        resources,
        settings=settings.model_copy(update={"service": settings.service.model_copy(update={"auth": "required"})}),
    )


def named(caller: Caller, name: str) -> Caller:
    return replace(caller, principal=replace(caller.principal, name=name))


async def marked(resources: Resources, ref: str, outcome: Outcome, *callers: Caller) -> Rule:
    for caller in callers:
        await feedback.mark(resources, ref, outcome, caller)
    found = await get.get(resources, "rule", ref)
    assert isinstance(found.memory, Rule)
    return found.memory


@pytest.fixture
async def ref(resources: Resources) -> str:
    return (await remember.rule(resources, NewRule(content="Ask before deleting"))).ref


async def test_one_caller_cannot_make_a_rule(service: Resources, ref: str, agent: Agent, rows: Rows) -> None:
    """Not with 30 marks of one session, nor with as many sessions that it makes up; every mark is stored."""
    one = named(agent("main", session_id="s1"), "mallory")
    made_up = [named(agent("main", session_id=f"s{number}"), "mallory") for number in range(30)]
    rule = await marked(service, ref, HELPED, *[one] * 30, *made_up)
    assert (rule.maturity, rule.success_count) == (Maturity.CANDIDATE, 60)
    assert len(rows("rule_applications")) == 60
    assert (await replay.replay(service)).equal


async def test_one_caller_cannot_break_a_rule(service: Resources, ref: str, agent: Agent) -> None:
    made_up = [named(agent("main", session_id=f"s{number}"), "mallory") for number in range(6)]
    assert (await marked(service, ref, HARMED, *made_up)).maturity is Maturity.CANDIDATE
    others = [named(agent("main", session_id="a"), "ana"), named(agent("main", session_id="b"), "bo")]
    assert (await marked(service, ref, HARMED, *others)).maturity is Maturity.ANTI_PATTERN


async def test_days_do_not_help_one_caller_to_break_a_rule(
    service: Resources, ref: str, agent: Agent, clock: MovingClock
) -> None:
    """Two callers are needed, by default; another number is a setting."""
    for day in range(10):
        clock.move(days=1)
        marks = [named(agent("main", session_id=f"s{day}-{number}"), "mallory") for number in range(3)]
        assert (await marked(service, ref, HARMED, *marks)).maturity is Maturity.CANDIDATE
    feedback = service.settings.service.feedback.model_copy(update={"callers_to_invert": 1})
    lenient = service.settings.service.model_copy(update={"feedback": feedback})
    alone = replace(service, settings=service.settings.model_copy(update={"service": lenient}))
    mallory = named(agent("main", session_id="last"), "mallory")
    clock.move(days=1)
    assert (await marked(alone, ref, HARMED, mallory)).maturity is Maturity.ANTI_PATTERN


async def test_callers_that_a_rule_needs_are_a_setting(service: Resources, ref: str, agent: Agent, clock: Any) -> None:
    """One caller establishes a rule over days, unless more are asked for."""
    feedback = service.settings.service.feedback.model_copy(update={"callers_to_mature": 2})
    strict = service.settings.service.model_copy(update={"feedback": feedback})
    service = replace(service, settings=service.settings.model_copy(update={"service": strict}))
    for _ in range(8):
        clock.move(days=1)
        rule = await marked(service, ref, HELPED, named(agent("main"), "ana"))
    assert rule.maturity is Maturity.CANDIDATE
    assert (await marked(service, ref, HELPED, named(agent("main"), "bo"))).maturity is Maturity.ESTABLISHED


async def test_several_callers_or_days_make_a_rule(
    service: Resources, ref: str, agent: Agent, clock: MovingClock
) -> None:
    crew = [named(agent("main", session_id=f"s{number}"), f"agent {number}") for number in range(5)]
    assert (await marked(service, ref, HELPED, *crew)).maturity is Maturity.ESTABLISHED
    other = (await remember.rule(service, NewRule(content="Write the tests first"))).ref
    for _ in range(5):
        clock.move(days=1)
        rule = await marked(service, other, HELPED, agent("main"))
    assert rule.maturity is Maturity.ESTABLISHED


async def test_undoing_a_mark_counts_in_the_same_way(service: Resources, ref: str, agent: Agent, rows: Rows) -> None:
    crew = [named(agent("main", session_id=f"s{number}"), f"agent {number}") for number in range(5)]
    rule = await marked(service, ref, HELPED, *[crew[0]] * 5, *crew[1:])
    assert rule.maturity is Maturity.ESTABLISHED
    marks = [event for event in rows("memory_events") if event["event_type"] == "rule.helpful"]
    last = max(marks, key=lambda event: event["seq"])
    await undo.undo(service, last["id"])
    # Four callers are left, however often one of them marked it.
    rule = await marked(service, ref, HELPED)
    assert (rule.maturity, rule.success_count) == (Maturity.CANDIDATE, 8)


async def test_the_local_store_counts_every_mark(resources: Resources, ref: str, agent: Agent) -> None:
    one = agent("main", session_id="s1")
    assert (await marked(resources, ref, HELPED, *[one] * 5)).maturity is Maturity.ESTABLISHED
    other = (await remember.rule(resources, NewRule(content="Wake them at five"))).ref
    assert (await marked(resources, other, HARMED, *[one] * 3)).maturity is Maturity.ANTI_PATTERN
