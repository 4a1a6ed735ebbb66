"""The person at the machine in another tenant: every command that goes there is on record there first."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from tests.adapters.conftest import Type, choosing, note

from memory_butler.errors import NotFound
from memory_butler.resources import Resources

Owner = psycopg.Connection[tuple[Any, ...]]
VISITS = (
    "SELECT payload ->> 'operation', payload ->> 'home', actor FROM memory.memory_events"
    " WHERE tenant_id = %s AND event_type = 'operator.visited' ORDER BY seq"
)


@pytest.fixture
def theirs(resources: Resources, tenant: str) -> Resources:
    """The store as somebody of another tenant has it."""
    return replace(resources, settings=resources.settings.model_copy(update={"tenant": f"{tenant}x"}))


async def test_every_command_in_another_tenant_is_an_event_there(
    resources: Resources, theirs: Resources, terminal: Callable[[Resources], Type], owner: Owner
) -> None:
    """One for each command, looks and changes alike, naming what was used and where from; at home there is none."""
    tenant, other = resources.settings.tenant, theirs.settings.tenant
    ref = await note(theirs, "I'm allergic to peanuts. I live in Porto.")
    run = terminal(choosing(resources, review=True))
    there = ("--tenant", other)
    expected: list[str] = []

    async def crossing(operation: str, *command: str) -> str:
        done = await run(*command, *there)
        assert done.exit_code == 0, done.exception
        expected.append(operation)
        assert [row[0] for row in owner.execute(VISITS, [other]).fetchall()] == expected, command
        return done.stdout

    await crossing("consolidation", "consolidate", "--dry-run")
    await crossing("consolidation", "consolidate")
    [waiting] = json.loads(await crossing("runs", "consolidate", "review", "--json"))["runs"]
    await crossing("runs", "consolidate", "runs")
    await crossing("runs", "consolidate", "show", waiting["run"])
    await crossing("review", "consolidate", "reject", waiting["run"], "1")
    await crossing("review", "consolidate", "approve", waiting["run"])
    await crossing("dead_letters", "dead-letters")
    await crossing("dead_letters", "dead-letters", "list")
    await crossing("memory_get", "dead-letters", "show", ref)
    await crossing("requeue", "dead-letters", "requeue", ref, "--again")
    assert {row[1:] for row in owner.execute(VISITS, [other]).fetchall()} == {(tenant, "main")}

    for command in (("consolidate", "runs"), ("dead-letters",), ("consolidate", "runs", "--tenant", tenant)):
        assert (await run(*command)).exit_code == 0
    assert owner.execute(VISITS, [tenant]).fetchall() == []


async def test_a_refused_look_is_on_record_and_a_tenant_that_is_not_there_is_not_made(
    resources: Resources, theirs: Resources, terminal: Callable[[Resources], Type], owner: Owner
) -> None:
    """The event comes before the work, so that it is there whatever becomes of the work."""
    other = theirs.settings.tenant
    await note(theirs, "I'm allergic to peanuts.")
    run = terminal(resources)
    assert isinstance((await run("dead-letters", "show", "episode:zzzz", "--tenant", other)).exception, NotFound)
    assert [row[0] for row in owner.execute(VISITS, [other]).fetchall()] == ["memory_get"]
    nowhere = f"{other}y"
    for command in (("consolidate",), ("consolidate", "runs"), ("dead-letters",)):
        assert isinstance((await run(*command, "--tenant", nowhere)).exception, NotFound)
    assert owner.execute("SELECT count(*) FROM memory.tenants WHERE tenant_id = %s", [nowhere]).fetchone() == (0,)
