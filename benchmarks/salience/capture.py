"""Measure all that the built-in distiller keeps of the labelled episodes: python -m benchmarks.salience.capture.

The table is that of benchmarks.consolidation.measure, with notes: by source type and by language. Thresholds are those
of episodes that an agent stored, but for the source `hand`, which always leaves a note.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.consolidation.merged import Kept, score_kept, table
from benchmarks.consolidation.scoring import ALL_HALVES, Labelled, labelled
from benchmarks.support.one_episode import batch_of
from memory_butler.ai.distillers.builtin import propose
from memory_butler.ai.embedding import Embedder, OnnxEmbedder
from memory_butler.ai.salience import load_salience
from memory_butler.models import Batch, Item
from memory_butler.policy.consolidation.notes import NoteRules, candidates, chosen
from memory_butler.policy.consolidation.proposals import check
from memory_butler.policy.consolidation.told_twice import tell_once
from memory_butler.policy.retrieval.passages import cut_passages, passage_head
from memory_butler.settings.upkeep import NoteSettings

# Source of the episodes that a person stored by hand: they always leave a note.
BY_HAND = "hand"


async def kept_items(embedder: Embedder, one: Labelled) -> list[Item]:
    """The items and notes that a run would store of an episode, in a store without other memories."""
    batch = batch_of(one.content, one.observed_at, by_hand=one.source == BY_HAND)
    return await noted(embedder, batch, [item for _, item in check(propose(batch), batch).items])


async def noted(embedder: Embedder, batch: Batch, items: list[Item]) -> list[Item]:
    """The items with the notes of what they do not say."""
    model, rules = load_salience(), NoteRules(**NoteSettings().model_dump(exclude={"enabled"}))
    judged = []
    for candidate in candidates(batch, items):
        note = candidate.item
        passages = cut_passages(note.content, head=passage_head(note.subject, note.predicate, note.content))
        vector = np.mean(await embedder.embed(passages), axis=0)
        judged.append((candidate, model.probability(candidate.features, vector)))
    told, notes = tell_once(items, chosen(judged, rules))
    return told + notes


async def measure(episodes: Sequence[Labelled]) -> dict[str, Kept]:
    """The counts of all episodes, of each source type and of each language."""
    with tempfile.TemporaryDirectory() as folder:
        embedder = OnnxEmbedder(cache=Path(folder))
        found = {(one.content, one.observed_at): await kept_items(embedder, one) for one in episodes}
        await embedder.close()
    return score_kept(episodes, lambda content, observed_at: found[content, observed_at])


def summary(kept: Kept) -> str:
    share = kept.share
    return (
        f"merged precision {share(kept.right, kept.items):.3f} ({kept.right} of {kept.items}), "
        f"{kept.items - kept.structured_items} notes, "
        f"recall {share(kept.kept, kept.wanted):.3f} ({kept.kept} of {kept.wanted}), "
        f"rules {share(kept.rules_kept, kept.rules_wanted):.3f} ({kept.rules_kept} of {kept.rules_wanted}), "
        f"silence {share(kept.kept_silent, kept.silent):.3f} ({kept.kept_silent} of {kept.silent}), "
        f"{len(kept.inversions)} inversions, {len(kept.misattributions)} misattributions"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.salience.capture", description=__doc__)
    parser.add_argument("--half", choices=ALL_HALVES, default="development", help="half of the labelled episodes")
    parser.add_argument("--show", action="store_true", help="print what is wrong or missed (development only)")
    given = parser.parse_args()
    if given.show and given.half.endswith("held_out"):
        print("The held-out half is for measuring only: what is seen there could be tuned on.", file=sys.stderr)
        return 2
    groups = asyncio.run(measure(labelled(given.half)))
    kept = groups["all"]
    print(f"{given.half}: {summary(kept)}\n{table(groups)}")
    if given.show:
        named = {"inversion": kept.inversions, "misattribution": kept.misattributions, "wrong": kept.wrong}
        for name, rows in {**named, "missed": kept.missed}.items():
            print(*(f"  {name} {where} {what}" for where, what in rows), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
