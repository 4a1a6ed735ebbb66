"""`memory-butler list` and `calls`."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from typer.testing import Result

from memory_butler.models import Question
from memory_butler.operations.retrieval.search import search
from memory_butler.operations.system import call_log
from memory_butler.resources import Resources

Command = Callable[..., Result]


def test_lists_show_what_the_filters_leave(command: Command) -> None:
    """Newest first, without ranking; superseded facts only on request."""
    command("remember", "fact", "Ana", "birthday", "12 June", "--tag", "family")
    command("remember", "fact", "Bo", "drink", "green tea")
    command("remember", "fact", "Bo", "drink", "black tea")
    command("remember", "rule", "Always indent with tabs.")
    said = command("list").stdout
    assert said.index("black tea") < said.index("12 June") and "indent with tabs" in said and "green tea" not in said
    assert "indent with tabs" not in command("list", "facts").stdout
    assert "green tea" in command("list", "facts", "--state", "superseded").stdout
    assert "black tea" not in command("list", "--subject", "Ana").stdout
    assert "12 June" in command("list", "--tag", "family", "--since", "2026-02-28").stdout
    assert "No memories match." in command("list", "--until", "2026-02-27").stdout
    assert "indent with tabs" in command("list", "rules").stdout
    assert "1 of 2" in command("list", "facts", "--limit", "1").stdout
    assert "1 of 3" in command("list", "--limit", "1").stdout
    page = json.loads(command("list", "--subject", "Ana", "--json").stdout)
    assert [one["content"] for one in page["items"]] == ["12 June"]


def test_an_unknown_type_is_refused(command: Command) -> None:
    assert "Use facts, rules, episodes." in command("list", "things").exception.recovery


async def test_calls_of_agents_are_listed(terminal: Callable[..., Any], resources: Resources) -> None:
    """What they asked and got; commands of a person are not among them."""
    type_in = terminal(resources)
    await type_in("remember", "fact", "Bo", "drink", "green tea")
    await type_in("search", "tea")
    agent = replace(resources.local_caller(), client="claude-code")
    await search(resources, Question(query="What tea does Bo drink?"), agent)
    await search(resources, Question(query="xylophone"), agent)
    await call_log.store_waiting(resources)
    said = (await type_in("calls")).stdout
    assert "What tea does Bo drink?" in said and "main (claude-code)  search: 1 memory," in said and "fact:" in said
    assert "xylophone" in said and said.count("(claude-code)") == 2
    assert "tea" not in (await type_in("calls", "--unanswered")).stdout
    page = json.loads((await type_in("calls", "--contains", "bo drink", "--json")).stdout)
    assert [call["prompt"] for call in page["items"]] == ["What tea does Bo drink?"]
    assert "No calls match" in (await type_in("calls", "--butler", "nobody")).stdout
