"""The audit finds secrets that are stored already, and redacts facts in use."""

from dataclasses import replace

from benchmarks.trust.generated import case

from memory_butler.models import NewFact, NewRule
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


async def test_an_audit_redacts_facts_in_use(resources: Resources) -> None:
    """A fact is corrected to its redacted text; for a rule the report names the command."""
    lax = _lax(resources)
    await remember.fact(lax, NewFact(subject="ci", predicate="uses", content=f"It uses {CANARY}."))
    rule = await remember.rule(lax, NewRule(content=f"Use {CANARY}."))
    report = await audit_secrets(resources, redact_found=True)
    outcomes = {finding.ref.partition(":")[0]: finding.outcome for finding in report.findings.values()}
    assert outcomes["fact"].startswith("redacted; replaced by fact:")
    assert f"memory-butler forget rule {rule.ref}" in outcomes["rule"]
    again = await audit_secrets(resources)
    assert [finding.current for finding in again.findings.values() if finding.ref.startswith("fact")] == [False]
