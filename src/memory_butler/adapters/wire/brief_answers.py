"""Brief forms of answers for models: a subset of the fields as JSON, and lines of text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memory_butler.models import Briefing
from memory_butler.models.wire.memory_answers import MemoryDetail, SearchResult, SearchResults
from memory_butler.policy.memories.text import SINCE_CHANGED, one_line, subject_and_predicate

Fields = Mapping[str, "Fields | None"]
_NAMED: Fields = dict.fromkeys(("ref", "id", "type"))
_CONTENT: Fields = dict.fromkeys(("subject", "predicate", "content"))
# A value that goes without saying in search results.
_USUAL = {"validity": "active"}


@dataclass(frozen=True, slots=True)
class BriefForm:
    """The fields of an answer that models need, those that `tools/list` names, and the answer as text."""

    fields: Fields
    listed: Fields
    text: Callable[[Any], str]

    def of(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """The brief form of an encoded answer."""
        brief: dict[str, Any] = _subset(answer, self.fields)
        return brief

    def schema(self, full: Mapping[str, Any]) -> dict[str, Any]:
        """The schema of the listed fields."""
        return _subset_of_schema(full, self.listed)


def _subset(value: Any, fields: Fields | None) -> Any:
    if fields is None:
        return round(value, 2) if isinstance(value, float) else value
    if isinstance(value, list):
        return [_subset(entry, fields) for entry in value]
    kept = {name: _subset(value[name], inner) for name, inner in fields.items() if name in value}
    usual = _USUAL if "relevance" in fields else {}
    return {
        name: entry
        for name, entry in kept.items()
        if name == "results" or not (entry is None or entry in ([], {}) or usual.get(name, NotImplemented) == entry)
    }


def _subset_of_schema(schema: Mapping[str, Any], fields: Fields | None) -> dict[str, Any]:
    if fields is None:
        return dict(schema)
    schema = next((one for one in schema.get("anyOf", ()) if one.get("type") == "array"), schema)
    if schema.get("type") == "array":
        return {**schema, "items": _subset_of_schema(schema["items"], fields)}
    properties: dict[str, Any] = {}
    for one in (*schema.get("anyOf", ()), schema):
        properties |= one.get("properties", {})
    return {
        "type": "object",
        "properties": {name: _subset_of_schema(properties[name], inner) for name, inner in fields.items()},
    }


def _search_text(answer: SearchResults) -> str:
    if not answer.results:
        lines = ["Nothing found."]
    else:
        lines = ["Each line: text [reference, day] confidence or maturity, relevance.", *map(_line, answer.results)]
    if answer.overview:
        lines.append("The question is broad; these are the best of that kind.")
    if answer.degraded:
        lines.append(f"Degraded, without: {', '.join(answer.degraded)}.")
    return "\n".join(lines)


def _line(result: SearchResult) -> str:
    hit = result.hit
    said = hit.warning or hit.content
    if hit.subject_label:
        said = f"{subject_and_predicate(hit.subject_label, hit.predicate_label, said)}: {said}"
    standing = hit.maturity or ("" if result.confidence is None else f"{result.confidence:.2f}")
    figures = ", ".join(part for part in (standing, f"{result.relevance:.2f}") if part)
    marks = [mark for mark in (hit.unverified, SINCE_CHANGED if hit.since_changed else None) if mark]
    if hit.validity not in ("active", "fading"):
        marks.insert(0, hit.validity)
    line = f"- {one_line(said)} [{hit.type}:{hit.ref}, {result.when}] {figures}"
    line = "".join([line, *(f" ({mark})" for mark in marks)])
    around = [f"  {one.relation}: {one_line(one.content)}" for one in result.neighbours or () if one.content]
    return "\n".join([line, *around])


def _detail_text(answer: MemoryDetail) -> str:
    memory = answer.memory
    head = f"{memory.type}:{memory.ref} {memory.validity}"
    subject = getattr(memory, "subject_label", None)
    said = f"{subject_and_predicate(subject, getattr(memory, 'predicate_label', None))}: " if subject else ""
    lines = [f"{said}{memory.content}", f"{head}. {answer.outlook}"]
    lines += [
        f"earlier: {fact.content} [fact:{fact.ref}] {fact.validity}" for fact in answer.chain if fact.ref != memory.ref
    ]
    lines += [f"{link.direction} {link.relation}: {link.ref or 'a deleted memory'}" for link in answer.links]
    return "\n".join(lines)


def _briefing_text(answer: Briefing) -> str:
    degraded = answer.receipt.degraded
    return f"{answer.text}\nDegraded, without: {', '.join(degraded)}." if degraded else answer.text


SEARCH = BriefForm(
    {
        "results": {
            **_NAMED,
            **_CONTENT,
            **dict.fromkeys(("validity", "maturity", "when", "confidence", "relevance", "warning")),
            **dict.fromkeys(("since_changed", "unverified", "also")),
            "neighbours": dict.fromkeys(("ref", "relation", "content")),
        },
        **dict.fromkeys(("count", "degraded", "overview")),
    },
    {
        "results": {
            **dict.fromkeys(("ref", "subject", "predicate", "content", "when", "confidence", "maturity", "relevance")),
        }
    },
    _search_text,
)
DETAIL = BriefForm(
    {
        "memory": {
            **_NAMED,
            **_CONTENT,
            **dict.fromkeys(("validity", "maturity", "permanence", "importance", "tags", "scope", "valid_at")),
            **dict.fromkeys(("origin", "warning", "pinned")),
        },
        **dict.fromkeys(("aliases", "tier", "effective_confidence", "outlook")),
        "links": dict.fromkeys(("direction", "relation", "ref")),
        "chain": dict.fromkeys(("ref", "content", "validity")),
    },
    {
        "memory": dict.fromkeys(("ref", "content", "validity")),
        "outlook": None,
        "links": None,
    },
    _detail_text,
)
BRIEFING = BriefForm(
    {"context": None, "receipt": dict.fromkeys(("used_tokens", "degraded"))}, {"context": None}, _briefing_text
)
