"""Short forms of descriptions and schemas."""

from mcp_types import ToolAnnotations

from memory_butler.adapters.mcp.short_schemas import hints, input_schema, output_schema, summary

FULL = {
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string", "description": "Reference."},
        "butler": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "description": "Butler."},
        "tags": {
            "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
            "default": None,
            "description": "Labels.",
        },
        "type": {
            "anyOf": [{"type": "string"}, {"type": "null"}],
            "default": None,
            "enum": ["fact", "rule", None],
            "description": "Type.",
        },
        "request_context": {"anyOf": [{"type": "object"}, {"type": "null"}], "default": None, "description": "Ids."},
    },
    "required": ["id"],
    "type": "object",
}


def test_the_summary_is_the_first_paragraph_in_one_line() -> None:
    assert summary("Store what\n        is true.\n\nMore about it.") == "Store what is true."


def test_arguments_have_no_defaults_and_no_null() -> None:
    """What every tool accepts is not listed; enumerations keep their values."""
    assert input_schema(FULL, usual=False) == {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "Reference."},
            "butler": {"type": "string", "description": "Butler."},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "Labels."},
            "type": {"type": "string", "enum": ["fact", "rule"], "description": "Type."},
        },
        "required": ["id"],
    }


def test_rare_arguments_are_left_out_unless_they_are_required() -> None:
    assert "type" not in input_schema(FULL, usual=True)["properties"]
    required = {**FULL, "required": ["id", "type"]}
    assert "type" in input_schema(required, usual=True)["properties"]


def test_answers_are_listed_by_the_fields_that_are_always_there() -> None:
    line = {"type": "object", "properties": {"ref": {"type": "string"}, "why": {"type": "string"}}, "required": ["ref"]}
    full = {
        "type": "object",
        "properties": {"lines": {"type": "array", "items": line}, "count": {"type": "integer"}, "odd": {}},
        "required": ["count", "lines"],
    }
    assert output_schema(full, 1) == {"type": "object", "properties": {"count": {}, "lines": {}}}
    listed = {"type": "array", "items": {"type": "object", "properties": {"ref": {}}}}
    assert output_schema(full, 2) == {"type": "object", "properties": {"count": {}, "lines": listed}}


def test_hints_are_those_that_change_what_a_client_asks() -> None:
    read = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    write = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
    assert hints(read) == ToolAnnotations(read_only_hint=True)
    assert hints(write) == ToolAnnotations(destructive_hint=True)
