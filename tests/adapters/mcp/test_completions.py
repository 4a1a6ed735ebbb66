"""Completion of references and subjects."""

from typing import Any

from fastmcp import Client
from mcp_types import PromptReference, ResourceTemplateReference
from tests.adapters.conftest import FACT, Call


async def test_references_and_subjects_are_completed(client: Client[Any], call: Call) -> None:
    """What does not exist is completed by nothing, without an error."""
    ref = (await call("memory_store_fact", **FACT)).body["ref"]
    fact = ResourceTemplateReference(type="ref/resource", uri="memory://fact/{ref}")
    recall = PromptReference(type="ref/prompt", name="recall")
    for typed in ("", ref[:7], ref.removeprefix("fact:")[:2]):
        assert (await client.complete(fact, {"name": "ref", "value": typed})).values == [ref]
    assert (await client.complete(fact, {"name": "ref", "value": "fact:zzzzz"})).values == []
    assert (await client.complete(recall, {"name": "topic", "value": "ann"})).values == ["Anna"]
    assert (await client.complete(recall, {"name": "topic", "value": "nobody"})).values == []
