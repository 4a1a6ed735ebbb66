"""A store and an export written by version 0.6.3 work in this version, also after a change of decay rates."""

import math
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from pydantic import SecretStr
from tests.support import old_store
from tests.support.sweeping import with_lifecycle

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.errors import Conflict, InvalidInput
from memory_butler.models import (
    BriefRequest,
    Caller,
    NewEpisode,
    NewFact,
    NewNote,
    NewRule,
    Outcome,
    Principal,
    Question,
    Role,
)
from memory_butler.operations.briefing.brief import brief
from memory_butler.operations.history.replay import replay
from memory_butler.operations.history.undo import undo
from memory_butler.operations.lifecycle.sweep import SweepReport, sweep
from memory_butler.operations.retrieval import get, indexing, search
from memory_butler.operations.transfer.export import export
from memory_butler.operations.transfer.import_ import import_
from memory_butler.operations.writing import correct, feedback, forget, pin, remember, restore
from memory_butler.policy.lifecycle.sweep import Duty
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import Settings
from memory_butler.store.embedded.server import EmbeddedPostgres

MARCH_5 = datetime.fromisoformat("2026-03-05T09:00:00+00:00")
SLOWER = {"decay": {"stable_per_day": 0.001, "standard_per_day": 0.004, "ephemeral_per_day": 0.02}}
Rows = Any


class Clock:
    now = old_store.LAST_WRITE + timedelta(hours=1)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


@pytest.fixture
async def upgraded(settings: Settings, server: EmbeddedPostgres, fresh_database: str) -> AsyncIterator[Resources]:
    """The store of 0.6.3, opened by this version, an hour after its last write."""
    old_store.load(server, fresh_database)
    urls = {
        "tenant": old_store.TENANT,
        "database_url": SecretStr(server.dsn("memory_app", fresh_database)),
        "owner_url": SecretStr(server.dsn("memory_owner", fresh_database)),
    }
    async with open_resources(settings.model_copy(update=urls), embedder=FakeEmbedder()) as opened:
        resources = replace(opened, clock=Clock())
        # The rows come without vectors; a worker embeds them after an upgrade.
        assert await indexing.catch_up(resources, old_store.TENANT) == 36
        yield resources


@pytest.fixture
def rows(upgraded: Resources) -> Rows:
    url = upgraded.settings.owner_url
    assert url

    def read(query: str, *values: object) -> list[dict[str, Any]]:
        with psycopg.connect(url.get_secret_value(), row_factory=dict_row) as connection:
            connection.execute("SELECT set_config('memory_butler.tenant', %s, true)", (old_store.TENANT,))
            return connection.execute(query, values).fetchall()

    return read


async def contents(resources: Resources, **question: Any) -> list[str]:
    asked = Question(query="where does the user live?", min_relevance=0, limit=100, **question)
    answer = await search.search(resources, asked, bump=False)
    return sorted(f"{one.hit.type}:{one.hit.ref} {one.hit.content}" for one in answer.results)


def changes(report: SweepReport, which: Duty) -> int:
    return sum(duty.changed for shard in report.shards for duty in shard.duties if duty.duty is which)


async def test_reads_give_what_0_6_3_gave(upgraded: Resources) -> None:
    """Everything that a search returned, now and as of a day before the upgrade; a briefing; a log that replays equal.
    The order is for the ranking of each version to decide."""
    upgraded.clock.now = old_store.LAST_WRITE  # type: ignore[attr-defined]
    assert set(old_store.ANSWERS["now"]) <= set(await contents(upgraded))
    assert set(old_store.ANSWERS["march_5"]) <= set(await contents(upgraded, as_of=MARCH_5))
    block = await brief(upgraded, BriefRequest(trigger_prompt="Plan a dinner for the user", butler="main"))
    assert "Anna came for dinner" in block.text
    report = await replay(upgraded)
    assert report.equal, report
    assert report.events == 120


async def test_old_rows_are_an_agents_and_the_chain_begins_after_them(upgraded: Resources, rows: Rows) -> None:
    """Nothing waits for a decision, no event from before the upgrade has a hash, and the check says how many."""
    for table in ("facts", "rules", "episodes"):
        found = rows(f"SELECT DISTINCT origin, quarantine_reason FROM memory.{table}")  # noqa: S608
        assert found == [{"origin": "agent", "quarantine_reason": None}]
    report = await replay(upgraded)
    assert report.chain.broken is None
    before = report.chain.unchained
    assert before == report.events > 0
    await remember.fact(upgraded, NewFact(subject="Anna", predicate="tea", content="green", source="user"))
    after = await replay(upgraded)
    assert (after.chain.unchained, after.chain.broken) == (before, None)
    assert after.chain.checked >= 1 and after.chain.head
    # A value of lower rank contests one that an agent stored with the old version.
    old = rows(
        "SELECT subject_label, predicate_label FROM memory.facts WHERE validity = 'active' AND valid_at IS NULL"
    )[0]
    contesting = NewFact(
        subject=old["subject_label"], predicate=old["predicate_label"], content="Something else.", source="external"
    )
    assert (await remember.fact(upgraded, contesting)).quarantine_reason == "contested"


async def test_a_sweep_without_changed_settings_changes_no_rate(upgraded: Resources) -> None:
    """The default settings have the rates that 0.6.3 wrote."""
    report = await sweep(upgraded, dry_run=True)
    assert (changes(report, Duty.RATES), changes(report, Duty.REVIVE)) == (0, 0)


async def test_changed_rates_reach_old_rows_with_events(upgraded: Resources, rows: Rows) -> None:
    """Every live row gets the rate of its class, each change has an event, the log replays and a second sweep finds
    nothing. A past moment is still read with the rate of that time."""
    before = await contents(upgraded, as_of=MARCH_5)
    changed = with_lifecycle(upgraded, **SLOWER)
    planned = await sweep(changed, dry_run=True)
    done = await sweep(changed)
    assert [shard.changed for shard in planned.shards] == [shard.changed for shard in done.shards]
    found = rows("SELECT permanence, decay_rate FROM memory.facts WHERE validity IN ('active', 'fading')")
    assert {(row["permanence"], row["decay_rate"]) for row in found} == {
        ("permanent", 0.0), ("stable", 0.001), ("standard", 0.004), ("volatile", 0.03), ("ephemeral", 0.02)
    }  # fmt: skip
    rules = rows("SELECT DISTINCT decay_rate FROM memory.rules WHERE validity = 'active'")
    superseded = rows("SELECT DISTINCT decay_rate FROM memory.facts WHERE validity = 'superseded'")
    assert (rules, superseded) == ([{"decay_rate": 0.004}], [{"decay_rate": 0.002}])
    events = rows("SELECT payload FROM memory.memory_events WHERE event_type LIKE '%%.rate_changed' ORDER BY seq")
    assert len(events) == changes(done, Duty.RATES) > 10
    assert all(event["payload"]["state"]["decay_rate"] == event["payload"]["to"] for event in events)
    assert (await sweep(changed)).changed == 0
    report = await replay(changed)
    assert report.equal, report
    assert await contents(changed, as_of=MARCH_5) == before


async def test_confidence_follows_the_new_rate_from_the_last_confirmation(upgraded: Resources, rows: Rows) -> None:
    """confidence × exp(-new rate × days since the anchor): the new rate counts for the whole time."""
    changed = with_lifecycle(upgraded, **SLOWER)
    await sweep(changed)
    [row] = rows("SELECT ref, created_at, last_confirmed_at FROM memory.facts WHERE content = 'glad about the garden'")
    details = await get.get(changed, "fact", row["ref"], bump=False)
    days = (changed.clock() - (row["last_confirmed_at"] or row["created_at"])) / timedelta(days=1)
    assert details.effective_confidence == pytest.approx(math.exp(-0.02 * days), abs=1e-5)


async def test_an_old_event_is_undone_after_the_rates_changed(upgraded: Resources, rows: Rows) -> None:
    """A confirmation and a promotion of 0.6.3: the memory is as before, with the present rate of its class. The change
    of rate itself cannot be undone, nor does a group of such changes claim to be."""
    changed = with_lifecycle(upgraded, **SLOWER)
    swept = await sweep(changed)
    [promoted] = rows("SELECT id, entity_id FROM memory.memory_events WHERE event_type = 'fact.promoted'")
    later = rows(
        "SELECT id FROM memory.memory_events WHERE entity_id = %s AND seq > (SELECT seq FROM memory.memory_events"
        " WHERE id = %s) AND event_type <> 'fact.rate_changed' ORDER BY seq DESC",
        promoted["entity_id"], promoted["id"],
    )  # fmt: skip
    with pytest.raises(Conflict, match="the confirmation of 2026-04-03") as refused:
        await undo(changed, promoted["id"])
    assert "decay" not in refused.value.message
    for event in (*later, promoted):
        assert (await undo(changed, event["id"])).undone == 1
    [fact] = rows("SELECT permanence, decay_rate, validity FROM memory.facts WHERE id = %s", promoted["entity_id"])
    assert fact == {"permanence": "standard", "decay_rate": 0.004, "validity": "active"}
    assert (await replay(changed)).equal

    [rate, *_] = rows("SELECT id, group_id FROM memory.memory_events WHERE event_type = 'rule.rate_changed'")
    assert rate["group_id"] in {shard.group_id for shard in swept.shards}
    with pytest.raises(InvalidInput, match="the rate follows the settings"):
        await undo(changed, rate["id"])


async def test_a_lower_rate_revives_and_a_higher_one_fades(upgraded: Resources, rows: Rows) -> None:
    """A fading fact of 0.6.3 becomes active at a lower rate, and expires at the old one some weeks later."""
    fading = "SELECT validity FROM memory.facts WHERE content = 'cousin Rui'"
    assert rows(fading) == [{"validity": "fading"}]
    await sweep(with_lifecycle(upgraded, **SLOWER))
    assert rows(fading) == [{"validity": "active"}]
    [event] = rows("SELECT payload FROM memory.memory_events WHERE event_type = 'fact.revived'")
    assert event["payload"]["state"]["validity"] == "active"
    upgraded.clock.now += timedelta(days=14)  # type: ignore[attr-defined]
    await sweep(upgraded)
    assert rows(fading) == [{"validity": "expired"}]
    assert (await replay(upgraded)).equal


async def test_idempotency_keys_of_0_6_3_still_answer(upgraded: Resources, rows: Rows) -> None:
    """The same request under a key of 0.6.3 gets the stored response and writes nothing; another one is refused."""
    events = "SELECT count(*) AS n FROM memory.memory_events"
    before = rows(events)
    refs = {
        content: row["ref"]
        for row in rows("SELECT ref, content FROM memory.facts UNION ALL SELECT ref, content FROM memory.rules")
        for content in [row["content"]]
    }
    [faded] = rows(
        "SELECT undoes FROM memory.memory_events WHERE event_type = 'fact.undone' AND occurred_at > '2026-04-03'"
    )
    main = Caller(Principal(old_store.TENANT, "main", Role.ADMIN))
    paint = NewEpisode(
        content="Bought paint for the kitchen.",
        butler="main",
        importance=4,
        tags=("home",),
        idempotency_key="episode-1",
    )
    kitchen = NewFact(
        subject="kitchen", predicate="color", content="sage green", importance=6, permanence="stable", tags=("home",),
        aliases=("the galley",), metadata={"shop": "Silva"}, idempotency_key="fact-1",
    )  # fmt: skip
    window = NewRule(content="Open the window while painting", tags=("home",), idempotency_key="rule-1")
    shop = NewNote(content="The paint shop closes at six.", tier="mid", idempotency_key="note-1")
    rule, note = refs["Ask before ordering groceries"], refs["The spare key is at the neighbour's."]
    project = refs["repainting the kitchen"]
    answers = [
        await remember.episode(upgraded, paint, main),
        await remember.fact(upgraded, kitchen, main),
        await remember.rule(upgraded, window, main),
        await remember.store(upgraded, shop, main),
        await feedback.confirm(upgraded, "fact", refs["green tea"], main, idempotency_key="confirm-1"),
        await feedback.mark(
            upgraded, rule, Outcome.HARMFUL, main, reason="The order was urgent", idempotency_key="harmful-1"
        ),
        await pin.pin(upgraded, "fact", refs["555 0101"], main, idempotency_key="pin-1"),
        await correct.correct(
            upgraded, note, "The spare key is at the bakery.", main, reason="It moved", idempotency_key="correct-1"
        ),
        await forget.forget(upgraded, "fact", project, main, reason="Done", idempotency_key="forget-1"),
        await restore.restore(upgraded, "fact", project, main, idempotency_key="restore-1"),
        await undo(upgraded, faded["undoes"], main, idempotency_key="undo-1"),
    ]
    assert len(answers) == 11
    assert rows(events) == before
    with pytest.raises(Conflict, match="used before for another request"):
        await remember.fact(upgraded, replace(kitchen, content="teal"), main)


async def test_an_export_of_0_6_3_is_imported(resources: Resources, tmp_path: Any) -> None:
    """Into a new tenant with its history: it replays, is swept with other rates, and exports again."""
    imported = await import_(resources, old_store.EXPORT)
    assert (imported.outcome, imported.notes) == ("imported", ())
    resources.clock.now = old_store.LAST_WRITE + timedelta(hours=1)  # type: ignore[attr-defined]
    assert set(old_store.ANSWERS["march_5"]) <= set(await contents(resources, as_of=MARCH_5))
    changed = with_lifecycle(resources, **SLOWER)
    assert (await sweep(changed)).changed > 10
    assert (await replay(changed)).equal
    again = await export(changed, tmp_path / "again.jsonl")
    assert again.counts["event"] > imported.counts["event"]
