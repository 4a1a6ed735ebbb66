"""What a memory came from is its butler's own: others learn that there is evidence, and nothing else of it."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from tests.support.service import Service, called, serving

from memory_butler.client import MemoryClient
from memory_butler.models import Caller, Link, MemoryType, NewEpisode, NewFact, NewRule, Principal, Relation, Role
from memory_butler.operations.browse import listings
from memory_butler.operations.retrieval import get
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.store.memories import links

Owner = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True)
class Told:
    """A tenant in which the nurse's episode is the evidence of a fact and a rule that everybody may read."""

    resources: Resources
    tenant: str
    fact: str
    rule: str
    episode: str
    mine: str
    secrets: tuple[str, ...]

    def caller(self, role: Role, butler: str = "chef") -> Caller:
        return Caller(Principal(self.tenant, butler, role))


@pytest.fixture
async def told(resources: Resources, tenant: str) -> Told:
    """The chef's own episode is evidence, too: two links, of which the chef may see one."""
    chef, nurse = (Caller(Principal(tenant, name, Role.AGENT)) for name in ("chef", "nurse"))
    hers = await remember.episode(resources, NewEpisode(content="Anna took her pills.", butler="nurse"), nurse)
    new = NewFact(subject="Anna", predicate="diet", content="No grapefruit.", source_episode=str(hers.id))
    fact = await remember.fact(resources, new, nurse)
    private = await remember.fact(
        resources, NewFact(subject="Anna", predicate="illness", content="Secret.", scope="nurse"), nurse
    )
    rule = await remember.rule(
        resources, NewRule(content="Ask about grapefruit.", source_episode=f"episode:{hers.ref}"), nurse
    )
    his = await remember.episode(resources, NewEpisode(content="Anna sent the juice back.", butler="chef"), chef)
    await remember.fact(
        resources, NewFact(subject="Anna", predicate="diet", content="No grapefruit.", source_episode=his.ref), chef
    )
    now = resources.clock()
    joined = Link(
        source_type=MemoryType.FACT,
        source_id=private.id,
        target_type=MemoryType.FACT,
        target_id=fact.id,
        relation=Relation.SUPPORTS,
        created_at=now,
    )
    async with resources.database.write(tenant, now) as transaction:
        await links.insert(transaction, [joined], None)
    secrets = (str(hers.id), f"episode:{hers.ref}", str(private.id), f"fact:{private.ref}")
    return Told(resources, tenant, fact.ref, rule.ref, hers.ref, his.ref, secrets)


@pytest.mark.parametrize("role", [Role.AGENT, Role.READER])
async def test_an_agent_sees_its_own_evidence_and_that_there_is_more(told: Told, role: Role) -> None:
    """Its own episode is named; of the other butler's episode and private fact it learns the number."""
    seen = await get.get(told.resources, "fact", told.fact, told.caller(role), bump=False)
    assert [link.other_ref for link in seen.links] == [told.mine]
    assert seen.hidden_links == 2 and seen.memory.source_episode_id is None
    listed = await listings.links(told.resources, "fact", told.fact, told.caller(role))
    assert ([link.other_ref for link in listed.page.items], listed.hidden) == ([told.mine], 2)
    rule = await get.get(told.resources, "rule", told.rule, told.caller(role), bump=False)
    assert (rule.links, rule.hidden_links, rule.memory.source_episode_id) == ((), 1, None)


async def test_whose_it_is_and_who_governs_sees_all(told: Told) -> None:
    """The nurse sees her own and not the chef's; an administrator sees everything, and nothing counts as hidden."""
    nurse = await get.get(told.resources, "fact", told.fact, told.caller(Role.AGENT, "nurse"), bump=False)
    assert {link.other_ref for link in nurse.links} >= {told.episode} and nurse.hidden_links == 1
    assert nurse.memory.source_episode_id is not None
    for role in (Role.ADMIN, Role.OPERATOR):
        seen = await get.get(told.resources, "fact", told.fact, told.caller(role), bump=False)
        assert (len(seen.links), seen.hidden_links) == (3, 0)
        assert str(seen.memory.source_episode_id) == told.secrets[0]
        assert (await listings.links(told.resources, "fact", told.fact, told.caller(role))).hidden == 0


async def test_pages_of_links_skip_nothing_that_may_be_seen(told: Told) -> None:
    """What is hidden takes no place on a page, so a page of one is full, and there is no empty one behind it."""
    nurse = told.caller(Role.AGENT, "nurse")
    first = await listings.links(told.resources, "fact", told.fact, nurse, limit=1)
    second = await listings.links(told.resources, "fact", told.fact, nurse, limit=1, cursor=first.page.cursor)
    assert (len(first.page.items), len(second.page.items), second.page.cursor) == (1, 1, None)
    assert first.page.items != second.page.items


async def test_an_episode_that_is_gone_stays_its_butlers(told: Told, owner: Owner) -> None:
    """What is left of a deleted episode is as hidden as it was, and still named to whose it was."""
    row = (told.tenant, told.secrets[0])
    owner.execute(
        "INSERT INTO memory.episode_tombstones SELECT tenant_id, id, ref, butler, observed_at, created_at, now(),"
        " 'expired' FROM memory.episodes WHERE tenant_id = %s AND id = %s",
        row,
    )
    owner.execute("DELETE FROM memory.episodes WHERE tenant_id = %s AND id = %s", row)
    rule = await get.get(told.resources, "rule", told.rule, told.caller(Role.AGENT), bump=False)
    assert (rule.links, rule.hidden_links, rule.memory.source_episode_id) == ((), 1, None)
    hers = await get.get(told.resources, "rule", told.rule, told.caller(Role.AGENT, "nurse"), bump=False)
    assert [(link.other_ref, link.availability) for link in hers.links] == [(told.episode, "expired")]
    assert str(hers.memory.source_episode_id) == told.secrets[0]


@pytest.fixture
async def service(told: Told) -> AsyncIterator[Service]:
    async with serving(told.resources) as opened:
        yield opened


async def test_no_door_names_it(told: Told, service: Service) -> None:
    """Every tool and route through which an agent or a reader can look at the fact and the rule; an administrator is
    told through the same ones."""
    for role, names_it in ((Role.READER, False), (Role.AGENT, False), (Role.ADMIN, True)):
        token = await service.token(told.tenant, role, "chef")
        answers = await _through_all_doors(told, service, token)
        for door, answer in answers.items():
            assert names_it or not [word for word in told.secrets if word in answer], (role, door)
        assert all(told.secrets[0] in answers[door] for door in ("memory_get", "links", "one", "list")) is names_it
        assert ('"hidden_links": 2' in answers["memory_get"]) is not names_it


async def _through_all_doors(told: Told, service: Service, token: str) -> dict[str, str]:
    answers = {}
    search = {"query": "grapefruit", "min_relevance": 0, "expand": 5, "types": ["fact", "rule"], "detail": "full"}
    calls: dict[str, dict[str, Any]] = {
        "memory_get": {"type": "fact", "id": told.fact, "detail": "full"},
        "memory_search": search,
        "memory_recall": {"topic": "grapefruit", "min_relevance": 0, "expand": 5, "detail": "full"},
        "memory_explain": {"query": "grapefruit", "id": f"fact:{told.fact}", "token_budget": 500},
        "memory_context": {"trigger_prompt": "grapefruit", "butler": "chef"},
        "memory_activity_stream": {"since": "start"},
    }
    async with service.mcp(token) as mcp:
        for tool, arguments in calls.items():
            answers[tool] = json.dumps(await called(mcp, tool, **arguments))
    async with service.web(token) as web:
        for name, path in {
            "one": f"/memories/fact/{told.fact}",
            "rule": f"/memories/rule/{told.rule}",
            "links": f"/memories/fact/{told.fact}/links",
            "history": f"/memories/fact/{told.fact}/history",
            "list": "/memories/fact",
            "rules": "/memories/rule",
        }.items():
            reply = await web.get(f"/api/v1{path}")
            assert reply.status_code == 200, reply.text
            answers[name] = reply.text
    async with MemoryClient(service.url, token=token) as client:
        answers["client"] = repr(await client.look("fact", told.fact))
    return answers
