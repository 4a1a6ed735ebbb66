"""Importers: what each format becomes, in a dry run and then for good, and that it comes in only once."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memory_butler.adapters import importers
from memory_butler.adapters.importers.notes import split_text
from memory_butler.errors import InvalidInput, PermissionDenied
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Question
from memory_butler.operations.history.replay import replay
from memory_butler.operations.retrieval import search
from memory_butler.operations.transfer import import_foreign
from memory_butler.operations.writing import forget, remember
from memory_butler.policy.agent_sessions.projects import project_butler
from memory_butler.resources import Resources

SAMPLES = {
    "mcp-memory": "graph",
    "mem0": "mem0_file",
    "claude-mem": "claude_mem_database",
    "mcp-memory-service": "service_database",
    "markdown": "notes_file",
    "claude-code": "transcripts",
}


def _parsed(name: str, path: Path) -> import_foreign.Parsed:
    return importers.parser_of(name)(path, "main")


def _facts(parsed: import_foreign.Parsed) -> list[tuple[str, str, str]]:
    return [(new.subject, new.predicate.partition(":")[0], new.content) for new in parsed.items
            if isinstance(new, NewFact)]  # fmt: skip


def test_the_graph_of_the_reference_server(graph: Path) -> None:
    """Observations, types and relations are facts about their entity; a line of another kind is counted."""
    parsed = _parsed("mcp-memory", graph)
    assert _facts(parsed) == [
        ("Anna Schmidt", "is_a", "person"),
        ("Anna Schmidt", "note", "Speaks Spanish"),
        ("Anna Schmidt", "note", "Likes green tea"),
        ("Anna Schmidt", "note", "Likes green tea"),
        ("Anna Schmidt", "note", "Her password is hunter2"),
        ("Acme", "is_a", "company"),
        ("Anna Schmidt", "works_at", "Anna Schmidt works at Acme"),
        ("Anna Schmidt", "works_at", "Anna Schmidt works at Lisbon"),
    ]
    assert parsed.left_out == {"neither an entity nor a relation": 1}


def test_an_answer_of_mem0(mem0_file: Path) -> None:
    """A memory is a fact about its user or agent, with its categories and when it was said."""
    parsed = _parsed("mem0", mem0_file)
    assert _facts(parsed) == [
        ("alice", "note", "Likes to play cricket on weekends"),
        ("coder", "note", "Runs tests before pushing"),
        ("alice", "plays", "alice plays cricket"),
    ]
    first = parsed.items[0]
    assert first.tags == ("hobbies", "sports")
    assert first.metadata == {"imported_from": "mem0", "id": "a", "said_at": "2026-01-02T03:04:05.678000-08:00"}
    assert parsed.left_out == {"has no text": 1, "is an incomplete relation": 1}


def test_a_list_of_mem0_memories_is_one_too(tmp_path: Path) -> None:
    """Earlier versions answered with the list alone."""
    path = tmp_path / "list.json"
    path.write_text(json.dumps([{"id": "a", "memory": "Has a cat", "user_id": "bob"}]))
    assert _facts(_parsed("mem0", path)) == [("bob", "note", "Has a cat")]


def test_only_a_line_feed_ends_a_line_of_the_graph(lines: Callable[..., Path]) -> None:
    """Breaks that JSON need not escape stand inside of what is said."""
    entity = {"type": "entity", "name": "Anna", "observations": ["Likes tea\u2028and\u0085cake"]}
    parsed = _parsed("mcp-memory", lines("memory.jsonl", json.dumps(entity, ensure_ascii=False)))
    assert _facts(parsed) == [("Anna", "note", "Likes tea\u2028and\u0085cake")]
    assert parsed.left_out == {}


def test_long_relations_that_begin_alike_stay_two(lines: Callable[..., Path]) -> None:
    """A name that is cut off never makes one fact take another's place; the same relation again is the same."""
    rows = [{"type": "relation", "from": "Anna", "to": "x" * 300 + end, "relationType": "reads"} for end in "aba"]
    found = [new.predicate for new in _parsed("mcp-memory", lines("memory.jsonl", *rows)).items
             if isinstance(new, NewFact)]  # fmt: skip
    assert found[0] == found[2] != found[1] and {len(name) for name in found} == {200}


@pytest.mark.parametrize("odd", [5, {"memory": "x"}, "x"])
def test_lists_of_mem0_that_are_none_hold_nothing(odd: object, tmp_path: Path) -> None:
    """Something else in their place is passed over, and an answer with nothing else in it is refused."""
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps({"results": odd, "relations": odd}))
    with pytest.raises(InvalidInput, match="no memories"):
        _parsed("mem0", file)


def test_a_database_of_claude_mem(claude_mem_database: Path) -> None:
    """An observation is a fact about its project, a summary the episode of its session; what is empty is counted."""
    parsed = _parsed("claude-mem", claude_mem_database)
    fact, episode = parsed.items
    assert isinstance(fact, NewFact)
    assert isinstance(episode, NewEpisode)
    assert fact.subject == "shop"
    assert fact.content == (
        "Rounding fixed. Prices were off by a cent\nThe total was summed as a float.\n- Prices are stored in cents"
    )
    assert fact.tags == ("bugfix", "money", "how-it-works")
    assert episode.content == (
        "Asked for: Fix the rounding\nLearned: Floats cannot hold prices\nDone: Prices are whole cents now"
    )
    assert (episode.session_id, episode.observed_at) == ("m1", datetime(2026, 2, 1, 11, tzinfo=UTC))
    assert parsed.left_out == {"has no text": 1}


def test_a_database_of_mcp_memory_service(service_database: Path) -> None:
    """Memories are notes with their tags, however these were written; what is deleted stays so."""
    parsed = _parsed("mcp-memory-service", service_database)
    assert _facts(parsed) == [
        ("main", "note", "The staging server is in Frankfurt"),
        ("main", "note", "Deploys need two approvals"),
    ]
    assert [new.tags for new in parsed.items] == [("infra", "server", "note"), ("process", "decision")]
    assert parsed.left_out == {"is deleted": 1}


def test_markdown_is_rules_and_facts(notes_file: Path) -> None:
    """What says how to act is a rule, the rest a fact about its heading; code, tables and imports are left out."""
    parsed = _parsed("markdown", notes_file)
    assert _facts(parsed) == [
        ("The shop", "note", "Prices are stored in whole cents and shown with two digits."),
        ("Style", "note", "The API key is: Zq7xK9vW2m-41"),
        ("Style", "note", "Colours come from the design team."),
    ]
    rules = [new.content for new in parsed.items if isinstance(new, NewRule)]
    assert rules == ["Always run `make test` before a commit.", "Use British spelling."]
    assert parsed.left_out == {"is too short": 1, "is code": 1, "is a table, a horizontal rule or only a link": 3}


def test_a_folder_of_notes_is_read_with_what_is_below(notes_file: Path, tmp_path: Path) -> None:
    """Every Markdown file but hidden ones, each fact under its heading or else under its file's name."""
    for name in ("memory/people.md", ".git/x.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("Anna is our designer.\n")
    parsed = _parsed("markdown", tmp_path)
    assert ("people", "note", "Anna is our designer.") in _facts(parsed)
    assert {new.metadata["file"] for new in parsed.items} == {"CLAUDE.md", "memory/people.md"}


def test_transcripts_become_an_episode_each(transcripts: Path, tmp_path: Path) -> None:
    """What was said at the end, as the project's butler, without secrets, tools and what the client put in."""
    parsed = _parsed("claude-code", transcripts)
    [episode] = parsed.items
    assert isinstance(episode, NewEpisode)
    assert "whole cents" in episode.content
    assert not any(word in episode.content for word in ("ghp_", "Never show", "hmm"))
    assert episode.butler == project_butler(str(tmp_path / "shop"), None)
    assert (episode.session_id, episode.observed_at) == ("s-1", datetime(2026, 2, 3, 9, 30, 0, 123000, tzinfo=UTC))
    assert parsed.left_out == {"has nothing to remember": 1}


@pytest.mark.parametrize("name", SAMPLES)
async def test_a_dry_run_tells_and_the_import_does(
    name: str, resources: Resources, request: pytest.FixtureRequest, everything: Callable[[], Any]
) -> None:
    """Both count the same; the dry run changes nothing, a second import changes nothing, and the log tells it all."""
    parsed = _parsed(name, request.getfixturevalue(SAMPLES[name]))
    empty = everything()
    planned = await import_foreign.adopt(resources, parsed, dry_run=True)
    assert everything() == empty
    assert sum(planned.stored.values()) > 0
    done = await import_foreign.adopt(resources, parsed)
    assert (done.stored, done.left_out, done.examples) == (planned.stored, planned.left_out, planned.examples)
    stored = everything()
    again = await import_foreign.adopt(resources, parsed)
    assert (sum(again.stored.values()), again.left_out[import_foreign.KNOWN]) == (0, sum(done.stored.values()))
    assert everything() == stored
    assert (await replay(resources)).equal
    found = await search.search(resources, Question(query="prices tea server cricket", scope="*", min_relevance=0))
    assert found.results


@pytest.mark.parametrize("name", ["mcp-memory", "markdown", "claude-code"])
async def test_secrets_do_not_come_in(
    name: str, resources: Resources, request: pytest.FixtureRequest, everything: Callable[[], Any]
) -> None:
    """Secrets are redacted and, where the importer gave them on, counted."""
    parsed = _parsed(name, request.getfixturevalue(SAMPLES[name]))
    done = await import_foreign.adopt(resources, parsed)
    assert not any(secret in str(everything()) for secret in ("hunter2", "Zq7xK9vW2m", "ghp_"))
    assert sum(done.redacted.values()) == (0 if name == "claude-code" else 1)


async def test_a_secret_is_known_by_what_it_is_called(resources: Resources) -> None:
    """The value of a property called password is one, and of a text only the secret goes."""
    items: list[import_foreign.New] = [
        NewFact(subject="wifi", predicate="password", content="seagull77"),
        NewFact(subject="wifi", predicate="name", content="It is called Seagull\npassword: seagull77\nin the hall"),
    ]
    done = await import_foreign.adopt(resources, import_foreign.Parsed("test", items))
    assert [new.content for new in done.examples] == [
        "[redacted: password]",
        "It is called Seagull\npassword: [redacted: password]\nin the hall",
    ]
    assert done.redacted == {"password": 2}


async def test_what_was_forgotten_does_not_come_back(resources: Resources, graph: Path) -> None:
    """A person's decision holds against the next import of the same file."""
    parsed = _parsed("mcp-memory", graph)
    await import_foreign.adopt(resources, parsed)
    hit = (await search.search(resources, Question(query="Speaks Spanish", min_relevance=0))).results[0].hit
    await forget.forget(resources, "fact", hit.ref)
    assert (await import_foreign.adopt(resources, parsed)).stored == {}
    found = await search.search(resources, Question(query="Speaks Spanish", min_relevance=0))
    assert hit.ref not in [one.hit.ref for one in found.results]


async def test_what_is_told_otherwise_supersedes(resources: Resources, graph: Path) -> None:
    """It goes the way of every write: another value of a property takes the old one's place, told in the dry run."""
    await remember.fact(resources, NewFact(subject="anna schmidt", predicate="is_a", content="customer"))
    parsed = _parsed("mcp-memory", graph)
    assert (await import_foreign.adopt(resources, parsed, dry_run=True)).superseding == 1
    assert (await import_foreign.adopt(resources, parsed)).superseding == 1
    twice: list[import_foreign.New] = [
        NewFact(subject="x", predicate="is", content=word) for word in ("one", "two", "three")
    ]
    assert (await import_foreign.adopt(resources, import_foreign.Parsed("test", twice))).superseding == 2
    assert (await replay(resources)).equal


async def test_what_is_not_accepted_is_counted(resources: Resources, agent: Callable[..., Caller]) -> None:
    """One bad item keeps no other out; and an agent imports nothing."""
    items: list[import_foreign.New] = [NewRule(content="x" * 5000), NewRule(content="Be kind")]
    done = await import_foreign.adopt(resources, import_foreign.Parsed("test", items))
    assert done.stored == {"rule": 1}
    assert [why for why in done.left_out if why.startswith("not accepted")]
    with pytest.raises(PermissionDenied):
        await import_foreign.adopt(resources, import_foreign.Parsed("test", items), agent())


async def test_many_come_in_batches(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch is a transaction of its own, and all of them together are everything."""
    monkeypatch.setattr(import_foreign, "BATCH", 3)
    items = [NewFact(subject="counter", predicate=f"step {n}", content=f"is {n}") for n in range(8)]
    told: list[int] = []
    done = await import_foreign.adopt(
        resources, import_foreign.Parsed("test", list(items)), progress=lambda stage, done, total: told.append(done)
    )
    assert done.stored == {"fact": 8}
    assert told == [3, 6, 8]
    assert (
        await import_foreign.adopt(resources, import_foreign.Parsed("test", [replace(one) for one in items]))
    ).stored == {}


def test_a_long_text_is_cut_where_it_pauses() -> None:
    """No piece is too long and no word is lost."""
    text = "\n\n".join(f"Paragraph {n}. " + "word " * 40 for n in range(30))
    cut = list(split_text(text, 500))
    assert max(map(len, cut)) <= 500
    assert " ".join(" ".join(cut).split()) == " ".join(text.split())
    assert list(split_text("x" * 1001, 500)) == ["x" * 500, "x" * 500, "x"]


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_not_of_the_format_is_refused(name: str, tmp_path: Path) -> None:
    """A file that is missing or of another kind is an error that says so, not an import of nothing."""
    with pytest.raises(InvalidInput):
        _parsed(name, tmp_path / "missing")
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.bin").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput):
        _parsed(name, other if name in ("markdown", "claude-code") else other / "x.bin")


def test_an_unknown_format_is_told_the_known_ones() -> None:
    """The error lists what may be given."""
    with pytest.raises(InvalidInput, match="not a known format") as problem:
        importers.parser_of("zep")
    assert all(name in problem.value.recovery for name in SAMPLES)
