"""Who may do what: the table in the docs, cell by cell, against the running service."""

import re
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.service import Service, called, serving

from memory_butler.adapters.mcp.catalog import ALLOWED, TOOLS, check_operation
from memory_butler.adapters.mcp.server import build_server
from memory_butler.errors import PermissionDenied
from memory_butler.models import Principal, Role
from memory_butler.resources import Resources

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "roles.md"
ROW = re.compile(r"^\| `(\w+)` \|" + r" (✓|–) \|" * len(Role) + r"$", re.MULTILINE)
TABLE = {found[1]: dict(zip(Role, found.groups()[1:], strict=True)) for found in ROW.finditer(PAGE.read_text("utf-8"))}
CELLS = [(role, tool) for tool, row in TABLE.items() for role in row if tool.startswith("memory_")]


def test_the_docs_show_the_table_of_the_code() -> None:
    """Every operation and role, and nothing else."""
    shown = {name: {role for role, mark in row.items() if mark == "✓"} for name, row in TABLE.items()}
    assert shown == {name: set(roles) for name, roles in ALLOWED.items()}


def test_what_is_not_in_the_table_is_allowed_to_nobody() -> None:
    """An operation that is not declared is denied, also to operators."""
    for role in Role:
        with pytest.raises(PermissionDenied, match="allowed: nobody"):
            check_operation(Principal("t", "b", role), "memory_new_tool")


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_allows_the_roles_that_it_declares(name: str) -> None:
    """Also a tool that is new: the table has no second entry for it."""
    for role in Role:
        if role in TOOLS[name].roles:
            check_operation(Principal("t", "b", role), name)
        else:
            with pytest.raises(PermissionDenied, match=f"may not use {name}"):
                check_operation(Principal("t", "b", role), name)


@dataclass(frozen=True)
class Stage:
    """A service in which agents distil, a tenant with a token for every role, and a memory of each kind."""

    service: Service
    tokens: dict[Role, str]
    arguments: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
async def stage(shared_resources: Resources) -> AsyncIterator[Stage]:
    agents_distil = shared_resources.settings.consolidation.model_copy(update={"distiller": "agent"})
    settings = shared_resources.settings.model_copy(update={"consolidation": agents_distil})
    async with serving(replace(shared_resources, settings=settings)) as service:
        tenant = f"t{uuid.uuid4().hex[:16]}"
        tokens = {role: await service.token(tenant, role) for role in Role}
        async with service.mcp(tokens[Role.ADMIN]) as admin:
            fact = await called(admin, "memory_store_fact", subject="Anna", predicate="color", content="green")
            rule = await called(admin, "memory_store_rule", content="Knock first.")
        yield Stage(service, tokens, _arguments(fact["ref"], rule["ref"]))


def _arguments(fact: str, rule: str) -> dict[str, dict[str, Any]]:
    """A call of each tool that a role which may use it gets through with, or fails for another reason."""
    named, nothing = {"type": "fact", "id": fact}, str(uuid.UUID(int=7))
    return {
        "memory_search": {"query": "color"},
        "memory_recall": {"topic": "color"},
        "memory_explain": {"query": "color", "id": fact},
        "memory_get": named,
        "memory_stats": {},
        "memory_context": {"trigger_prompt": "color", "butler": "chef"},
        "memory_context_batch": {"requests": [{"trigger_prompt": "color", "butler": "chef"}]},
        "memory_activity_stream": {},
        "memory_store_episode": {"content": "We talked.", "butler": "chef"},
        "memory_store_fact": {"subject": "Anna", "predicate": "likes:tea", "content": "Anna likes tea."},
        "memory_store_rule": {"content": "Knock twice."},
        "memory_store": {"content": "A note."},
        "memory_ingest_batch": {"episodes": [{"content": "We talked again.", "butler": "chef"}]},
        "memory_confirm": named,
        "memory_mark_helpful": {"rule_id": rule},
        "memory_mark_harmful": {"rule_id": rule},
        "memory_correct": {"fact_id": fact, "content": "green"},
        "memory_forget": {"type": "fact", "id": nothing},
        "memory_forget_about": {"subject": "nobody at all"},
        "memory_restore": named,
        "memory_update": {**named, "importance": 6},
        "memory_pin": named,
        "memory_unpin": named,
        "memory_link": {"id": fact, "relation": "supports", "target": rule},
        "memory_consolidation_claim": {"limit": 1},
        "memory_consolidation_submit": {"run": nothing, "proposal": {"version": 1}},
        "memory_reverse": {"rule_id": rule},
        "memory_undo": {"id": nothing},
        "memory_purge": {"subject": "nobody at all"},
    }


@pytest.mark.parametrize("role", Role)
async def test_every_cell_of_the_table_is_as_it_says(stage: Stage, role: Role) -> None:
    """Through a real client with a token of the role: what is forbidden is refused for that reason, the rest is not."""
    async with stage.service.mcp(stage.tokens[role]) as client:
        offered = {tool.name for tool in await client.list_tools()}
        assert offered == stage.arguments.keys() == {name for name in TABLE if name.startswith("memory_")}
        seen = {tool: await called(client, tool, **stage.arguments[tool]) for tool in sorted(offered)}
    refused = {tool for tool, answer in seen.items() if answer.get("error") == "permission_denied"}
    assert refused == {tool for tool in offered if TABLE[tool][role] == "–"}, seen
    assert all("may not use" in seen[tool]["message"] for tool in refused)
    # The others failed for reasons of their own, if at all, and none of them for a fault.
    assert {seen[tool].get("error") for tool in offered - refused} <= {None, "not_found", "conflict"}


async def test_every_tool_is_in_the_table_and_none_takes_a_tenant(stage: Stage, resources: Resources) -> None:
    """Which tenant a call is for is nowhere in its arguments, however deep."""
    tools = await build_server(stage.service.resources).list_tools()
    assert {tool.name for tool in tools} == {name for name in ALLOWED if name.startswith("memory_")}
    assert [tool.name for tool in tools if "tenant" in str(sorted(_names(tool.parameters)))] == []


def _names(schema: Any) -> set[str]:
    """All names of arguments in a schema."""
    if isinstance(schema, list):
        return set().union(*map(_names, schema)) if schema else set()
    if not isinstance(schema, dict):
        return set()
    return set(schema.get("properties", {})).union(*map(_names, schema.values()))


REST = {
    "list_memories": ("GET", "/memories/fact"),
    "jobs": ("GET", "/jobs"),
    "runs": ("GET", "/runs"),
    "dead_letters": ("GET", "/dead_letters"),
    "requeue": ("POST", f"/dead_letters/{uuid.UUID(int=7)}/requeue"),
    "review": ("POST", f"/runs/{uuid.UUID(int=7)}/approve"),
    "tokens": ("GET", "/tokens"),
}


@pytest.mark.parametrize("role", Role)
async def test_what_is_offered_over_rest_alone_keeps_to_the_table(stage: Stage, role: Role) -> None:
    """403 for who may not; for the others anything but that. The service's own figures are for operators."""
    async with stage.service.web(stage.tokens[role]) as web:
        seen = {
            name: (await web.request(method, f"/api/v1{path}", json={} if method == "POST" else None)).status_code
            for name, (method, path) in REST.items()
        }
        seen["metrics"] = (await web.get("/metrics")).status_code
    assert {name for name, status in seen.items() if status == 403} == {n for n in seen if TABLE[n][role] == "–"}, seen
    assert not {status for status in seen.values() if status >= 500 or status in (401, 405)}
