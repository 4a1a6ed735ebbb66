"""Pieces that all reference pages are put together from."""

from typing import Any, Final

HOW: Final = "<!-- Written from the code by `make docs`; change the code, not this page. -->"
WORDS: Final = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


def page(parts: list[str]) -> str:
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def table(head: tuple[str, ...], rows: Any) -> str:
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines += [" | ".join(_cell(cell) for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def schema_words(about: dict[str, Any], root: dict[str, Any]) -> str:
    """A JSON schema's type in a few words."""
    if "$ref" in about:
        found = root.get("$defs", {}).get(about["$ref"].rpartition("/")[2], {})
        return schema_words(found, root)
    if "anyOf" in about:
        kinds = [schema_words(option, root) for option in about["anyOf"] if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in about:
        return " or ".join(f"`{value}`" for value in about["enum"])
    kind = str(about.get("type", "any"))
    if kind == "array":
        return f"list of {schema_words(about.get('items', {}), root)}"
    if about.get("properties"):
        kind = "object with " + ", ".join(f"`{name}`" for name in about["properties"])
    return "date and time" if about.get("format") == "date-time" else WORDS.get(kind, kind)
