"""How likely, from when, and who says the same: the newer sides of a search through the doors."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.conftest import Call
from tests.ai import tiny_classifier as tiny
from typer.testing import Result

from memory_butler.adapters import lazy_resources
from memory_butler.adapters.doctor import checks
from memory_butler.adapters.doctor.findings import Finding
from memory_butler.adapters.lazy_resources import LazyResources
from memory_butler.adapters.wire.answers import search_results
from memory_butler.ai.cross_encoder import CrossEncoder, CrossEncoderSource
from memory_butler.english.time.question_times import find_time_hint
from memory_butler.models import NewEpisode, NewFact, Question
from memory_butler.models.wire.codec import encode
from memory_butler.operations.retrieval import reembedding, search
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.store.retrieval import embedding_versions, search_index

Command = Callable[..., Result]
SAME = "The harbour was closed because of the storm that came up over night from the west."


async def stock(call: Call) -> None:
    for number, moment in enumerate(("2023-05-10T12:00:00Z", "2024-05-10T12:00:00Z", "2025-05-10T12:00:00Z")):
        await call("memory_store_fact", subject="boat", predicate="trip", content=f"sail {number}", valid_at=moment)
    await call("memory_store_fact", subject="garden", predicate="size", content="forty square metres")


# --- MCP ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tool", "question"), [("memory_search", "query"), ("memory_recall", "topic")])
async def test_a_result_shows_its_relevance_and_the_limit_is_kept(call: Call, tool: str, question: str) -> None:
    """A share beside the score, its fit among the parts; a limit between two of them leaves out the lower one."""
    await stock(call)
    results = (await call(tool, **{question: "sail boat trip"}, min_relevance="0")).body["results"]
    assert len(results) == 4
    for result in results:
        assert 0 <= result["relevance"] == result["parts"]["relevance"] <= 1
        assert 0 <= result["parts"]["fit"] <= 1
        assert "also" not in result
    high, low = max(r["relevance"] for r in results), min(r["relevance"] for r in results)
    assert high > low
    kept = (await call(tool, **{question: "sail boat trip"}, min_relevance=(high + low) / 2)).body["results"]
    assert {r["content"] for r in kept} == {r["content"] for r in results if r["relevance"] >= (high + low) / 2}
    assert len(kept) < 4


@pytest.mark.parametrize(("tool", "question"), [("memory_search", "query"), ("memory_recall", "topic")])
async def test_a_span_of_time_leaves_out_the_rest(call: Call, tool: str, question: str) -> None:
    """From is within, to is without; either may be left out."""
    await stock(call)
    asked = {question: "sail boat trip", "min_relevance": 0}

    async def sails(**span: str) -> set[str]:
        return {result["content"] for result in (await call(tool, **asked, **span)).body["results"]}

    assert await sails(time_to="2024-05-10T12:00:00Z") == {"sail 0"}
    assert await sails(time_from="2024-05-10T12:00:00Z", time_to="2025-01-01T00:00:00+01:00") == {"sail 1"}
    assert await sails(time_from="2025-01-01T00:00:00Z") == {"sail 2", "forty square metres"}


@pytest.mark.parametrize(("tool", "question"), [("memory_search", "query"), ("memory_recall", "topic")])
async def test_tags_leave_out_what_lacks_one_of_them(call: Call, tool: str, question: str) -> None:
    """Every type is filtered, in any spelling of the tag; an unknown tag returns nothing."""
    for number, tags in enumerate((["Boat"], ["boat", "Sea"], [])):
        about = {"subject": "boat", "predicate": f"trip:{number}", "content": f"sail boat trip {number}"}
        await call("memory_store_fact", **about, tags=tags)
        await call("memory_store_rule", content=f"sail the boat on trip {number}", tags=tags)
        await call("memory_store_episode", content=f"a boat trip under sail {number}", butler="main", tags=tags)

    async def found(*tags: str) -> set[str]:
        asked = {question: "sail boat trip", "min_relevance": 0, "tags": list(tags), "limit": 50}
        return {result["content"][-1] for result in (await call(tool, **asked)).body["results"]}

    assert await found() == {"0", "1", "2"}
    assert await found("BOAT") == {"0", "1"}
    assert await found("sea", "boat") == {"1"}
    assert await found("mountain") == set()


async def test_without_a_butler_it_is_the_callers(call: Call) -> None:
    """Of a local store that is the configured one, `main`; a briefing and an episode need no name."""
    kept = (await call("memory_store_episode", content="Painted the boat green.")).body["ref"]
    stored = (await call("memory_get", id=kept, detail="full")).body["memory"]
    assert stored["butler"] == "main"
    told = (await call("memory_context", trigger_prompt="What happened to the boat?")).body["context"]
    named = (await call("memory_context", trigger_prompt="What happened to the boat?", butler="main")).body["context"]
    assert kept in told and told == named
    batch = (await call("memory_ingest_batch", episodes=[{"content": "Sold the boat."}])).body["results"]
    assert batch[0]["outcome"] == "stored"


async def test_what_says_the_same_is_named_and_not_repeated(call: Call) -> None:
    """One result stands for all of them; their references lead to the others."""
    refs = [
        (await call("memory_store_episode", content=content, butler="main")).body["ref"]
        for content in (SAME, f"{SAME[:-1]}!", f"Oh, {SAME}")
    ]
    (result,) = (await call("memory_search", query="harbour storm", min_relevance=0)).body["results"]
    assert sorted([result["ref"], *result["also"]]) == sorted(refs)
    kind, short = result["also"][0].split(":")
    assert (await call("memory_get", type=kind, id=short)).body["memory"]["content"].lower().count(
        "the harbour was"
    ) == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"min_relevance": 1.5}, "min_relevance must be a number from 0 to 1"),
        ({"min_relevance": "high"}, "must be a number"),
        ({"time_from": "2026-01-01"}, "a date without a time"),
        ({"time_to": "2026-01-01T00:00:00"}, "has no time zone"),
        ({"time_from": "2026-01-02T00:00:00Z", "time_to": "2026-01-01T00:00:00Z"}, "time_from is not before time_to"),
    ],
)
async def test_bad_limits_are_refused(call: Call, given: dict[str, Any], words: str) -> None:
    """With what is wrong about them."""
    for tool, question in (("memory_search", "query"), ("memory_recall", "topic")):
        reply = await call(tool, **{question: "harbour"}, **given)
        assert (reply.error, words in reply.body["message"]) == ("validation_error", True), reply.body


# --- command line ---------------------------------------------------------------------------------


def told(command: Command, *arguments: str) -> str:
    result = command(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


async def test_the_command_line_takes_the_same_limits(resources: Resources, command: Command, call: Call) -> None:
    """--min-relevance, --since and --until; what comes back says how relevant it is."""
    await stock(call)

    def run() -> None:
        asked = ["search", "sail boat trip", "--min-relevance", "0"]
        found = json.loads(
            told(command, *asked, "--since", "2024-01-01T00:00:00Z", "--until", "2025-01-01T00:00:00Z", "--json")
        )
        assert [result["content"] for result in found["results"]] == ["sail 1"]
        table = told(command, *asked)
        assert table.startswith("relevance\t") and "strong\t" in table
        assert " %" in told(command, *asked, "--verbose")
        assert json.loads(told(command, "search", "sail boat trip", "--min-relevance", "1", "--json"))["count"] < 4
        assert json.loads(told(command, "recall", "sail boat trip", "--min-relevance", "0", "--json"))["count"] == 4
        wrong = command("search", "sail", "--since", "soonish")
        assert wrong.exit_code == 1
        assert "--since" in str(wrong.exception)

    await asyncio.to_thread(run)


async def test_the_table_names_what_says_the_same(resources: Resources, command: Command) -> None:
    """Below the memory that stands for them."""
    refs = [
        (await remember.episode(resources, NewEpisode(content=content, butler="main"))).ref
        for content in (SAME, f"{SAME[:-1]}!")
    ]
    table = await asyncio.to_thread(told, command, "search", "harbour storm", "--min-relevance", "0", "-v")
    assert "duplicates:" in " ".join(table.split())
    assert all(f"episode:{ref}" in table for ref in refs)


# --- getting ready --------------------------------------------------------------------------------


async def test_a_server_gets_everything_ready_that_a_first_question_needs(
    resources: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The date library is loaded and the reranker started before anybody asks."""
    reranker = CrossEncoder(CrossEncoderSource(tiny.write(tmp_path / "model"), None), cache=tmp_path)
    started = asyncio.Event()
    read: list[str] = []
    was_read = threading.Event()
    begin = reranker.start

    async def start() -> None:
        await begin()
        started.set()

    monkeypatch.setattr(reranker, "start", start)

    def reading(text: str, now: datetime) -> None:
        read.append(text)
        was_read.set()

    monkeypatch.setattr(lazy_resources, "find_time_hint", reading)

    @asynccontextmanager
    async def opener() -> AsyncIterator[Resources]:
        yield replace(resources, reranker=reranker)

    lazy = LazyResources(resources.settings, opener)
    lazy.begin()
    await asyncio.wait_for(started.wait(), 30)
    assert await asyncio.to_thread(was_read.wait, 30)
    await lazy.close()
    await reranker.close()
    assert len(read) == 1
    monkeypatch.undo()
    assert find_time_hint(read[0], resources.clock()) is not None


async def test_a_reranker_that_is_not_there_keeps_nobody_waiting(
    resources: Resources, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said in the log, and the rest gets ready."""
    reranker = CrossEncoder(CrossEncoderSource(tmp_path / "nowhere", None), cache=tmp_path)
    await lazy_resources.LazyResources.already_open(resources)._warm(replace(resources, reranker=reranker))
    await reranker.close()
    assert "the reranker is not ready" in caplog.text


async def test_a_server_indexes_what_has_no_index_entry(resources: Resources, caplog: pytest.LogCaptureFixture) -> None:
    """It is found by meaning again, without anybody asking for it."""
    caplog.set_level("INFO")
    stored = await remember.fact(resources, NewFact(subject="Anna", predicate="pet", content="a dog called Rex"))
    async with resources.database.write(resources.settings.tenant, resources.clock()) as transaction:
        await search_index.clear(transaction, [stored.id])
    question = Question(query="a dog called Rex", mode="semantic")
    assert not (await search.search(resources, question)).results
    await lazy_resources.LazyResources.already_open(resources)._warm(resources)
    assert [one.hit.content for one in (await search.search(resources, question)).results] == ["a dog called Rex"]
    assert "added to the search index: 1 memories" in caplog.text


async def test_an_answer_says_how_many_memories_are_on_an_earlier_model(resources: Resources, tenant: str) -> None:
    """As long as there are any, and to a caller of the tool."""
    await remember.fact(resources, NewFact(subject="Anna", predicate="pet", content="a dog called Rex"))
    newer = await embedding_versions.ensure(
        resources.database, tenant, resources.embedder.version, 1001, resources.clock()
    )
    upgraded = replace(resources, embedding_version=newer)
    question = Question(query="a dog called Rex")
    said = encode(search_results(await search.search(upgraded, question)))
    assert said["count"] == 1
    assert said["reembedding"] == {"memories": 1, "earlier": 1}
    assert await reembedding.reembed(upgraded, tenant) == 1
    assert "reembedding" not in encode(search_results(await search.search(upgraded, question)))


# --- check-up -------------------------------------------------------------------------------------


def test_the_check_up_looks_at_a_cross_encoder_if_one_is_wanted(
    home: Path, shared_resources: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No word of it by default; asked for, it is tried."""

    def findings() -> list[Finding]:
        return [finding for finding in checks.examine(home, lambda _: None) if finding.check == "cross-encoder"]

    assert findings() == []
    monkeypatch.setenv("MEMORY_BUTLER_RETRIEVAL__RERANK__METHOD", "cross_encoder")
    monkeypatch.setenv("MEMORY_BUTLER_RETRIEVAL__RERANK__CROSS_ENCODER__FOLDER", str(tiny.write(tmp_path / "model")))
    assert [finding.status for finding in findings()] == ["ok"]
    monkeypatch.setenv("MEMORY_BUTLER_RETRIEVAL__RERANK__CROSS_ENCODER__FOLDER", str(tmp_path / "nowhere"))
    assert [finding.status for finding in findings()] == ["warning"]
