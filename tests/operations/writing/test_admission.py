"""No door stores a secret: a canary in every text of every write is gone from all tables."""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from benchmarks.trust.generated import case
from tests.support.stored_words import stored_words

from memory_butler.adapters.mcp.catalog import TOOLS
from memory_butler.errors import InvalidInput, NotFound
from memory_butler.models import (
    Caller,
    Lineage,
    MemoryChanges,
    NewEpisode,
    NewFact,
    NewNote,
    NewRule,
    Outcome,
    Principal,
    Role,
    Stored,
)
from memory_butler.operations.history.replay import replay
from memory_butler.operations.retrieval.get import get
from memory_butler.operations.transfer.export import export
from memory_butler.operations.transfer.import_ import import_
from memory_butler.operations.trust.forget_about import forget_about
from memory_butler.operations.writing import correct, feedback, forget, ingest, remember, restore, update
from memory_butler.resources import Resources
from memory_butler.settings import RedactionSettings, Settings

CANARY = case("github", "gh|p_{x36}").text
SECOND = case("aws", "AK|IA{A16}").text
# Tools that take no text of the caller besides ids and keys, or that store nothing.
WITHOUT_TEXT = {
    "memory_confirm",
    "memory_pin",
    "memory_unpin",
    "memory_link",
    "memory_undo",
    "memory_consolidation_claim",
    "memory_consolidation_submit",
}
WITH_TEXT = {
    "memory_store_episode",
    "memory_store_fact",
    "memory_store_rule",
    "memory_store",
    "memory_ingest_batch",
    "memory_correct",
    "memory_mark_helpful",
    "memory_mark_harmful",
    "memory_forget",
    "memory_forget_about",
    "memory_purge",
    "memory_restore",
    "memory_reverse",
    "memory_update",
}
Dump = Callable[[str], str]


@pytest.fixture
def dump(owner: psycopg.Connection[Any]) -> Dump:
    """All rows of all tables with a tenant, as text."""
    return partial(stored_words, owner)


@pytest.fixture
def caller(tenant: str) -> Caller:
    """An administrator whose lineage and name of session contain the canary."""
    lineage = Lineage(request_id=f"r-{CANARY}", subrequest_id=CANARY, segment_id=CANARY, session_id=f"s-{CANARY}")
    return Caller(Principal(tenant, "main", Role.ADMIN), lineage)


def _fields(key: str) -> dict[str, Any]:
    return {
        "content": f"Deploy with {CANARY} and {SECOND}.",
        "tags": (f"x {CANARY}", "deploy"),
        "idempotency_key": f"{key}-{CANARY}",
    }


async def _write_everything(resources: Resources, caller: Caller) -> list[Stored]:
    nested = {"a": [{"token": CANARY, CANARY: 1}], "b": f"x {SECOND}"}
    with_more: dict[str, Any] = {"metadata": nested}
    fact = await remember.fact(
        resources,
        NewFact(
            subject=f"s {CANARY}", predicate=f"p {CANARY}", aliases=(f"a {CANARY}",), **_fields("fact"), **with_more
        ),
        caller,
    )
    episode = await remember.episode(
        resources, NewEpisode(butler="main", session_id=f"s-{CANARY}", **_fields("episode"), **with_more), caller
    )
    rule = await remember.rule(resources, NewRule(**_fields("rule"), **with_more), caller)
    notes = [
        await remember.store(resources, NewNote(tier=tier, **_fields(tier)), caller) for tier in ("eden", "mid", "long")
    ]
    incoming = ingest.IncomingEpisode(NewEpisode(butler="main", **_fields("batch"), **with_more), caller.lineage)
    batch = await ingest.ingest(resources, [incoming], caller)
    assert batch[0].stored
    reason = f"because of {CANARY}"
    corrected = await correct.correct(resources, fact.ref, f"Now {CANARY}.", caller, reason=reason)
    harmful = await feedback.mark(resources, rule.ref, Outcome.HARMFUL, caller, reason=reason)
    plain = await remember.rule(resources, NewRule(content="Deploy on Mondays."), caller)
    changes = MemoryChanges(content=f"Deploy only with {CANARY}.", tags=(f"y {CANARY}",))
    reworded = await update.update(resources, "rule", plain.ref, changes, caller, idempotency_key=f"u-{CANARY}")
    forgotten = await forget.forget(resources, "rule", rule.ref, caller, reason=reason, idempotency_key=CANARY)
    restored = await restore.restore(resources, "rule", rule.ref, caller, reason=reason)
    for _ in range(2):
        await feedback.mark(resources, rule.ref, Outcome.HARMFUL, caller, reason=reason)
    reversed_rule = await restore.reverse(resources, rule.ref, caller, reason=reason)
    await forget_about(resources, caller, text="zebra", dry_run=False, reason=reason, idempotency_key=f"about-{CANARY}")
    return [
        fact,
        episode,
        rule,
        *notes,
        batch[0].stored,
        corrected,
        reworded,
        harmful,
        forgotten,
        restored,
        reversed_rule,
    ]


def test_every_write_tool_is_covered() -> None:
    """A new tool that writes must be added to one of the lists above."""
    writing = {name for name, one in TOOLS.items() if not one.hints.read_only_hint}
    assert writing == WITH_TEXT | WITHOUT_TEXT


async def test_no_door_stores_a_secret(
    resources: Resources, caller: Caller, dump: Dump, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Contents, names, tags, metadata, reasons, keys and lineage are redacted; each answer counts by kind."""
    with caplog.at_level(logging.DEBUG):
        answers = await _write_everything(resources, caller)
    stored = dump(tenant)
    assert CANARY not in stored and SECOND not in stored and CANARY.casefold() not in stored.casefold()
    assert CANARY not in caplog.text
    assert "[redacted: github_token]" in stored
    assert all(answer.redacted and answer.redacted["github_token"] >= 1 for answer in answers)
    assert CANARY not in str(answers)
    assert (await replay(resources)).equal


async def test_history_says_what_was_redacted(resources: Resources) -> None:
    """The event has the counts, and the history of the memory shows them."""
    done = await remember.rule(resources, NewRule(content=f"Use {CANARY}."))
    story = (await get(resources, "rule", done.ref)).story
    assert story[0].words.endswith("Redacted: 1 github_token.")
    assert story[0].event.payload["redacted"] == {"github_token": 1}


async def test_a_repeat_with_another_secret_is_the_same_request(resources: Resources) -> None:
    """Fingerprints are made of the redacted request, so that no hash of a secret is kept."""
    first = await remember.rule(resources, NewRule(content=f"Use {CANARY}.", idempotency_key="k"))
    other = case("github", "gh|p_{x36} ").text.strip()
    again = await remember.rule(resources, NewRule(content=f"Use {other}.", idempotency_key="k"))
    assert again == first and again.redacted == {"github_token": 1}


async def test_an_import_is_redacted(
    resources: Resources, dump: Dump, tenant: str, tmp_path: Path, agent: Callable[..., Caller]
) -> None:
    """A file that was exported without redaction comes in without its secrets, and its log can still be replayed."""
    keep = RedactionSettings(actions={"all": "keep"})
    open_settings = resources.settings.model_copy(update={"redaction": keep})
    lax = replace(resources, settings=open_settings)
    fact = await remember.fact(
        lax, NewFact(subject="ci", predicate="token", content=f"It is {CANARY}.", tags=(CANARY,))
    )
    await correct.correct(lax, fact.ref, f"Now {CANARY} it is.", reason=f"not {SECOND}")
    assert CANARY in dump(tenant)
    await export(lax, tmp_path / "all.jsonl")
    other = f"{tenant}x"
    moved = replace(resources, settings=resources.settings.model_copy(update={"tenant": other}))
    done = await import_(moved, tmp_path / "all.jsonl")
    assert done.redacted["github_token"] >= 2
    stored = dump(other)
    assert CANARY not in stored and SECOND not in stored and CANARY.casefold() not in stored.casefold()
    assert (await replay(moved)).equal


async def test_the_settings_of_tenant_and_butler_decide(resources: Resources, tenant: str) -> None:
    """A refused kind is an error without its value; a quarantined one is redacted and waits; a kept one stays."""
    given: dict[str, Any] = {
        "tenants": {tenant: {"redaction": {"actions": {"github_token": "refuse"}}}},
        "butlers": {"main": {"redaction": {"actions": {"aws_key": "quarantine", "pin": "keep"}}}},
    }
    own = Settings(home=resources.settings.home, tenant=tenant, **given)
    strict = replace(resources, settings=own)
    with pytest.raises(InvalidInput) as refused:
        await remember.rule(strict, NewRule(content=f"Use {CANARY}."))
    assert "github_token" in refused.value.message and CANARY not in refused.value.message
    done = await remember.rule(strict, NewRule(content=f"Use {SECOND}, PIN 4711."))
    assert (done.redacted, done.quarantine_reason) == ({"aws_key": 1}, "contains a secret (aws_key)")
    assert done.outcome == "quarantined"
    with pytest.raises(NotFound, match="quarantined"):
        await get(strict, "rule", done.ref)
    kept = await remember.rule(strict, NewRule(content="The PIN is 4711."))
    assert (await get(strict, "rule", kept.ref)).memory.content == "The PIN is 4711."
