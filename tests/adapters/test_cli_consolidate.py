"""Consolidation at the terminal: a diff for a person, JSON for a program, decisions, and one block where it fails."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.ai.distillers.scripted_claude import ScriptedClaude, envelope

from memory_butler.ai.distillers.claude_code import ClaudeCodeDistiller
from memory_butler.butler import Butler
from memory_butler.errors import Conflict, DistillerUnavailable, InvalidInput, NotFound
from memory_butler.models import Caller, NewFact, Principal, Question, Role
from memory_butler.operations import agent_distils, claims, recall, remember, upkeep
from memory_butler.settings import ClaudeCodeSettings

from .conftest import Type, choosing, note

Terminal = Callable[[Butler], Type]


@pytest.fixture
def run(terminal: Terminal, butler: Butler) -> Type:
    return terminal(butler)


@pytest.fixture
def claude(tmp_path: Path) -> ScriptedClaude:
    return ScriptedClaude(tmp_path)


def asking(butler: Butler, claude: ScriptedClaude) -> Butler:
    """A butler whose distiller is the scripted command."""
    return replace(butler, distiller=ClaudeCodeDistiller(ClaudeCodeSettings(command=str(claude.command))))


def fits(said: str) -> bool:
    return all(len(line.rstrip()) <= 80 for line in said.splitlines()) and "\x1b" not in said


async def facts(butler: Butler) -> set[str]:
    found = await recall.search(butler, Question(query="user", types=("fact",), min_relevance=0, limit=50), bump=False)
    return {f"{entry.hit.predicate_label} = {entry.hit.content}" for entry in found.results}


async def _life(butler: Butler) -> None:
    """Something is known, and episodes say it again, otherwise, and more."""
    for predicate, content in (("lives in", "Lisbon"), ("works at", "Acme")):
        await remember.fact(butler, NewFact(subject="user", predicate=predicate, content=content, scope="main"))
    await note(butler, "I moved from Lisbon to Porto. I still work at Acme.")
    await note(butler, "I'm allergic to peanuts.")
    await note(butler, "Thanks! What is the weather like?")


async def test_a_person_sees_what_changed_and_takes_it_back(butler: Butler, run: Type) -> None:
    """New, updated beside the old value, confirmed, and where each is from; the printed command undoes all of it."""
    await _life(butler)
    done = await run("consolidate")
    assert (done.exit_code, fits(done.stdout)) == (0, True)
    said = done.stdout
    assert re.search(r"~ fact:\w+ user · lives in: Porto\s+was: Lisbon \(fact:\w+\)\s+from episode:\w+", said)
    assert re.search(r"✓ fact:\w+ user · works at: Acme", said)
    assert re.search(r"\+ fact:\w+ user · allergic to: peanuts", said)
    assert "3 episodes: 1 new, 1 updated, 1 confirmed." in said
    undo = re.search(r"To take it back: memory-butler (undo [0-9a-f-]{36})", said)
    assert undo
    assert (await run(*undo[1].split())).exit_code == 0
    assert await facts(butler) == {"lives in = Lisbon", "works at = Acme"}
    assert (await run("consolidate")).stdout == "No episode waits to be distilled.\n"


async def test_commands_stay_whole_in_a_narrow_terminal(
    butler: Butler, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever copies a printed command has all of it, and everything else is no wider than the terminal."""
    await _life(butler)
    await note(butler, "I'm allergic to walnuts.", "coder")

    def narrow(one: Butler) -> Type:
        typed = terminal(one)
        monkeypatch.setenv("COLUMNS", "60")
        return typed

    said = (await narrow(choosing(butler, review=True))("consolidate", "--butler", "coder")).stdout
    review = re.search(r"^  memory-butler (consolidate review [0-9a-f-]{36})$", said, re.MULTILINE)
    assert review
    run = narrow(butler)
    said += (await run("consolidate", "review")).stdout + (await run(*review[1].split())).stdout
    assert re.search(r"^  memory-butler consolidate approve [0-9a-f-]{36}$", said, re.MULTILINE)
    said += (await run("consolidate")).stdout
    assert "\n1 proposal waits for a decision: memory-butler consolidate review\n" in said
    undo = re.search(r"^To take it back: memory-butler undo ([0-9a-f-]{36})$", said, re.MULTILINE)
    assert undo
    said += (await run("consolidate", "show", undo[1])).stdout + (await run("consolidate", "runs")).stdout
    assert said.count(f"{undo[0]}\n") == 2
    wide = [line for line in said.splitlines() if len(line.rstrip()) > 60]
    assert all("memory-butler " in line for line in wide)


async def test_a_run_that_was_taken_back_says_so(butler: Butler, run: Type) -> None:
    """When, by whom and how much of it; nobody is told to take it back again. An undo that is undone is none."""
    await _life(butler)
    [report] = json.loads((await run("consolidate", "--json")).stdout)["runs"]
    assert "To take it back" in (await run("consolidate", "show", report["run"])).stdout
    moved = next(one["ref"] for one in report["items"] if one["content"] == "peanuts")
    made = json.loads((await run("get", moved, "--json")).stdout)["events"][-1]["id"]
    partly = json.loads((await run("undo", made, "--json")).stdout)
    said = (await run("consolidate", "show", report["run"])).stdout
    assert "1 of its 4 changes were taken back on 2026-03-01 09:00 UTC by main." in said
    await run("undo", partly["undo_id"])
    assert "taken back" not in (await run("consolidate", "show", report["run"])).stdout
    assert (await run("undo", report["run"])).exit_code == 0
    said = (await run("consolidate", "show", report["run"])).stdout
    assert "It was taken back on 2026-03-01 09:00 UTC by main." in said
    assert "memory-butler undo" not in said
    shown = json.loads((await run("consolidate", "show", report["run"], "--json")).stdout)
    assert shown["undone"] == {
        "changes": 4, "undone": 4, "undone_at": "2026-03-01T09:00:00+00:00", "undone_by": "main"
    }  # fmt: skip


async def test_a_dry_run_shows_the_same_and_changes_nothing(butler: Butler, run: Type) -> None:
    """The diff is that of the run that follows, but for what does not exist yet; nothing is stored or put on record."""
    await _life(butler)
    before = await facts(butler)
    rehearsed = await run("consolidate", "--dry-run")
    assert (rehearsed.exit_code, fits(rehearsed.stdout)) == (0, True)
    assert "This was a dry run: nothing was changed." in rehearsed.stdout
    assert "memory-butler undo" not in rehearsed.stdout
    assert (await facts(butler), (await run("consolidate", "runs")).stdout) == (before, "Nothing was distilled yet.\n")
    (standing,) = [one for one in await upkeep.standings(butler) if one.job == "consolidation"]
    assert standing.status == "never"

    def shown(text: str) -> list[str]:
        lines = [line for line in text.splitlines() if line.startswith("  ")]
        return [re.sub(r"^(.)\s+(?:(?:fact|rule):\w+ )?", r"\1 ", line.strip()) for line in lines]

    assert shown(rehearsed.stdout) == shown((await run("consolidate")).stdout) != []


async def test_what_is_refused_is_told_with_its_reason(
    butler: Butler, terminal: Terminal, claude: ScriptedClaude
) -> None:
    """An invention stands beside what holds, with the reason in words; it is kept with the run, and so is the cost."""
    ref = await note(butler, "I work at Acme.")
    item = {"subject": "user", "evidence": [f"episode:{ref}"]}
    good = {**item, "predicate": "works_at", "content": "Acme"}
    invented = {**item, "predicate": "allergic_to:peanuts", "content": "peanuts"}
    claude.will(output=envelope(json.dumps({"version": 1, "facts": [good, invented]})))
    run = terminal(asking(butler, claude))
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


async def test_a_program_gets_one_line(butler: Butler, run: Type) -> None:
    """With every item, what it replaced and the episodes it is from; the references can be looked up."""
    await _life(butler)
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
    assert "Distilled: anything worth keeping of it is in facts" in looked
    assert report["run"] in looked


async def test_everybody_or_one_butler_and_no_more_than_asked_for(butler: Butler, run: Type) -> None:
    """Without a name every butler with a backlog has its turn; `--limit` counts over all of them."""
    for food, whose in (("peanuts", "main"), ("walnuts", "coder"), ("shellfish", "coder")):
        await note(butler, f"I'm allergic to {food}.", whose)
    one = json.loads((await run("consolidate", "--json", "--limit", "2")).stdout)
    assert [(report["butler"], len(report["episodes"])) for report in one["runs"]] == [("coder", 2)]
    rest = json.loads((await run("consolidate", "--json", "--butler", "coder")).stdout)
    assert (rest["runs"], rest["remarks"]) == ([], ["No episode waits to be distilled."])
    await note(butler, "I'm allergic to penicillin.", "coder")
    both = await run("consolidate")
    assert "2 runs, 2 episodes: 2 new." in both.stdout
    assert fits(both.stdout)


async def test_what_is_left_of_a_longer_backlog_is_said(butler: Butler, terminal: Terminal) -> None:
    """A dry run shows the next batch, and how many wait; a limited run says how many still do."""
    small = choosing(butler, batch=2)
    for number in range(5):
        await note(butler, f"Remember that locker {number} is mine.")
    run = terminal(small)
    assert "main: these were the next 2 of 5 episodes that wait." in (await run("consolidate", "--dry-run")).stdout
    assert "2 still wait." in (await run("consolidate", "--limit", "3")).stdout
    assert "still wait" not in (await run("consolidate")).stdout


async def test_another_tenant_is_named_and_found(butler: Butler, run: Type, tenant: str) -> None:
    """Its episodes are distilled and nobody else's; the command that takes it back says whose store it is."""
    other = f"{tenant}x"
    theirs = Caller(Principal(other, "main", Role.ADMIN))
    foreign = replace(butler, settings=butler.settings.model_copy(update={"tenant": other}))
    await note(foreign, "I'm allergic to peanuts.")
    await note(butler, "I'm allergic to walnuts.")
    done = await run("consolidate", "--tenant", other)
    assert "user · allergic to: peanuts" in done.stdout
    assert "walnuts" not in done.stdout
    assert f"MEMORY_BUTLER_TENANT={other} memory-butler undo" in done.stdout.replace("\n", " ")
    [report] = json.loads((await run("consolidate", "runs", "--tenant", other, "--json")).stdout)["runs"]
    assert (await run("consolidate", "show", report["run"], "--tenant", other)).exit_code == 0
    assert isinstance((await run("consolidate", "show", report["run"])).exception, NotFound)
    assert await claims.claim_batch(butler, theirs, "test") is None


@pytest.mark.parametrize(
    ("command", "kind", "says"),
    [
        (("--butler", "nobody"), NotFound, "nobody"),
        (("--tenant", "nobody"), NotFound, "nobody"),
        (("--json", "runs"), InvalidInput, "in front of the subcommand"),
        (("show", "nonsense"), InvalidInput, "not the id of a run"),
        (("review", "0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d"), NotFound, "no such run"),
        (("approve", "nonsense"), InvalidInput, "not the id of a run"),
        (("approve", "0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d", "1", "--rest", "perhaps"), InvalidInput, "--rest"),
        (("approve", "0198f3c2-7a10-7c3e-8f4b-2d9f5a6b7c8d", "--rest", "reject"), InvalidInput, "no rest"),
    ],
)
async def test_what_cannot_be_done_is_refused_with_a_way_out(
    butler: Butler, run: Type, command: tuple[str, ...], kind: type, says: str
) -> None:
    """Each as an error of its class that says how to recover."""
    await note(butler, "I'm allergic to peanuts.")
    failed = await run("consolidate", *command)
    assert isinstance(failed.exception, kind)
    assert says in str(failed.exception)
    assert failed.exception.recovery


async def test_a_proposal_is_reviewed_item_by_item(butler: Butler, terminal: Terminal) -> None:
    """It waits with its numbers, old values beside new ones; some approved, the rest rejected, then it is applied."""
    await _life(butler)
    run = terminal(choosing(butler, review=True))
    done = await run("consolidate")
    assert "It waits for your decision:" in done.stdout
    assert "3 to decide on" in done.stdout
    [waiting] = json.loads((await run("consolidate", "review", "--json")).stdout)["runs"]
    assert (waiting["state"], waiting["episode_count"]) == ("waiting", 3)
    assert waiting["run"] in (await run("consolidate", "review")).stdout
    again = await run("consolidate")
    assert "1 proposal waits for a decision: memory-butler consolidate review" in again.stdout

    seen = await run("consolidate", "review", waiting["run"])
    assert fits(seen.stdout)
    items = json.loads((await run("consolidate", "review", waiting["run"], "--json")).stdout)["items"]
    number = {one["content"]: one["place"] for one in items}
    assert re.search(rf"{number['Porto']} ~\s+user · lives in: Porto\s+was: Lisbon", seen.stdout)
    assert re.search(rf"{number['Acme']} ✓\s+user · works at: Acme", seen.stdout)
    assert re.search(rf"{number['peanuts']} \+\s+user · allergic to: peanuts", seen.stdout)
    assert await facts(butler) == {"lives in = Lisbon", "works at = Acme"}
    partly = await run("consolidate", "approve", waiting["run"], str(number["Porto"]))
    assert "2 to decide on, 1 approved." in partly.stdout
    assert await facts(butler) == {"lives in = Lisbon", "works at = Acme"}
    applied = await run("consolidate", "reject", waiting["run"], str(number["peanuts"]), "--rest", "approve")
    assert "1 updated, 1 confirmed, 1 rejected." in applied.stdout
    assert re.search(r"lives in: Porto\s+was: Lisbon", applied.stdout)
    assert await facts(butler) == {"lives_in = Porto", "works at = Acme"}
    late = await run("consolidate", "approve", waiting["run"])
    assert isinstance(late.exception, Conflict)
    assert waiting["run"] in late.exception.recovery
    assert (await run("consolidate", "review")).stdout == "No proposal waits for a decision.\n"


async def test_a_proposal_is_turned_down_as_a_whole(butler: Butler, terminal: Terminal) -> None:
    """Nothing is stored, the episodes are done with, and the run says so."""
    await note(butler, "I'm allergic to peanuts.")
    run = terminal(choosing(butler, review=True))
    [report] = json.loads((await run("consolidate", "--json")).stdout)["runs"]
    down = json.loads((await run("consolidate", "reject", report["run"], "--json")).stdout)
    assert (down["state"], down["counts"]) == ("rejected", {"rejected": 1})
    assert await facts(butler) == set()
    assert (await run("consolidate")).stdout == "No episode waits to be distilled.\n"


async def test_an_error_comes_after_what_was_done(butler: Butler, terminal: Terminal, claude: ScriptedClaude) -> None:
    """A budget that is spent on the way: the run before it is shown and on record, then the error says why."""
    for _ in range(2):
        await note(butler, "Thanks! What is the weather like?")
    run = terminal(asking(choosing(butler, batch=1, daily_tokens=100), claude))
    first = await run("consolidate")
    assert "1 episode: nothing worth keeping; 163 tokens, 0.0123 dollars." in first.stdout
    assert isinstance(first.exception, DistillerUnavailable)
    assert "163 of 100 tokens" in str(first.exception)
    assert len(json.loads((await run("consolidate", "runs", "--json")).stdout)["runs"]) == 1


async def test_a_dry_run_goes_no_further_than_the_budget(
    butler: Butler, terminal: Terminal, claude: ScriptedClaude
) -> None:
    """What was shown until then stays shown; the next one says that the budget is spent, and asks nobody."""
    for whose in ("coder", "main"):
        await note(butler, "Thanks! What is the weather like?", whose)
    run = terminal(asking(choosing(butler, daily_tokens=100), claude))
    first = await run("consolidate", "--dry-run")
    assert "1 episode: nothing worth keeping; 163 tokens, 0.0123 dollars." in first.stdout
    assert "163 of 100 tokens" in str(first.exception)
    second = await run("consolidate", "--dry-run", "--json")
    assert second.exit_code == 1
    assert json.loads(second.stdout)["runs"] == []
    [kept] = json.loads((await run("consolidate", "runs", "--json")).stdout)["runs"]
    assert (kept["state"], kept["butler"], kept["tokens"]) == ("rehearsed", "coder", 163)


async def test_an_outage_is_an_error_and_the_episodes_wait(
    butler: Butler, terminal: Terminal, claude: ScriptedClaude
) -> None:
    """One block with how to recover; as JSON beside the runs, of which there are none."""
    await note(butler, "I'm allergic to peanuts.")
    claude.will(code=1)
    ill = asking(butler, claude)
    failed = await terminal(ill)("consolidate")
    assert isinstance(failed.exception, DistillerUnavailable)
    as_json = await terminal(ill)("consolidate", "--json")
    assert as_json.exit_code == 1
    answer = json.loads(as_json.stdout)
    assert (answer["error"], answer["retryable"], answer["runs"]) == ("target_unavailable", True, [])
    assert answer["recovery"]
    assert "1 new." in (await terminal(butler)("consolidate")).stdout


async def test_a_backlog_in_other_hands_is_not_called_empty(butler: Butler, terminal: Terminal) -> None:
    """Who has it, and until when."""
    await note(butler, "I'm allergic to peanuts.")
    assert await agent_distils.claim(choosing(butler, distiller="agent"))
    said = (await terminal(butler)("consolidate")).stdout
    assert said == "main: another worker (agent) is at it, until 09:10 UTC at the latest.\n"
    [run] = json.loads((await terminal(butler)("consolidate", "runs", "--json")).stdout)["runs"]
    assert (
        "It is being worked on, until 09:10 UTC" in (await terminal(butler)("consolidate", "show", run["run"])).stdout
    )


async def test_a_run_by_hand_is_on_record(butler: Butler, run: Type) -> None:
    """After it nobody calls consolidation overdue."""
    await note(butler, "I'm allergic to peanuts.")
    await run("consolidate")
    (standing,) = [one for one in await upkeep.standings(butler) if one.job == "consolidation"]
    assert (standing.status, standing.outcome) == ("ok", "succeeded")
    assert (standing.report["distilled"], standing.report["created"]) == (1, 1)


async def test_hostile_words_give_no_orders_to_the_terminal(
    butler: Butler, terminal: Terminal, claude: ScriptedClaude
) -> None:
    """Escape sequences in what a model proposes are not printed."""
    ref = await note(butler, "I work at Acme.")
    bad: dict[str, Any] = {"subject": "us\x1b[31mer", "predicate": "x\x07", "content": "\x1b]0;own\x07", "tags": 5}
    good = {"subject": "user", "predicate": "works_at", "content": "Acme", "evidence": [f"episode:{ref}"]}
    claude.will(output=envelope(json.dumps({"version": 1, "facts": [{**bad, "evidence": f"episode:{ref}"}, 7, good]})))
    done = await terminal(asking(butler, claude))("consolidate", "--dry-run")
    assert done.exit_code == 0
    assert "2 refused" in done.stdout
    assert not {"\x1b", "\x07"} & set(done.stdout)
