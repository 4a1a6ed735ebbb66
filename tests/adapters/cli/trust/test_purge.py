"""The purge command, as a person sees it: shown first, done with --yes, and proved by a receipt."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from memory_butler.errors import InvalidInput, NotFound

Command = Callable[..., Result]


def said(done: Result) -> str:
    assert done.exit_code == 0, done.exception or done.output
    return " ".join(done.stdout.split())


def test_it_shows_first_and_erases_with_yes(command: Command, ask: Callable[..., Any], tmp_path: Path) -> None:
    """Without --yes nothing is changed; the receipt is listed, and verified by id and from a file."""
    ref = ask("remember", "fact", "Ben", "phone", "555-0199")["ref"]
    shown = said(command("purge", ref))
    assert "This would erase 1 memory for good." in shown and "add --yes" in shown
    assert ask("purge", ref)["dry_run"] is True
    assert ask("get", ref)["memory"]["content"] == "555-0199"
    done = said(command("purge", ref, "--yes", "--reason", "requested"))
    assert "Erased 1 memory for good." in done and "555-0199" not in done
    assert isinstance(command("get", ref).exception, NotFound)
    [receipt] = ask("purge", "receipts")["receipts"]
    assert receipt["id"] in done and receipt["reason"] == "requested"
    assert receipt["id"] in said(command("purge", "receipts"))
    assert "The receipt holds" in said(command("purge", "verify", receipt["id"]))
    file = tmp_path / "receipt.json"
    file.write_text(json.dumps(receipt), encoding="utf-8")
    assert ask("purge", "verify", str(file))["holds"] is True
    file.write_text(json.dumps(receipt | {"actor": "eve"}), encoding="utf-8")
    refused = command("purge", "verify", str(file))
    assert refused.exit_code == 1 and "does not match the log" in refused.stdout
    assert "It was purged before" in said(command("purge", ref, "--yes"))
    assert "the chain holds" in said(command("replay", "--verify"))


def test_what_stays_is_named_before_and_after(command: Command, ask: Callable[..., Any]) -> None:
    """A memory that only mentions the subject is not erased with it, and the answer says so."""
    ask("remember", "fact", "Ben", "phone", "555-0199")
    other = ask("remember", "fact", "Anna", "note", "Ben called twice.")["ref"]
    hint = "1 more mentions the subject; --text includes it."
    assert hint in said(command("purge", "--subject", "Ben"))
    assert hint in said(command("purge", "--subject", "Ben", "--yes"))
    assert ask("get", other)["memory"]["content"] == "Ben called twice."


@pytest.mark.parametrize(
    "arguments",
    [["purge"], ["purge", "verify"], ["purge", "verify", "nothing.json"], ["purge", "fact:k3f7", "fact:k3f8"]],
)
def test_what_it_needs(command: Command, arguments: list[str]) -> None:
    assert isinstance(command(*arguments).exception, InvalidInput)


def test_near_spellings_are_listed_and_stay(command: Command, ask: Callable[..., Any]) -> None:
    """Also where nothing matches exactly."""
    ref = ask("remember", "fact", "Ben", "mail", "ben+shop@x.org")["ref"]
    shown = said(command("purge", "--text", "ben@x.org"))
    assert "Nothing matches. Not included, but spelled alike (--text SPELLING purges one):" in shown
    assert f"ben+shop@x.org (with or without a plus tag): {ref}" in shown
    ask("purge", "--text", "ben@x.org", "--yes")
    assert ask("get", ref)["memory"]["content"] == "ben+shop@x.org"
