"""Encrypted text on the command line: only roles that may read it get it."""

from collections.abc import Callable

import pytest
from tests.adapters.conftest import HIDDEN, NUTS, Type

from memory_butler.models import Question
from memory_butler.operations.retrieval.search import search
from memory_butler.resources import Resources


@pytest.mark.parametrize("role", ["admin", "agent"])
async def test_only_readers_get_encrypted_text(
    read_by: Callable[..., Resources], terminal: Callable[[Resources], Type], role: str
) -> None:
    """The local user is an administrator: reading commands show the text only if that role reads."""
    resources = read_by(role)
    [one] = (await search(resources, Question(query="Anna allergies", min_relevance=0))).results
    run = terminal(resources)
    for command in (
        ("search", "Anna allergies", "--min-relevance", "0"),
        ("recall", "Anna allergies", "--min-relevance", "0"),
        ("get", f"fact:{one.hit.ref}"),
        ("context", "Cook dinner for Anna", "--butler", "main"),
    ):
        done = await run(*command, "--json")
        assert done.exit_code == 0, done.exception or done.output
        assert (NUTS in done.stdout, HIDDEN in done.stdout) == (role == "admin", role != "admin"), command
