"""`memory-butler edit` and `memory-butler tag`."""

import json
import re
from collections.abc import Callable

from typer.testing import Result

Command = Callable[..., Result]


def stored(said: str) -> str:
    found = re.search(r"(?:fact|rule):\w{4}", said)
    assert found
    return found[0]


def seen(command: Command, ref: str) -> dict[str, object]:
    memory: dict[str, object] = json.loads(command("get", ref, "--json").stdout)["memory"]
    return memory


def test_fields_values_and_words_are_edited(command: Command) -> None:
    """A fact's value is corrected, a rule's words make a new version, other fields change in place."""
    fact = stored(command("remember", "fact", "Ana", "birthday", "12 June").stdout)
    assert f"Updated {fact}" in command("edit", fact, "--importance", "9", "--permanence", "stable").stdout
    assert (seen(command, fact)["importance"], seen(command, fact)["permanence"]) == (9, "stable")
    corrected = stored(command("edit", fact, "--content", "13 June").stdout)
    assert corrected != fact and seen(command, corrected)["content"] == "13 June"
    rule = stored(command("remember", "rule", "Indent with tabs.").stdout)
    reworded = stored(command("edit", rule, "--content", "Indent with tabs, not spaces.").stdout)
    assert seen(command, reworded)["content"] == "Indent with tabs, not spaces."
    assert "in one call" in str(command("edit", corrected, "--content", "x", "--importance", "3").exception)
    assert "Nothing to update" in str(command("edit", corrected).exception)


def test_tags_are_added_and_removed(command: Command) -> None:
    fact = stored(command("remember", "fact", "Ana", "drink", "tea", "--tag", "kitchen").stdout)
    command("tag", fact, "Food", "kitchen")
    assert seen(command, fact)["tags"] == ["kitchen", "food"]
    command("tag", fact, "kitchen", "--remove")
    assert seen(command, fact)["tags"] == ["food"]
