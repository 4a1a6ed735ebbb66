"""Search what is stored for secrets: counts by kind and references, never values."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from memory_butler.errors import MemoryButlerError
from memory_butler.models import LIVE, Caller, MemoryType, Validity
from memory_butler.operations.access.cross_tenant_audit import audit_access
from memory_butler.operations.retrieval.get import get
from memory_butler.operations.trust import residue
from memory_butler.operations.trust.purge import PurgeRequest, purge
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
    """A memory with secrets, by kind. `current` is true if its text in use has them, `live` if it is in use."""

    ref: str
    counts: Counter[str] = field(default_factory=Counter)
    current: bool = False
    live: bool = False
    # The result, or the next step.
    outcome: str = ""
    purged: bool = False


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
    """Scan all stored texts of the tenant.

    With `redact_found`, facts in use are corrected to their redacted text, and the old text is purged: it is gone from
    the events, too. Memories with secrets that are out of use are purged.
    """
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
        finding.outcome = _advice(finding)
        if redact_found:
            await _redact(resources, caller, finding, contents.get(finding.ref))
    if any(finding.purged for finding in report.findings.values()):
        progress("Rewriting data files", report.scanned, report.scanned)
        await residue.clean_up_within(resources, tenant, None)
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
        finding.live = finding.live or is_live
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
    """Remove the secrets of one memory, if that takes no decision of a person."""
    kind, _, ref = finding.ref.partition(":")
    try:
        if finding.live and (kind != MemoryType.FACT or content is None):
            return
        if not finding.live:
            if not ref:
                return
            await _purge(resources, caller, finding)
            finding.outcome = "out of use; erased for good"
            return
        fact = (await get(resources, kind, ref, caller)).memory
        stored = await correct(resources, finding.ref, content or "", caller, reason=REASON, source=fact.origin)
        if stored.id != fact.id:
            await _purge(resources, caller, finding)
            waits = "; it waits for a decision" if stored.quarantine_reason else ""
            finding.outcome = f"redacted; replaced by fact:{stored.ref}{waits}. The earlier text is erased for good"
    except MemoryButlerError as problem:
        finding.outcome = f"not redacted: {problem.message}"


async def _purge(resources: Resources, caller: Caller, finding: SecretFinding) -> None:
    request = PurgeRequest(ref=finding.ref, derived=False)
    await purge(resources, request, caller, dry_run=False, reason=REASON, clean_up=False)
    finding.purged = True


def _advice(finding: SecretFinding) -> str:
    kind, colon, _ = finding.ref.partition(":")
    if not finding.live:
        return "out of use: run `memory-butler audit secrets --redact`" if colon else "only in its history"
    if not finding.current:
        return f"in its names, tags, metadata or reasons: run `memory-butler purge {finding.ref}`"
    if kind == MemoryType.FACT:
        return "run `memory-butler audit secrets --redact`"
    return f"run `memory-butler purge {finding.ref}` and store it again without the secret"
