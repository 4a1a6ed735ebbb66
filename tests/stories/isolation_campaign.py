"""The long form: thousands of calls of every tool and every route, tenant after tenant.

`python -m tests.stories.isolation_campaign [--calls N] [--tenants N] [--seed N]`, on a scratch store of its own.
"""

import argparse
import asyncio
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psycopg
from tests.stories.isolation import Tally, Words, World, as_everybody, fire, new_tenants, plant, snapshot, value_of
from tests.support.service import Service, serving

from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.models import Role
from memory_butler.resources import Resources, open_resources
from memory_butler.settings import load_settings
from memory_butler.store.embedded.server import EmbeddedPostgres

CALLS_A_TURN = 260
STREAM = "/activity/stream"
LONGEST_SECONDS = 60


async def fire_at_routes(
    service: Service, intruder: World, worlds: list[World], rounds: int, said: set[str] | None = None
) -> Tally:
    """Random requests to every route of the service's own OpenAPI page, by everybody of one tenant."""
    tally, chance = Tally(said=said or set()), intruder.random
    words = Words(chance, intruder, [world for world in worlds if world is not intruder])
    async with service.web(intruder.tokens[Role.READER, intruder.butlers[0]]) as web:
        page = (await web.get("/api/v1/openapi.json")).json()
    for path, route in list(page["paths"].items()) * rounds:
        for method in ("get", "post", "put", "patch", "delete"):
            if method not in route or path == STREAM:
                continue
            role, butler = chance.choice(list(Role)), chance.choice(intruder.butlers)
            request = _request((method, path, route[method]), words, page)
            async with service.web(intruder.tokens[role, butler]) as web:
                reply = await web.request(**request)
            called = f"{method} {path}"
            tally.note(called, str(reply.status_code))
            told = f"{dict(reply.headers)} {reply.text}"
            tally.saw((called, json.dumps(request)), told, intruder.principal(role, butler), worlds)
    return tally


async def listen_in(
    service: Service, listener: World, worlds: list[World], roles: Iterable[Role] = Role, said: set[str] | None = None
) -> Tally:
    """The activity stream from the start, as everybody of one tenant, while all the others have news: up to the
    listener's own news, so that nothing of what came before is still on its way."""
    tally = Tally(said=said or set())
    others = [world for world in worlds if world is not listener]
    for role in roles:
        butler = listener.random.choice(listener.butlers)
        token = listener.tokens[role, butler]
        foreign = await _cursor(service, listener.random.choice(others))
        cursors: list[dict[str, Any]] = [{"params": {"since": foreign}}, {"headers": {"last-event-id": foreign}}]
        for since in cursors:
            async with service.web(token) as web:
                reply = await web.get(f"/api/v1{STREAM}", **since)
            tally.note("a cursor of others", str(reply.status_code))
            tally.saw(("stream", foreign), reply.text, listener.principal(role, butler), worlds)
        told = await _overheard(service, token, [*others, listener])
        tally.note("stream", "200")
        tally.saw(("stream", ""), told, listener.principal(role, butler), worlds)
    return tally


async def _overheard(service: Service, token: str, speakers: list[World]) -> str:
    """Everything that a stream tells until the last speaker, who is at home there, is heard."""
    heard, last = [], None
    async with (
        asyncio.timeout(LONGEST_SECONDS),
        service.web(token) as web,
        web.stream("GET", f"/api/v1{STREAM}", params={"since": "start"}) as stream,
    ):
        assert stream.status_code == 200
        async for line in stream.aiter_lines():
            heard.append(line)
            if last is None:
                last = [await _speak(service, world) for world in speakers][-1]
            if line.startswith("data:") and json.loads(line.removeprefix("data:")).get("ref") == last:
                break
    return "\n".join(heard)


async def _speak(service: Service, world: World) -> str:
    """Something new that everybody of a tenant may know; its reference."""
    new = {"subject": world.word(), "predicate": "news", "content": world.secret(), "tags": [world.secret()]}
    async with service.web(world.tokens[Role.ADMIN, world.butlers[0]]) as web:
        reply = await web.post("/api/v1/store_fact", json=new)
    return str(reply.json()["ref"])


async def _cursor(service: Service, world: World) -> str:
    async with service.web(world.tokens[Role.READER, world.butlers[0]]) as web:
        return str((await web.post("/api/v1/activity_stream", json={})).json()["cursor"])


def _request(target: tuple[str, str, dict[str, Any]], words: Words, page: dict[str, Any]) -> dict[str, Any]:
    """A request that the page allows."""
    method, path, route = target
    query: dict[str, Any] = {}
    for parameter in route.get("parameters", []):
        if "$ref" in parameter:
            continue
        value = value_of(parameter["name"], parameter.get("schema", {}), words, page)
        if parameter["in"] == "path":
            path = path.replace("{" + parameter["name"] + "}", str(value))
        elif parameter["in"] == "query" and words.chance.random() < 0.3:
            query[parameter["name"]] = value
    request: dict[str, Any] = {"method": method.upper(), "url": f"/api/v1{path}", "params": query}
    if "requestBody" in route:
        schema = route["requestBody"]["content"]["application/json"]["schema"]
        request["json"] = value_of("body", schema, words, page)
    return request


async def turn(
    resources: Resources, service: Service, owner: psycopg.Connection[Any], intruder: World, worlds: list[World]
) -> tuple[Tally, list[str]]:
    """One tenant tries its hand at all the others: how that went, and what went wrong."""
    others = [world for world in worlds if world is not intruder]
    before, tally = snapshot(owner, others), Tally()
    # What an earlier intruder has stored under others' names is its own to tell.
    tally.said.update(name for world in worlds for name in world.names())
    await fire(as_everybody(resources), intruder, worlds, CALLS_A_TURN, tally)
    at_routes = await fire_at_routes(service, intruder, worlds, 2, tally.said)
    # What others say while it listens is for their own logs.
    changed = snapshot(owner, others) != before
    heard = await listen_in(service, intruder, worlds, said=tally.said)
    faults = tally.leaked + at_routes.leaked + heard.leaked
    faults += ["an internal error"] if "internal_error" in tally.outcomes else []
    faults += [f"status {status}" for status in at_routes.outcomes if status >= "500"]
    faults += ["a cursor of others was taken"] if set(heard.outcomes) != {"200", "422"} else []
    faults += ["rows of others have changed"] if changed else []
    for outcome, count in [*at_routes.outcomes.items(), *heard.outcomes.items()]:
        tally.outcomes[outcome] = tally.outcomes.get(outcome, 0) + count
    tally.calls += at_routes.calls + heard.calls
    return tally, faults


async def campaign(home: Path, calls: int, tenants: int, seed: int) -> list[str]:
    """Each tenant in turn, until so many calls were made or something went wrong."""
    chance, done, outcomes, faults = random.Random(seed), 0, dict[str, int](), list[str]()
    async with (
        open_resources(load_settings(home=home), embedder=FakeEmbedder()) as resources,
        serving(resources) as service,
    ):
        worlds = [await plant(resources, name, random.Random(chance.random())) for name in new_tenants(tenants)]
        with psycopg.connect(EmbeddedPostgres(home).dsn("postgres", "memory"), autocommit=True) as owner:
            while done < calls and not faults:
                tally, faults = await turn(resources, service, owner, chance.choice(worlds), worlds)
                done += tally.calls
                outcomes = {
                    name: outcomes.get(name, 0) + tally.outcomes.get(name, 0) for name in outcomes | tally.outcomes
                }
                sys.stdout.write(f"\r{done} calls, {len(faults)} faults")
                sys.stdout.flush()
    sys.stdout.write(f"\nOutcomes: {dict(sorted(outcomes.items()))}\n")
    return faults


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--calls", type=int, default=5000)
    options.add_argument("--tenants", type=int, default=5)
    options.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = options.parse_args()
    sys.stdout.write(f"seed {given.seed}\n")
    home = Path(tempfile.mkdtemp(prefix="mb-"))
    postgres = EmbeddedPostgres(home, options={"fsync": "off", "full_page_writes": "off"})
    postgres.ensure_running()
    try:
        faults = asyncio.run(campaign(home, given.calls, given.tenants, given.seed))
    finally:
        postgres.stop()
        shutil.rmtree(home, ignore_errors=True)
    sys.stdout.writelines(f"{fault}\n" for fault in faults[:20])
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
