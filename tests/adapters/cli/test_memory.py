"""The commands that correct, keep, withdraw and bring back, as a person sees them."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import Result

from memory_butler.errors import Conflict, InvalidInput, NotFound

Command = Callable[..., Result]


def said(done: Result) -> str:
    assert done.exit_code == 0, done.exception or done.output
    assert all(line == line.rstrip() for line in done.stdout.splitlines())
    return " ".join(done.stdout.split())


def test_a_forgotten_fact_comes_back(command: Command, ask: Callable[..., Any]) -> None:
    """In words and as JSON; a taken place is refused until --supersede is given."""
    old = ask("remember", "fact", "Ben", "color", "blue")["ref"]
    ask("forget", old)
    assert said(command("restore", old, "--reason", "no joke")) == f"Restored {old}: it is in use again."
    assert said(command("restore", old)) == f"{old} is already in use."
    new = ask("remember", "fact", "Ben", "color", "green")["ref"]
    refused = command("restore", old)
    assert isinstance(refused.exception, Conflict) and "--supersede" in refused.exception.recovery
    assert f"it supersedes {new}" in said(command("restore", old, "--supersede"))
    kind, ref = new.split(":")
    assert ask("restore", kind, ref, "--supersede")["supersedes"] == old


def test_forgetting_a_source_offers_to_withdraw_what_came_from_it(command: Command, ask: Callable[..., Any]) -> None:
    """The offer names the fact and the command; the command withdraws it, and its undo brings it back."""
    source = ask("remember", "episode", "I live in Lisbon.")["ref"]
    ask("consolidate")
    [fact] = [entry["ref"] for entry in ask("search", "Where do I live?", "--type", "fact")["results"]]
    told = said(command("forget", source))
    assert f"Forgot {source}" in told
    assert f"1 memory that came from it alone is still in use: {fact}" in told and "Lisbon" in told
    assert told.endswith(f"To withdraw it, too: memory-butler forget {source} --derived")
    told = said(command("forget", source, "--derived"))
    found = re.search(rf"Withdrew 1 memory that came from it alone: {fact}\. To undo: memory-butler undo (\S+)$", told)
    assert found
    assert ask("get", fact)["memory"]["validity"] == "retracted"
    assert ask("undo", found[1])["undone"] == 1
    assert ask("get", fact)["memory"]["validity"] == "active"


def test_a_fact_is_put_right(command: Command, ask: Callable[..., Any]) -> None:
    """The answer names both; the same words again say that nothing changed."""
    wrong = ask("remember", "fact", "Ben", "color", "blue", "--tag", "taste")["ref"]
    told = said(command("correct", wrong, "green", "--reason", "he told me"))
    found = re.fullmatch(rf"Stored (fact:\w+); it corrects {wrong}\.", told)
    assert found
    assert ask("get", found[1])["memory"]["tags"] == ["taste"]
    assert said(command("correct", found[1], "green")) == f"{found[1]} already has this value."
    assert ask("correct", found[1], "red", "--key", "k") == ask("correct", found[1], "red", "--key", "k")


def test_a_memory_is_pinned_and_unpinned(command: Command, ask: Callable[..., Any]) -> None:
    """Each way, and each way twice."""
    ref = ask("remember", "episode", "We met at the harbour.")["ref"]
    assert said(command("pin", ref)) == f"Pinned {ref}: it does not decay until it is unpinned."
    assert said(command("pin", ref)) == f"{ref} was already pinned."
    assert ask("get", ref)["memory"]["pinned"] is True
    assert said(command("unpin", ref)) == f"Unpinned {ref}: decay restarts now."
    assert ask("unpin", ref)["outcome"] == "already_unpinned"


def test_a_warning_is_reversed(command: Command, ask: Callable[..., Any]) -> None:
    """The person at the terminal is the administrator."""
    rule = ask("remember", "rule", "Send newsletters at midnight")["ref"]
    assert isinstance(command("reverse", rule).exception, Conflict)
    for _ in range(3):
        ask("harmful", rule, "--reason", "people unsubscribed")
    told = said(command("reverse", rule, "--reason", "they asked for it"))
    assert told == f"Reversed {rule}: it is a candidate rule again."
    assert ask("get", rule)["memory"]["maturity"] == "candidate"


def test_forgetting_about_somebody_is_dry_until_it_is_meant(command: Command, ask: Callable[..., Any]) -> None:
    """First a list with lines and a hint, then the deed with the command that takes it back."""
    fact = ask("remember", "fact", "Anna", "mail", "She writes from anna@x.org.")["ref"]
    seen = ask("remember", "episode", "Anna called about the harbour.")["ref"]
    told = said(command("forget-about", "--subject", "anna"))
    assert fact in told and "Anna · mail: She writes from anna@x.org." in told and "is about it" in told
    assert "This would forget 1 memory. Nothing was changed; add --really to do it." in told
    assert "1 more memory mentions 'anna'; --text includes it." in told
    assert ask("get", fact)["memory"]["validity"] == "active"
    assert ask("forget-about", "--text", "Anna")["count"] == 2
    done = said(command("forget-about", "--text", "Anna", "--really", "--reason", "she asked"))
    assert "Forgot 2 memories. They are out of use and can be restored." in done
    assert "harbour" not in done and "x.org" not in done
    assert [ask("get", ref)["memory"]["validity"] for ref in (fact, seen)] == ["retracted", "retracted"]
    group = re.search(r"memory-butler undo ([0-9a-f-]{36})", done)
    assert group
    ask("undo", group[1])
    assert [ask("get", ref)["memory"]["validity"] for ref in (fact, seen)] == ["active", "active"]


def test_near_spellings_are_shown_and_included_on_request(command: Command, ask: Callable[..., Any]) -> None:
    """Each with its kind and its memories, and the option that includes it."""
    ask("remember", "episode", "+49 170 1234567 called.")
    near = [ask("remember", "episode", f"{number}. 0170-1234567 called.")["ref"] for number in range(6)]
    told = said(command("forget-about", "--text", "+49 170 1234567"))
    assert "Not included, but spelled alike (--also SPELLING includes one):" in told
    assert f"0170-1234567 (with or without a country code): {', '.join(near[:5])} and 1 more" in told
    given = ("--text", "+49 170 1234567", "--also", "0170-1234567")
    assert ask("forget-about", *given)["count"] == 7
    assert "spelled alike" not in said(command("forget-about", *given))


def test_nothing_to_forget_is_said(command: Command) -> None:
    """Before and after, in words."""
    assert said(command("forget-about", "--text", "nobody@x.org")) == "No memory in use matches."
    assert said(command("forget-about", "--text", "nobody@x.org", "--really")) == "Nothing to forget."


def test_a_long_list_is_cut(command: Command, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A person reads the first of many, and learns how many more there are."""
    monkeypatch.setattr("memory_butler.adapters.cli.memory.SHOWN", 1)
    for number in range(3):
        ask("remember", "fact", "Anna", f"p{number}", "something")
    told = said(command("forget-about", "--subject", "Anna"))
    assert told.count("fact:") == 1 and "… and 2 more." in told


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("restore", "fact:zzzz"), NotFound, "There is no fact:zzzz"),
        (("restore", "zzzz"), NotFound, "There is no memory zzzz"),
        (("correct", "rule:zzzz", "x"), InvalidInput, "is of type rule"),
        (("correct", "fact:zzzz", "x"), NotFound, "There is no fact:zzzz"),
        (("pin", "thing:zzzz"), InvalidInput, "Unknown type 'thing'"),
        (("unpin", "rule:zzzz"), NotFound, "There is no rule:zzzz"),
        (("reverse", "fact:zzzz"), InvalidInput, "is of type fact"),
        (("forget-about",), InvalidInput, "Neither subject nor text"),
        (("forget-about", "--text", "a", "--really"), InvalidInput, "too short"),
    ],
)
def test_bad_arguments_are_refused_by_name(
    command: Command, arguments: tuple[str, ...], error: type[Exception], words: str
) -> None:
    """The error reaches the outermost place, where it becomes one block and an exit code."""
    done = command(*arguments)
    assert isinstance(done.exception, error) and words in str(done.exception)
    assert done.stdout == ""
