"""The measurements run: each in a short form, on a store of its own."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from benchmarks.consolidation import throughput
from benchmarks.consolidation.episodes import episodes
from benchmarks.support import speed_report
from benchmarks.support.latency import Latency, percentile
from benchmarks.support.load_store import Pool, Size, load_store
from benchmarks.support.sentences import FEW, USUAL, Vocabulary, questions, sentences
from rich.console import Console

from benchmarks import batches, cpu, replay, speed, sweep, vocabulary
from memory_butler.ai.embedding import FakeEmbedder
from memory_butler.english.extraction import distil
from memory_butler.models import BriefRequest, Caller, MemoryType, Principal, Question
from memory_butler.operations.briefing import brief
from memory_butler.operations.retrieval import indexing, search
from memory_butler.operations.system import stats
from memory_butler.resources import Resources
from memory_butler.store.embedded.server import EmbeddedPostgres

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.mark.usefixtures("quick_store")
def test_a_replay_is_measured_on_a_log_of_the_length_asked_for(tmp_path: Path) -> None:
    """The log is written, the store rebuilt from it and found equal, and the file says in what time and memory."""
    path = tmp_path / "replay.json"

    assert replay.main(["--events", "1000", "--json", str(path)]) == 0

    written = json.loads(path.read_text(encoding="utf-8"))
    assert (written["events"], written["equal"]) == (1000, True)
    assert written["rows"]["facts"] == 320
    assert written["rows"]["memory_references"] == 1000
    assert written["seconds"] > 0
    assert written["server_process_mb"] > 0


def test_percentiles_are_values_that_occurred() -> None:
    """Nearest rank: of a hundred values the 95th is the one that 95 do not exceed."""
    values = [float(number) for number in range(1, 101)]

    assert percentile(values, 0.95) == 95
    assert Latency.of([3.0, 1.0, 2.0]).p50 == 2.0
    assert Latency.of([5.0]).p99 == 5.0


def test_questions_of_a_benchmark_never_repeat() -> None:
    """No cache can answer them, and the same seed asks the same."""
    asked = questions(500, 1)

    assert len(set(asked)) == 500
    assert asked == questions(500, 1)


def test_a_store_of_few_words_says_each_of_them_more_often() -> None:
    """The words of its questions are in nearly twice as many of its sentences."""
    idle = {"the", "my", "our", "i", "it", "in", "at", "on", "for", "with", "and", "a", "to", "was", "old", "one"}

    def words_of(text: str) -> set[str]:
        return set(text.casefold().rstrip("?.").split()) - idle

    def share(words: Vocabulary) -> float:
        said = [words_of(text) for text in sentences(500, 1, words)]
        asked = [words_of(text) for text in questions(200, 2, words)]
        return sum(bool(one & other) for one in said for other in asked) / (len(said) * len(asked))

    assert 1.5 < share(FEW) / share(USUAL) < 2.5


@pytest.mark.usefixtures("quick_store")
def test_how_common_the_words_of_questions_are_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four turns, two have a word of the question, and one of them has both: three postings for four memories."""
    monkeypatch.setattr(vocabulary, "ASKED", 40)
    folder = tmp_path / "longmemeval-dev"
    folder.mkdir()
    said = ("The cello is in the attic.", "The attic is dry.", "Rain again.", "Nothing new here.")
    turns = [
        {"session": 1, "id": str(number), "timestamp": "2024-05-01T10:00:00", "text": text}
        for number, text in enumerate(said)
    ]
    asked = [{"question": "Is the cello in the attic?", "category": "single", "evidence": ["0"]}]
    for name, rows in (("turns", turns), ("questions", asked)):
        (folder / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    path = tmp_path / "vocabulary.json"

    assert vocabulary.main(["--data", str(tmp_path), "--quick", "--json", str(path)]) == 0

    written = json.loads(path.read_text(encoding="utf-8"))
    assert written["touched"]["longmemeval"] == [{"postings": 0.75, "memories": 0.5, "words": 2}]
    assert len(written["touched"]["made up"]) == len(written["touched"]["made up, few words"]) == vocabulary.ASKED
    assert not written["latency_ms"], "one question is too few to measure a latency with"


async def test_loaded_tenants_are_like_stored_ones(resources: Resources, tenant: str) -> None:
    """What the bulk loader writes is found, briefed, counted and logged like memories that were stored one by one."""
    texts = sentences(20, 1)
    pool = Pool(texts, await FakeEmbedder().embed(texts))
    caller = Caller(Principal(tenant, "main"))

    await load_store(resources, {tenant: Size(12, 3, 4)}, pool, seed=1)

    counted = await stats.stats(resources, None, caller)
    assert counted["memories"] == {"facts": {"active": 12}, "rules": {"active": 3}, "episodes": {"active": 4}}
    every = Question(query=texts[0], types=tuple(MemoryType), limit=100, min_relevance=0)
    loaded = await search.search(resources, every, caller, bump=False)
    assert {entry.hit.type for entry in loaded.results} == set(MemoryType)
    assert (await brief.brief(resources, BriefRequest(trigger_prompt=texts[0], butler="main"), caller)).text
    words = {entry.hit.id: entry.hit.keyword_score for entry in loaded.results}
    await indexing.reindex(resources, caller)
    again = await search.search(resources, every, caller, bump=False)
    assert {entry.hit.id: entry.hit.keyword_score for entry in again.results} == words


@pytest.mark.usefixtures("ready_store")
def test_speed_measures_everything_it_promises(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A tiny store and a handful of calls give every figure, every goal and a first answer of a cold process."""
    tiny = speed.Plan(tenants=11, large=Size(120, 5, 5), pool=40, reads=5, writes=8, cold_starts=1)
    monkeypatch.setattr(speed, "QUICK", tiny)
    monkeypatch.setattr(speed, "SMALL", Size(8, 2, 3))
    path = tmp_path / "speed.json"

    assert speed.main(["--quick", "--few-words", "--json", str(path)]) == 0

    written = json.loads(path.read_text(encoding="utf-8"))
    latency = written["latency_ms"]
    assert {f"{what}, {size} tenant, {clients}" for what in ("context", "search", "floor")
            for size in ("small", "large") for clients in ("1 client", "8 clients")} <= set(latency)  # fmt: skip
    assert all(0 < row["p50"] <= row["p95"] <= row["p99"] for row in latency.values())
    assert written["rates_per_second"]["facts stored, 8 clients"] > 0
    assert written["other"]["first_answer_seconds_database_stopped"] > 0
    assert written["database"]["fsync"] == "on" and written["words"] == "few"
    assert [goal["holds"] for goal in written["goals"]] == [
        goal["measured"] <= goal["at_most"] for goal in written["goals"]
    ]
    speed_report.show(written, Console(quiet=True))


@pytest.mark.usefixtures("quick_store")
def test_processor_time_is_measured_before_and_after_the_tables_are_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Both in the program and in the database, for searches and contexts of both sizes."""
    monkeypatch.setattr(cpu, "SMALL", Size(8, 2, 3))
    monkeypatch.setattr(cpu, "QUICK", speed.Plan(large=Size(20, 4, 6), pool=20))
    monkeypatch.setattr(cpu, "freeze_loaded_objects", lambda: None)  # this process runs other tests, too
    path = tmp_path / "cpu.json"

    assert cpu.main(["--quick", "--json", str(path)]) == 0

    figures = json.loads(path.read_text(encoding="utf-8"))["cpu_ms"]
    calls = {f"{call}, {size} tenant" for call in ("search", "context") for size in ("small", "large")}
    assert set(figures) == {"just filled", "after ANALYZE"}
    assert all(set(rows) == calls for rows in figures.values())
    assert all(row["program"] > 0 and row["wall"] > 0 for rows in figures.values() for row in rows.values())


@pytest.mark.usefixtures("quick_store")
def test_the_sweep_is_measured_on_the_changes_that_were_planned(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A small store in which one fact in twenty is due: foretold, done, nothing left; and how long writers waited."""
    monkeypatch.setattr(sweep, "QUICK", sweep.Plan(facts=4_000))
    path = tmp_path / "sweep.json"

    assert sweep.main(["--quick", "--json", str(path)]) == 0

    written = json.loads(path.read_text(encoding="utf-8"))
    changed = {name: duty["changed"] for name, duty in written["duties"].items() if duty["changed"]}
    assert changed == {"promote_facts": 20, "fade": 88, "expire": 72, "evict_from_mid": 20}
    assert written["changed"] == {"dry run": 200, "sweep": 200, "sweep that finds nothing": 0}
    assert written["goals"][0]["holds"] is True
    assert written["write_meanwhile_ms"]["longest"] > 0
    assert written["machine"]["cores"] >= 1


@pytest.mark.usefixtures("quick_store")
def test_consolidation_is_measured_from_the_claim_to_the_commit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Every episode is consolidated, by itself and beside others, with its rate and its cost in program and store."""
    monkeypatch.setattr(throughput, "QUICK", throughput.Plan(stored=(20, 40), episodes=12, rounds=1, pool=20))
    path = tmp_path / "throughput.json"

    assert throughput.main(["--quick", "--json", str(path)]) == 0

    written = json.loads(path.read_text(encoding="utf-8"))
    assert [(row["stored_elsewhere"], row["episodes"]) for row in written["runs"]] == [(20, 12)] * 2 + [(40, 12)] * 2
    assert all(row["items"]["created"] > 5 and row["episodes_a_second"] > 0 for row in written["runs"])
    assert all(row["waiting_for_database_share"] > 0 for row in written["runs"])
    assert [goal["holds"] for goal in written["goals"][::2]] == [
        goal["measured"] >= goal["at_least"] for goal in written["goals"][::2]
    ]


def test_episodes_to_measure_with_say_as_much_as_the_labelled_ones() -> None:
    """The same seed says the same; about a quarter say nothing, and what is said is hardly ever said twice."""
    told = episodes(400, 1)
    found = [distil(content, datetime(2026, 3, 4, tzinfo=UTC)) for content in told]
    items = [(one.subject, one.predicate, one.content) for each in found for one in each]

    assert told == episodes(400, 1)
    assert 1.3 < len(items) / len(told) < 1.9
    assert 0.15 < sum(not each for each in found) / len(told) < 0.35
    assert len(set(items)) > 0.9 * len(items)


async def test_batches_are_measured_in_turns(resources: Resources, server: EmbeddedPostgres, owner: Connection) -> None:
    """Both sides of every comparison have figures, and the trigger that was taken away is back."""
    plan = batches.Plan(items=3, rounds=1, pool=20, size=Size(12, 3, 4), trigger_writes=2, trigger_rounds=1)

    measured = await batches.run(resources, server, plan, Console(quiet=True))

    assert len(measured["batches"]) == 5
    assert all(min(row.values()) > 0 for row in measured["batches"].values())
    assert measured["news"]["seconds_with_news_over_without"] > 0
    enabled = "SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'memory.memory_events'::regclass AND tgname = 'tell'"
    assert owner.execute(enabled).fetchall() == [("O",)]
