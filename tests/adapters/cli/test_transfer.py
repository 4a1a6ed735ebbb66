"""The commands that carry memories from one place to another, as a person types them."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import Result

from memory_butler.errors import Conflict, InvalidInput
from memory_butler.models import NewFact, Question
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources

Type = Callable[..., Awaitable[Result]]


@pytest.fixture
async def known(resources: Resources) -> Resources:
    await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="Anna likes green."))
    return resources


async def test_a_tenant_travels_by_file(
    known: Resources, terminal: Callable[[Resources], Type], tmp_path: Path, tenant: str
) -> None:
    """Exported here, imported there under another name, found there; and each command says what it did."""
    type_in, file = terminal(known), str(tmp_path / "memory.jsonl")
    there = f"t{uuid4().hex[:16]}"
    exported = await type_in("export", file)
    assert exported.exit_code == 0, exported.output
    assert "fact" in exported.output
    planned = await type_in("import", file, "--tenant", there, "--dry-run")
    assert "would be imported" in planned.output
    imported = await type_in("import", file, "--tenant", there, "--new-ids", "--json")
    said = json.loads(imported.stdout)
    assert (said["outcome"], said["source"], said["tenant"], said["counts"]["fact"]) == ("imported", tenant, there, 1)
    again = await type_in("import", file, "--tenant", there, "--new-ids")
    assert "already there" in again.output
    visitor = replace(known, settings=known.settings.model_copy(update={"tenant": there}))
    found = await search.search(visitor, Question(query="Anna green", min_relevance=0))
    assert [one.hit.content for one in found.results] == ["Anna likes green."]


async def test_what_is_wrong_is_an_error_with_a_way_out(
    known: Resources, terminal: Callable[[Resources], Type], tmp_path: Path
) -> None:
    """A tenant with memories, a damaged file, an option that makes no sense: each says what to do."""
    type_in, file = terminal(known), tmp_path / "memory.jsonl"
    await type_in("export", str(file))
    for arguments, problem in (
        (("import", str(file)), Conflict),
        (("export", str(file)), InvalidInput),
        (("import", str(file), "--from", "mem0", "--new-ids"), InvalidInput),
        (("import", str(file), "--from", "zep"), InvalidInput),
        (("export", str(tmp_path / "no" / "where")), InvalidInput),
        (("export", "-"), InvalidInput),
    ):
        result = await type_in(*arguments)
        assert isinstance(result.exception, problem), arguments
        assert result.exception.recovery


async def test_another_memory_is_imported_from_the_command_line(
    resources: Resources, terminal: Callable[[Resources], Type], tmp_path: Path
) -> None:
    """The dry run shows a table and counts, the import the same as JSON, and then there is nothing left to do."""
    type_in, file = terminal(resources), tmp_path / "memory.jsonl"
    entity = {
        "type": "entity",
        "name": "Ben",
        "entityType": "person",
        "observations": ["Repairs [b]bicycles", "x" * 90],
    }
    file.write_text(json.dumps(entity) + "\nnoise\n")
    shown = await type_in("import", "--from", "mcp-memory", str(file), "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert "Repairs [b]bicycles" in shown.output
    assert len([line for line in shown.output.splitlines() if line.startswith("fact\t")]) == 3
    assert "Would store 3 facts." in shown.output
    assert "Left out 1: neither an entity nor a relation." in shown.output
    done: dict[str, Any] = json.loads((await type_in("import", "--from", "mcp-memory", str(file), "--json")).stdout)
    assert (done["stored"], done["dry_run"]) == ({"fact": 3}, False)
    again = await type_in("import", "--from", "mcp-memory", str(file))
    assert "Stored nothing." in again.output
    assert "Left out 3: there already." in again.output
