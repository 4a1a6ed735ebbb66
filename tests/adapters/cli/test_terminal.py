"""Errors on the command line name commands, not MCP tools."""

import typer
from tests.adapters.conftest import OPTIONAL, PARAMETERS
from typer.main import get_command

from memory_butler.adapters.cli.app import app
from memory_butler.adapters.cli.terminal import COMMANDS_OF_TOOLS, name_commands
from memory_butler.errors import ERROR_CLASSES

WITHOUT_COMMAND = {"memory_ingest_batch", "memory_context_batch", "memory_activity_stream"}


def test_every_tool_has_its_command_or_none() -> None:
    """The table covers all tools, and each command in it exists."""
    assert set(COMMANDS_OF_TOOLS) | WITHOUT_COMMAND == set(PARAMETERS)
    root = get_command(app)
    with typer.Context(root, info_name="memory-butler") as context:
        for command in COMMANDS_OF_TOOLS.values():
            group = root
            for word in command.split():
                group = group.get_command(context, word)  # type: ignore[attr-defined]
                assert group is not None, command


def test_an_error_names_the_command() -> None:
    """A tool becomes its command; a tool without one stays."""
    assert name_commands("Use memory_search.") == "Use `memory-butler search`."
    assert name_commands("Call `memory_mark_helpful` again.") == "Call `memory-butler helpful` again."
    assert name_commands("Claim it with memory_consolidation_claim.") == "Claim it with memory_consolidation_claim."
    assert OPTIONAL.keys().isdisjoint(COMMANDS_OF_TOOLS)
    assert not any("memory_" in name_commands(kind.default_recovery) for kind in ERROR_CLASSES.values())
