"""`memory-butler remember "…"`: one sentence, without choosing a type."""

import json
from collections.abc import Callable

from typer.testing import Result

Command = Callable[..., Result]


def test_a_sentence_becomes_a_fact_or_a_note(command: Command) -> None:
    """What the grammar reads is a fact; anything else is kept in the person's own words, and both are said."""
    assert "user · likes: tea" in command("remember", "I like tea").stdout
    words = "the boiler man came by, said the valve is fine but the pressure drops"
    assert words in command("remember", words).stdout
    answer = json.loads(command("remember", "My sister is called Ines.", "--json").stdout)
    assert answer["stored"]["type"] == "episode" and "Ines" in answer["learned"][0]["line"]
    assert "tea" in command("list").stdout


def test_subcommands_are_as_before(command: Command) -> None:
    assert "Stored rule:" in command("remember", "rule", "Say little.").stdout
    assert "Usage" in command("remember", "--help").stdout
