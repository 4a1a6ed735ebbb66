"""Dead letters at the terminal: which, why, and another chance."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.conftest import Type, note
from tests.ai.distillers.scripted_claude import ScriptedClaude, envelope

from memory_butler.ai.distillers.claude_code import ClaudeCodeDistiller
from memory_butler.errors import Conflict, InvalidInput, MemoryButlerError, NotFound
from memory_butler.policy.consolidation.retry import DEAD_AFTER
from memory_butler.resources import Resources
from memory_butler.settings import ClaudeCodeSettings

Terminal = Callable[[Resources], Type]
WORDS = "I'm allergic to peanuts."


@pytest.fixture
def ill(resources: Resources, tmp_path: Path) -> Resources:
    """A butler whose distiller never gives an answer that can be used."""
    claude = ScriptedClaude(tmp_path)
    claude.will(output=envelope("I would rather talk about something else."))
    return replace(resources, distiller=ClaudeCodeDistiller(ClaudeCodeSettings(command=str(claude.command))))


async def give_up(ill: Resources, clock: Any, run: Type) -> None:
    """Try until the tries are used up."""
    for _ in range(DEAD_AFTER):
        await run("consolidate")
        clock.move(hours=7)


async def test_a_letter_is_listed_shown_and_requeued(
    resources: Resources, ill: Resources, clock: Any, terminal: Terminal
) -> None:
    """With its tries and our own words for what went wrong; requeued it is distilled by a distiller that can."""
    ref = await note(resources, WORDS)
    run = terminal(ill)
    assert (await run("dead-letters")).stdout == "There are no dead letters.\n"
    rehearsed = await run("consolidate", "--dry-run")
    assert (rehearsed.exit_code, rehearsed.stdout.startswith("main: the run would fail")) == (0, True)
    first = await run("consolidate")
    assert "Nothing was changed; 1 episode will be retried." in first.stdout
    assert "next retry" in (await run("get", f"episode:{ref}")).stdout
    await give_up(ill, clock, run)
    listed = await run("dead-letters")
    assert f"episode:{ref}" in listed.stdout and "dead letter after 5 attempts · main" in listed.stdout
    assert "something else" not in listed.stdout
    assert all(line == line.rstrip() and "\x1b" not in line for line in listed.stdout.splitlines())
    assert (await run("dead-letters", "list")).stdout == listed.stdout
    [letter] = json.loads((await run("dead-letters", "--json")).stdout)["dead_letters"]
    assert (letter["ref"], letter["consolidation_attempts"]) == (f"episode:{ref}", 5)
    shown = (await run("dead-letters", "show", ref)).stdout
    assert "peanuts" in shown and "last error" in shown
    assert (
        shown.count("Consolidation failed: ") == 4
        and "Dead-lettered after 5 failed attempts to consolidate it: " in shown
    )

    done = await run("dead-letters", "requeue", f"episode:{ref}")
    assert f"1 episode requeued: episode:{ref}." in done.stdout
    assert "Requeued for consolidation by main." in (await run("dead-letters", "show", ref)).stdout
    assert "1 new" in (await terminal(resources)("consolidate")).stdout
    assert (await run("dead-letters")).stdout == "There are no dead letters.\n"


async def test_all_of_them_are_requeued_at_once(
    resources: Resources, ill: Resources, clock: Any, terminal: Terminal
) -> None:
    """`--all`, and the answer names each; `--butler` lists one butler's only."""
    refs = [await note(resources, WORDS, whose) for whose in ("main", "coder")]
    run = terminal(ill)
    await give_up(ill, clock, run)
    only = json.loads((await run("dead-letters", "list", "--butler", "coder", "--json")).stdout)
    assert [one["ref"] for one in only["dead_letters"]] == [f"episode:{refs[1]}"]
    done = json.loads((await run("dead-letters", "requeue", "--all", "--json")).stdout)
    assert (set(done["requeued"]), done["left"]) == ({f"episode:{ref}" for ref in refs}, [])
    nothing = await run("dead-letters", "requeue", "--all")
    assert (nothing.exit_code, nothing.stdout) == (0, "Nothing was requeued.\n")


async def test_a_run_that_was_undone_is_distilled_afresh(resources: Resources, terminal: Terminal) -> None:
    """After `undo` its episodes are done with until they are requeued with --again."""
    await note(resources, WORDS)
    run = terminal(resources)
    [report] = json.loads((await run("consolidate", "--json")).stdout)["runs"]
    await run("undo", report["run"])
    assert (await run("consolidate")).stdout == "No pending episodes.\n"
    refused = await run("dead-letters", "requeue", "--run", report["run"])
    assert "use --again to distil it again" in refused.stdout.replace("\n", " ")
    assert "Nothing was requeued." in refused.stdout
    assert "1 episode requeued" in (await run("dead-letters", "requeue", "--run", report["run"], "--again")).stdout
    [afresh] = json.loads((await run("consolidate", "--json")).stdout)["runs"]
    assert afresh["counts"] == {"created": 1}


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (("requeue",), InvalidInput),
        (("requeue", "k3f7", "--all"), InvalidInput),
        (("requeue", "episode:zzzz"), NotFound),
        (("requeue", "fact:zzzz"), InvalidInput),
        (("requeue", "--run", "0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d"), NotFound),
        (("requeue", "--run", "nonsense"), InvalidInput),
        (("show", "episode:zzzz"), NotFound),
        (("--json", "list"), InvalidInput),
        (("list", "--tenant", "nobody"), NotFound),
    ],
)
async def test_what_cannot_be_done_is_refused_with_a_way_out(
    resources: Resources, terminal: Terminal, command: tuple[str, ...], kind: type
) -> None:
    """Each as an error of its class that says how to recover."""
    failed = await terminal(resources)("dead-letters", *command)
    assert isinstance(failed.exception, kind)
    assert isinstance(failed.exception, MemoryButlerError) and failed.exception.recovery


async def test_what_waits_already_is_not_requeued(resources: Resources, terminal: Terminal) -> None:
    """One named alone is an error; among others it is named and left as it is."""
    ref = await note(resources, WORDS)
    failed = await terminal(resources)("dead-letters", "requeue", ref)
    assert isinstance(failed.exception, Conflict)
    assert "is already pending" in str(failed.exception)
