"""Tool arguments through a real MCP client: which forms are forgiven, which are refused; none breaks a tool."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.adapters.conftest import FACT, PARAMETERS, REQUIRED, Call

from memory_butler.errors import ERROR_CLASSES

FORGIVEN = {
    "tags as JSON text": ({"tags": '["food", "health"]'}, {"tags": ["food", "health"]}),
    "tags between commas": ({"tags": "food, health"}, {"tags": ["food", "health"]}),
    "one tag": ({"tags": "food"}, {"tags": ["food"]}),
    "no tags": ({"tags": ""}, {"tags": []}),
    "a number as text": ({"importance": "7"}, {"importance": 7}),
    "a number with a point": ({"importance": 7.0}, {"importance": 7}),
    "null for nothing": ({"importance": None, "tags": None, "scope": None, "metadata": None}, {"importance": 5}),
    "an object as JSON text": ({"metadata": '{"page": 3}'}, {"metadata": {"page": 3}}),
    "another case": ({"permanence": "Stable"}, {"permanence": "stable"}),
    "a time in UTC": ({"valid_at": "2026-02-01T08:00:00Z"}, {"valid_at": "2026-02-01T08:00:00+00:00"}),
    "a time elsewhere": ({"valid_at": "2026-02-01 09:00+01:00"}, {"valid_at": "2026-02-01T08:00:00+00:00"}),
}


@pytest.mark.parametrize(("arguments", "kept"), FORGIVEN.values(), ids=FORGIVEN)
async def test_what_is_plain_is_forgiven(call: Call, arguments: dict[str, Any], kept: dict[str, Any]) -> None:
    """Arguments in the forms that models write them in are taken for what they mean."""
    stored = await call("memory_store_fact", **FACT, **arguments)
    assert not stored.is_error, stored.text
    memory = (await call("memory_get", type="fact", id=stored.body["ref"])).body["memory"]
    assert {name: memory[name] for name in kept} == kept


async def test_types_and_references_are_forgiven(call: Call) -> None:
    """A plural type, a bare reference, one with its type or brackets, an id: all name the same memory."""
    stored = (await call("memory_store_rule", content="Water the plants on Monday.")).body
    bare = stored["ref"].removeprefix("rule:")
    for kind, name in (
        ("rules", stored["ref"]),
        ("Rule", bare),
        ("rule", f"[{stored['ref']}]"),
        ("rule", stored["id"]),
        ("rule", f"rule:{stored['id']}"),
        ("rule", bare.upper()),
    ):
        assert (await call("memory_get", type=kind, id=name)).body["memory"]["id"] == stored["id"]
    for types in ("rules", '["rule"]', ["Rules"], "rule,facts"):
        found = await call("memory_search", query="plants", types=types, limit="3", min_confidence="0.1")
        assert [result["id"] for result in found.body["results"]] == [stored["id"]]


REFUSED: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "nothing": ("memory_store_fact", {}, "validation_error", "subject is missing"),
    "an unknown argument": ("memory_search", {"query": "x", "tenant": "t"}, "validation_error", "'tenant'"),
    "text that is no text": ("memory_search", {"query": 5}, "validation_error", "query must be text"),
    "empty text": ("memory_store_rule", {"content": "  "}, "validation_error", "content is empty"),
    "text too long": ("memory_store_rule", {"content": "x" * 4001}, "validation_error", "the limit is 4000"),
    "a NUL": ("memory_store_rule", {"content": "a\x00b"}, "validation_error", "NUL"),
    "half a character": ("memory_store_rule", {"content": "a\ud800b"}, "validation_error", "Unicode"),
    "importance 11": ("memory_store_fact", {**FACT, "importance": 11}, "validation_error", "from 1 to 10"),
    "importance true": ("memory_store_fact", {**FACT, "importance": True}, "validation_error", "whole number"),
    "importance 2.5": ("memory_store_fact", {**FACT, "importance": "2.5"}, "validation_error", "whole number"),
    "importance in words": ("memory_store_fact", {**FACT, "importance": "high"}, "validation_error", "whole number"),
    "permanence forever": ("memory_store_fact", {**FACT, "permanence": "forever"}, "validation_error", "one of"),
    "a scope with a slash": ("memory_store_fact", {**FACT, "scope": "a/b"}, "validation_error", "scope"),
    "a day": ("memory_store_fact", {**FACT, "valid_at": "2026-03-01"}, "validation_error", "a date without a time"),
    "a time without zone": (
        "memory_store_fact",
        {**FACT, "valid_at": "2026-03-01T09:00:00"},
        "validation_error",
        "no time zone",
    ),
    "a time as a number": ("memory_store_fact", {**FACT, "valid_at": 1772355600}, "validation_error", "ISO 8601"),
    "a time in words": ("memory_store_fact", {**FACT, "valid_at": "now"}, "validation_error", "ISO 8601"),
    "21 tags": ("memory_store_fact", {**FACT, "tags": [str(n) for n in range(21)]}, "validation_error", "20"),
    "tags that are numbers": ("memory_store_fact", {**FACT, "tags": [1, 2]}, "validation_error", "list of words"),
    "tags that are an object": ("memory_store_fact", {**FACT, "tags": {"a": 1}}, "validation_error", "list of words"),
    "tags in broken JSON": ("memory_store_fact", {**FACT, "tags": '["a"'}, "validation_error", "not valid JSON"),
    "bottomless JSON": ("memory_store_fact", {**FACT, "tags": "[" * 100_000}, "validation_error", "not valid JSON"),
    "metadata that is a list": ("memory_store_fact", {**FACT, "metadata": [1]}, "validation_error", "an object"),
    "metadata too large": ("memory_store_fact", {**FACT, "metadata": {"a": "x" * 20_000}}, "validation_error", "limit"),
    "an unknown source": ("memory_store_fact", {**FACT, "source_episode": "zzzz"}, "not_found", "episode:zzzz"),
    "an unknown type": ("memory_get", {"type": "thought", "id": "zzzz"}, "validation_error", "one of"),
    "an unknown type to search": ("memory_search", {"query": "x", "types": ["dream"]}, "validation_error", "one of"),
    "an unknown mode": ("memory_search", {"query": "x", "mode": "psychic"}, "validation_error", "one of"),
    "limit 0": ("memory_search", {"query": "x", "limit": 0}, "validation_error", "from 1 to 100"),
    "confidence 2": ("memory_search", {"query": "x", "min_confidence": 2}, "validation_error", "from 0 to 1"),
    "confidence nan": ("memory_search", {"query": "x", "min_confidence": "nan"}, "validation_error", "a number"),
    "a budget below zero": (
        "memory_context",
        {"trigger_prompt": "x", "butler": "b", "token_budget": -1},
        "validation_error",
        "from 0",
    ),
    "no id": ("memory_get", {"type": "fact", "id": "not an id"}, "validation_error", "neither an id"),
    "a reference of another type": ("memory_get", {"type": "fact", "id": "rule:zzzz"}, "validation_error", "rule"),
    "nothing there": ("memory_get", {"type": "fact", "id": "zzzz"}, "not_found", "fact:zzzz"),
    "no such rule": ("memory_mark_helpful", {"rule_id": "zzzz"}, "not_found", "rule:zzzz"),
    "confirming an episode": ("memory_confirm", {"type": "episode", "id": "zzzz"}, "validation_error", "episode"),
    "an invented tool": ("memory_remember", {"content": "x"}, "not_found", "memory_remember"),
}


@pytest.mark.parametrize(("tool", "arguments", "kind", "says"), REFUSED.values(), ids=REFUSED)
async def test_what_is_wrong_is_refused_and_changes_nothing(
    call: Call, tool: str, arguments: dict[str, Any], kind: str, says: str
) -> None:
    """Bad input gets its error class, a message that names the fault, a way out, and leaves the store as it was."""
    await call("memory_store_rule", content="Something is there.")
    before = (await call("memory_stats")).body
    reply = await call(tool, **arguments)
    assert reply.error == kind, reply.text
    assert says in reply.body["message"]
    assert set(reply.body) == {"error", "message", "retryable", "recovery"}
    assert reply.body["recovery"] and not reply.body["retryable"]
    assert "pydantic" not in reply.text and "Traceback" not in reply.text
    assert (await call("memory_stats")).body == before


# --- whatever comes in ----------------------------------------------------------------------------

_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=()), max_size=30)
    | st.sampled_from(["fact", "rules", "global", "5", "0.3", "[]", "{}", '["a"]', "2026-03-01T09:00Z", "fact:abcd"])
)
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)


@st.composite
def _calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    tool = draw(st.sampled_from(sorted(PARAMETERS)))
    names = PARAMETERS[tool].split()
    arguments = draw(st.dictionaries(st.sampled_from([*names, "surplus"]), _values, max_size=len(names)))
    for name in REQUIRED[tool]:
        if name not in arguments and draw(st.booleans()):
            arguments[name] = draw(st.text(min_size=1, max_size=20))
    return tool, arguments


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=_calls())
async def test_no_arguments_break_a_tool(call: Call, asked: tuple[str, dict[str, Any]]) -> None:
    """Any arguments whatever get an answer or an error that blames the call, never a fault of ours."""
    tool, arguments = asked
    reply = await call(tool, **arguments)
    if reply.is_error:
        assert reply.error in ("validation_error", "not_found", "permission_denied", "conflict"), reply.text
        assert reply.error in ERROR_CLASSES
        assert "Traceback" not in reply.text
