"""Judging: confirmations, marks, and what follows from them."""

from collections.abc import Callable
from typing import Any

import pytest

from memory_butler.errors import Conflict, InvalidInput, NotFound
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Outcome, Rule, Stored
from memory_butler.operations.retrieval import get
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.resources import Resources

Rows = Callable[[str], list[dict[str, Any]]]
HELPED, HARMED = Outcome.HELPFUL, Outcome.HARMFUL


@pytest.fixture
async def rule(resources: Resources) -> Stored:
    return await remember.rule(resources, NewRule(content="Ask before deleting"))


async def mark(resources: Resources, rule: Stored, *outcomes: Outcome) -> None:
    for outcome in outcomes:
        await feedback.mark(resources, rule.ref, outcome)


async def test_a_mark_is_one_application_with_its_circumstances(
    resources: Resources, rule: Stored, agent: Callable[..., Caller], rows: Rows
) -> None:
    """Who, in which session and request, how it went and why; one event that says the same."""
    caller = agent("health", session_id="s1", request_id="r1")
    done = await feedback.mark(resources, f"rule:{rule.ref}", HARMED, caller, reason="It nagged.")
    (application,) = rows("rule_applications")
    assert {
        key: application[key] for key in ("rule_id", "outcome", "reason", "butler", "session_id", "request_id")
    } == {
        "rule_id": rule.id,
        "outcome": "harmful",
        "reason": "It nagged.",
        "butler": "health",
        "session_id": "s1",
        "request_id": "r1",
    }
    assert done.outcome == "marked_harmful"
    event = max(rows("memory_events"), key=lambda event: event["seq"])
    assert (event["event_type"], event["actor"], event["entity_id"]) == ("rule.harmful", "health", rule.id)
    assert event["payload"]["application"]["id"] == str(application["id"])


async def test_counters_are_derived_from_the_applications(resources: Resources, rule: Stored, rows: Rows) -> None:
    """Six helped and one harmed: counted, harm fourfold, 6 / (6 + 4)."""
    await mark(resources, rule, *[HELPED] * 3, HARMED, *[HELPED] * 3)
    (row,) = rows("rules")
    assert (row["applied_count"], row["success_count"], row["harmful_count"]) == (7, 6, 1)
    assert row["effectiveness_score"] == 0.6
    assert len(rows("rule_applications")) == 7


async def test_one_helpful_mark_does_not_erase_a_harmful_one(resources: Resources, rule: Stored, rows: Rows) -> None:
    """After one of each the score is a fifth."""
    await mark(resources, rule, HARMED, HELPED)
    assert rows("rules")[0]["effectiveness_score"] == pytest.approx(0.2)


async def test_a_rule_matures_step_by_step(resources: Resources, rule: Stored, clock: Any, rows: Rows) -> None:
    """Established at the fifth success, proven at a success after fifteen and thirty days, back when it harms."""
    seen = []
    for _ in range(15):
        await mark(resources, rule, HELPED)
        seen.append(rows("rules")[0]["maturity"])
    assert seen == ["candidate"] * 4 + ["established"] * 11
    clock.move(days=30)
    await mark(resources, rule, HELPED)
    assert rows("rules")[0]["maturity"] == "proven"
    await mark(resources, rule, HARMED, HARMED)
    assert rows("rules")[0]["maturity"] == "established"


async def test_the_mark_that_tips_it_inverts_the_rule(resources: Resources, rule: Stored, rows: Rows) -> None:
    """Not at the second harm, at the third; its content stays as it was, and help does not undo it."""
    seen = []
    for _ in range(3):
        await feedback.mark(resources, rule.ref, HARMED, reason="It nagged.")
        seen.append(rows("rules")[0]["maturity"])
    assert seen == ["candidate", "candidate", "anti_pattern"]
    await mark(resources, rule, *[HELPED] * 20)
    (row,) = rows("rules")
    assert (row["maturity"], row["content"], row["harmful_reasons"]) == (
        "anti_pattern",
        "Ask before deleting",
        ["It nagged."],
    )


async def test_help_renews_a_rule_and_harm_does_not(resources: Resources, rule: Stored, clock: Any, rows: Rows) -> None:
    """A helpful mark is a confirmation."""
    clock.move(days=10)
    await mark(resources, rule, HARMED)
    assert rows("rules")[0]["last_confirmed_at"] is None
    await mark(resources, rule, HELPED)
    assert rows("rules")[0]["last_confirmed_at"] == clock.now


async def test_confirm_renews_facts_and_rules(
    resources: Resources, rule: Stored, clock: Any, owner: Any, rows: Rows
) -> None:
    """The anchor moves, a fading one is active again, and an event says so."""
    fact = await remember.fact(resources, NewFact(subject="u", predicate="tea", content="green"))
    owner.execute("UPDATE memory.facts SET validity = 'fading' WHERE id = %s", [fact.id])
    owner.execute("UPDATE memory.rules SET validity = 'fading' WHERE id = %s", [rule.id])
    clock.move(days=3)
    for kind, one in (("fact", fact), ("rule", rule)):
        assert (await feedback.confirm(resources, kind, one.ref)).outcome == "confirmed"
        (row,) = rows(f"{kind}s")
        assert (row["last_confirmed_at"], row["validity"]) == (clock.now, "active")
    assert {event["event_type"] for event in rows("memory_events")} >= {"fact.confirmed", "rule.confirmed"}


async def test_a_clock_that_goes_backwards_does_not_take_a_confirmation_back(
    resources: Resources, rule: Stored, clock: Any, rows: Rows
) -> None:
    """The latest confirmation stays."""
    clock.move(days=3)
    await feedback.confirm(resources, "rule", rule.ref)
    latest = clock.now
    clock.move(days=-5)
    await feedback.confirm(resources, "rule", rule.ref)
    await mark(resources, rule, HELPED)
    assert rows("rules")[0]["last_confirmed_at"] == latest


async def test_what_is_withdrawn_or_replaced_takes_no_feedback(resources: Resources, rule: Stored) -> None:
    """A retracted rule, a retracted fact and a superseded one refuse; nothing is recorded."""
    await forget.forget(resources, "rule", rule.ref)
    with pytest.raises(Conflict, match="retracted"):
        await feedback.mark(resources, rule.ref, HELPED)
    with pytest.raises(Conflict, match="retracted"):
        await feedback.confirm(resources, "rule", rule.ref)
    old = await remember.fact(resources, NewFact(subject="u", predicate="tea", content="green"))
    await remember.fact(resources, NewFact(subject="u", predicate="tea", content="black"))
    with pytest.raises(Conflict, match="superseded"):
        await feedback.confirm(resources, "fact", old.ref)


async def test_refused_feedback_leaves_no_application(resources: Resources, rule: Stored, rows: Rows) -> None:
    """The refusal above writes no row."""
    await forget.forget(resources, "rule", rule.ref)
    with pytest.raises(Conflict):
        await feedback.mark(resources, rule.ref, HARMED, reason="x")
    assert rows("rule_applications") == []


async def test_feedback_needs_a_rule_the_caller_can_see(resources: Resources, agent: Callable[..., Caller]) -> None:
    """Unknown, of another type or of another's scope: not found or refused, with a way out."""
    hidden = await remember.rule(resources, NewRule(content="Secret", scope="finance"))
    seen = await remember.episode(resources, NewEpisode(content="x", butler="main"))
    for ref in (hidden.ref, "zzzz", str(seen.id)):
        with pytest.raises(NotFound):
            await feedback.mark(resources, ref, HELPED, agent("health"))
    with pytest.raises(NotFound):
        await feedback.confirm(resources, "rule", hidden.ref, agent("health"))
    with pytest.raises(InvalidInput, match="is of type episode"):
        await feedback.mark(resources, f"episode:{seen.ref}", HELPED)
    with pytest.raises(InvalidInput, match="cannot be confirmed"):
        await feedback.confirm(resources, "episode", seen.ref)


@pytest.mark.parametrize("reason", ["", "x" * 1001, "\x00"])
async def test_a_reason_has_limits(resources: Resources, rule: Stored, reason: str) -> None:
    """Empty, too long or with a NUL: refused by name."""
    with pytest.raises(InvalidInput, match="reason"):
        await feedback.mark(resources, rule.ref, HARMED, reason=reason)


async def test_a_warning_names_the_latest_reasons_only(resources: Resources, clock: Any) -> None:
    """Marks may go on for ever, a warning may not: it names five reasons, oldest first."""
    rule = await remember.rule(resources, NewRule(content="Deploy on friday"))
    for number in range(8):
        await feedback.mark(resources, rule.ref, Outcome.HARMFUL, reason=f"reason {number}")
        clock.move(minutes=1)
    seen = await get.get(resources, "rule", rule.ref)
    assert isinstance(seen.memory, Rule)
    assert seen.memory.harmful_reasons == [f"reason {number}" for number in range(3, 8)]
    assert seen.memory.harmful_count == 8


async def test_a_rule_that_did_harm_is_not_taken_in_again(resources: Resources) -> None:
    """Storing an anti-pattern again is a conflict that repeats the warning, and changes nothing."""
    rule = await remember.rule(resources, NewRule(content="Deploy on friday"))
    for _ in range(3):
        await feedback.mark(resources, rule.ref, Outcome.HARMFUL, reason="the weekend was lost")
    before = await get.get(resources, "rule", rule.ref)
    with pytest.raises(Conflict, match="the weekend was lost"):
        await remember.rule(resources, NewRule(content="Deploy on friday"))
    after = await get.get(resources, "rule", rule.ref)
    assert [event.seq for event in after.events] == [event.seq for event in before.events]


async def test_ten_helpful_and_two_harmful_leave_a_candidate(resources: Resources, rule: Stored, rows: Rows) -> None:
    """Trust that was earned is lost at the mark that costs it: 10 / (10 + 8) is less than 0.6."""
    await mark(resources, rule, *[HELPED] * 10)
    assert rows("rules")[0]["maturity"] == "established"
    await mark(resources, rule, HARMED)
    assert rows("rules")[0]["maturity"] == "established"
    await mark(resources, rule, HARMED)
    (row,) = rows("rules")
    assert (row["maturity"], row["effectiveness_score"]) == ("candidate", pytest.approx(0.5556, abs=5e-5))


async def test_the_order_of_marks_makes_no_difference(resources: Resources, rows: Rows) -> None:
    """Two rules with the same reports in another order stand the same."""
    one = await remember.rule(resources, NewRule(content="Ask first"))
    other = await remember.rule(resources, NewRule(content="Ask twice"))
    await mark(resources, one, HARMED, HARMED, *[HELPED] * 13)
    await mark(resources, other, *[HELPED] * 6, HARMED, *[HELPED] * 7, HARMED)
    kept = ("maturity", "applied_count", "success_count", "harmful_count", "effectiveness_score")
    first, second = ({name: row[name] for name in kept} for row in rows("rules"))
    assert first == second
    assert first["maturity"] == "established"


async def test_a_mark_repeated_with_its_key_counts_once(
    resources: Resources, rule: Stored, agent: Callable[..., Caller], rows: Rows
) -> None:
    """One application and one event; a new key, or none, is a new report; the key for another outcome is a conflict."""
    caller = agent("health", session_id="s1")
    first = await feedback.mark(resources, rule.ref, HELPED, caller, idempotency_key="k1")
    events = len(rows("memory_events"))
    assert await feedback.mark(resources, rule.ref, HELPED, caller, idempotency_key="k1") == first
    assert (len(rows("rule_applications")), len(rows("memory_events"))) == (1, events)
    with pytest.raises(Conflict, match="another request"):
        await feedback.mark(resources, rule.ref, HARMED, caller, idempotency_key="k1")
    await feedback.mark(resources, rule.ref, HELPED, caller, idempotency_key="k2")
    await feedback.mark(resources, rule.ref, HELPED, caller)
    assert (len(rows("rule_applications")), rows("rules")[0]["success_count"]) == (3, 3)


async def test_feedback_on_a_fact_says_that_it_is_one(
    resources: Resources, agent: Callable[..., Caller], everything: Callable[[], dict[str, list[str]]]
) -> None:
    """By id, by bare reference or with its type; who may not see the fact only hears that there is no such rule."""
    fact = await remember.fact(resources, NewFact(subject="u", predicate="tea", content="green", scope="finance"))
    before = everything()
    for handle in (str(fact.id), fact.ref):
        with pytest.raises(InvalidInput, match="is a fact, not a rule"):
            await feedback.mark(resources, handle, HELPED)
        with pytest.raises(NotFound, match="There is no rule"):
            await feedback.mark(resources, handle, HELPED, agent("health"))
    with pytest.raises(InvalidInput, match="is of type fact"):
        await feedback.mark(resources, f"fact:{fact.ref}", HELPED)
    assert everything() == before


async def test_the_whole_lineage_is_on_the_event(
    resources: Resources, rule: Stored, agent: Callable[..., Caller], rows: Rows
) -> None:
    """Request, part of it, segment and session."""
    lineage = {"request_id": "r", "subrequest_id": "r.1", "segment_id": "g", "session_id": "s"}
    await feedback.mark(resources, rule.ref, HARMED, agent("health", **lineage))
    event = max(rows("memory_events"), key=lambda event: event["seq"])
    assert {name: event[name] for name in lineage} == lineage
    assert event["payload"]["application"]["session_id"] == "s"
    assert event["payload"]["state"]["harmful_count"] == 1
