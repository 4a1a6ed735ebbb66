"""Replay: the log alone gives the store again, and says so where it cannot."""

from collections.abc import Callable
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from memory_butler.errors import OverloadRejected, PermissionDenied
from memory_butler.models import Caller, NewEpisode, NewFact, NewRule, Outcome, Question
from memory_butler.operations.history import undo
from memory_butler.operations.history.replay import replay
from memory_butler.operations.lifecycle import sweep
from memory_butler.operations.retrieval import indexing, ranked_candidates, search
from memory_butler.operations.writing import correct, feedback, forget, pin, remember, restore
from memory_butler.resources import Resources
from memory_butler.store.history import replay as store
from memory_butler.store.history.replay import Difference, scratch_schema

Connection = psycopg.Connection[Any]
Rows = Callable[[str], list[dict[str, Any]]]


async def _live(resources: Resources, clock: Any) -> dict[str, str]:
    """A short life with everything in it; returns references by name."""
    episode = await remember.episode(resources, NewEpisode(content="We talked", butler="main", metadata={"n": 1}))
    fact = NewFact(subject="user", predicate="color", content="blue", source_episode=episode.ref)
    await remember.fact(resources, fact)
    clock.move(hours=1)
    await remember.fact(resources, fact)  # the same link again, an hour later: nothing new
    green = await remember.fact(resources, NewFact(subject="user", predicate="color", content="green"))
    rule = await remember.rule(resources, NewRule(content="Ask first", tags=("a", "b")))
    await feedback.mark(resources, rule.ref, Outcome.HARMFUL, reason="it was late")
    await search.search(resources, Question(query="green", min_relevance=0))
    clock.move(hours=-2)
    await search.search(resources, Question(query="green", min_relevance=0))
    return {"episode": episode.ref, "fact": green.ref, "rule": rule.ref}


async def test_a_store_is_rebuilt_row_for_row(resources: Resources, clock: Any, owner: Connection) -> None:
    """Every table comes out equal, and the scratch schema is gone afterwards."""
    await _live(resources, clock)
    report = await replay(resources)
    assert report.equal, report
    assert report.removed_texts == ()
    counts = {name: (table.live, table.rebuilt) for name, table in report.tables.items()}
    assert counts == {
        "episodes": (1, 1),
        "episode_tombstones": (0, 0),
        "facts": (2, 2),
        "rules": (1, 1),
        "rule_applications": (1, 1),
        "memory_links": (2, 2),
        "memory_references": (6, 6),
        "aliases": (0, 0),
    }
    assert report.events == 9
    assert owner.execute("SELECT to_regnamespace('memory_replay')").fetchone() == (None,)


async def test_a_tenant_without_a_log_is_equal_to_nothing(resources: Resources) -> None:
    """There is nothing to rebuild, and that is no difference."""
    report = await replay(resources)
    assert (report.equal, report.events) == (True, 0)
    assert {(table.live, table.rebuilt) for table in report.tables.values()} == {(0, 0)}


@pytest.mark.parametrize(
    ("tampering", "columns"),
    [
        ("importance = 9", ("importance",)),
        ("tags = '{x}'", ("tags",)),
        ("reference_count = 7, last_referenced_at = now()", ("last_referenced_at", "reference_count")),
    ],
)
async def test_a_change_without_an_event_is_found(
    resources: Resources, clock: Any, owner: Connection, tampering: LiteralString, columns: tuple[str, ...]
) -> None:
    """A row that was changed behind the log's back is named, with the columns that differ and no word of it."""
    known = await _live(resources, clock)
    change = sql.SQL("UPDATE memory.facts SET {} WHERE tenant_id = %s AND ref = %s").format(sql.SQL(tampering))
    owner.execute(change, (resources.settings.tenant, known["fact"]))
    report = await replay(resources)
    assert not report.equal
    assert {name: found.differences for name, found in report.tables.items() if found.differences} == {"facts": 1}
    [example] = report.tables["facts"].examples
    assert (example.kind, example.columns) == ("different", columns)


async def test_a_lost_row_is_found(resources: Resources, clock: Any, owner: Connection) -> None:
    """A memory that vanished without a tombstone exists only in the rebuilt store."""
    await _live(resources, clock)
    gone = owner.execute(
        "DELETE FROM memory.episodes WHERE tenant_id = %s RETURNING id::text", (resources.settings.tenant,)
    ).fetchone()
    assert gone
    report = await replay(resources)
    assert report.tables["episodes"].examples == (Difference(key=str(gone[0]), kind="only rebuilt"),)


async def test_a_removed_text_is_said_to_be_removed(resources: Resources, clock: Any, owner: Connection) -> None:
    """Words that are no longer kept are not guessed: their memory is named, and what stands on it is left out too."""
    await _live(resources, clock)
    first = owner.execute(
        "DELETE FROM memory.texts t USING memory.facts f WHERE f.tenant_id = %s AND f.supersedes_id IS NULL"
        " AND t.tenant_id = f.tenant_id AND t.memory_id = f.id RETURNING f.id::text",
        (resources.settings.tenant,),
    ).fetchone()
    owner.execute(
        "DELETE FROM memory.texts WHERE tenant_id = %s AND body LIKE '{\"reason\"%%'", (resources.settings.tenant,)
    )
    assert first
    report = await replay(resources)
    fact, reason = report.removed_texts
    assert fact == f"fact {first[0]}"
    assert reason.startswith("reason of ")
    assert (report.tables["facts"].live, report.tables["facts"].rebuilt) == (2, 0)
    assert {found.kind for found in report.tables["facts"].examples} == {"only live"}
    assert report.tables["rule_applications"].examples[0].columns == ("reason",)
    assert report.tables["rules"].differences == 0


async def test_a_deleted_episode_comes_back_as_its_tombstone(resources: Resources, clock: Any, rows: Rows) -> None:
    """Its row, its words and the record of its references are gone here and there; its tombstone and links are not."""
    await _live(resources, clock)
    clock.move(days=8)
    await sweep.sweep(resources)
    assert rows("episodes") == []
    assert not any("We talked" in text["body"] for text in rows("texts"))
    report = await replay(resources)
    assert report.equal, report
    assert report.removed_texts == ()
    assert report.tables["episodes"].rebuilt == 0
    assert report.tables["episode_tombstones"].rebuilt == 1
    assert report.tables["memory_links"].rebuilt == 2
    assert report.tables["memory_references"].rebuilt == len(rows("memory_references")) == 4


async def test_a_reference_to_what_was_just_deleted_is_rebuilt_too(
    resources: Resources, clock: Any, rows: Rows
) -> None:
    """A read may have found an episode that is deleted before the reference is counted: both stores keep that trace."""
    stored = await remember.episode(resources, NewEpisode(content="We talked", butler="main"))
    await search.search(resources, Question(query="We talked"))
    question = Question(query="We talked")
    answer = await search.search(resources, question, bump=False)
    probe = (await ranked_candidates.rank_candidates(resources, resources.local_caller(), question)).query
    clock.move(days=8)
    await sweep.sweep(resources)
    await search._count_references(resources, resources.local_caller(), answer, probe)
    assert [row["memory_id"] for row in rows("memory_references")] == [stored.id]
    assert (await replay(resources)).equal


async def test_every_kind_of_change_is_rebuilt(resources: Resources, clock: Any, rows: Rows) -> None:
    """Pins, reversals, withdrawn marks, corrections, restorations and what a sweep does come out of the log equal."""
    await _live(resources, clock)
    fact = await remember.fact(
        resources, NewFact(subject="u", predicate="tea", content="green", permanence="ephemeral")
    )
    rule = await remember.rule(resources, NewRule(content="Answer at once"))
    bad = await remember.rule(resources, NewRule(content="Shout"))
    for _ in range(3):
        await feedback.mark(resources, bad.ref, Outcome.HARMFUL, reason="it was loud")
    await feedback.mark(resources, rule.ref, Outcome.HELPFUL)
    marked = max(rows("memory_events"), key=lambda event: event["seq"])
    clock.move(hours=1)
    await undo.undo(resources, str(marked["id"]))
    await undo.undo(resources, str(max(rows("memory_events"), key=lambda event: event["seq"])["id"]))
    await restore.reverse(resources, bad.ref)
    await pin.pin(resources, "rule", rule.ref)
    right = await correct.correct(resources, fact.ref, "black")
    await forget.forget(resources, "fact", right.ref)
    clock.move(days=40)
    await sweep.sweep(resources)
    await restore.restore(resources, "fact", right.ref)
    report = await replay(resources)
    assert report.equal, report
    assert any(row["withdraws"] for row in rows("rule_applications"))
    assert any(row["judged_from"] for row in rows("rules"))
    assert any(row["pinned"] for row in rows("rules"))
    assert report.tables["rule_applications"].rebuilt == len(rows("rule_applications")) == 7


async def test_a_log_from_before_there_were_pins_is_rebuilt(
    resources: Resources, clock: Any, owner: Connection
) -> None:
    """An event that knows nothing of pins, written by an earlier version, speaks of a memory that is not pinned."""
    await _live(resources, clock)
    with owner.transaction():
        owner.execute("ALTER TABLE memory.memory_events DISABLE TRIGGER append_only")
        changed = owner.execute(
            "UPDATE memory.memory_events SET payload = payload #- '{state,pinned}' #- '{state,judged_from}'"
            " WHERE tenant_id = %s AND payload #> '{state,pinned}' IS NOT NULL",
            (resources.settings.tenant,),
        ).rowcount
        owner.execute("ALTER TABLE memory.memory_events ENABLE TRIGGER append_only")
    assert changed == 7
    report = await replay(resources)
    assert report.equal, report


class TestPieceByPiece:
    """The same in pieces of a few events, as a long log is worked through."""

    @pytest.fixture(autouse=True)
    def _small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(store, "PIECE", 2)

    async def test_all_pieces_together_are_the_whole(self, resources: Resources, clock: Any) -> None:
        """Every row is counted once, and each stage tells how far it is until it is done."""
        await _live(resources, clock)
        told: dict[str, list[tuple[int, int]]] = {}
        report = await replay(
            resources, progress=lambda stage, done, total: told.setdefault(stage, []).append((done, total))
        )
        assert report.equal, report
        assert {name: table.rebuilt for name, table in report.tables.items() if table.rebuilt} == {
            "episodes": 1,
            "facts": 2,
            "rules": 1,
            "rule_applications": 1,
            "memory_links": 2,
            "memory_references": 6,
        }
        stages = ["Reading the log", "Rebuilding memories", "Rebuilding links", "Comparing"]
        assert list(told) == ["Checking the hash chain", *stages]
        for steps in told.values():
            assert len(steps) > 2
            assert steps == sorted(steps)
            assert steps[-1][0] == steps[-1][1]

    async def test_a_fact_may_come_before_the_one_it_replaced(self, resources: Resources, clock: Any) -> None:
        """Written by a process whose clock is behind, the newer fact has the lower id: in the log it comes later."""
        clock.move(hours=1)
        old = await remember.fact(resources, NewFact(subject="user", predicate="color", content="blue"))
        clock.move(hours=-1)
        new = await remember.fact(resources, NewFact(subject="user", predicate="color", content="green"))
        assert new.id < old.id
        report = await replay(resources)
        assert report.equal, report
        assert (report.tables["facts"].rebuilt, report.tables["memory_links"].rebuilt) == (2, 1)

    async def test_a_row_the_log_has_never_heard_of_is_found(
        self, resources: Resources, clock: Any, owner: Connection
    ) -> None:
        """Whatever its id: rows are looked for below the first and above the last memory of the log as well."""
        await _live(resources, clock)
        made = ["00000000-0000-0000-0000-000000000001", "ffffffff-ffff-ffff-ffff-ffffffffffff"]
        for number, strange in enumerate(made):
            owner.execute(
                "INSERT INTO memory.rules SELECT (jsonb_populate_record(r, jsonb_build_object('id', %s::text, 'ref',"
                " %s::text))).* FROM memory.rules r WHERE tenant_id = %s LIMIT 1",
                (strange, f"zzz{number}", resources.settings.tenant),
            )
        report = await replay(resources)
        assert [(one.key, one.kind) for one in report.tables["rules"].examples] == [
            (strange, "only live") for strange in made
        ]
        assert (report.tables["rules"].live, report.tables["rules"].rebuilt) == (3, 1)

    async def test_only_the_first_differences_are_named(
        self, resources: Resources, clock: Any, owner: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """All are counted; a store that differs everywhere does not fill the report."""
        monkeypatch.setattr("memory_butler.operations.history.replay.EXAMPLES", 3)
        for number in range(7):
            await remember.fact(resources, NewFact(subject=f"s{number}", predicate="color", content="blue"))
        owner.execute("UPDATE memory.facts SET importance = 9 WHERE tenant_id = %s", (resources.settings.tenant,))
        facts = (await replay(resources)).tables["facts"]
        assert (facts.differences, len(facts.examples)) == (7, 3)

    async def test_a_lost_reference_is_found(self, resources: Resources, clock: Any, owner: Connection) -> None:
        """The list of references, which promotion goes by, is held against the log like everything else."""
        await _live(resources, clock)
        owner.execute(
            "UPDATE memory.memory_references SET session_id = 'x' WHERE tenant_id = %s AND (memory_id, seq) IN"
            " (SELECT memory_id, seq FROM memory.memory_references WHERE tenant_id = %s LIMIT 1)",
            (resources.settings.tenant, resources.settings.tenant),
        )
        references = (await replay(resources)).tables["memory_references"]
        assert [(one.kind, one.columns) for one in references.examples] == [("different", ("session_id",))]


async def test_a_replay_is_for_administrators_and_one_at_a_time(
    resources: Resources, agent: Callable[..., Caller]
) -> None:
    """An agent may not, and a second replay is turned away instead of disturbing the first."""
    with pytest.raises(PermissionDenied):
        await replay(resources, agent())
    async with scratch_schema(resources.database):
        with pytest.raises(OverloadRejected):
            await replay(resources)


async def test_derived_data_comes_out_the_same(
    resources: Resources, real_resources: Resources, clock: Any, owner: Connection
) -> None:
    """Reindexing gives the same postings, and vectors that agree to 1e-5 in every component."""

    def derived() -> tuple[list[Any], list[Any]]:
        tenant = (real_resources.settings.tenant,)
        postings = owner.execute(
            "SELECT memory_id, lexeme, frequency FROM memory.postings WHERE tenant_id = %s ORDER BY 1, 2", tenant
        ).fetchall()
        passages = owner.execute(
            "SELECT memory_id, ordinal, embedding_version, embedding::real[] FROM memory.passages"
            " WHERE tenant_id = %s ORDER BY 1, 2",
            tenant,
        ).fetchall()
        return postings, passages

    await _live(real_resources, clock)
    long = " ".join(f"On day {n} we walked to the harbour and counted {n} ships." for n in range(40))
    await remember.episode(real_resources, NewEpisode(content=long, butler="main", tags=("harbour",)))
    postings, passages = derived()
    assert await indexing.reindex(real_resources) == 5
    again_postings, again_passages = derived()
    assert again_postings == postings != []
    assert [row[:3] for row in again_passages] == [row[:3] for row in passages]
    assert len(passages) > 5
    for before, after in zip(passages, again_passages, strict=True):
        assert after[3] == pytest.approx(before[3], abs=1e-5)
