"""The audit finds secrets that are stored already, and redacts facts in use."""

from dataclasses import replace
from typing import Any

import psycopg
from benchmarks.trust.generated import case
from tests.support.stored_words import stored_words

from memory_butler.models import Fact, NewEpisode, NewFact, NewRule
from memory_butler.operations.history.replay import replay
from memory_butler.operations.retrieval.get import get
from memory_butler.operations.trust.audit_secrets import audit_secrets
from memory_butler.operations.writing import remember
from memory_butler.resources import Resources
from memory_butler.settings import RedactionSettings

CANARY = case("github", "gh|p_{x36}").text


def _lax(resources: Resources) -> Resources:
    """The store as an earlier version left it: without redaction."""
    kept = resources.settings.model_copy(update={"redaction": RedactionSettings(actions={"all": "keep"})})
    return replace(resources, settings=kept)


async def test_an_audit_counts_and_names_but_never_shows(resources: Resources) -> None:
    """Counts by kind and references of the memories; no value."""
    fact = await remember.fact(_lax(resources), NewFact(subject="ci", predicate="uses", content=f"It uses {CANARY}."))
    await remember.rule(resources, NewRule(content="Always run the tests."))
    report = await audit_secrets(resources)
    assert (report.scanned, report.counts, list(report.findings)) == (2, {"github_token": 1}, [f"fact:{fact.ref}"])
    assert CANARY not in str(report)


async def test_an_audit_redacts_facts_and_erases_the_old_text(
    resources: Resources, owner: psycopg.Connection[Any], tenant: str
) -> None:
    """The secret is gone from all tables, events included; its memory keeps its origin; the log can be replayed."""
    lax = _lax(resources)
    fact = await remember.fact(
        lax, NewFact(subject="ci", predicate="uses", content=f"It uses {CANARY}.", source="import", tags=("ci",))
    )
    old = await remember.fact(lax, NewFact(subject="ci", predicate="host", content=f"At {CANARY}.example"))
    await remember.fact(lax, NewFact(subject="ci", predicate="host", content="At new.example"))
    assert CANARY in stored_words(owner, tenant)
    report = await audit_secrets(resources, redact_found=True)
    outcomes = {finding.ref: finding.outcome for finding in report.findings.values()}
    new = outcomes[f"fact:{fact.ref}"].removeprefix("redacted; replaced by fact:").partition(".")[0]
    assert outcomes[f"fact:{old.ref}"] == "out of use; erased for good"
    assert CANARY not in stored_words(owner, tenant)
    right = (await get(resources, "fact", new)).memory
    assert isinstance(right, Fact)
    assert (right.content, right.origin, right.tags) == ("It uses [redacted: github_token].", "import", ["ci"])
    assert (await audit_secrets(resources)).findings == {}
    assert (await replay(resources)).equal


async def test_what_takes_a_decision_is_left_to_a_person(resources: Resources) -> None:
    """Rules and episodes in use, and secrets beside the text: the report names the command."""
    lax = _lax(resources)
    rule = await remember.rule(lax, NewRule(content=f"Use {CANARY}."))
    episode = await remember.episode(lax, NewEpisode(content=f"We used {CANARY}.", butler="main"))
    fact = await remember.fact(lax, NewFact(subject="ci", predicate="uses", content="A token.", tags=(CANARY,)))
    for redact_found in (False, True):
        report = await audit_secrets(resources, redact_found=redact_found)
        outcomes = {finding.ref: finding.outcome for finding in report.findings.values()}
        assert f"memory-butler purge rule:{rule.ref}`" in outcomes[f"rule:{rule.ref}"]
        assert f"memory-butler purge episode:{episode.ref}`" in outcomes[f"episode:{episode.ref}"]
        assert outcomes[f"fact:{fact.ref}"].startswith("in its names, tags, metadata or reasons: run")
