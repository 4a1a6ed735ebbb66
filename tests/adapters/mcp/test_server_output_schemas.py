"""Every tool has an output schema, and its real answers and errors conform to it."""

from typing import Any

import pytest
from fastmcp import Client
from jsonschema import Draft202012Validator
from tests.adapters.conftest import caller_of, choosing, note

from memory_butler.adapters.mcp.catalog import TOOLS
from memory_butler.adapters.mcp.server import build_server
from memory_butler.adapters.wire.json_schema import ERROR_PROPERTIES, output_schema
from memory_butler.resources import Resources


@pytest.fixture
async def answers(resources: Resources) -> list[tuple[str, dict[str, Any]]]:
    """Answers of every tool: the first call of each succeeds, more of them fail or have other fields."""
    found: list[tuple[str, dict[str, Any]]] = []
    agents = choosing(resources, distiller="agent")
    async with Client(build_server(agents)) as client:
        plain = caller_of(client)

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            found.append((tool, (await plain(tool, **arguments, request_context={"request_id": "r"})).body))
            return found[-1][1]

        await _every_tool(call, agents)
    return found


async def _every_tool(call: Any, agents: Resources) -> None:
    who = {"subject": "Anna", "predicate": "color"}
    fact = await call("memory_store_fact", **who, content="Anna likes blue.", aliases=["Annie"])
    fact = await call("memory_store_fact", **who, content="Anna likes green.")
    rule = await call("memory_store_rule", content="Ask Anna about colors.", tags=["colors"])
    episode = await call("memory_store_episode", content="Anna talked about green.", butler="main", session_id="s")
    await call("memory_store", content="Paint is in the cellar.", tier="mid")
    named = {"type": "fact", "id": fact["ref"]}
    await call("memory_search", query="green", min_relevance=0, expand=2)
    await call("memory_recall", topic="colors", min_relevance=0)
    await call("memory_explain", query="green", id=fact["ref"], token_budget=300)
    for kind, stored in (("fact", fact), ("rule", rule), ("episode", episode)):
        await call("memory_get", type=kind, id=stored["ref"])
    await call("memory_stats")
    await call("memory_context", trigger_prompt="Paint for Anna", butler="main")
    await call("memory_confirm", **named)
    await call("memory_mark_helpful", rule_id=rule["ref"])
    for _ in range(4):
        await call("memory_mark_harmful", rule_id=rule["ref"], reason="She was busy.")
    await call("memory_get", type="rule", id=rule["ref"])
    await call("memory_search", query="Ask Anna about colors", min_relevance=0)
    await call("memory_reverse", rule_id=rule["ref"])
    await call("memory_update", **named, importance=7)
    await call("memory_pin", **named)
    await call("memory_unpin", **named)
    await call("memory_link", id=fact["ref"], relation="supports", target=rule["ref"])
    await call("memory_correct", fact_id=fact["ref"], content="Anna likes red.")
    await call("memory_forget_about", subject="Anna")
    forgotten = await call("memory_forget_about", subject="Anna", dry_run=False)
    await call("memory_undo", id=forgotten["group_id"])
    await call("memory_forget", type="episode", id=episode["ref"])
    await call("memory_restore", type="episode", id=episode["ref"])
    await call("memory_ingest_batch", episodes=[{"content": "Anna left.", "butler": "main"}, {"content": "Who?"}])
    await call("memory_context_batch", requests=[{"trigger_prompt": "Paint"}, {"butler": "main"}])
    await call("memory_activity_stream", since="start")
    await call("memory_activity_stream", since="nowhere")
    await note(agents, "I work at Acme.", "main")
    claimed = await call("memory_consolidation_claim")
    evidence = [claimed["episodes"][-1]["ref"]]
    work = {"subject": "user", "predicate": "works_at", "content": "Acme", "evidence": evidence}
    await call("memory_consolidation_submit", run=claimed["run"], proposal={"version": 1, "facts": [work]})
    await call("memory_consolidation_claim")


async def test_real_answers_conform_to_the_output_schemas(answers: list[tuple[str, dict[str, Any]]]) -> None:
    """Every tool of the contract is called, and both its answers and its errors are valid."""
    succeeded = {tool for tool, body in answers if "recovery" not in body}
    assert succeeded == {tool for tool, _ in answers}
    for tool, body in answers:
        schema = output_schema(TOOLS[tool].answer)
        errors = [error.message for error in Draft202012Validator(schema).iter_errors(body)]
        assert not errors, (tool, errors, body)


async def test_the_schemas_name_all_that_is_answered(answers: list[tuple[str, dict[str, Any]]]) -> None:
    """No field of an answer is missing in its schema, however deep; free-form objects may hold anything."""
    for tool, body in answers:
        undescribed = list(_undescribed(output_schema(TOOLS[tool].answer), body, tool))
        assert not undescribed


def _undescribed(schema: dict[str, Any], value: Any, path: str) -> Any:
    if isinstance(value, list):
        for entry in value:
            yield from _undescribed(schema.get("items", {}), entry, path)
    if not isinstance(value, dict):
        return
    choices = [one for one in schema.get("anyOf", ()) if "properties" in one] or [schema]
    fitting = [one for one in choices if Draft202012Validator(one).is_valid(value)] or choices
    properties = {name: one for choice in fitting for name, one in choice.get("properties", {}).items()}
    for name, entry in value.items():
        if name in properties:
            yield from _undescribed(properties[name], entry, f"{path}.{name}")
        elif "properties" in fitting[0]:
            yield f"{path}.{name}"


@pytest.mark.parametrize("name", TOOLS)
def test_a_schema_refuses_what_is_neither_an_answer_nor_an_error(name: str) -> None:
    """The schema of no tool is an empty shell."""
    schema = output_schema(TOOLS[name].answer)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    assert not validator.is_valid({}) and not validator.is_valid({"nonsense": 1})
    assert set(schema["properties"]) > {*ERROR_PROPERTIES, "request_id"}
    error = {"error": "not_found", "message": "m", "retryable": False, "recovery": "r"}
    assert validator.is_valid(error)
