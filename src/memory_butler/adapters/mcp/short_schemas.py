"""Short forms of a tool's description and schemas, for `tools/list`."""

from collections.abc import Mapping
from typing import Any

from mcp_types import ToolAnnotations

Schema = dict[str, Any]
# Accepted by every tool; they need no entry in the list.
UNLISTED = frozenset({"request_context", "idempotency_key"})
# Left out where only the usual parameters are listed.
RARE = frozenset(
    {
        *(
            "as_of",
            "deep",
            "derived",
            "detail",
            "expand",
            "links",
            "metadata",
            "min_relevance",
            "observed_at",
        ),
        *("session_id", "source_episode", "tier", "time_from", "time_to", "type", "with_own"),
    }
)
# Of a schema of an argument, what a model needs to write it.
_KEPT = ("type", "enum", "items", "description")


def summary(description: str) -> str:
    """The first paragraph of a description, in one line."""
    return " ".join(description.partition("\n\n")[0].split())


def input_schema(full: Mapping[str, Any], *, usual: bool) -> Schema:
    """The parameters without defaults, null and what every tool accepts; `usual`: without the rare ones."""
    left_out = UNLISTED | RARE if usual else UNLISTED
    required = full.get("required", [])
    properties = {
        name: _argument(schema)
        for name, schema in full["properties"].items()
        if name in required or name not in left_out
    }
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def _argument(schema: Mapping[str, Any]) -> Schema:
    choices = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    merged = {**(choices[0] if choices else {}), **schema}
    if "enum" in merged:
        merged["enum"] = [value for value in merged["enum"] if value is not None]
    return {name: merged[name] for name in _KEPT if name in merged}


def output_schema(schema: Mapping[str, Any], depth: int) -> Schema:
    """The names of the fields that an answer always has. Their types are in the docs and in the OpenAPI page."""
    choices = schema.get("anyOf", ())
    merged = {**(choices[0] if choices else {}), **schema}
    properties = merged.get("properties")
    if merged.get("type") == "object" and properties and depth:
        always = merged.get("required", properties)
        return {"type": "object", "properties": {name: output_schema(properties[name], depth - 1) for name in always}}
    if merged.get("type") == "array" and depth:
        return {"type": "array", "items": output_schema(merged["items"], depth)}
    return {}


def hints(full: ToolAnnotations) -> ToolAnnotations:
    """The hints that change what a client asks its user: whether a tool only reads, and whether it is destructive."""
    if full.read_only_hint:
        return ToolAnnotations(read_only_hint=True)
    return ToolAnnotations(destructive_hint=full.destructive_hint)
