"""Search what is stored for secrets: counts by kind and references, never values."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from memory_butler.errors import MemoryButlerError
from memory_butler.models import LIVE, Caller, Validity
from memory_butler.operations.access.cross_tenant_audit import audit_access
from memory_butler.operations.writing.admission import policy_for
from memory_butler.operations.writing.correct import correct
from memory_butler.policy.trust.redaction import RedactionPolicy, redact, redact_values
from memory_butler.resources import Resources
from memory_butler.store.gate.database import Row
from memory_butler.store.trust import stored_texts

Progress = Callable[[str, int, int], None]
REASON = "redaction of a stored secret"


@dataclass(slots=True)
class SecretFinding:
    """A memory with secrets, by kind. `current` is false if only an earlier text of it has them."""

    ref: str
    counts: Counter[str] = field(default_factory=Counter)
    current: bool = False
    # The result, or the next step.
    outcome: str = ""


@dataclass(slots=True)
class SecretsReport:
    """Result of an audit: number of scanned texts, secrets by kind, and the memories that have them."""

    scanned: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    findings: dict[str, SecretFinding] = field(default_factory=dict)


def no_progress(_stage: str, _done: int, _total: int) -> None:
    """Default of `progress`."""


async def audit_secrets(
    resources: Resources,
    caller: Caller | None = None,
    *,
    redact_found: bool = False,
    progress: Progress = no_progress,
) -> SecretsReport:
    """Scan all stored texts of the tenant. With `redact_found`, facts in use are corrected to their redacted text."""
    caller = resources.admin(caller, "audit what is stored")
    await audit_access(resources, caller, "audit_secrets")
    tenant = caller.principal.tenant
    policy = policy_for(resources, tenant, caller.principal.butler)
    report, contents = SecretsReport(), dict[str, str]()
    total = await stored_texts.count(resources.database, tenant)
    async for rows in stored_texts.pages(resources.database, tenant):
        await asyncio.to_thread(_scan, rows, policy, report, contents)
        progress("Scanning", report.scanned, max(total, report.scanned))
    for finding in report.findings.values():
        if redact_found and finding.current:
            await _redact(resources, caller, finding, contents.get(finding.ref))
        else:
            finding.outcome = _advice(finding)
    return report


def _scan(rows: Sequence[Row], policy: RedactionPolicy, report: SecretsReport, contents: dict[str, str]) -> None:
    for row in rows:
        report.scanned += 1
        counts = _secrets_in(row, policy)
        if not counts:
            continue
        report.counts.update(counts)
        ref = f"{row['type']}:{row['ref']}" if row["type"] else str(row["memory_id"])
        finding = report.findings.setdefault(ref, SecretFinding(ref))
        finding.counts.update(counts)
        content = row["content"]
        is_live = row["validity"] is not None and Validity(row["validity"]) in LIVE
        if is_live and content and redact(content, policy, context=_context(row)).counts:
            finding.current = True
            contents[ref] = content


def _context(row: Row) -> str:
    return str(row["predicate_label"] or "").partition(":")[0][:80]


def _secrets_in(row: Row, policy: RedactionPolicy) -> Counter[str]:
    counts: Counter[str] = Counter()
    try:
        words = json.loads(row["body"])
    except ValueError:
        words = row["body"]
    if isinstance(words, dict) and isinstance(words.get("content"), str):
        context = str(words.get("predicate_label") or "").partition(":")[0][:80]
        counts.update(redact(words["content"], policy, context=context).counts)
        words = {name: value for name, value in words.items() if name not in ("content", "content_hash")}
    redact_values(words, policy, counts)
    return counts


async def _redact(resources: Resources, caller: Caller, finding: SecretFinding, content: str | None) -> None:
    if not finding.ref.startswith("fact:") or content is None:
        finding.outcome = _advice(finding)
        return
    try:
        stored = await correct(resources, finding.ref, content, caller, reason=REASON)
    except MemoryButlerError as problem:
        finding.outcome = f"not redacted: {problem.message}"
    else:
        finding.outcome = f"redacted; replaced by fact:{stored.ref}. The earlier text is in its history"


def _advice(finding: SecretFinding) -> str:
    kind, _, ref = finding.ref.partition(":")
    if not finding.current:
        return "only in its history"
    if kind == "fact":
        return "run `memory-butler audit secrets --redact`"
    return f"run `memory-butler forget {kind} {ref}` and store it again without the secret"
