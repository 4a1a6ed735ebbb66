"""Consolidation as JSON: runs with their diffs, proposals that wait, batches for an agent."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from memory_butler.adapters.shapes import Shape, plain
from memory_butler.models import Known, RunReport
from memory_butler.operations.agent_distils import Handed
from memory_butler.operations.dead_letters import Requeued
from memory_butler.operations.diff import DiffLine
from memory_butler.operations.review import Reviewed
from memory_butler.store.consolidation import Run


def run(report: RunReport, lines: Sequence[DiffLine]) -> Shape:
    """What one run did, or would do."""
    shape: Shape = {
        "run": str(report.run) if report.state != "rehearsed" else None,
        "butler": report.butler,
        "distiller": report.distiller,
        "state": report.state,
        "episodes": [f"episode:{ref}" for ref in report.episodes],
        "counts": counts(lines),
        "items": [item(line) for line in lines],
        "tokens": report.usage.input_tokens + report.usage.output_tokens or None,
        "dollars": report.usage.cost_microdollars / 1e6 or None,
        "error": report.error,
    }
    return _said(shape)


def counts(lines: Sequence[DiffLine]) -> dict[str, int]:
    return dict(sorted(Counter(line.outcome for line in lines).items()))


def item(line: DiffLine) -> Shape:
    return {name: plain(value) for name, value in asdict(line).items() if value not in (None, ())}


def record(kept: Run) -> Shape:
    """A run as it is on record."""
    shape = {
        "run": str(kept.id),
        "butler": kept.butler,
        "distiller": kept.distiller,
        "state": kept.state,
        "claimed_at": kept.claimed_at,
        "lease_until": kept.lease_until if kept.state == "claimed" else None,
        "finished_at": kept.finished_at,
        "episode_count": kept.episodes,
        "tokens": kept.input_tokens + kept.output_tokens or None,
        "dollars": kept.cost_microdollars / 1e6 or None,
        "error": kept.error,
        "request_id": kept.request_id,
    }
    return _said(shape)


def reviewed(seen: Reviewed, lines: Sequence[DiffLine]) -> Shape:
    """A run on record with its items."""
    return {
        **record(seen.run),
        **({"undone": {name: plain(value) for name, value in asdict(seen.undone).items()}} if seen.undone else {}),
        "episodes": [f"episode:{ref}" for ref in seen.episodes],
        "counts": counts(lines),
        "items": [item(line) for line in lines],
    }


def handed(given: Handed, schema: dict[str, Any]) -> Shape:
    """A batch for an agent: what to read, what is known, how to answer and by when."""
    texts = given.batch.texts
    return {
        "run": str(given.claim.run),
        "lease_until": plain(given.claim.lease_until),
        "episodes": [
            {"ref": f"episode:{episode.ref}", "observed_at": plain(episode.observed_at), "text": texts[episode.id]}
            for episode in given.batch.episodes
        ],
        "known": [_known(one) for one in given.batch.known],
        "schema": schema,
    }


def requeued(done: Requeued) -> Shape:
    return {
        "requeued": [f"episode:{ref}" for ref in done.again],
        "count": len(done.again),
        "left": [{"ref": f"episode:{ref}", "reason": reason} for ref, reason in done.left],
    }


def _known(one: Known) -> Shape:
    shape = {
        "ref": one.handle,
        "subject": one.subject,
        "predicate": one.predicate,
        "content": one.content,
        "valid_at": one.valid_at,
        "warning": one.is_warning or None,
    }
    return _said(shape)


def _said(shape: Shape) -> Shape:
    return {name: plain(value) for name, value in shape.items() if value is not None}
