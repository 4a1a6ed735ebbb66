"""Consolidation at the terminal: a diff for a person, JSON for a program, decisions, and one block where it fails."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.adapters.conftest import Type, choosing, note
from tests.ai.distillers.scripted_claude import ScriptedClaude, envelope

from memory_butler.ai.distillers.claude_code import ClaudeCodeDistiller
from memory_butler.errors import Conflict, DistillerUnavailable, InvalidInput, NotFound
from memory_butler.models import Caller, NewFact, Principal, Question, Role
from memory_butler.operations.consolidation import agent_distiller, claims
from memory_butler.operations.lifecycle import job_status
from memory_butler.operations.retrieval import search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import ClaudeCodeSettings

Terminal = Callable[[Resources], Type]


@pytest.fixture
def run(terminal: Terminal, resources: Resources) -> Type:
    return terminal(resources)


@pytest.fixture
def claude(tmp_path: Path) -> ScriptedClaude:
    return ScriptedClaude(tmp_path)


def asking(resources: Resources, claude: ScriptedClaude) -> Resources:
    """A butler whose distiller is the scripted command."""
    return replace(resources, distiller=ClaudeCodeDistiller(ClaudeCodeSettings(command=str(claude.command))))


def fits(said: str) -> bool:
    return all(line == line.rstrip() for line in said.splitlines()) and "\x1b" not in said


async def facts(resources: Resources) -> set[str]:
    found = await search.search(
        resources, Question(query="user", types=("fact",), min_relevance=0, limit=50), bump=False
    )
    return {f"{entry.hit.predicate_label} = {entry.hit.content}" for entry in found.results}


async def _life(resources: Resources) -> None:
    """Something is known, and episodes say it again, otherwise, and more."""
    for predicate, content in (("lives in", "Lisbon"), ("works at", "Acme")):
        await remember.fact(resources, NewFact(subject="user", predicate=predicate, content=content, scope="main"))
    await note(resources, "I moved to Porto. I still work at Acme.")
    await note(resources, "I'm allergic to peanuts.")
    await note(resources, "Thanks! What is the weather like?")


async def test_a_person_sees_what_changed_and_takes_it_back(resources: Resources, run: Type) -> None:
    """New, updated beside the old value, confirmed, and where each is from; the printed command undoes all of it."""
    await _life(resources)
    done = await run("consolidate")
    assert (done.exit_code, fits(done.stdout)) == (0, True)
    said = done.stdout
    assert re.search(r"~ fact:\w+ user · lives in: Porto\s+was: Lisbon \(fact:\w+\)\s+from episode:\w+", said)
    assert re.search(r"✓ fact:\w+ user · works at: Acme", said)
    assert re.search(r"\+ fact:\w+ user · allergic to: peanuts", said)
    assert "3 episodes: 1 new, 1 updated, 1 confirmed." in said
    undo = re.search(r"To undo: memory-butler (undo [0-9a-f-]{36})", said)
    assert undo
    assert (await run(*undo[1].split())).exit_code == 0
    assert await facts(resources) == {"lives in = Lisbon", "works at = Acme"}
    assert (await run("consolidate")).stdout == "No pending episodes.\n"


async def test_commands_stay_whole_in_a_narrow_terminal(
    resources: Resources, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever copies a printed command has all of it, and everything else is no wider than the terminal."""
    await _life(resources)
    await note(resources, "I'm allergic to walnuts.", "coder")

    def narrow(one: Resources) -> Type:
        typed = terminal(one)
        monkeypatch.setenv("COLUMNS", "60")
        monkeypatch.setattr(
            "memory_butler.adapters.cli.terminal.console", lambda stderr=False: Console(stderr=stderr, highlight=False)
        )
        return typed

    said = (await narrow(choosing(resources, review=True))("consolidate", "--butler", "coder")).stdout
    review = re.search(r"^  memory-butler (consolidate review [0-9a-f-]{36})$", said, re.MULTILINE)
    assert review
    run = narrow(resources)
    said += (await run("consolidate", "review")).stdout + (await run(*review[1].split())).stdout
    assert re.search(r"^  memory-butler consolidate approve [0-9a-f-]{36}$", said, re.MULTILINE)
    said += (await run("consolidate")).stdout
    assert "\n1 proposal waits for review: memory-butler consolidate review\n" in said
    undo = re.search(r"^To undo: memory-butler undo ([0-9a-f-]{36})$", said, re.MULTILINE)
    assert undo
    said += (await run("consolidate", "show", undo[1])).stdout + (await run("consolidate", "runs")).stdout
    assert said.count(f"{undo[0]}\n") == 2
    wide = [line for line in said.splitlines() if len(line.rstrip()) > 60]
    assert all("memory-butler " in line for line in wide)


async def test_a_run_that_was_taken_back_says_so(resources: Resources, run: Type) -> None:
    """When, by whom and how much of it; nobody is told to take it back again. An undo that is undone is none."""
    await _life(resources)
    [report] = json.loads((await run("consolidate", "--json")).stdout)["runs"]
    assert "To undo" in (await run("consolidate", "show", report["run"])).stdout
    moved = next(one["ref"] for one in report["items"] if one["content"] == "peanuts")
    made = json.loads((await run("get", moved, "--json")).stdout)["events"][-1]["id"]
    partly = json.loads((await run("undo", made, "--json")).stdout)
    said = (await run("consolidate", "show", report["run"])).stdout
    assert "1 of its 4 changes were undone on 2026-03-01 09:00 UTC by main." in said
    await run("undo", partly["undo_id"])
    assert "taken back" not in (await run("consolidate", "show", report["run"])).stdout
    assert (await run("undo", report["run"])).exit_code == 0
    said = (await run("consolidate", "show", report["run"])).stdout
    assert "This run was undone on 2026-03-01 09:00 UTC by main." in said
    assert "memory-butler undo" not in said
    shown = json.loads((await run("consolidate", "show", report["run"], "--json")).stdout)
    assert shown["undone"] == {
        "changes": 4, "undone": 4, "undone_at": "2026-03-01T09:00:00+00:00", "undone_by": "main"
    }  # fmt: skip


async def test_a_dry_run_shows_the_same_and_changes_nothing(resources: Resources, run: Type) -> None:
    """The diff is that of the run that follows, but for what does not exist yet; nothing is stored or put on record."""
    await _life(resources)
    before = await facts(resources)
    rehearsed = await run("consolidate", "--dry-run")
    assert (rehearsed.exit_code, fits(rehearsed.stdout)) == (0, True)
    assert "This was a dry run: nothing was changed." in rehearsed.stdout
    assert "memory-butler undo" not in rehearsed.stdout
    assert (await facts(resources), (await run("consolidate", "runs")).stdout) == (
        before,
        "There are no runs yet.\n",
    )
    (standing,) = [one for one in await job_status.statuses(resources) if one.job == "consolidation"]
    assert standing.status == "never"

    def shown(text: str) -> list[str]:
        lines = [line for line in text.splitlines() if line.startswith("  ")]
        return [re.sub(r"^(.)\s+(?:(?:fact|rule):\w+ )?", r"\1 ", line.strip()) for line in lines]

    assert shown(rehearsed.stdout) == shown((await run("consolidate")).stdout) != []


async def test_what_is_refused_is_told_with_its_reason(
    resources: Resources, terminal: Terminal, claude: ScriptedClaude
) -> None:
    """An invention stands beside what holds, with the reason in words; it is kept with the run, and so is the cost."""
    ref = await note(resources, "I work at Acme.")
    item = {"subject": "user", "evidence": [f"episode:{ref}"]}
    good = {**item, "predicate": "works_at", "content": "Acme"}
    invented = {**item, "predicate": "allergic_to:peanuts", "content": "peanuts"}
    claude.will(output=envelope(json.dumps({"version": 1, "facts": [good, invented]})))
    run = terminal(asking(resources, claude))
    rehearsed = await run("consolidate", "--dry-run")
    assert re.search(r"✗\s+user · allergic to: peanuts\s+\w.*peanuts\.", rehearsed.stdout)
    done = await run("consolidate")
    assert "1 episode: 1 new, 1 refused; 163 tokens, 0.0123 dollars." in done.stdout
    assert fits(done.stdout)
    report = json.loads((await run("consolidate", "runs", "--json")).stdout)["runs"][0]
    assert (report["state"], report["tokens"], report["dollars"]) == ("applied", 163, 0.0123)
    shown = json.loads((await run("consolidate", "show", report["run"], "--json")).stdout)
    assert [(one["outcome"], one.get("reason")) for one in shown["items"]] == [
        ("created", None),
        ("refused", "ungrounded"),
    ]
    assert shown["items"][1]["said"] in (await run("consolidate", "show", report["run"])).stdout.replace("\n", " ")
    stats = (await run("stats")).stdout
    assert re.search(r"refused\s+ungrounded 1\s", stats)
    assert re.search(r"cost\s+326 tokens, 0.0246 dollars", stats), "the dry run is on the account"


async def test_a_program_gets_one_line(resources: Resources, run: Type) -> None:
    """With every item, what it replaced and the episodes it is from; the references can be looked up."""
    await _life(resources)
    [line] = (await run("consolidate", "--json")).stdout.splitlines()
    answer = json.loads(line)
    assert (answer["dry_run"], answer["remarks"]) == (False, [])
    [report] = answer["runs"]
    assert (report["butler"], report["distiller"], report["state"]) == ("main", "built-in", "applied")
    assert report["counts"] == {"confirmed": 1, "created": 1, "superseded": 1}
    assert len(report["episodes"]) == 3
    [moved] = [one for one in report["items"] if one["outcome"] == "superseded"]
    assert (moved["subject"], moved["predicate"], moved["content"]) == ("user", "lives_in", "Porto")
    assert moved["old_content"] == "Lisbon"
    portrait = json.loads((await run("get", moved["ref"], "--json")).stdout)
    sources = {link["ref"] for link in portrait["links"] if link["relation"] == "derived_from"}
    assert sources == set(moved["evidence"]) <= set(report["episodes"])
    assert portrait["events"][-1]["group_id"] == report["run"]
    looked = (await run("get", moved["evidence"][0])).stdout
    assert "Consolidated (run " in looked
    assert report["run"] in looked


async def test_everybody_or_one_butler_and_no_more_than_asked_for(resources: Resources, run: Type) -> None:
    """Without a name every butler with a backlog has its turn; `--limit` counts over all of them."""
    for food, whose in (("peanuts", "main"), ("walnuts", "coder"), ("shellfish", "coder")):
        await note(resources, f"I'm allergic to {food}.", whose)
    one = json.loads((await run("consolidate", "--json", "--limit", "2")).stdout)
    assert [(report["butler"], len(report["episodes"])) for report in one["runs"]] == [("coder", 2)]
    rest = json.loads((await run("consolidate", "--json", "--butler", "coder")).stdout)
    assert (rest["runs"], rest["remarks"]) == ([], ["No pending episodes."])
    await note(resources, "I'm allergic to penicillin.", "coder")
    both = await run("consolidate")
    assert "2 runs, 2 episodes: 2 new." in both.stdout
    assert fits(both.stdout)


async def test_what_is_left_of_a_longer_backlog_is_said(resources: Resources, terminal: Terminal) -> None:
    """A dry run shows the next batch, and how many wait; a limited run says how many still do."""
    small = choosing(resources, batch=2)
    for number in range(5):
        await note(resources, f"Remember that locker {number} is mine.")
    run = terminal(small)
    assert "main: these are the first 2 of 5 pending episodes." in (await run("consolidate", "--dry-run")).stdout
    assert "2 still pending." in (await run("consolidate", "--limit", "3")).stdout
    assert "still wait" not in (await run("consolidate")).stdout


async def test_another_tenant_is_named_and_found(resources: Resources, run: Type, tenant: str) -> None:
    """Its episodes are distilled and nobody else's; the command that takes it back says whose store it is."""
    other = f"{tenant}x"
    theirs = Caller(Principal(other, "main", Role.ADMIN))
    foreign = replace(resources, settings=resources.settings.model_copy(update={"tenant": other}))
    await note(foreign, "I'm allergic to peanuts.")
    await note(resources, "I'm allergic to walnuts.")
    done = await run("consolidate", "--tenant", other)
    assert "user · allergic to: peanuts" in done.stdout
    assert "walnuts" not in done.stdout
    assert f"MEMORY_BUTLER_TENANT={other} memory-butler undo" in done.stdout.replace("\n", " ")
    [report] = json.loads((await run("consolidate", "runs", "--tenant", other, "--json")).stdout)["runs"]
    assert (await run("consolidate", "show", report["run"], "--tenant", other)).exit_code == 0
    assert isinstance((await run("consolidate", "show", report["run"])).exception, NotFound)
    assert await claims.claim_batch(resources, theirs, "test") is None


@pytest.mark.parametrize(
    ("command", "kind", "says"),
    [
        (("--butler", "nobody"), NotFound, "nobody"),
        (("--tenant", "nobody"), NotFound, "nobody"),
        (("--json", "runs"), InvalidInput, "before the subcommand"),
        (("show", "nonsense"), InvalidInput, "not the id of a run"),
        (("review", "0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d"), NotFound, "There is no run"),
        (("approve", "nonsense"), InvalidInput, "not the id of a run"),
        (("approve", "0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d", "1", "--rest", "perhaps"), InvalidInput, "--rest"),
        (("approve", "0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d", "--rest", "reject"), InvalidInput, "needs item numbers"),
    ],
)
async def test_what_cannot_be_done_is_refused_with_a_way_out(
    resources: Resources, run: Type, command: tuple[str, ...], kind: type, says: str
) -> None:
    """Each as an error of its class that says how to recover."""
    await note(resources, "I'm allergic to peanuts.")
    failed = await run("consolidate", *command)
    assert isinstance(failed.exception, kind)
    assert says in str(failed.exception)
    assert failed.exception.recovery


async def test_a_proposal_is_reviewed_item_by_item(resources: Resources, terminal: Terminal) -> None:
    """It waits with its numbers, old values beside new ones; some approved, the rest rejected, then it is applied."""
    await _life(resources)
    run = terminal(choosing(resources, review=True))
    done = await run("consolidate")
    assert "It waits for review:" in done.stdout
    assert "3 to review" in done.stdout
    [waiting] = json.loads((await run("consolidate", "review", "--json")).stdout)["runs"]
    assert (waiting["state"], waiting["episode_count"]) == ("waiting", 3)
    assert waiting["run"] in (await run("consolidate", "review")).stdout
    again = await run("consolidate")
    assert "1 proposal waits for review: memory-butler consolidate review" in again.stdout

    seen = await run("consolidate", "review", waiting["run"])
    assert fits(seen.stdout)
    items = json.loads((await run("consolidate", "review", waiting["run"], "--json")).stdout)["items"]
    number = {one["content"]: one["place"] for one in items}
    assert re.search(rf"{number['Porto']} ~\s+user · lives in: Porto\s+was: Lisbon", seen.stdout)
    assert re.search(rf"{number['Acme']} ✓\s+user · works at: Acme", seen.stdout)
    assert re.search(rf"{number['peanuts']} \+\s+user · allergic to: peanuts", seen.stdout)
    assert await facts(resources) == {"lives in = Lisbon", "works at = Acme"}
    partly = await run("consolidate", "approve", waiting["run"], str(number["Porto"]))
    assert "2 to review, 1 approved." in partly.stdout
    assert await facts(resources) == {"lives in = Lisbon", "works at = Acme"}
    applied = await run("consolidate", "reject", waiting["run"], str(number["peanuts"]), "--rest", "approve")
    assert "1 updated, 1 confirmed, 1 rejected." in applied.stdout
    assert re.search(r"lives in: Porto\s+was: Lisbon", applied.stdout)
    assert await facts(resources) == {"lives_in = Porto", "works at = Acme"}
    late = await run("consolidate", "approve", waiting["run"])
    assert isinstance(late.exception, Conflict)
    assert waiting["run"] in late.exception.recovery
    assert (await run("consolidate", "review")).stdout == "No proposals wait for review.\n"


async def test_a_proposal_is_turned_down_as_a_whole(resources: Resources, terminal: Terminal) -> None:
    """Nothing is stored, the episodes are done with, and the run says so."""
    await note(resources, "I'm allergic to peanuts.")
    run = terminal(choosing(resources, review=True))
    [report] = json.loads((await run("consolidate", "--json")).stdout)["runs"]
    down = json.loads((await run("consolidate", "reject", report["run"], "--json")).stdout)
    assert (down["state"], down["counts"]) == ("rejected", {"rejected": 1})
    assert await facts(resources) == set()
    assert (await run("consolidate")).stdout == "No pending episodes.\n"


async def test_an_error_comes_after_what_was_done(
    resources: Resources, terminal: Terminal, claude: ScriptedClaude
) -> None:
    """A budget that is spent on the way: the run before it is shown and on record, then the error says why."""
    for _ in range(2):
        await note(resources, "Thanks! What is the weather like?")
    run = terminal(asking(choosing(resources, batch=1, daily_tokens=100), claude))
    first = await run("consolidate")
    assert "1 episode: no items; 163 tokens, 0.0123 dollars." in first.stdout
    assert isinstance(first.exception, DistillerUnavailable)
    assert "163 of 100 tokens" in str(first.exception)
    assert len(json.loads((await run("consolidate", "runs", "--json")).stdout)["runs"]) == 1


async def test_a_dry_run_goes_no_further_than_the_budget(
    resources: Resources, terminal: Terminal, claude: ScriptedClaude
) -> None:
    """What was shown until then stays shown; the next one says that the budget is spent, and asks nobody."""
    for whose in ("coder", "main"):
        await note(resources, "Thanks! What is the weather like?", whose)
    run = terminal(asking(choosing(resources, daily_tokens=100), claude))
    first = await run("consolidate", "--dry-run")
    assert "1 episode: no items; 163 tokens, 0.0123 dollars." in first.stdout
    assert "163 of 100 tokens" in str(first.exception)
    second = await run("consolidate", "--dry-run", "--json")
    assert second.exit_code == 1
    assert json.loads(second.stdout)["runs"] == []
    [kept] = json.loads((await run("consolidate", "runs", "--json")).stdout)["runs"]
    assert (kept["state"], kept["butler"], kept["tokens"]) == ("rehearsed", "coder", 163)


async def test_an_outage_is_an_error_and_the_episodes_wait(
    resources: Resources, terminal: Terminal, claude: ScriptedClaude
) -> None:
    """One block with how to recover; as JSON beside the runs, of which there are none."""
    await note(resources, "I'm allergic to peanuts.")
    claude.will(code=1)
    ill = asking(resources, claude)
    failed = await terminal(ill)("consolidate")
    assert isinstance(failed.exception, DistillerUnavailable)
    as_json = await terminal(ill)("consolidate", "--json")
    assert as_json.exit_code == 1
    answer = json.loads(as_json.stdout)
    assert (answer["error"], answer["retryable"], answer["runs"]) == ("target_unavailable", True, [])
    assert answer["recovery"]
    assert "1 new." in (await terminal(resources)("consolidate")).stdout


async def test_a_backlog_in_other_hands_is_not_called_empty(resources: Resources, terminal: Terminal) -> None:
    """Who has it, and until when."""
    await note(resources, "I'm allergic to peanuts.")
    assert await agent_distiller.claim(choosing(resources, distiller="agent"))
    said = (await terminal(resources)("consolidate")).stdout
    assert said == "main: another worker (agent) holds the claim until 09:10 UTC.\n"
    [run] = json.loads((await terminal(resources)("consolidate", "runs", "--json")).stdout)["runs"]
    assert (
        "A worker is processing it, until 09:10 UTC"
        in (await terminal(resources)("consolidate", "show", run["run"])).stdout
    )


async def test_a_run_by_hand_is_on_record(resources: Resources, run: Type) -> None:
    """After it nobody calls consolidation overdue."""
    await note(resources, "I'm allergic to peanuts.")
    await run("consolidate")
    (standing,) = [one for one in await job_status.statuses(resources) if one.job == "consolidation"]
    assert (standing.status, standing.outcome) == ("ok", "succeeded")
    assert (standing.report["distilled"], standing.report["created"]) == (1, 1)


async def test_hostile_words_give_no_orders_to_the_terminal(
    resources: Resources, terminal: Terminal, claude: ScriptedClaude
) -> None:
    """Escape sequences in what a model proposes are not printed."""
    ref = await note(resources, "I work at Acme.")
    bad: dict[str, Any] = {"subject": "us\x1b[31mer", "predicate": "x\x07", "content": "\x1b]0;own\x07", "tags": 5}
    good = {"subject": "user", "predicate": "works_at", "content": "Acme", "evidence": [f"episode:{ref}"]}
    claude.will(output=envelope(json.dumps({"version": 1, "facts": [{**bad, "evidence": f"episode:{ref}"}, 7, good]})))
    done = await terminal(asking(resources, claude))("consolidate", "--dry-run")
    assert done.exit_code == 0
    assert "2 refused" in done.stdout
    assert not {"\x1b", "\x07"} & set(done.stdout)
