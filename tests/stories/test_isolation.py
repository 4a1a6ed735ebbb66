"""Nothing of one tenant is ever seen, counted, changed or deleted by another, whatever is called with whatever."""

import json
import random
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from tests.stories.isolation import (
    Tally,
    Words,
    World,
    arguments_of,
    as_everybody,
    fire,
    leaks,
    look_around,
    new_tenants,
    plant,
    snapshot,
    strange_episodes,
)
from tests.stories.isolation_campaign import fire_at_routes, listen_in
from tests.support.service import serving

from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.catalog import TOOLS, build_tools
from memory_butler.models import Caller, Principal, Role
from memory_butler.operations.system import stats
from memory_butler.operations.system.call_log import store_waiting
from memory_butler.resources import Resources

Owner = psycopg.Connection[Any]
SEED = 20260301


@pytest.fixture(scope="module")
async def worlds(shared_resources: Resources) -> list[World]:
    """Three tenants with the same furniture and their own words."""
    chance = random.Random(SEED)
    return [await plant(shared_resources, tenant, random.Random(chance.random())) for tenant in new_tenants(3)]


def _see(owner: Owner, worlds: list[World]) -> dict[tuple[str, str], str]:
    before = snapshot(owner, worlds)
    assert len(set(before.values())) > len(before) / 2, "the tenants are furnished"
    return before


async def test_no_tool_reaches_into_another_tenant(
    shared_resources: Resources, owner: Owner, worlds: list[World]
) -> None:
    """Random calls of every tool, by every role, with what belongs to others: no word of theirs comes back, theirs is
    byte for byte what it was, and what they are told about themselves is the same as before."""
    intruder, *others = worlds
    await store_waiting(shared_resources)
    before = _see(owner, others)
    told = [await stats.stats(shared_resources, None, _governing(world)) for world in others]
    tally = Tally()
    await fire(as_everybody(shared_resources), intruder, worlds, 260, tally)
    assert tally.leaked == []
    assert snapshot(owner, others) == before
    after = [await stats.stats(shared_resources, None, _governing(world)) for world in others]
    for was, now in zip(told, after, strict=True):
        assert {**was, "backlog": {}, "tiers": {}} == {**now, "backlog": {}, "tiers": {}}
    # The calls were not all turned away at the door, and none of them broke anything.
    assert tally.outcomes["ok"] > 60 and tally.outcomes["not_found"] > 30
    assert "internal_error" not in tally.outcomes and "integrity_error" not in tally.outcomes, tally.outcomes
    assert set(tally.by_name) == set(TOOLS)


def _governing(world: World) -> Caller:
    return Caller(Principal(world.tenant, world.butlers[0], Role.ADMIN))


async def test_no_look_shows_what_is_another_butlers(shared_resources: Resources, worlds: list[World]) -> None:
    """Each agent looks at every memory of its tenant: what it may read names no episode and tells no word that belongs
    to the other butler alone, and the rest is not found."""
    tally = Tally()
    await look_around(shared_resources, worlds[2], worlds[2:], tally)
    assert tally.leaked == []
    assert set(tally.outcomes) == {"ok", "not_found"}


async def test_no_route_reaches_into_another_tenant(
    shared_resources: Resources, owner: Owner, worlds: list[World]
) -> None:
    """The same over HTTP with tokens: every route that the service's own OpenAPI page names."""
    intruder, *others = worlds[1:] + worlds[:1]
    await store_waiting(shared_resources)
    before = _see(owner, others)
    async with serving(shared_resources) as service:
        tally = await fire_at_routes(service, intruder, worlds, 2)
    assert tally.leaked == []
    assert snapshot(owner, others) == before
    assert not {status for status in tally.outcomes if status >= "500"}, tally.outcomes
    assert {"200", "404", "403"} <= set(tally.outcomes), tally.outcomes


async def test_no_stream_tells_of_another_tenant(shared_resources: Resources) -> None:
    """The activity stream from its start and as it goes on, for an agent and an administrator of each tenant, while the
    others have news: no word of theirs is in it, what is one's own is, and a cursor of theirs leads nowhere."""
    chance = random.Random(SEED)
    worlds = [await plant(shared_resources, tenant, random.Random(chance.random())) for tenant in new_tenants(2)]
    async with serving(shared_resources) as service:
        for world in worlds:
            tally = await listen_in(service, world, worlds, (Role.AGENT, Role.ADMIN))
            assert tally.leaked == []
            assert tally.outcomes == {"200": 2, "422": 4}


async def test_the_detector_detects(shared_resources: Resources, worlds: list[World]) -> None:
    """The check above sees a secret of another tenant, one of another butler, and ids that were not asked for; and
    lets pass what is one's own or was said by the caller."""
    one, other = worlds[0], worlds[1]
    agent = one.principal(Role.AGENT, one.butlers[0])
    theirs = next(iter(other.secrets))
    mine = next(word for word, owner in one.secrets.items() if owner is None)
    nurses = next(word for word, owner in one.secrets.items() if owner == one.butlers[1])
    assert leaks(f"… {theirs} …", set(), agent, worlds) == [theirs]
    assert leaks(f"… {nurses} …", set(), agent, worlds) == [nurses]
    assert leaks(f"… {nurses} …", set(), replace(agent, role=Role.ADMIN), worlds) == []
    assert leaks(f"… {mine} …", set(), agent, worlds) == []
    assert leaks(f"There is no {other.handles[1]}", {other.handles[1]}, agent, worlds) == []
    assert leaks(f"There is no {other.handles[1]}", set(), agent, worlds) == [other.handles[1]]
    episode = next(id for id, owner in one.episodes.items() if owner == one.butlers[1])
    assert strange_episodes(f"from {episode}", "", agent, worlds) == [episode]
    assert strange_episodes(f"There is no {episode}", episode, agent, worlds) == []
    assert strange_episodes(f"from {episode}", "", replace(agent, role=Role.ADMIN), worlds) == []


async def test_calls_are_made_of_what_belongs_to_others(shared_resources: Resources, worlds: list[World]) -> None:
    """The random calls name other tenants' memories, butlers and words: they are aimed."""
    one, *others = worlds
    words = Words(random.Random(SEED), one, others)
    theirs = {word for world in others for word in (*world.handles, *world.butlers, *world.known)}
    tools = build_tools(LazyResources.already_open(shared_resources))
    made = [json.dumps(arguments_of(tool.parameters, words, tool.parameters)) for tool in tools * 4]
    aimed = [text for text in made if any(word in text for word in theirs)]
    assert len(aimed) > len(made) / 2
