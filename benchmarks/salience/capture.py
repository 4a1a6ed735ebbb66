"""Measure all that the built-in distiller keeps of the labelled episodes: python -m benchmarks.salience.capture.

Merged figures: a label counts as kept if a fact or rule fits it or a note has its key words; an item is right if it
fits a label or, for a note, has the key words of one.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from benchmarks.consolidation.scoring import HALVES, Labelled, fits_fact, fits_rule, labelled
from memory_butler.ai.distillers.builtin import propose
from memory_butler.ai.embedding import Embedder, OnnxEmbedder
from memory_butler.ai.salience import load_salience
from memory_butler.models import Batch, ConsolidationStatus, Episode, Item, ItemKind, Validity
from memory_butler.policy.consolidation.notes import NoteRules, candidates, chosen
from memory_butler.policy.consolidation.proposals import check
from memory_butler.policy.retrieval.passages import cut_passages, passage_head
from memory_butler.settings.upkeep import NoteSettings


@dataclass(slots=True)
class Figures:
    """Counts over episodes, and the texts that went wrong."""

    items: int = 0
    right: int = 0
    labels: int = 0
    kept: int = 0
    rules: int = 0
    rules_kept: int = 0
    silent: int = 0
    kept_silent: int = 0
    notes: int = 0
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"merged precision {self.right / max(self.items, 1):.3f} ({self.right} of {self.items}), "
            f"{self.notes} notes, "
            f"recall {self.kept / max(self.labels, 1):.3f} ({self.kept} of {self.labels}), "
            f"rules {self.rules_kept / max(self.rules, 1):.3f} ({self.rules_kept} of {self.rules}), "
            f"silence {self.kept_silent / max(self.silent, 1):.3f} ({self.kept_silent} of {self.silent})"
        )


async def kept_items(embedder: Embedder, one: Labelled) -> list[Item]:
    """The items and notes that a run would store of an episode, in a store without other memories."""
    episode = as_episode(one)
    batch = Batch(butler="b", episodes=(episode,), texts={episode.id: one.content}, known=(), now=one.observed_at)
    items = [item for _, item in check(propose(batch), batch).items]
    found = candidates(batch, items)
    model, rules = load_salience(), NoteRules(**NoteSettings().model_dump(exclude={"enabled"}))
    judged = []
    for candidate in found:
        note = candidate.item
        passages = cut_passages(note.content, head=passage_head(note.subject, note.predicate, note.content))
        vector = np.mean(await embedder.embed(passages), axis=0)
        judged.append((candidate, model.probability(candidate.features, vector)))
    return items + chosen(judged, rules)


def as_episode(one: Labelled) -> Episode:
    return Episode(
        id=UUID(int=1), tenant_id="t", ref="2k7qz", butler="b", session_id=None, content=one.content, importance=5,
        tags=[],
        validity=Validity.ACTIVE, consolidation_status=ConsolidationStatus.PENDING, consolidated=False,
        consolidation_attempts=0, last_consolidation_error=None, next_consolidation_retry_at=None,
        observed_at=one.observed_at, created_at=one.observed_at, expires_at=one.observed_at, last_referenced_at=None,
        reference_count=0, metadata={}, request_id=None, pinned=False,
    )  # fmt: skip


def fits(item: Item, label: dict[str, Any], *, is_rule: bool) -> bool:
    if item.predicate.startswith("note:"):
        return fits_rule(item, label) or all(
            key.casefold() in f"{item.subject} {item.content}".casefold() for key in label["keys"]
        )
    if is_rule:
        return item.kind is ItemKind.RULE and fits_rule(item, label)
    return item.kind is ItemKind.FACT and fits_fact(item, label)


async def measure(episodes: Sequence[Labelled]) -> Figures:
    figures = Figures()
    with tempfile.TemporaryDirectory() as folder:
        embedder = OnnxEmbedder(cache=Path(folder))
        for one in episodes:
            count(figures, one, await kept_items(embedder, one))
        await embedder.close()
    return figures


def count(figures: Figures, one: Labelled, items: Sequence[Item]) -> None:
    labels = [(label, False) for label in one.facts] + [(label, True) for label in one.rules]
    figures.items += len(items)
    figures.notes += sum(item.predicate.startswith("note:") for item in items)
    for item in items:
        if any(fits(item, label, is_rule=is_rule) for label, is_rule in labels):
            figures.right += 1
        else:
            figures.wrong.append(f"{one.id} {item.subject} · {item.predicate}: {item.content}")
    if one.is_silent:
        figures.silent += 1
        figures.kept_silent += not items
    for label, is_rule in labels:
        if label.get("optional"):
            continue
        is_kept = any(fits(item, label, is_rule=is_rule) for item in items)
        figures.labels += 1
        figures.kept += is_kept
        figures.rules += is_rule
        figures.rules_kept += is_rule and is_kept
        if not is_kept:
            figures.missed.append(f"{one.id} {label}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.salience.capture", description=__doc__)
    parser.add_argument("--half", choices=HALVES, default="development", help="half of the labelled episodes")
    parser.add_argument("--show", action="store_true", help="print what is wrong or missed (development only)")
    given = parser.parse_args()
    figures = asyncio.run(measure(labelled(given.half)))
    print(f"{given.half}: {figures}")
    if given.show and given.half == "development":
        print(*figures.wrong, "", *figures.missed, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
