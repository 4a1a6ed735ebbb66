"""`memory-butler list`."""

import json
from collections.abc import Callable

from typer.testing import Result

Command = Callable[..., Result]


def test_lists_show_what_the_filters_leave(command: Command) -> None:
    """Newest first, without ranking; superseded facts only on request."""
    command("remember", "fact", "Ana", "birthday", "12 June", "--tag", "family")
    command("remember", "fact", "Bo", "drink", "green tea")
    command("remember", "fact", "Bo", "drink", "black tea")
    command("remember", "rule", "Always indent with tabs.")
    said = command("list").stdout
    assert said.index("black tea") < said.index("12 June") and "green tea" not in said
    assert "green tea" in command("list", "facts", "--state", "superseded").stdout
    assert "black tea" not in command("list", "--subject", "Ana").stdout
    assert "12 June" in command("list", "--tag", "family", "--since", "2026-02-28").stdout
    assert "No memories match." in command("list", "--until", "2026-02-27").stdout
    assert "indent with tabs" in command("list", "rules").stdout
    assert "1 of 2" in command("list", "--limit", "1").stdout
    page = json.loads(command("list", "--subject", "Ana", "--json").stdout)
    assert [one["content"] for one in page["items"]] == ["12 June"]


def test_an_unknown_type_is_refused(command: Command) -> None:
    assert "Use facts, rules, episodes." in command("list", "things").exception.recovery
