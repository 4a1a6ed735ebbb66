"""Reversing: an administrator gives a rule that became a warning another chance."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memory_butler.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from memory_butler.models import Caller, NewFact, NewRule, Outcome, Stored
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.operations.writing.restore import restore, reverse
from memory_butler.resources import Resources

Rows = Callable[[str], list[dict[str, Any]]]
Everything = Callable[[], dict[str, list[str]]]
HELPED, HARMED = Outcome.HELPFUL, Outcome.HARMFUL


async def mark(resources: Resources, rule: Stored, *outcomes: Outcome) -> None:
    for outcome in outcomes:
        await feedback.mark(resources, rule.ref, outcome, reason="It nagged." if outcome is HARMED else None)


@pytest.fixture
async def rule(resources: Resources) -> Stored:
    """A rule that helped once and harmed three times: a warning."""
    stored = await remember.rule(resources, NewRule(content="Ask before deleting"))
    await mark(resources, stored, HELPED, HARMED, HARMED, HARMED)
    return stored


async def test_a_reversed_rule_starts_again(resources: Resources, rule: Stored, clock: Any, rows: Rows) -> None:
    """A candidate without counts or reasons, renewed; its words and every report are still there."""
    clock.move(days=100)
    assert (await reverse(resources, rule.ref, reason="The habit has changed.")).outcome == "reversed"
    (row,) = rows("rules")
    assert (row["maturity"], row["validity"], row["content"]) == ("candidate", "active", "Ask before deleting")
    assert (row["applied_count"], row["success_count"], row["harmful_count"]) == (0, 0, 0)
    assert (row["effectiveness_score"], row["harmful_reasons"]) == (None, [])
    assert row["judged_from"] == row["last_confirmed_at"] == row["last_evaluated_at"] == clock.now
    assert len(rows("rule_applications")) == 4
    event = max(rows("memory_events"), key=lambda event: event["seq"])
    assert (event["event_type"], event["payload"]["state"]["maturity"]) == ("rule.reversed", "candidate")
    assert "habit" not in str(event["payload"]) and len(event["payload"]["reason_hash"]) == 64


async def test_only_what_comes_after_counts(resources: Resources, rule: Stored, clock: Any, rows: Rows) -> None:
    """Five successes establish it in spite of the harm before; three new harms make it a warning again."""
    await reverse(resources, rule.ref)
    clock.move(minutes=1)
    await mark(resources, rule, *[HELPED] * 5)
    (row,) = rows("rules")
    assert (row["maturity"], row["success_count"], row["harmful_count"]) == ("established", 5, 0)
    assert row["effectiveness_score"] == 1.0
    await mark(resources, rule, *[HARMED] * 3)
    (row,) = rows("rules")
    assert (row["maturity"], row["harmful_count"], row["harmful_reasons"]) == ("anti_pattern", 3, ["It nagged."])


async def test_the_line_between_before_and_after_does_not_hang_on_clocks(
    resources: Resources, clock: Any, rows: Rows
) -> None:
    """Harm by a clock that is ahead came before; help at the same moment, or by a clock behind, comes after."""
    stored = await remember.rule(resources, NewRule(content="Ask before deleting"))

    def shifted(seconds: int) -> Resources:
        return replace(resources, clock=lambda: clock.now + timedelta(seconds=seconds))

    ahead, behind = shifted(90), shifted(-90)
    await mark(ahead, stored, HARMED, HARMED, HARMED)
    await reverse(resources, stored.ref)
    await mark(resources, stored, HELPED)
    await mark(behind, stored, HELPED)
    await mark(ahead, stored, HELPED)
    (row,) = rows("rules")
    assert (row["success_count"], row["harmful_count"], row["maturity"]) == (3, 0, "candidate")


async def test_a_rule_can_be_reversed_again(resources: Resources, rule: Stored, rows: Rows) -> None:
    """Each reversal begins anew, also within one moment."""
    await reverse(resources, rule.ref)
    await mark(resources, rule, HARMED, HARMED, HARMED)
    assert rows("rules")[0]["maturity"] == "anti_pattern"
    await reverse(resources, rule.ref)
    await mark(resources, rule, HARMED)
    (row,) = rows("rules")
    assert (row["maturity"], row["harmful_count"], len(rows("rule_applications"))) == ("candidate", 1, 8)


async def test_a_reversed_rule_can_be_stored_again(resources: Resources, rule: Stored) -> None:
    """As a warning it is refused, as a candidate it is confirmed."""
    with pytest.raises(Conflict, match="caused harm before"):
        await remember.rule(resources, NewRule(content="Ask before deleting"))
    await reverse(resources, rule.ref)
    assert (await remember.rule(resources, NewRule(content="Ask before deleting"))).outcome == "confirmed"


async def test_only_an_administrator_may(
    resources: Resources, rule: Stored, agent: Callable[..., Caller], everything: Everything
) -> None:
    """An agent is refused, also for a rule of its own scope, and nothing changes."""
    before = everything()
    for name in ("main", "health"):
        with pytest.raises(PermissionDenied, match="administrator"):
            await reverse(resources, rule.ref, agent(name))
    assert everything() == before


async def test_only_a_live_warning_can_be_reversed(resources: Resources, rule: Stored, everything: Everything) -> None:
    """A candidate has nothing to take back; a forgotten warning is restored first, and stays a warning by that."""
    other = await remember.rule(resources, NewRule(content="Answer in German"))
    await forget.forget(resources, "rule", rule.ref)
    before = everything()
    with pytest.raises(Conflict, match="is candidate, not a warning"):
        await reverse(resources, other.ref)
    with pytest.raises(Conflict, match="is retracted") as problem:
        await reverse(resources, rule.ref)
    assert "Restore it first" in problem.value.recovery
    assert everything() == before
    await restore(resources, "rule", rule.ref)
    assert (await reverse(resources, rule.ref)).outcome == "reversed"


async def test_bad_requests_change_nothing(resources: Resources, rule: Stored, everything: Everything) -> None:
    """Unknown rules, facts and bad reasons are refused by name."""
    fact = await remember.fact(resources, NewFact(subject="u", predicate="tea", content="green"))
    before = everything()
    with pytest.raises(NotFound, match="There is no rule:zzzz"):
        await reverse(resources, "zzzz")
    with pytest.raises(InvalidInput, match="is a fact, not a rule"):
        await reverse(resources, str(fact.id))
    with pytest.raises(InvalidInput, match="is of type fact"):
        await reverse(resources, f"fact:{fact.ref}")
    with pytest.raises(InvalidInput, match="reason"):
        await reverse(resources, rule.ref, reason="x" * 1001)
    assert everything() == before


async def test_a_repeat_with_the_same_key_reverses_once(resources: Resources, rule: Stored, rows: Rows) -> None:
    """The first answer comes back, and what was reported since still counts."""
    first = await reverse(resources, rule.ref, idempotency_key="k")
    await mark(resources, rule, HELPED)
    assert await reverse(resources, rule.ref, idempotency_key="k") == first
    assert rows("rules")[0]["success_count"] == 1
