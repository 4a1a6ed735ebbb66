"""How the machinery stands, as lines and words for a page. Only shapes what operations found."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory_butler.adapters.dashboard.saying import counted
from memory_butler.adapters.dashboard.tabular import Line, mark, moment, words
from memory_butler.adapters.doctor import Finding
from memory_butler.models import Token
from memory_butler.operations.machinery import Coverage, Sizes
from memory_butler.operations.upkeep import JobStanding, Worst
from memory_butler.operations.vector_index import Standing, Status
from memory_butler.policy.schedule import Standing as Stands

MOST_JOBS = 60
TONES = {"ok": "good", "warning": "warn", "problem": "bad"}
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


@dataclass(frozen=True, slots=True)
class Verdict:
    """In one line: whether all is well, and what is not."""

    tone: str
    words: str


def size(count: float) -> str:
    """Bytes as people say them."""
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} {_UNITS[-1]}"


def span(seconds: float) -> str:
    for length, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    if seconds < 0.05:
        return "< 0.1 s"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def job_lines(found: Iterable[JobStanding], now: datetime) -> list[Line]:
    return [
        Line(
            f"{one.butler} {one.job}",
            (
                words(one.job),
                words(one.butler),
                _stands(one),
                moment(one.last_run),
                words("" if one.seconds is None else span(one.seconds)),
                moment(one.next_run) if one.next_run > now else words("now"),
                words(one.note or "", quiet=one.outcome != "failed"),
            ),
        )
        for one in found
    ]


def more_jobs(found: Worst) -> str:
    """What is not in the list, and where to see it; nothing if all are."""
    left = found.total - len(found.jobs)
    if not left:
        return ""
    unwell = found.unwell - sum(one.status is not Stands.OK for one in found.jobs)
    how = f"{unwell:,} of them {'needs' if unwell == 1 else 'need'} a look" if unwell > 0 else "on time"
    return f"And {left:,} more, {how}. memory-butler jobs and GET /api/v1/jobs list all of them."


def _stands(one: JobStanding) -> dict[str, object]:
    late = f"overdue by {span(one.overdue_seconds)}" if one.overdue_seconds else ""
    if one.status is Stands.FAILING:
        return mark(f"failed {one.failures}×", "bad")
    if one.status is Stands.NEVER:
        return mark(f"never ran{', ' + late if late else ''}", "bad" if late else "warn")
    return mark(late, "bad") if late else mark("ok", "good")


def verdict(jobs: Worst, findings: Sequence[Finding] | None) -> Verdict:
    """Over the jobs and the checks; those that have not been made yet are not counted."""
    wrong = [one for one in findings or () if one.status == "problem"]
    odd = [one for one in findings or () if one.status == "warning"]
    said = [
        *([counted(len(wrong), "check has failed", "checks have failed")] if wrong else []),
        *([counted(jobs.unwell, "job needs a look", "jobs need a look")] if jobs.unwell else []),
        *([counted(len(odd), "warning", "warnings")] if odd else []),
    ]
    if not said:
        return Verdict("good", "All is well.")
    return Verdict("bad" if wrong else "warn", f"{', '.join(said)}.")


def jobs_note(jobs: Worst) -> tuple[str, str]:
    """How the jobs stand in two words, with their tone."""
    if not jobs.total:
        return "", ""
    return (f"{jobs.unwell:,} to look at", "warn") if jobs.unwell else ("on time", "good")


def health_note(findings: Sequence[Finding]) -> tuple[str, str]:
    worst = [one.status for one in findings if one.status != "ok"]
    if not worst:
        return "ok", "good"
    return f"{len(worst)} to look at", "bad" if "problem" in worst else "warn"


def finding_lines(findings: Sequence[Finding]) -> list[Line]:
    worst = ("problem", "warning", "ok")
    ordered = sorted(findings, key=lambda one: worst.index(one.status))
    return [
        Line(
            f"{place} {one.check}",
            (mark(one.status, TONES[one.status]), words(one.check, whole=True), words(one.message, note=one.advice)),
        )
        for place, one in enumerate(ordered)
    ]


def size_lines(found: Sizes, most: int = 8) -> list[Line]:
    """The largest tables, and all others together."""
    largest = max((table.bytes for table in found.tables), default=0) or 1
    shown, rest = found.tables[:most], found.tables[most:]
    lines = [
        Line(
            table.name,
            (
                {**words(table.name.replace("_", " ")), "share": round(100 * table.bytes / largest, 1)},
                words("–" if table.rows is None else f"{table.rows:,}"),
                words(size(table.bytes)),
                words(size(table.index_bytes)),
            ),
        )
        for table in shown
    ]
    if rest:
        together = (sum(one.bytes for one in rest), sum(one.index_bytes for one in rest))
        rows = f"{sum(one.rows or 0 for one in rest):,}"
        cells = (words(f"{len(rest)} smaller ones", quiet=True), words(rows), *(words(size(one)) for one in together))
        lines.append(Line("rest", cells))
    return lines


def coverage_words(found: Coverage) -> str:
    if not found.memories:
        return "Nothing is stored yet; the first memory will be indexed with it."
    share = f"{100 * found.share:.1f}".removesuffix(".0") if found.share < 1 else "100"
    # Rounding must not hide the last ones.
    share = "99.9" if share == "100" and found.current < found.memories else share
    return f"{share} % of {found.memories:,} memories are indexed with it."


def coverage_advice(found: Coverage) -> str | None:
    behind = found.memories - found.current
    if not behind:
        return None
    old = sum(part.memories for part in found.parts if part.model and not part.is_current)
    what = f"{old:,} with another model or cutting" if old else ""
    bare = f"{behind - old:,} not at all yet" if behind > old else ""
    return (
        f"{' and '.join(part for part in (what, bare) if part)}: they are found by their words alone. A server does the"
        " rest by itself after it starts; memory-butler reindex does it now."
    )


def posture_words(found: Status) -> str:
    rules = found.rules
    if rules.posture == "exact":
        return "Every search compares with every memory: exact, and no index is wanted."
    if rules.posture == "auto":
        return (
            f"Exact below {rules.exact_below:,} passages of a type, ivfflat below {rules.hnsw_from:,}, hnsw from there."
        )
    return f"Exact below {rules.exact_below:,} passages of a type, {rules.posture} from there."


def posture_lines(found: Iterable[Standing], *, with_tenant: bool, with_size: bool = True) -> list[Line]:
    lines = []
    for one in found:
        state = mark("as wanted", "good") if one.in_force == one.wanted else mark(f"wanted: {one.wanted}", "warn")
        if one.valid is False:
            state = mark("unfinished", "bad")
        held = words(size(one.bytes) if one.bytes is not None else "–")
        cells = (
            words(f"{one.memory_type}s", whole=True, note=one.tenant if with_tenant else None),
            words(f"{one.rows:,}"),
            words(one.in_force, whole=True),
            state,
            *((held,) if with_size else ()),
        )
        lines.append(Line(f"{one.tenant} {one.memory_type}", cells))
    return lines


def token_lines(found: Iterable[Token], now: datetime) -> list[Line]:
    lines = []
    for token in found:
        over = token.revoked_at is not None or (token.expires_at is not None and token.expires_at <= now)
        state = (
            mark("revoked", "bad") if token.revoked_at else mark("expired", "expired") if over else mark("good", "good")
        )
        cells = (
            words(token.label),
            words(token.butler),
            words(token.role),
            state,
            {**moment(token.created_at), "note": words(f"by {token.created_by}")["text"]},
            moment(token.last_used_at),
            moment(token.expires_at, "never ends"),
        )
        lines.append(Line(str(token.id), cells, name=token.label, acts=not over, over=over))
    return lines
