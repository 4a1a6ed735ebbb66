"""The `claude` command as a distiller, as a real process."""

import asyncio
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.ai.distillers.batches import PROPOSAL, batch, until
from tests.ai.distillers.scripted_claude import ScriptedClaude, complaint, envelope

from memory_butler.ai.distillers import claude_code, spent
from memory_butler.ai.distillers.claude_code import ClaudeCodeDistiller, _read
from memory_butler.errors import DistillerUnavailable, MemoryButlerError, Unprocessable, UnusableProposal
from memory_butler.models import Usage
from memory_butler.settings import ClaudeCodeSettings

WRITTEN = json.dumps(PROPOSAL)
BATCH = batch("I work at Acme. My password is hunter2.")
COST = Usage(input_tokens=123, output_tokens=40, cost_microdollars=12_300)


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedClaude:
    """A command called `claude` on the PATH."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return ScriptedClaude(tmp_path)


def distiller(**given: Any) -> ClaudeCodeDistiller:
    return ClaudeCodeDistiller(ClaudeCodeSettings(**given))


async def failure(asked: ClaudeCodeDistiller) -> MemoryButlerError:
    """The error it raises, which says nothing that it should keep to itself."""
    with pytest.raises(MemoryButlerError) as caught:
        await asked.distil(BATCH)
    assert "hunter2" not in json.dumps(caught.value.as_dict())
    return caught.value


def is_alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    "output",
    [
        envelope(WRITTEN),
        envelope(f"Here it is:\n```json\n{WRITTEN}\n```"),
        envelope("", structured_output=PROPOSAL),
        json.dumps([{"type": "system"}, {"type": "assistant"}, json.loads(envelope(WRITTEN))]),
        "A new version is available!\n" + envelope(WRITTEN),
    ],
)
async def test_the_proposal_is_taken_from_the_result(claude: ScriptedClaude, output: str) -> None:
    """Items that are wrong are left to validation; tokens and cost come along."""
    claude.will(output=output)
    answered = await distiller().distil(BATCH)
    assert answered.proposal == PROPOSAL
    assert answered.usage == COST


async def test_how_the_command_is_run(claude: ScriptedClaude, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing to ask, no tools, no servers, no hooks, no session kept; in an empty folder and a group of its own."""
    monkeypatch.setenv("SOMETHING_OF_THE_USER", "kept")
    monkeypatch.setenv("MEMORY_BUTLER_DATABASE_URL", "postgresql://me:hunter3@localhost/x")
    monkeypatch.setenv("CLAUDECODE", "1")
    await distiller(model="haiku").distil(BATCH)
    given = claude.noted("given")
    arguments, seen = given["arguments"], given["environment"]
    assert arguments[0] == "-p"
    following = dict(pairwise(arguments))
    assert (following["--output-format"], following["--tools"], following["--model"]) == ("json", "", "haiku")
    assert {"--strict-mcp-config", "--no-session-persistence"} <= set(arguments)
    assert json.loads(following["--settings"]) == {"disableAllHooks": True}
    assert "--mcp-config" not in arguments
    assert not any("hunter2" in argument for argument in arguments)
    assert "hunter2" in given["stdin"] and "<episodes>" in given["stdin"]
    assert (seen["SOMETHING_OF_THE_USER"], seen["MEMORY_BUTLER_MAINTENANCE"]) == ("kept", "1")
    assert seen["CLAUDE_CODE_SAFE_MODE"] == "1"
    assert "hunter3" not in str(seen) and "CLAUDECODE" not in seen
    assert given["files"] == [] and given["group"] == given["pid"]
    assert not Path(given["folder"]).exists()


async def test_its_own_model_is_used_unless_one_is_set(claude: ScriptedClaude) -> None:
    await distiller().distil(BATCH)
    assert "--model" not in claude.noted("given")["arguments"]


UNUSABLE = {
    "blank": (envelope(""), "blank", COST),
    "nothing": (envelope(None), "blank", COST),
    "prose": (envelope("I'd rather not, hunter2."), "no proposal", COST),
    "broken": (envelope('{"version": 1, "facts": [{"content": "hunter2"'), "no proposal", COST),
    "refusal": (envelope("API Error: … usage policy", is_error=True, stop_reason="refusal"), "refused", COST),
    "gave up": (envelope("", is_error=True, subtype="error_max_turns", api_error_status=400), "gave up", COST),
    "no output": ("", "cannot be read", Usage()),
    "garbage": ("hunter2 \x00\x01 {{{", "cannot be read", Usage()),
    "another object": ('{"type": "system"}', "cannot be read", Usage()),
    "a number": ("17", "cannot be read", Usage()),
    "cut off": (envelope(WRITTEN)[:-20], "cannot be read", Usage()),
}


@pytest.mark.parametrize("kind", UNUSABLE)
async def test_an_answer_without_a_proposal_is_a_failure(claude: ScriptedClaude, kind: str) -> None:
    """And what it cost is told."""
    output, why, cost = UNUSABLE[kind]
    claude.will(output=output)
    problem = await failure(distiller())
    assert isinstance(problem, UnusableProposal) and why in problem.message
    assert spent(problem) == cost


OUTAGES = {
    "wrong key": (complaint("Invalid API key · Fix external API key", 401), "(401)", "log in"),
    "no login": (complaint("Not logged in · Please run /login"), "now.", "log in"),
    "unknown model": (complaint("There's an issue with the selected model (hunter2)", 404), "(404)", "model"),
    "too often": (complaint("API Error: Request rejected (429) · slow down", 429), "(429)", "stay pending"),
    "used up": (complaint("You've hit your limit · resets 10pm", stop_reason=None), "now.", "stay pending"),
    "broken server": (complaint("API Error: 500 boom", 500), "(500)", "stay pending"),
    "overloaded": (complaint("API Error: 529 overloaded_error", 529), "(529)", "stay pending"),
    "no network": (complaint("API Error: Unable to connect to API (ConnectionRefused)"), "now.", "stay pending"),
    "something new": (complaint("Something nobody has seen before"), "now.", "stay pending"),
}


@pytest.mark.parametrize("kind", OUTAGES)
async def test_an_outage_is_told_apart_from_a_bad_answer(claude: ScriptedClaude, kind: str) -> None:
    """The command says so in its result and in its exit code; the episodes are not to blame."""
    output, why, recovery = OUTAGES[kind]
    claude.will(output=output, code=1)
    problem = await failure(distiller())
    assert isinstance(problem, DistillerUnavailable)
    assert problem.message.endswith(f"{why.rstrip('.')}.") and recovery in problem.recovery
    assert spent(problem) == Usage()


async def test_what_does_not_fit_is_unprocessable(claude: ScriptedClaude) -> None:
    claude.will(output=complaint("Prompt is too long · the request is ~209000 tokens", 400), code=1)
    assert isinstance(await failure(distiller()), Unprocessable)


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ({"output": "hunter2", "die": "SIGKILL"}, "signal 9"),
        ({"output": envelope(WRITTEN)[:50], "die": "SIGSEGV"}, "signal 11"),
        ({"complaint": "hunter2\n", "code": 3}, "code 3"),
        ({"deaf": True, "code": 4}, "code 4"),
        ({"complaint": "error: unknown option '--tools'\n", "code": 1}, "too old"),
    ],
)
async def test_death_in_the_middle_is_an_outage(claude: ScriptedClaude, step: dict[str, Any], why: str) -> None:
    """Also of a command that never read what it was told."""
    claude.will(**step)
    problem = await failure(distiller())
    assert isinstance(problem, DistillerUnavailable) and why in problem.message


async def test_an_answer_to_half_a_question_still_counts(claude: ScriptedClaude) -> None:
    """A command may answer without having read all of it."""
    claude.will(deaf=True, output=envelope(WRITTEN))
    long = batch(*["I work at Acme. " * 5000] * 5)
    assert (await distiller().distil(long)).proposal == PROPOSAL


async def _given_up(claude: ScriptedClaude) -> MemoryButlerError:
    """What is said of a command that takes too long, given as long as it needs to have begun."""
    for seconds in (1, 5, 25):
        async with asyncio.timeout(seconds + 10):
            problem = await failure(distiller(seconds=seconds))
        assert f"{seconds} seconds" in problem.message
        if claude.has_noted("pids"):
            return problem
    raise AssertionError("the command never began")


async def test_a_command_that_never_ends_is_ended_with_everything_it_started(claude: ScriptedClaude) -> None:
    """Also when both it and its child ignore being asked to."""
    claude.will(stay="ignoring")
    problem = await _given_up(claude)
    assert isinstance(problem, UnusableProposal)
    await until(lambda: not any(map(is_alive, claude.noted("pids"))))


@pytest.mark.parametrize("stay", ["polite", "ignoring"])
async def test_a_cancelled_run_leaves_no_process_behind(
    claude: ScriptedClaude, stay: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude_code, "GRACE_SECONDS", 0.2)
    claude.will(stay=stay)
    task = asyncio.create_task(distiller().distil(BATCH))
    await until(lambda: claude.has_noted("pids"))
    assert all(map(is_alive, claude.noted("pids")))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not any(map(is_alive, claude.noted("pids"))))
    assert not Path(claude.noted("given")["folder"]).exists()


async def test_what_has_left_the_group_is_not_waited_for(
    claude: ScriptedClaude, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something that runs on elsewhere, with the command's output in its hands, holds nobody up."""
    monkeypatch.setattr(claude_code, "GRACE_SECONDS", 0.1)
    claude.will(leave=True, output=envelope(WRITTEN))
    problem = await _given_up(claude)
    (pid,) = claude.noted("pids")
    psutil.Process(pid).kill()
    assert isinstance(problem, UnusableProposal)
    await until(lambda: not is_alive(pid))


async def test_a_flood_is_ended(claude: ScriptedClaude) -> None:
    claude.will(flood=True)
    problem = await failure(distiller(seconds=1))
    assert isinstance(problem, UnusableProposal) and "1 seconds" in problem.message


async def test_no_more_than_the_bound_is_kept_of_what_is_read() -> None:
    """All of it is read all the same, so that the command can come to its end."""
    stream = asyncio.StreamReader()
    for _ in range(3):
        stream.feed_data(b"x" * 70_000)
    stream.feed_eof()
    assert await _read(stream, 100_000) == b"x" * 100_000
    assert stream.at_eof()


@pytest.mark.parametrize("content", [None, "not a program"])
async def test_a_command_that_cannot_be_run_says_how_to_get_it(tmp_path: Path, content: str | None) -> None:
    """Missing, or not executable."""
    command = tmp_path / "claude"
    if content:
        command.write_text(content)
    problem = await failure(distiller(command=str(command)))
    assert isinstance(problem, DistillerUnavailable)
    assert "npm install -g @anthropic-ai/claude-code" in problem.recovery


async def test_nothing_to_read_is_not_asked_about(claude: ScriptedClaude) -> None:
    answered = await distiller().distil(batch("", "  "))
    assert answered.proposal == {"version": 1} and not claude.has_noted("given")


@pytest.mark.parametrize("value", [None, "12", True, -5, float("inf"), [1]])
async def test_accounts_that_make_no_sense_count_nothing(claude: ScriptedClaude, value: object) -> None:
    claude.will(output=envelope(WRITTEN, usage={"input_tokens": value}, total_cost_usd=value))
    assert (await distiller().distil(BATCH)).usage == Usage()
