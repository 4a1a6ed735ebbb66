"""Purging: nothing of a memory is left in any table, the log keeps its order, and a receipt proves it."""

import uuid
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.operations.conftest import Rows, second_tenant
from tests.support.leaks import traces

from memory_butler.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from memory_butler.models import (
    Caller,
    Lineage,
    NewEpisode,
    NewFact,
    NewRule,
    Outcome,
    Principal,
    Question,
    Role,
    Stored,
)
from memory_butler.models.wire.codec import encode
from memory_butler.operations.consolidation import run_now
from memory_butler.operations.history.replay import replay
from memory_butler.operations.history.undo import undo
from memory_butler.operations.lifecycle.cleanup import cleanup
from memory_butler.operations.lifecycle.sweep import sweep
from memory_butler.operations.retrieval.get import get
from memory_butler.operations.retrieval.search import search
from memory_butler.operations.transfer.export import export
from memory_butler.operations.transfer.import_ import import_
from memory_butler.operations.trust import purge_receipts, residue
from memory_butler.operations.trust.purge import PurgeReport, PurgeRequest, purge
from memory_butler.operations.writing import correct, feedback, forget, remember
from memory_butler.resources import Resources


@pytest.fixture
def canary() -> str:
    """A word that no other test uses: the tables of all tenants are searched for it."""
    return "zanzibar" + "".join(chr(ord("a") + int(digit, 16)) for digit in uuid.uuid4().hex[:12])


async def fact(resources: Resources, subject: str, content: str, predicate: str = "note", **given: Any) -> Stored:
    return await remember.fact(resources, NewFact(subject=subject, predicate=predicate, content=content, **given))


async def test_a_purged_fact_is_in_no_table(resources: Resources, owner: psycopg.Connection[Any], canary: str) -> None:
    """Its versions, tags, metadata, aliases and the response to its idempotency key go with it."""
    first = await fact(resources, canary, f"{canary} one", tags=(canary,), metadata={canary: canary},
                       aliases=(f"{canary}-alias",), idempotency_key=f"{canary}-key")  # fmt: skip
    second = await fact(resources, canary, f"{canary} two")
    kept = await fact(resources, "Ben", "likes tea")
    assert {"facts.content", "texts.body", "postings.lexeme", "aliases.alias"} <= set(traces(owner, canary))
    planned = await purge(resources, PurgeRequest(ref=f"fact:{second.ref}"))
    assert planned.dry_run and {one.ref for one in planned.touched} == {first.ref, second.ref}
    done = await purge(resources, PurgeRequest(ref=f"fact:{second.ref}"), dry_run=False, reason="asked for")
    assert traces(owner, canary) == []
    assert done.receipt and done.counts and done.counts["facts"] == 2
    assert (await replay(resources)).equal
    assert (await get(resources, "fact", kept.ref)).memory.content == "likes tea"
    with pytest.raises(NotFound, match="was purged on"):
        await get(resources, "fact", second.ref)
    check = await purge_receipts.verify(resources, done.receipt)
    assert check.holds, check.problems
    again = await purge(resources, PurgeRequest(ref=f"fact:{second.ref}"), dry_run=False)
    assert (again.touched, again.receipt) == ((), done.receipt)


async def test_an_older_version_goes_alone(resources: Resources, owner: psycopg.Connection[Any], canary: str) -> None:
    first = await fact(resources, "Anna", f"{canary} one")
    second = await fact(resources, "Anna", "green")
    await purge(resources, PurgeRequest(ref=f"fact:{first.ref}"), dry_run=False)
    assert traces(owner, canary) == []
    details = await get(resources, "fact", second.ref)
    assert details.memory.supersedes_id is None
    assert (await replay(resources)).equal


async def erase(resources: Resources, caller: Caller | None = None, **given: Any) -> PurgeReport:
    options = {name: given.pop(name) for name in ("reason",) if name in given}
    return await purge(resources, PurgeRequest(**given), caller, dry_run=False, **options)


async def test_a_purged_episode_leaves_no_words_anywhere(
    resources: Resources, owner: psycopg.Connection[Any], canary: str
) -> None:
    """Its session, its runs, what was proposed from it, what was learned from it alone, and the answers about it."""
    session = Caller(resources.local_caller().principal, Lineage(session_id=f"{canary}-session", request_id=canary))
    episode = await remember.episode(
        resources,
        NewEpisode(content=f"{canary.title()} lives in Oslo. {canary.title()} likes tea.", butler="main",
                   session_id=f"talk with {canary}", idempotency_key=f"{canary}-1"),
        session,
    )  # fmt: skip
    await run_now.consolidate_now(resources)
    await get(resources, "episode", episode.ref, session)
    planned = await purge(resources, PurgeRequest(ref=f"episode:{episode.ref}"))
    assert planned.derived >= 1 and len(planned.touched) == planned.derived + 1
    assert "consolidation_items.proposed" in traces(owner, canary)
    await erase(resources, ref=f"episode:{episode.ref}")
    assert traces(owner, canary) == []
    assert (await replay(resources)).intact
    with pytest.raises(NotFound, match="was purged on"):
        await get(resources, "episode", episode.ref)


async def test_what_was_derived_can_be_kept(resources: Resources, rows: Rows) -> None:
    episode = await remember.episode(resources, NewEpisode(content="Anna lives in Oslo.", butler="main"))
    await run_now.consolidate_now(resources)
    known = [row["ref"] for row in rows("facts")]
    assert known
    done = await erase(resources, ref=f"episode:{episode.ref}", derived=False)
    assert [one.ref for one in done.touched] == [episode.ref]
    assert [row["ref"] for row in rows("facts")] == known
    assert (await replay(resources)).intact


async def test_a_fact_names_the_episodes_that_still_hold_its_words(resources: Resources, rows: Rows) -> None:
    episode = await remember.episode(resources, NewEpisode(content="Anna lives in Oslo.", butler="main"))
    await run_now.consolidate_now(resources)
    [fact_row, *_] = rows("facts")
    planned = await purge(resources, PurgeRequest(ref=f"fact:{fact_row['ref']}"))
    assert planned.kept_sources == (f"episode:{episode.ref}",)


async def test_a_text_is_erased_wherever_it_is(
    resources: Resources, owner: psycopg.Connection[Any], canary: str
) -> None:
    """In memories in use and out of use, in reasons on other memories, and in what other callers asked."""
    mail = f"{canary}@x.org"
    gone = [
        await fact(resources, "Ben", f"His sister is {mail}.", "sister"),
        await remember.rule(resources, NewRule(content=f"Copy {mail}.")),
        await remember.episode(resources, NewEpisode(content=f"{mail} called", butler="main")),
    ]
    await forget.forget(resources, "fact", gone[0].ref)
    other = await fact(resources, "Ben", "tea", "drink", idempotency_key=f"about {mail}")
    await forget.forget(resources, "fact", other.ref, reason=f"{mail} said so.")
    rule = await remember.rule(resources, NewRule(content="Knock twice."))
    marked = await feedback.mark(resources, rule.ref, Outcome.HELPFUL)
    await fact(resources, "Ben", f"other{mail}", "like")
    done = await erase(resources, text=mail.upper())
    assert {one.ref for one in done.touched} == {one.ref for one in gone}
    assert [place for place in traces(owner, canary) if place not in ELSEWHERE] == []
    assert (await get(resources, "rule", marked.ref)).memory.content == "Knock twice."
    assert (await replay(resources)).intact


# Another address that contains the purged one is kept: `otherzanzibar…@x.org`.
ELSEWHERE = ("facts.content", "texts.body", "postings.lexeme")


async def test_a_subject_with_all_its_names(
    resources: Resources, owner: psycopg.Connection[Any], rows: Rows, canary: str
) -> None:
    await fact(resources, canary, "tall", "height", aliases=(f"{canary}2",))
    await fact(resources, f"{canary}2", "green", "color")
    kept = await fact(resources, "Ben", "green", "color")
    done = await erase(resources, subject=canary)
    assert (len(done.touched), len(done.aliases)) == (2, 1)
    assert traces(owner, canary) == []
    assert [row["ref"] for row in rows("facts")] == [kept.ref]
    assert (await replay(resources)).intact


async def test_a_purge_cannot_be_undone_and_history_says_so(resources: Resources) -> None:
    first = await fact(resources, "Anna", "blue", "color")
    second = await correct.correct(resources, first.ref, "green", reason="She said so.")
    done = await erase(resources, ref=f"fact:{first.ref}")
    assert done.receipt
    with pytest.raises(Conflict, match="Deleted memories cannot be restored"):
        await undo(resources, str(done.receipt))
    words = [line.words for line in (await get(resources, "fact", second.ref)).story]
    assert words[-1].startswith("The fact that it replaced was purged")
    forgotten = await forget.forget(resources, "fact", second.ref)
    assert forgotten.outcome == "retracted"


async def test_it_stays_in_its_tenant(resources: Resources, owner: psycopg.Connection[Any], canary: str) -> None:
    other = second_tenant(resources)
    await fact(other, canary, f"{canary} elsewhere")
    await fact(resources, canary, f"{canary} here")
    before = owner.execute("SELECT * FROM memory.facts WHERE tenant_id = %s", [other.settings.tenant]).fetchall()
    await erase(resources, subject=canary)
    await erase(resources, text=canary)
    after = owner.execute("SELECT * FROM memory.facts WHERE tenant_id = %s", [other.settings.tenant]).fetchall()
    assert before == after != []
    await erase(other, subject=canary)
    assert traces(owner, canary) == []


@pytest.mark.parametrize("reason", ["because of {}", "Likes green tea"])
async def test_a_reason_must_not_repeat_the_words(
    resources: Resources, everything: Any, reason: str, canary: str
) -> None:
    stored = await fact(resources, canary, "likes green tea")
    before = everything()
    with pytest.raises(InvalidInput, match="The reason contains words"):
        await erase(resources, ref=f"fact:{stored.ref}", reason=reason.format(canary))
    assert everything() == before


@pytest.mark.parametrize("given", [{}, {"ref": "fact:k3f7", "text": "anna"}, {"ref": "k3f7"}, {"ref": "tea:k3f7"}])
async def test_a_request_names_one_target(resources: Resources, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        await purge(resources, PurgeRequest(**given))


async def test_only_administrators_purge(resources: Resources) -> None:
    agent = Caller(Principal(resources.settings.tenant, "main", Role.AGENT))
    with pytest.raises(PermissionDenied):
        await purge(resources, PurgeRequest(text="anna"), agent)


async def test_a_dry_run_changes_nothing(resources: Resources, everything: Any) -> None:
    stored = await fact(resources, "Anna", "blue", "color")
    before = everything()
    planned = await purge(resources, PurgeRequest(subject="Anna"))
    assert [(one.ref, one.line) for one in planned.touched] == [(stored.ref, "Anna · color: blue")]
    assert everything() == before


async def test_a_search_in_the_past_finds_no_words(resources: Resources, clock: Any) -> None:
    """As of a time before the purge: the memory was there, and its text is gone."""
    stored = await fact(resources, "Anna", "likes green tea")
    then = clock.now
    clock.move(hours=1)
    await erase(resources, ref=f"fact:{stored.ref}")
    answer = await search(resources, Question(query="green tea", as_of=then))
    assert answer.results == ()
    assert "1 purged fact" in " ".join(answer.degraded)


async def test_an_expired_episode_leaves_no_words(
    resources: Resources, owner: psycopg.Connection[Any], clock: Any, canary: str
) -> None:
    """The end of the TTL erases as much of an episode's events as a purge does."""
    await remember.episode(resources, NewEpisode(content=f"{canary} called", butler="main", session_id=canary))
    clock.move(days=400)
    await sweep(resources)
    assert [place for place in traces(owner, canary) if not place.startswith("consolidation")] == []
    assert (await replay(resources)).intact


async def test_words_from_before_the_chain_cannot_be_guessed(
    resources: Resources, owner: psycopg.Connection[Any], tenant: str
) -> None:
    """An event of an earlier version has a plain hash of its text: the purge replaces it."""
    stored = await fact(resources, "Anna", "blue", "color")
    with owner.transaction():
        owner.execute("ALTER TABLE memory.memory_events DISABLE TRIGGER USER")
        owner.execute("UPDATE memory.memory_events SET chain = NULL WHERE tenant_id = %s", [tenant])
        owner.execute("ALTER TABLE memory.memory_events ENABLE TRIGGER USER")
        owner.execute(
            "INSERT INTO memory.event_seals (tenant_id, seq, chain, sealed_at) VALUES (%s, 1, '', now())", [tenant]
        )
    query = "SELECT text_hash FROM memory.memory_events WHERE tenant_id = %s AND seq = 1"
    before = owner.execute(query, [tenant]).fetchone()
    await erase(resources, ref=f"fact:{stored.ref}")
    after = owner.execute(query, [tenant]).fetchone()
    assert before and after and before != after and len(after[0]) == 32
    assert (await replay(resources)).intact


async def test_a_receipt_that_does_not_hold(resources: Resources, owner: psycopg.Connection[Any]) -> None:
    """A changed receipt, a saved one that was edited, and a memory that came back by id."""
    stored = await fact(resources, "Anna", "blue", "color")
    done = await erase(resources, ref=f"fact:{stored.ref}", reason="requested")
    [receipt] = await purge_receipts.receipts(resources)
    saved = encode(receipt)
    assert (receipt.reason, receipt.actor, receipt.matched_by) == ("requested", "main", "ref")
    assert (await purge_receipts.verify(resources, saved)).holds
    edited = await purge_receipts.verify(resources, saved | {"actor": "eve"})
    assert edited.problems == ("the given receipt does not match the log",)
    owner.execute("UPDATE memory.purge_receipts SET actor = 'eve' WHERE id = %s", [done.receipt])
    changed = await purge_receipts.verify(resources, receipt.id)
    assert "the stored receipt was changed: its digest does not match" in changed.problems
    owner.execute(
        "INSERT INTO memory.texts (tenant_id, memory_id, hash, body) VALUES (%s, %s, sha256('x'), 'x')",
        [resources.settings.tenant, stored.id],
    )
    back = await purge_receipts.verify(resources, receipt.id)
    assert "1 rows of texts belong to purged memories again" in back.problems


async def test_an_export_afterwards_has_no_words(resources: Resources, tmp_path: Path, canary: str) -> None:
    """It can be imported: the log, the receipt's events and what is left of a version chain are complete."""
    first = await fact(resources, "Anna", f"{canary} blue", "color")
    await fact(resources, "Anna", "green", "color")
    episode = await remember.episode(resources, NewEpisode(content=f"{canary} called", butler="main"))
    await erase(resources, ref=f"fact:{first.ref}")
    await erase(resources, ref=f"episode:{episode.ref}")
    file = tmp_path / "memory.jsonl"
    await export(resources, file)
    assert canary.encode() not in file.read_bytes()
    other = second_tenant(resources)
    await import_(other, file)
    assert (await replay(other)).intact
    with pytest.raises(NotFound, match="was purged on"):
        await get(other, "fact", first.ref)


async def test_a_large_store_is_rewritten_by_the_cleanup_job(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then the receipt says that it is pending."""
    monkeypatch.setattr(residue.clean_up, "__defaults__", (0,))
    stored = await fact(resources, "Anna", "blue", "color")
    assert (await erase(resources, ref=f"fact:{stored.ref}")).residue == "pending"
    assert [one.residue for one in await purge_receipts.receipts(resources)] == [None]
    report = await cleanup(resources, resources.local_caller())
    assert report["purge_residue"] == "clean"
    [receipt] = await purge_receipts.receipts(resources)
    assert receipt.residue and receipt.residue["state"] == "clean"
