"""Answers about consolidation: runs with their items, batches for an agent, requeued episodes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from memory_butler.models import EmptyEpisode, RunReport
from memory_butler.models.proposals import Usage
from memory_butler.models.wire.codec import Wire, copy_fields
from memory_butler.operations.consolidation.agent_distiller import ClaimedBatch
from memory_butler.operations.consolidation.dead_letters import RequeueResult
from memory_butler.operations.consolidation.diff import DiffLine
from memory_butler.operations.consolidation.review import RunReview
from memory_butler.store.consolidation.runs import Run, Undone

EpisodeReference = Annotated[str, Wire(prefix="episode")]


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingKept:
    """An episode of which nothing was kept, with its first words."""

    ref: EpisodeReference
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """Result of one run. A rehearsed run was not stored and has no id."""

    run: UUID | None = None
    butler: str
    distiller: str
    state: str
    episodes: tuple[str, ...]
    counts: dict[str, int]
    items: tuple[DiffLine, ...]
    tokens: int | None = None
    dollars: float | None = None
    error: str | None = None
    nothing_kept: tuple[NothingKept, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A stored run. `lease_until` is set while the run is claimed."""

    run: UUID
    butler: str
    distiller: str
    state: str
    claimed_at: datetime
    lease_until: datetime | None = None
    finished_at: datetime | None = None
    episode_count: int
    tokens: int | None = None
    dollars: float | None = None
    error: str | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail(RunRecord):
    undone: Undone | None = None
    episodes: tuple[str, ...]
    counts: dict[str, int]
    items: tuple[DiffLine, ...]
    nothing_kept: tuple[NothingKept, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEpisode:
    ref: EpisodeReference
    observed_at: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownMemoryLine:
    """A stored fact or rule that may be related to the batch."""

    ref: str
    subject: str | None = None
    predicate: str | None = None
    content: str
    valid_at: datetime | None = None
    warning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAnswer:
    """A batch for an agent to distil. `run` is null if there is no batch; `note` says why."""

    run: UUID | None
    note: str | None = None
    lease_until: datetime | None = None
    episodes: tuple[BatchEpisode, ...] | None = None
    known: tuple[KnownMemoryLine, ...] | None = None
    schema: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRequeued:
    ref: EpisodeReference
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequeueAnswer:
    requeued: tuple[str, ...]
    count: int
    left: tuple[NotRequeued, ...]


def run_result(report: RunReport, lines: Sequence[DiffLine]) -> RunResult:
    run = report.run if report.state != "rehearsed" else None
    return copy_fields(
        RunResult,
        report,
        run=run,
        episodes=_references(report.episodes),
        nothing_kept=_nothing_kept(report.nothing_kept),
        **_items(lines),
        **_cost(report.usage),
    )


def run_record(run: Run) -> RunRecord:
    return copy_fields(RunRecord, run, **_record(run))


def run_detail(reviewed: RunReview, lines: Sequence[DiffLine]) -> RunDetail:
    more = {
        "undone": reviewed.undone,
        "episodes": _references(reviewed.episodes),
        "nothing_kept": _nothing_kept(reviewed.nothing_kept),
        **_items(lines),
    }
    return copy_fields(RunDetail, reviewed.run, **_record(reviewed.run), **more)


def _nothing_kept(episodes: Sequence[EmptyEpisode]) -> tuple[NothingKept, ...]:
    return tuple(NothingKept(ref=one.ref, words=one.words) for one in episodes)


def _record(run: Run) -> dict[str, Any]:
    """The fields of a run record that differ from the stored run."""
    lease_until = run.lease_until if run.state == "claimed" else None
    return {"run": run.id, "lease_until": lease_until, "episode_count": run.episodes, **_cost(run)}


def _cost(usage: Run | Usage) -> dict[str, Any]:
    tokens = usage.input_tokens + usage.output_tokens
    return {"tokens": tokens or None, "dollars": usage.cost_microdollars / 1e6 or None}


def _items(lines: Sequence[DiffLine]) -> dict[str, Any]:
    counts = Counter(line.outcome for line in lines)
    return {"counts": dict(sorted(counts.items())), "items": tuple(lines)}


def claimed_batch(handed: ClaimedBatch, schema: dict[str, Any]) -> BatchAnswer:
    texts = handed.batch.texts
    return BatchAnswer(
        run=handed.claim.run,
        lease_until=handed.claim.lease_until,
        episodes=tuple(
            BatchEpisode(ref=episode.ref, observed_at=episode.observed_at, text=texts[episode.id])
            for episode in handed.batch.episodes
        ),
        known=tuple(
            copy_fields(KnownMemoryLine, one, ref=one.handle, warning=one.is_warning) for one in handed.batch.known
        ),
        schema=schema,
    )


def requeue_answer(done: RequeueResult) -> RequeueAnswer:
    left = tuple(NotRequeued(ref=ref, reason=reason) for ref, reason in done.left)
    return RequeueAnswer(requeued=_references(done.again), count=len(done.again), left=left)


def _references(refs: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"episode:{ref}" for ref in refs)
