"""Rows and texts of the system page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory_butler.adapters.dashboard.components.data_tables import Row, chip_cell, table_row, text_cell, time_cell
from memory_butler.adapters.dashboard.components.elements import visible_text
from memory_butler.adapters.dashboard.view_models.phrases import count_text
from memory_butler.adapters.doctor.findings import Finding
from memory_butler.models import Token
from memory_butler.operations.lifecycle.job_status import JobStatus, WorstJobs
from memory_butler.operations.retrieval.vector_indexes import Standing, Status
from memory_butler.operations.system.objectives import ServiceLevels
from memory_butler.operations.system.system_info import Coverage, Sizes
from memory_butler.policy.lifecycle.schedule import JobState as Stands
from memory_butler.policy.system import level_texts

MAX_JOBS, MAX_TABLES = 60, 8
TONES = {"ok": "good", "warning": "warn", "problem": "bad"}
_ATTENTION = ("needs attention", "need attention")
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


@dataclass(frozen=True, slots=True)
class OverallStatus:
    """One line about the whole system."""

    tone: str
    text: str


def size_text(count: float) -> str:
    """Bytes with a decimal unit: 1.5 MB."""
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} {_UNITS[-1]}"


def duration_text(seconds: float) -> str:
    for length, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    if seconds < 0.05:
        return "< 0.1 s"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def job_rows(found: Iterable[JobStatus], now: datetime) -> list[Row]:
    return [
        table_row(
            f"{one.butler} {one.job}",
            text_cell(one.job),
            text_cell(one.butler),
            _job_status(one),
            time_cell(one.last_run),
            text_cell("" if one.seconds is None else duration_text(one.seconds)),
            time_cell(one.next_run) if one.next_run > now else text_cell("now"),
            text_cell(one.note or "", muted=one.outcome != "failed"),
        )
        for one in found
    ]


def level_rows(found: ServiceLevels) -> list[Row]:
    tones = {True: "good", False: "bad", None: "info"}
    return [
        table_row(
            one.objective.name,
            text_cell(one.objective.title),
            text_cell(level_texts.goal_text(one.objective)),
            text_cell(level_texts.value_text(one)),
            text_cell(level_texts.good_text(one)),
            text_cell(f"{one.total:,}"),
            text_cell(level_texts.budget_text(one)),
            chip_cell(level_texts.verdict_text(one), tones[one.is_met]),
        )
        for one in found.levels
    ]


def levels_note(found: ServiceLevels) -> tuple[str, str]:
    """The note of the card: how many objectives are missed."""
    missed = sum(one.is_met is False for one in found.levels)
    if missed:
        return f"{missed} missed", "bad"
    return ("met", "good") if any(one.is_met for one in found.levels) else ("no data", "")


def more_jobs_text(found: WorstJobs) -> str:
    """The number of jobs that are not in the list; empty if all are."""
    left = found.total - len(found.jobs)
    if not left:
        return ""
    unwell = found.unwell - sum(one.status is not Stands.OK for one in found.jobs)
    status = f"{unwell:,} of them {'needs' if unwell == 1 else 'need'} attention" if unwell > 0 else "on time"
    return f"{left:,} more, {status}. memory-butler jobs and GET /api/v1/jobs list all jobs."


def _job_status(one: JobStatus) -> dict[str, object]:
    late = f"overdue by {duration_text(one.overdue_seconds)}" if one.overdue_seconds else ""
    if one.status is Stands.FAILING:
        return chip_cell(f"failed {one.failures}×", "bad")
    if one.status is Stands.NEVER:
        return chip_cell(f"never ran{', ' + late if late else ''}", "bad" if late else "warn")
    return chip_cell(late, "bad") if late else chip_cell("ok", "good")


def overall_status(jobs: WorstJobs, findings: Sequence[Finding] | None) -> OverallStatus:
    """The status of jobs and checks; checks that have not run yet are not counted."""
    failed = [one for one in findings or () if one.status == "problem"]
    warnings = [one for one in findings or () if one.status == "warning"]
    parts = [count_text(len(failed), "failed check")] if failed else []
    parts += [count_text(jobs.unwell, "job needs attention", "jobs need attention")] if jobs.unwell else []
    parts += [count_text(len(warnings), "warning")] if warnings else []
    if not parts:
        return OverallStatus("good", "Everything is OK.")
    return OverallStatus("bad" if failed else "warn", f"{', '.join(parts)}.")


def jobs_note(jobs: WorstJobs) -> tuple[str, str]:
    """A short status of the jobs with its tone."""
    if not jobs.total:
        return "", ""
    return (count_text(jobs.unwell, *_ATTENTION), "warn") if jobs.unwell else ("on time", "good")


def health_note(findings: Sequence[Finding]) -> tuple[str, str]:
    worst = [one.status for one in findings if one.status != "ok"]
    if not worst:
        return "ok", "good"
    return count_text(len(worst), *_ATTENTION), "bad" if "problem" in worst else "warn"


def finding_rows(findings: Sequence[Finding]) -> list[Row]:
    worst = ("problem", "warning", "ok")
    ordered = sorted(findings, key=lambda one: worst.index(one.status))
    return [
        table_row(
            f"{place} {one.check}",
            chip_cell(one.status, TONES[one.status]),
            text_cell(one.check, nowrap=True),
            text_cell(one.message, note=one.advice),
        )
        for place, one in enumerate(ordered)
    ]


def size_rows(found: Sizes) -> list[Row]:
    """The largest tables, and the sum of the others."""
    largest = max((table.bytes for table in found.tables), default=0) or 1
    shown, rest = found.tables[:MAX_TABLES], found.tables[MAX_TABLES:]
    rows = [
        table_row(
            table.name,
            {**text_cell(table.name.replace("_", " ")), "share": round(100 * table.bytes / largest, 1)},
            text_cell("–" if table.rows is None else f"{table.rows:,}"),
            text_cell(size_text(table.bytes)),
            text_cell(size_text(table.index_bytes)),
        )
        for table in shown
    ]
    if rest:
        together = (sum(one.bytes for one in rest), sum(one.index_bytes for one in rest))
        row_count = text_cell(f"{sum(one.rows or 0 for one in rest):,}")
        sizes = (text_cell(size_text(one)) for one in together)
        rows.append(table_row("rest", text_cell(f"{len(rest)} others", muted=True), row_count, *sizes))
    return rows


def coverage_text(found: Coverage) -> str:
    if not found.memories:
        return "Nothing is stored yet."
    share = f"{100 * found.share:.1f}".removesuffix(".0") if found.share < 1 else "100"
    # Rounding up to 100% would hide the last few.
    share = "99.9" if share == "100" and found.current < found.memories else share
    return f"{share}% of {found.memories:,} memories have current embeddings."


def coverage_advice(found: Coverage) -> str | None:
    behind = found.memories - found.current
    if not behind:
        return None
    old = sum(part.memories for part in found.parts if part.model and not part.is_current)
    outdated = (
        f"{old:,} have embeddings of another model or passage size, and are compared with those. The worker re-embeds"
        " them; memory-butler index reembed does it now."
    )
    missing = f"{behind - old:,} have none yet: only keyword search finds them until a server has started."
    return " ".join(part for part, count in ((outdated, old), (missing, behind - old)) if count)


def posture_text(found: Status) -> str:
    rules = found.rules
    if rules.posture == "exact":
        return "Exact search over all memories, without an index."
    if rules.posture == "auto":
        return (
            f"Exact below {rules.exact_below:,} passages of a type, ivfflat below {rules.hnsw_from:,}, hnsw from there."
        )
    return f"Exact below {rules.exact_below:,} passages of a type, {rules.posture} from there."


def posture_rows(found: Iterable[Standing], *, with_tenant: bool, with_size: bool = True) -> list[Row]:
    rows = []
    for one in found:
        state = chip_cell("OK", "good") if one.in_force == one.wanted else chip_cell(f"should be {one.wanted}", "warn")
        if one.valid is False:
            state = chip_cell("incomplete", "bad")
        held = text_cell(size_text(one.bytes) if one.bytes is not None else "–")
        cells = (
            text_cell(f"{one.memory_type}s", nowrap=True, note=one.tenant if with_tenant else None),
            text_cell(f"{one.rows:,}"),
            text_cell(one.in_force, nowrap=True),
            state,
            *((held,) if with_size else ()),
        )
        rows.append(table_row(f"{one.tenant} {one.memory_type}", *cells))
    return rows


def token_rows(found: Iterable[Token], now: datetime) -> list[Row]:
    rows = []
    for token in found:
        is_inactive = token.revoked_at is not None or (token.expires_at is not None and token.expires_at <= now)
        state = ("revoked", "bad") if token.revoked_at else ("expired", "expired") if is_inactive else ("valid", "good")
        cells = (
            text_cell(token.label),
            text_cell(token.butler),
            text_cell(token.role),
            chip_cell(*state),
            {**time_cell(token.created_at), "note": text_cell(f"by {token.created_by}")["text"]},
            time_cell(token.last_used_at),
            time_cell(token.expires_at, "never"),
        )
        options = {"name": visible_text(token.label), "has_action": not is_inactive, "is_inactive": is_inactive}
        rows.append(table_row(str(token.id), *cells, **options))
    return rows
