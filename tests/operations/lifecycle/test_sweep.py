"""The sweep: every duty at its boundaries, by a clock that moves."""

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from tests.support.lifecycle_rules import DECAY, RATES
from tests.support.sweeping import SMALL_TIERS, Life, contents, copy_of, eventful, with_lifecycle

from memory_butler.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from memory_butler.models import Caller, NewEpisode, NewFact, Outcome, Permanence, Stored
from memory_butler.operations.history.replay import replay
from memory_butler.operations.lifecycle import sweep_duties
from memory_butler.operations.lifecycle.sweep import DUTIES, Progress, SweepReport, sweep
from memory_butler.operations.writing import feedback, forget, pin, remember
from memory_butler.policy.lifecycle.confidence import falls_below
from memory_butler.policy.lifecycle.sweep import Duty
from memory_butler.resources import Resources
from memory_butler.settings import ButlerSettings

Connection = psycopg.Connection[Any]
MOMENT = timedelta(milliseconds=1)


@pytest.fixture
def life(resources: Resources, clock: Any, owner: Connection) -> Life:
    return Life(resources, clock, owner)


async def swept(life: Life, **tiers: Any) -> SweepReport:
    return await sweep(with_lifecycle(life.resources, **tiers) if tiers else life.resources)


def outcomes(report: SweepReport, duty: Duty, butler: str = "main") -> dict[str, int]:
    [shard] = [shard for shard in report.shards if shard.butler == butler]
    [found] = [one for one in shard.duties if one.duty is duty]
    return found.outcomes


# --- decay ----------------------------------------------------------------------


@pytest.mark.parametrize("permanence", [kind for kind in Permanence if RATES[kind]])
@pytest.mark.parametrize(
    ("threshold", "before", "after"),
    [(DECAY.fading_below, "active", "fading"), (DECAY.expired_below, "fading", "expired")],
)
async def test_a_fact_fades_and_expires_when_its_worth_falls_below(
    life: Life, permanence: Permanence, threshold: float, before: str, after: str
) -> None:
    """To the moment that the formula foretells, whatever the permanence."""
    fact = await life.fact("x", permanence)
    moment = falls_below(threshold, 1.0, RATES[permanence], life.clock())
    assert moment
    life.clock.now = moment - MOMENT
    await swept(life)
    assert life.validity(fact) == [before]
    life.clock.now = moment + MOMENT
    await swept(life)
    assert life.validity(fact) == [after]
    assert (await replay(life.resources)).equal


@pytest.mark.parametrize(
    ("worth", "becomes"),
    [
        (DECAY.fading_below, "active"),
        (math.nextafter(DECAY.fading_below, 0), "fading"),
        (DECAY.expired_below, "fading"),
        (math.nextafter(DECAY.expired_below, 0), "expired"),
    ],
)
async def test_a_threshold_that_is_exactly_met_is_met(life: Life, worth: float, becomes: str) -> None:
    """0.2 is not fading and 0.05 not expired; the next smaller number is. An active one may expire without fading."""
    fact, rule = await life.fact("x", "permanent"), await life.rule("x")
    life.owner.execute("UPDATE memory.facts SET confidence = %s WHERE tenant_id = %s", (worth, life.tenant))
    life.owner.execute("UPDATE memory.rules SET confidence = %s WHERE tenant_id = %s", (worth, life.tenant))
    report = await swept(life)
    assert life.validity(fact, rule) == [becomes, becomes]
    assert report.changed == (0 if becomes == "active" else 2)


async def test_what_is_exempt_does_not_decay(life: Life) -> None:
    """A pinned fact, a pinned rule, a warning and a permanent fact are there after ten years; others are not."""
    pinned, rule = await life.fact("pinned", "ephemeral"), await life.rule("pinned")
    await pin.pin(life.resources, "fact", pinned.ref)
    await pin.pin(life.resources, "rule", rule.ref)
    life.owner.execute("UPDATE memory.facts SET confidence = 0.1 WHERE tenant_id = %s", (life.tenant,))
    kept = [pinned, rule, await life.rule("warning", harmful=3), await life.fact("forever", "permanent")]
    gone = [await life.fact("other"), await life.rule("other")]
    life.clock.move(days=3650)
    report = await swept(life)
    assert life.validity(*kept) == ["active"] * 4
    assert life.validity(*gone) == ["expired"] * 2
    assert outcomes(report, Duty.EXPIRE) == {"facts": 1, "rules": 1}


async def test_a_change_writes_one_event_that_says_who_why_and_with_what(life: Life) -> None:
    """The actor is upkeep, everything a sweep did to a shard is one group, and what expired says by what cause."""
    facts = [await life.fact("x", "ephemeral"), await life.fact("y", "volatile")]
    life.clock.move(days=60)
    [shard] = (await swept(life)).shards
    assert [life.events(fact) for fact in facts] == [["created", "expired"], ["created", "faded"]]
    last = [life.history(fact)[-1] for fact in facts]
    assert {(event["actor"], event["group_id"]) for event in last} == {("upkeep", shard.group_id)}
    assert last[0]["payload"]["cause"] == "confidence"
    assert [event["payload"]["state"]["validity"] for event in last] == ["expired", "fading"]
    assert [len(duty.examples) for duty in shard.duties if duty.changed] == [1, 1]


# --- promotion and maturity ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("references", "span", "permanence"),
    [
        (10, timedelta(days=7), "stable"),
        (9, timedelta(days=7), "standard"),
        (10, timedelta(days=7) - timedelta(microseconds=1), "standard"),
        (11, timedelta(days=8), "stable"),
    ],
)
async def test_steady_use_promotes_a_fact(life: Life, references: int, span: timedelta, permanence: str) -> None:
    """Ten references over seven days move it up one class; one fewer or a microsecond less does not."""
    fact = await life.fact("x")
    await life.refer([fact], references - 1)
    life.clock.now += span
    await life.refer([fact])
    report = await swept(life)
    row = life.row(fact)
    assert (row["permanence"], row["decay_rate"]) == (permanence, RATES[Permanence(permanence)])
    assert outcomes(report, Duty.PROMOTE) == ({"facts": 1} if permanence == "stable" else {})


async def test_a_promotion_cites_its_references_and_uses_them_up(life: Life) -> None:
    """The event names how many, from when to when and where in the log; the next class takes as many again."""
    fact, begun = await life.fact("x", "ephemeral"), life.clock()
    await life.refer([fact], 9)
    life.clock.move(days=7)
    await life.refer([fact])
    await swept(life)
    [promotion] = [event["payload"]["promotion"] for event in life.history(fact) if "promotion" in event["payload"]]
    assert promotion == {
        "from": "ephemeral",
        "to": "volatile",
        "references": 10,
        "first": begun.isoformat(),
        "last": life.clock().isoformat(),
        "first_seq": 2,
        "last_seq": 11,
    }
    await life.refer([fact], 9)
    life.clock.move(days=7)
    assert (await swept(life)).changed == 0
    await life.refer([fact])
    await swept(life)
    for _ in range(2):
        await life.refer([fact], 10)
        life.clock.move(days=7)
        await life.refer([fact], 10)
        await swept(life)
    assert life.events(fact) == ["created", "promoted", "promoted", "promoted"]
    assert life.row(fact)["permanence"] == "stable"
    assert (await replay(life.resources)).equal


async def test_a_promotion_can_bring_a_fading_fact_back(life: Life) -> None:
    """If the slower decay lifts it over the threshold it is active in the same change; if not, it stays fading."""
    lifted, still = await life.fact("lifted", "ephemeral"), await life.fact("still", "volatile")
    await life.refer([lifted], 9)
    life.clock.move(days=20)
    await swept(life)
    assert life.validity(lifted) == ["fading"]
    await life.refer([lifted])
    await swept(life)
    assert life.validity(lifted) == ["active"]
    await life.refer([still], 9)
    life.clock.move(days=65)
    await swept(life)
    life.owner.execute("UPDATE memory.facts SET confidence = 0.15 WHERE tenant_id = %s", (life.tenant,))
    await life.refer([still])
    await swept(life)
    assert life.events(still) == ["created", "faded", "promoted"]
    assert life.validity(still) == ["fading"]


async def test_a_rule_is_proven_when_it_is_old_enough(life: Life) -> None:
    """Fifteen successes establish it at once; the sweep proves it at thirty days and not a microsecond earlier."""
    rule = await life.rule("x", helpful=15)
    life.clock.move(days=30, microseconds=-1)
    assert (await swept(life)).changed == 0
    life.clock.move(microseconds=1)
    report = await swept(life)
    assert outcomes(report, Duty.MATURE) == {"promoted": 1}
    assert (life.row(rule)["maturity"], life.row(rule)["last_evaluated_at"]) == ("proven", life.clock())
    event = life.history(rule)[-1]
    assert (event["event_type"], event["payload"]["from"], event["payload"]["to"]) == (
        "rule.matured",
        "established",
        "proven",
    )
    assert (await replay(life.resources)).equal


async def test_maturity_is_set_right_step_by_step_and_inversions_are_told_apart(life: Life) -> None:
    """A rule that is behind its evidence takes two steps in one sweep, an event each; one that is due becomes a
    warning; one that is ahead of it is taken back; what was withdrawn or came before a new chance does not count."""
    behind = await life.rule("behind", helpful=15)
    harmful, ahead, spared = await life.rule("harmful", harmful=3), await life.rule("ahead"), await life.rule("spared")
    for rule, maturity in ((behind, "candidate"), (harmful, "candidate"), (ahead, "established")):
        life.owner.execute(
            "UPDATE memory.rules SET maturity = %s WHERE tenant_id = %s AND id = %s", (maturity, life.tenant, rule.id)
        )
    for _ in range(2):
        await feedback.mark(life.resources, spared.ref, Outcome.HARMFUL)
    life.owner.execute(
        "INSERT INTO memory.rule_applications (tenant_id, id, rule_id, outcome, butler, created_at) SELECT tenant_id,"
        " gen_random_uuid(), id, 'harmful', 'main', created_at - interval '1 hour' FROM memory.rules"
        " WHERE tenant_id = %s AND id = %s",
        (life.tenant, spared.id),
    )
    life.owner.execute(
        "UPDATE memory.rules SET judged_from = created_at - interval '1 minute' WHERE tenant_id = %s", (life.tenant,)
    )
    life.clock.move(days=30)
    report = await swept(life)
    assert outcomes(report, Duty.MATURE) == {"promoted": 2, "inverted": 1, "demoted": 1}
    steps = [(e["payload"]["from"], e["payload"]["to"]) for e in life.history(behind) if e["actor"] == "upkeep"]
    assert steps == [("candidate", "established"), ("established", "proven")]
    maturities = [e["payload"]["state"]["maturity"] for e in life.history(behind)[-2:]]
    assert maturities == ["established", "proven"]
    assert [life.row(rule)["maturity"] for rule in (behind, harmful, ahead, spared)] == [
        "proven",
        "anti_pattern",
        "candidate",
        "candidate",
    ]
    assert (await swept(life)).changed == 0


# --- the tenant's order ----------------------------------------------------------------------


async def test_keys_past_their_time_are_dropped(life: Life) -> None:
    """At the moment they stop to count; also those of a caller that has stored nothing of its own."""
    stored = await remember.fact(
        life.resources, NewFact(subject="a", predicate="b", content="c", idempotency_key="k"), life.caller()
    )
    await feedback.confirm(life.resources, "fact", stored.ref, life.caller("passer-by"), idempotency_key="k")
    life.clock.move(days=7, microseconds=-1)
    assert outcomes(await swept(life), Duty.KEYS) == {}
    life.clock.move(microseconds=1)
    assert outcomes(await sweep(life.resources, dry_run=True), Duty.KEYS) == {"keys": 2}
    assert outcomes(await swept(life), Duty.KEYS) == {"keys": 2}
    assert contents(life)["idempotency_keys"] == []


async def test_every_butler_has_its_own_shard_and_numbers(life: Life) -> None:
    """One butler's setting touches only its own memories, each shard is a group of its own, one may be swept alone."""
    settings = life.resources.settings.model_copy(
        update={"butlers": {"health": ButlerSettings(lifecycle={"mid": {"capacity": 1}})}}
    )
    resources = replace(life.resources, settings=settings)
    own = []
    for number in range(6):
        own.append(await life.fact(f"number {number}", of="main" if number < 3 else "health"))
        life.clock.move(seconds=1)
    passing = [await life.fact(f"{of} passing", "ephemeral", of=of) for of in ("main", "health")]
    life.clock.move(days=31)
    alone = await sweep(resources, only_butler="main")
    assert [(shard.butler, shard.changed) for shard in alone.shards] == [("main", 1)]
    both = await sweep(resources)
    assert [(shard.butler, shard.changed) for shard in both.shards] == [("health", 3), ("main", 0)]
    assert life.validity(*own, *passing) == ["active"] * 3 + ["expired"] * 2 + ["active"] + ["expired"] * 2
    groups = [life.history(memory)[-1]["group_id"] for memory in passing]
    assert groups == [alone.shards[0].group_id, both.shards[0].group_id]
    assert both.shards[1].group_id is None


async def test_only_an_administrator_sweeps_and_only_what_there_is(life: Life, agent: Callable[..., Caller]) -> None:
    """An agent may not; a butler nobody knows is an error and not an empty report; another tenant is not touched."""
    passing = await life.fact("x", "ephemeral")
    life.clock.move(days=40)
    before = contents(life)
    with pytest.raises(PermissionDenied):
        await sweep(life.resources, agent("main"))
    with pytest.raises(NotFound, match="nobody"):
        await sweep(life.resources, only_butler="nobody")
    with pytest.raises(InvalidInput):
        await sweep(life.resources, only_butler="no body!")
    stranger = Caller(replace(life.caller().principal, tenant="stranger"))
    assert (await sweep(life.resources, stranger)).shards == ()
    assert contents(life) == before
    await sweep(life.resources, only_butler="Main")
    assert life.validity(passing) == ["expired"]


# --- the whole of it ----------------------------------------------------------------------


async def test_a_rehearsal_foretells_exactly_what_is_done(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """Duty by duty, with every duty having something to do, in batches of a few: the same numbers and examples, and
    nothing changed. Afterwards there is nothing left to do, and the log gives the same store."""
    for name, size in (("SCANNED", 8), ("CHANGED", 3), ("DELETED", 2)):
        monkeypatch.setattr(sweep_duties, name, size)
    life.resources = with_lifecycle(life.resources, **SMALL_TIERS)
    await eventful(life)
    before = contents(life)
    rehearsed = await sweep(life.resources, dry_run=True)
    assert contents(life) == before
    steps: list[Progress] = []
    done = await sweep(life.resources, progress=steps.append)
    assert [(duty.duty, duty.scanned, duty.outcomes, duty.examples) for duty in _duties(done)] == [
        (duty.duty, duty.scanned, duty.outcomes, duty.examples) for duty in _duties(rehearsed)
    ]
    assert {duty.duty for duty in _duties(done) if duty.changed} == {duty for duty, _ in DUTIES}
    assert done.as_dict()["changed"] == done.changed == rehearsed.changed > 30
    assert (steps[-1].duties_done, steps[-1].duties) == (22, 22)
    after = contents(life)
    assert (await sweep(life.resources)).changed == 0
    assert contents(life) == after
    found = await replay(life.resources)
    assert found.equal, found


def _duties(report: SweepReport) -> list[Any]:
    return [duty for shard in report.shards for duty in shard.duties]


async def test_the_size_of_batches_does_not_matter(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """One memory at a time or all at once: the same end."""
    life.resources = with_lifecycle(life.resources, **SMALL_TIERS)
    await eventful(life)
    other = copy_of(life)
    await sweep(life.resources)
    for name in ("SCANNED", "CHANGED", "DELETED"):
        monkeypatch.setattr(sweep_duties, name, 1)
    await sweep(other.resources)
    assert contents(other) == contents(life)


async def test_a_transaction_changes_no_more_than_its_share(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much is due among what was looked at; and everything is counted once."""
    monkeypatch.setattr(sweep_duties, "CHANGED", 2)
    for number in range(5):
        await life.fact(f"x {number}", "ephemeral")
    life.clock.move(days=40)
    steps: list[Progress] = []
    await sweep(life.resources, progress=steps.append)
    told = [(step.scanned, step.changed) for step in steps if step.duty is Duty.EXPIRE]
    assert told == [(2, 2), (4, 4), (5, 5), (5, 5)]


async def test_two_sweeps_at_once_do_the_work_of_one(life: Life) -> None:
    """Nothing is done twice: one event per change, and the end that one sweep alone would have reached."""
    life.resources = with_lifecycle(life.resources, **SMALL_TIERS)
    await eventful(life)
    other = copy_of(life)
    alone = await sweep(life.resources)
    first, second = await asyncio.gather(sweep(other.resources), sweep(other.resources))
    assert first.changed + second.changed == alone.changed
    assert contents(other) == contents(life)


async def test_a_forgotten_memory_is_left_alone(life: Life) -> None:
    """What is out of use already neither fades nor expires nor counts."""
    facts: list[Stored] = [await life.fact(f"x {number}", "ephemeral") for number in range(2)]
    await forget.forget(life.resources, "fact", facts[0].ref)
    life.clock.move(days=40)
    report = await swept(life)
    assert life.validity(*facts) == ["retracted", "expired"]
    assert [duty.scanned for duty in _duties(report) if duty.duty is Duty.FADE] == [1]


async def test_a_clock_that_jumped_forward_deletes_nothing(life: Life, rows: Callable[[str], list[Any]]) -> None:
    """Not before there was a day of use, even if something was stored right after the jump."""
    await remember.episode(life.resources, NewEpisode(content="We met.", butler="main"))
    life.clock.move(days=2)
    await remember.episode(life.resources, NewEpisode(content="We met again.", butler="main"))
    before = life.clock()
    life.clock.move(days=2000)
    with pytest.raises(Conflict, match="2 expired episodes were not deleted"):
        await sweep(life.resources)
    await remember.episode(life.resources, NewEpisode(content="A moment later.", butler="main"))
    with pytest.raises(Conflict, match=f"last event is of {before:%Y-%m-%d}"):
        await sweep(life.resources)
    assert len(rows("episodes")) == 3
    life.clock.move(days=2)
    await sweep(life.resources)
    assert len(rows("episodes")) == 1
