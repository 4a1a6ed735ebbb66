"""What Claude Code's hooks say and keep: recorded inputs through the real command to a real server."""

import json
from pathlib import Path

import pytest
from tests.adapters.hooks.conftest import (
    BUTLER,
    SECRET,
    Hook,
    agent,
    compacting,
    context_in,
    ended,
    episodes,
    person,
    project_memory,
    said,
    started,
)

from memory_butler.adapters.hooks.briefings import LONGEST_BLOCK
from memory_butler.models import NewFact
from memory_butler.operations.writing import remember
from memory_butler.policy.consolidation.recall_loop_guard import REFERENCE
from memory_butler.resources import Resources


@pytest.mark.parametrize("source", ["startup", "resume", "clear", "compact"])
async def test_a_session_starts_with_what_its_project_remembers(
    resources: Resources, port: int, hook: Hook, project: Path, *, transcript: Path, source: str
) -> None:
    """The block is there in the documented form, with references; another project's memories are not."""
    await project_memory(resources)
    text = context_in((await hook("session-start", port, started(project, source, transcript))).stdout)
    assert "Tests run with make check." in text
    assert "Run the linter" in text
    assert "Miele" not in text
    assert len(REFERENCE.findall(text)) == 2
    assert repr(BUTLER) in text


async def test_a_project_without_memories_is_told_nothing(port: int, hook: Hook, project: Path) -> None:
    """No block, no remark; who wants to know why is told."""
    for debug, why in (("0", ""), ("1", "memory-butler hook session-start: the briefing is empty\n")):
        done = await hook("session-start", port, started(project), MEMORY_BUTLER_HOOK_DEBUG=debug)
        assert (done.stdout, done.stderr) == ("", why)


async def test_the_project_is_where_claude_code_says_it_is(
    resources: Resources, port: int, hook: Hook, project: Path, tmp_path: Path
) -> None:
    """The session's root counts, not the folder it has moved to; a name that was set counts more."""
    await project_memory(resources)
    elsewhere = {**started(project), "cwd": str(tmp_path)}
    assert (await hook("session-start", port, elsewhere)).stdout == ""
    rooted = await hook("session-start", port, elsewhere, CLAUDE_PROJECT_DIR=str(project))
    assert "make check" in context_in(rooted.stdout)
    named = await hook("session-start", port, elsewhere, MEMORY_BUTLER_BUTLER="acme.bakery")
    assert "Miele" in context_in(named.stdout)


async def test_before_compaction_the_block_fits_what_was_said_last(
    resources: Resources, port: int, hook: Hook, project: Path, transcript: Path
) -> None:
    """It is plain text, which Claude Code adds to the instructions for the summary."""
    await project_memory(resources)
    stripe = NewFact(subject="invoices", predicate="payment", content="Invoices move to Stripe in Europe.")
    await remember.fact(resources, stripe)
    answer = (await hook("pre-compact", port, compacting(project, transcript))).stdout
    assert answer.startswith("Long-term memory holds the lines below already")
    assert "make check" in answer
    assert "Invoices move to Stripe" in answer
    start = (await hook("session-start", port, started(project))).stdout
    assert "Invoices move to Stripe" not in start


async def test_a_long_block_is_shortened(resources: Resources, port: int, hook: Hook, project: Path) -> None:
    """Claude Code puts what is too long into a file; whole lines are left out instead."""
    for number in range(12):
        words = " ".join(f"部分{number}{part}" for part in range(160))
        new = NewFact(subject=f"s{number}", predicate="p", content=words, scope=BUTLER)
        await remember.fact(resources, new)
    text = context_in((await hook("session-start", port, started(project))).stdout)
    assert len(text) < LONGEST_BLOCK + 500
    assert "[fact:" in text


async def test_a_session_leaves_one_episode(
    resources: Resources, port: int, hook: Hook, project: Path, transcript: Path
) -> None:
    """Of what was said and done: no secret, nothing that the memory served, nothing that nobody said; and only once."""
    for _ in range(2):
        assert (await hook("session-end", port, ended(project, transcript))).stdout == ""
    (episode,) = await episodes(resources)
    assert "We always use Stripe in Europe." in episode.content
    assert "Invoices now use Stripe." in episode.content
    for unwanted in (SECRET, "make check", "rm -rf", "Caveat", "Chinese", "hm"):
        assert unwanted not in episode.content.split()
        assert unwanted == "hm" or unwanted not in episode.content
    assert {"claude-code", "bash"} <= set(episode.tags)


async def test_a_session_that_goes_on_is_kept_again(
    resources: Resources, port: int, hook: Hook, project: Path, transcript: Path
) -> None:
    """What happened after it was taken up again is another episode."""
    await hook("session-end", port, ended(project, transcript))
    with transcript.open("a") as file:
        file.write(json.dumps(person("From now on we use Stripe for refunds as well.")) + "\n")
    await hook("session-end", port, ended(project, transcript))
    assert len(await episodes(resources)) == 2


async def test_a_session_without_substance_leaves_nothing(
    resources: Resources, port: int, hook: Hook, project: Path, tmp_path: Path
) -> None:
    """A greeting is no episode, and neither is a transcript that is not there."""
    greeting = tmp_path / "greeting.jsonl"
    greeting.write_text(json.dumps(person("Hello!")) + "\n" + json.dumps(agent(said("Hi, how can I help?"))) + "\n")
    await hook("session-end", port, ended(project, greeting))
    await hook("session-end", port, ended(project, tmp_path / "none.jsonl"))
    assert await episodes(resources) == []


async def test_the_memorys_own_upkeep_is_not_remembered(
    resources: Resources, port: int, hook: Hook, project: Path, transcript: Path
) -> None:
    """Sessions that distil memories neither get them nor leave any."""
    await project_memory(resources)
    upkeep = {"MEMORY_BUTLER_MAINTENANCE": "1"}
    assert (await hook("session-start", port, started(project), **upkeep)).stdout == ""
    await hook("session-end", port, ended(project, transcript), **upkeep)
    assert await episodes(resources) == []
