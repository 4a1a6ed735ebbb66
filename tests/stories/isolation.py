"""Isolation under fire: tenants with planted words, and random calls aimed at what belongs to the others.

Every tenant has words of two kinds. A *known* word is what an intruder may have learned: names of butlers, subjects,
tags, sessions, keys, and the ids and references of memories. Those are what calls are made of. A *secret* word is in
everything that is remembered and is never part of a call, so that it can only come from the store.
"""

import json
import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
from psycopg import sql

from memory_butler.adapters.http.identity import in_process_principal
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.mcp.catalog import build_tools
from memory_butler.models import (
    Caller,
    Lineage,
    NewEpisode,
    NewFact,
    NewRule,
    NewToken,
    Outcome,
    Principal,
    Question,
    Role,
)
from memory_butler.operations.access import tokens
from memory_butler.operations.consolidation.consolidate import consolidate
from memory_butler.operations.lifecycle.job_status import shard_of
from memory_butler.operations.retrieval import get as get_operation
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import feedback, forget, remember
from memory_butler.resources import Resources

BUTLERS = ("chef", "nurse")
LETTERS = "bcdfghjklmnpqrstvwxz"
KINDS = ("fact", "rule", "episode")
# What is named with a memory of its own scope may be seen by its butler and by who governs; the rest by the tenant.
EVERYBODY = None


@dataclass
class World:
    """A tenant, what is planted in it, and who belongs to it."""

    tenant: str
    random: random.Random
    known: list[str] = field(default_factory=list)
    # Each secret, and the butler whose own it is.
    secrets: dict[str, str | None] = field(default_factory=dict)
    handles: list[str] = field(default_factory=list)
    butlers: list[str] = field(default_factory=list)
    tokens: dict[tuple[Role, str], str] = field(default_factory=dict)
    # The id of each episode that is planted, and the butler whose own it is.
    episodes: dict[str, str] = field(default_factory=dict)

    def word(self) -> str:
        """A word that nobody else has, and that calls may use."""
        self.known.append("k" + "".join(self.random.choices(LETTERS, k=9)))
        return self.known[-1]

    def secret(self, owner: str | None = EVERYBODY) -> str:
        """A word that nobody else has, and that no call ever has."""
        word = "s" + "".join(self.random.choices(LETTERS, k=11))
        self.secrets[word] = owner
        return word

    def names(self) -> list[str]:
        """What is this tenant's alone and may be part of a call; short references are counted anew in every tenant."""
        return [*self.known, *(handle for handle in self.handles if ":" not in handle)]

    def principal(self, role: Role, butler: str) -> Principal:
        return Principal(self.tenant, butler, role)


async def plant(resources: Resources, tenant: str, chance: random.Random) -> World:
    """A tenant with two butlers, memories of every kind in every state, a run, references, keys and tokens."""
    world = World(tenant, chance)
    for name in BUTLERS:
        own = f"{name}-{world.word()}"
        world.butlers.append(own)
        # The admin's name stands in histories that everybody of the tenant may read.
        caller = Caller(Principal(tenant, own, Role.ADMIN, name=world.secret()), Lineage(request_id=world.word()))
        await _furnish(resources, world, caller, own)
        reports = await consolidate(resources, shard_of(tenant, own))
        world.handles += [str(report.run) for report in reports]
        await remember.episode(resources, NewEpisode(content=f"Waits: {world.secret(own)}", butler=own), caller)
        for role in Role:
            wanted = NewToken(tenant=tenant, butler=own, role=role, label=f"{role} {world.secret()}")
            made, world.tokens[role, own] = await tokens.create(resources, wanted, resources.local_operator())
            world.handles.append(str(made.id))
    return world


async def _furnish(resources: Resources, world: World, caller: Caller, own: str) -> None:
    for scope, owner in (("global", EVERYBODY), (own, own)):
        subject, session = f"{world.word()}", world.word()
        seen = await remember.episode(
            resources,
            NewEpisode(
                content=f"Met {subject}. I live in {world.secret(own).capitalize()}.",
                butler=own,
                session_id=session,
                tags=(world.word(), world.secret(own)),
                metadata={"place": world.secret(own)},
                idempotency_key=world.word(),
            ),
            caller,
        )
        world.episodes[str(seen.id)] = own
        facts = []
        for content in (f"{subject} likes {world.secret(owner)}", f"{subject} likes {world.secret(owner)} now"):
            new = NewFact(
                subject=subject,
                predicate=f"likes_{scope[:4]}",
                content=content,
                scope=scope,
                tags=(world.word(), world.secret(owner)),
                metadata={"note": world.secret(owner)},
                source_episode=seen.ref,
                aliases=(world.word(), world.secret(owner)),
            )
            facts.append(await remember.fact(resources, new, caller))
        rule = await remember.rule(
            resources, NewRule(content=f"Ask {subject} about {world.secret(owner)}.", scope=scope), caller
        )
        await feedback.mark(resources, rule.ref, Outcome.HARMFUL, caller, reason=f"because of {world.secret(owner)}")
        gone = NewFact(subject=subject, predicate="gone", content=f"gone {world.secret(owner)}", scope=scope)
        facts.append(await remember.fact(resources, gone, caller))
        await forget.forget(resources, "fact", facts[-1].ref, caller, reason=world.secret(owner))
        await search.search(resources, Question(query=f"what does {subject} like", min_relevance=0), caller)
        for stored in (seen, rule, *facts):
            world.handles += [f"{stored.type}:{stored.ref}", str(stored.id)]
            for event in (await get_operation.get(resources, stored.type, stored.ref, caller, bump=False)).events:
                world.handles += [str(event.id), *([str(event.group_id)] if event.group_id else [])]


@dataclass(frozen=True)
class Words:
    """What a call is made of: mostly what belongs to others, sometimes one's own."""

    chance: random.Random
    own: World
    others: list[World]

    def world(self) -> World:
        return self.own if not self.others or self.chance.random() < 0.25 else self.chance.choice(self.others)

    def handle(self) -> str:
        return self.chance.choice(self.world().handles)

    def word(self) -> str:
        return self.chance.choice(self.world().known)

    def place(self) -> str:
        """A scope or a butler's name."""
        named = [*self.world().butlers, *self.own.butlers, "global", "*", self.world().tenant, "main"]
        return self.chance.choice(named)


MOMENTS = ("2026-03-01T08:00:00Z", "2026-03-01T09:00:00+00:00", "2030-01-01T00:00:00Z")
BY_NAME: dict[str, tuple[Any, ...]] = {
    "type": KINDS,
    "mode": ("hybrid", "semantic", "keyword"),
    "tier": ("eden", "mid", "long"),
    "permanence": ("standard", "permanent", "ephemeral"),
    "min_relevance": (0, 0.5),
    "min_confidence": (0, 0.5),
    "limit": (1, 10, 100),
    "role": tuple(Role),
}
HANDLES = ("id", "handle", "run", "rule_id", "fact_id", "source_episode", "since", "cursor")
PLACES = ("scope", "butler", "only_butler", "tenant")
LONG_TEXTS = ("query", "topic", "trigger_prompt", "content", "contains", "words")


def value_of(name: str, schema: dict[str, Any], words: Words, page: dict[str, Any] | None = None) -> Any:
    """A value for an argument: by what its name means, else by what its schema allows."""
    chance = words.chance
    schema = _resolved(schema, page or {}, chance)
    kind = schema.get("type")
    if chosen := BY_NAME.get(name) or schema.get("enum"):
        return chance.choice(chosen)
    if kind == "array":
        inner, count = schema.get("items", {}), chance.choice((1, 2))
        return [value_of(name.removesuffix("s"), inner, words, page) for _ in range(count)]
    if kind == "object":
        return arguments_of(schema, words, page)
    if kind in ("integer", "number", "boolean"):
        return chance.random() < 0.5 if kind == "boolean" else chance.choice([1, 2, 5, schema.get("maximum", 10)])
    return _text(name, words)


def _text(name: str, words: Words) -> str:
    if name.endswith(("_at", "_from", "_to")) or name == "as_of":
        return words.chance.choice(MOMENTS)
    if name in HANDLES and words.chance.random() < 0.9:
        return words.handle()
    if name in PLACES:
        return words.place()
    if name in LONG_TEXTS:
        return " ".join([words.word(), words.chance.choice(("likes", "met", "lives")), words.word()])
    return words.word()


def arguments_of(schema: dict[str, Any], words: Words, page: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object that the schema allows: what is required, and some of the rest."""
    required = set(schema.get("required", ()))
    return {
        name: value_of(name, inner, words, page)
        for name, inner in schema.get("properties", {}).items()
        if name in required or words.chance.random() < 0.3
    }


def _resolved(schema: dict[str, Any], page: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    while "$ref" in schema or "anyOf" in schema:
        if "$ref" in schema:
            found: Any = page
            for part in schema["$ref"].lstrip("#/").split("/"):
                found = found[part]
            schema = found
        else:
            possible = [one for one in schema["anyOf"] if one.get("type") != "null"]
            schema = chance.choice(possible) if possible else {}
    return schema


def leaks(told: str, said: set[str], principal: Principal, worlds: list[World]) -> list[str]:
    """The words in an answer that this caller must not see: secrets of others, and names it has not said itself."""
    found = set()
    for world in worlds:
        is_own = world.tenant == principal.tenant
        for word, owner in world.secrets.items():
            may = is_own and (owner in (EVERYBODY, principal.butler) or principal.role.governs)
            if not may and word in told:
                found.add(word)
        if not is_own:
            found |= {word for word in world.names() if word in told and word not in said}
    return sorted(found)


def strange_episodes(told: str, sent: str, principal: Principal, worlds: list[World]) -> list[str]:
    """The ids in an answer, not named by the call, of episodes of one's own tenant that are another butler's."""
    if principal.role.governs:
        return []
    theirs = [
        one
        for world in worlds
        if world.tenant == principal.tenant
        for one, owner in world.episodes.items()
        if owner != principal.butler
    ]
    return [one for one in theirs if one in told and one not in sent]


@dataclass
class Tally:
    calls: int = 0
    by_name: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)
    leaked: list[str] = field(default_factory=list)
    # Names of others that the intruder has said: it may have stored them, and finds them again as its own.
    said: set[str] = field(default_factory=set)

    def saw(self, call: tuple[str, str], told: str, principal: Principal, worlds: list[World]) -> None:
        name, sent = call
        self.said |= {word for world in worlds for word in world.names() if word in sent}
        seen = leaks(told, self.said, principal, worlds) + strange_episodes(told, sent, principal, worlds)
        self.leaked += [f"{name} {sent} as {principal}: {word}" for word in seen]

    def note(self, name: str, outcome: str) -> None:
        self.calls += 1
        self.by_name[name] = self.by_name.get(name, 0) + 1
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1


async def fire(
    resources: Resources,
    intruder: World,
    worlds: list[World],
    calls: int,
    tally: Tally,
    *,
    seen_by: World | None = None,
) -> None:
    """Random calls of every tool by everybody of one tenant, aimed at the others.

    What comes back is looked at with the eyes of the intruder, or of another tenant.
    """
    chance = intruder.random
    words = Words(chance, intruder, [world for world in worlds if world is not intruder])
    tools = build_tools(LazyResources.already_open(resources))
    for number in range(calls):
        tool = tools[number % len(tools)]
        principal = intruder.principal(chance.choice(list(Role)), chance.choice(intruder.butlers))
        arguments = arguments_of(tool.parameters, words, tool.parameters)
        previous = in_process_principal.set(principal)
        try:
            result = await tool.run(arguments)
        finally:
            in_process_principal.reset(previous)
        told, sent = (json.dumps(one, ensure_ascii=False) for one in (result.structured_content, arguments))
        tally.note(tool.name, (result.structured_content or {}).get("error", "ok"))
        eyes = seen_by.principal(principal.role, "stranger") if seen_by else principal
        # A caller may be told its own name.
        tally.saw((tool.name, f"{sent} {principal.butler}"), told, eyes, worlds)


async def look_around(resources: Resources, world: World, worlds: list[World], tally: Tally) -> None:
    """Each agent of a tenant looks at everything of its own tenant that it can name, whosever it is."""
    [get] = [tool for tool in build_tools(LazyResources.already_open(resources)) if tool.name == "memory_get"]
    for own in world.butlers:
        principal = world.principal(Role.AGENT, own)
        for kind, _, ref in (handle.partition(":") for handle in world.handles if ":" in handle):
            previous = in_process_principal.set(principal)
            try:
                result = await get.run({"type": kind, "id": ref})
            finally:
                in_process_principal.reset(previous)
            tally.note(get.name, (result.structured_content or {}).get("error", "ok"))
            tally.saw((get.name, ref), json.dumps(result.structured_content), principal, worlds)


def tables(owner: psycopg.Connection[Any]) -> list[str]:
    rows = owner.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped"
        " WHERE n.nspname = 'memory' AND c.relkind IN ('r', 'p') ORDER BY 1"
    ).fetchall()
    return [row[0] for row in rows]


def snapshot(owner: psycopg.Connection[Any], worlds: list[World]) -> dict[tuple[str, str], str]:
    """Every row of these tenants in every table, as text, in one digest for each table."""
    query = "SELECT md5(string_agg(t::text, E'\\n' ORDER BY t::text)) FROM memory.{} t WHERE tenant_id = %s"
    found = {}
    for table in tables(owner):
        for world in worlds:
            row = owner.execute(sql.SQL(query).format(sql.Identifier(table)), (world.tenant,)).fetchone()
            found[world.tenant, table] = str(row[0]) if row else ""
    return found


def new_tenants(count: int) -> Iterator[str]:
    for _ in range(count):
        yield f"t{uuid.uuid4().hex[:16]}"


def as_everybody(resources: Resources) -> Resources:
    """The store with agents that distil, so that those tools are there, too."""
    agents = resources.settings.consolidation.model_copy(update={"distiller": "agent"})
    return replace(resources, settings=resources.settings.model_copy(update={"consolidation": agents}))
