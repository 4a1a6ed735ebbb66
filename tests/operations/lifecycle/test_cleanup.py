"""Housekeeping removes what upkeep leaves behind, and nothing that anybody still needs."""

import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.conftest import MovingClock
from tests.operations.conftest import Rows

from memory_butler.models import Caller, NewFact, NewRule
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.lifecycle.cleanup import cleanup
from memory_butler.operations.lifecycle.job_status import FAILED, SUCCEEDED, shard_of
from memory_butler.operations.retrieval.get import get
from memory_butler.operations.trust.encryption_keys import key_status
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.store.encryption import tenant_keys
from memory_butler.store.history import scratch
from memory_butler.store.history.replay import scratch_schema

DAY = timedelta(days=1)


@pytest.fixture
async def shard(resources: Resources, tenant: str) -> Caller:
    await remember.rule(resources, NewRule(content="Be brief."))
    return shard_of(tenant, "main")


async def run(resources: Resources, shard: Caller, job: str, outcome: str = SUCCEEDED) -> None:
    begun = await job_status.begin(resources, shard, job, DAY)
    assert begun and await job_status.finish(resources, shard, begun, outcome, {})


async def test_old_runs_go_and_the_latest_of_each_job_stays(
    resources: Resources, shard: Caller, rows: Rows, clock: MovingClock
) -> None:
    """Records are kept for ninety days; how a job that has not run since went is never forgotten."""
    for _ in range(3):
        await run(resources, shard, "sweep")
        clock.move(days=2)
    await run(resources, shard, "cleanup", FAILED)
    other = shard_of(shard.principal.tenant, "other")
    await remember.rule(resources, NewRule(content="Be kind.", scope="other"), other)
    await run(resources, other, "sweep")
    clock.move(days=87)
    assert (await cleanup(resources, shard))["runs"] == 2
    assert sorted((row["butler"], row["job"]) for row in rows("job_runs")) == [
        ("main", "cleanup"),
        ("main", "sweep"),
        ("other", "sweep"),
    ]
    clock.move(days=1000)
    assert (await cleanup(resources, shard))["runs"] == 0


async def test_finished_jobs_and_dead_workers_go_after_some_days(
    resources: Resources, shard: Caller, owner: Any
) -> None:
    """What ended a week ago leaves the queue; what waits, runs or ended just now stays, and so do living workers."""
    queue = f"q{uuid.uuid4().hex[:12]}"
    owner.execute("SET search_path = memory")
    for status in ("succeeded", "failed", "aborted", "cancelled", "todo", "doing"):
        for age in ("8 days", "1 day"):
            (job,) = owner.execute(
                "INSERT INTO procrastinate_jobs (queue_name, task_name, status) VALUES (%s, 'x', %s) RETURNING id",
                (queue, status),
            ).fetchone()
            owner.execute("DELETE FROM procrastinate_events WHERE job_id = %s", (job,))
            owner.execute(
                "INSERT INTO procrastinate_events (job_id, type, at) VALUES (%s, 'started', now() - %s::interval)",
                (job, age),
            )
    workers = [
        owner.execute(
            "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - %s::interval) RETURNING id", (age,)
        ).fetchone()[0]
        for age in ("2 days", "1 hour")
    ]
    report = await cleanup(resources, shard)
    assert (report["queue_jobs"], report["workers"]) == (4, 1)
    left = owner.execute("SELECT status FROM procrastinate_jobs WHERE queue_name = %s ORDER BY status", (queue,))
    assert sorted(str(row[0]) for row in left) == sorted(
        ["succeeded", "failed", "aborted", "cancelled", "todo", "todo", "doing", "doing"]
    )
    alive = owner.execute("SELECT id FROM procrastinate_workers WHERE id = ANY(%s)", (workers,)).fetchall()
    assert alive == [(workers[1],)]


async def test_a_schema_that_a_replay_left_over_is_removed(resources: Resources, shard: Caller, owner: Any) -> None:
    """But not while a replay is at work in it."""
    name = resources.database.names.scratch
    assert (await cleanup(resources, shard))["scratch_schemas"] == 0
    owner.execute(f'CREATE SCHEMA "{name}" AUTHORIZATION memory_owner')
    assert (await cleanup(resources, shard))["scratch_schemas"] == 1
    assert owner.execute("SELECT FROM pg_namespace WHERE nspname = %s", (name,)).fetchall() == []
    async with scratch_schema(resources.database):
        assert not await scratch.drop_left_over(resources.database)
        assert owner.execute("SELECT FROM pg_namespace WHERE nspname = %s", (name,)).fetchall() != []


async def test_a_schema_that_cannot_be_removed_is_said_and_stops_nothing(
    resources: Resources, shard: Caller, owner: Any
) -> None:
    """The rest of the housekeeping is done, and the report says what is left."""
    name = resources.database.names.scratch
    owner.execute(f'CREATE SCHEMA "{name}"')
    try:
        report = await cleanup(resources, shard)
    finally:
        owner.execute(f'DROP SCHEMA "{name}"')
    assert "left over could not be removed" in report["note"] and "must be owner" in report["note"]
    assert report["scratch_schemas"] == 0


async def test_no_memory_is_touched(resources: Resources, shard: Caller, everything: Any, clock: MovingClock) -> None:
    """Everything that is remembered, and its log, is as it was."""
    before = everything()
    clock.move(days=400)
    await cleanup(resources, shard)
    assert everything() == before


async def test_a_key_that_is_old_enough_is_rotated_and_an_interrupted_rotation_goes_on(
    encrypted: Resources, tenant: str, clock: MovingClock
) -> None:
    """With the setting by age, without it only what was begun; the texts are as before."""
    shard = shard_of(tenant, "main")
    stored = await remember.fact(encrypted, NewFact(subject="Anna", predicate="allergies", content="nuts"))
    every = encrypted.settings.encryption.model_copy(update={"rotate_days": 30})
    aging = replace(encrypted, settings=encrypted.settings.model_copy(update={"encryption": every}))
    clock.move(days=29)
    assert "keys_rotated" not in await cleanup(aging, shard)
    clock.move(days=2)
    assert "keys_rotated" not in await cleanup(encrypted, shard)
    assert (await cleanup(aging, shard))["keys_rotated"] == {
        "encrypted": 0,
        "anew": 1,
        "unreadable": 0,
        "continued": False,
    }
    assert "keys_rotated" not in await cleanup(aging, shard)
    assert encrypted.database.encryption
    async with encrypted.database.write(tenant, clock.now) as transaction:
        await tenant_keys.rotate(transaction, encrypted.database.encryption, clock.now)
    report = await cleanup(encrypted, shard)
    assert report["keys_rotated"]["continued"] and report["keys_rotated"]["anew"] == 1
    assert [state for key, state in (await key_status(encrypted)).keys if key.wrapped] == ["in use", "in use"]
    assert (await get(encrypted, "fact", stored.ref)).memory.content == "nuts"
