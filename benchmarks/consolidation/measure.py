"""Measure the built-in distiller on labelled episodes: python -m benchmarks.consolidation.measure [--half …].

The first lines are about facts and rules with their labels. The table is about what is kept in any form, by the whole
distiller and after validation: P and R of triples and rules, merged P and R with notes, rules as rules and in any form.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from datetime import datetime

from benchmarks.consolidation.merged import Kept, score_kept, table
from benchmarks.consolidation.scoring import (
    ALL_HALVES,
    HALVES,
    Distilled,
    Labelled,
    Report,
    Tally,
    labelled,
    score,
)
from benchmarks.support.one_episode import batch_of
from memory_butler.ai.distillers.builtin import BuiltInDistiller
from memory_butler.english.extraction import distil
from memory_butler.policy.consolidation.proposals import check

SPEED_ROUNDS = 5


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.consolidation.measure", description=__doc__)
    parser.add_argument("--half", choices=ALL_HALVES, default="development", help="which half of the labelled episodes")
    parser.add_argument("--show", action="store_true", help="print every miss and every wrong item (development only)")
    given = parser.parse_args(arguments)
    if given.show and given.half.endswith("held_out"):
        print("The held-out half is for measuring only: what is seen there could be tuned on.", file=sys.stderr)
        return 2
    episodes = labelled(given.half)
    if given.half in HALVES:
        report = score(episodes, distil)
        print(summary(given.half, report))
        if given.show:
            for name, tally in (("facts", report.facts), ("rules", report.rules)):
                print(details(name, tally))
    groups = score_kept(episodes, stored)
    print(f"{given.half}, kept in any form:\n{table(groups)}")
    if given.show:
        print(details_kept(groups["all"]))
    print(f"speed: {speed(episodes):,.0f} episodes a second on one core")
    return 0


def stored(content: str, observed_at: datetime) -> Sequence[Distilled]:
    """The items that the built-in distiller proposes for one episode and that validation accepts."""
    batch = batch_of(content, observed_at)
    result = asyncio.run(BuiltInDistiller().distil(batch))
    return [item for _, item in check(result.proposal, batch).items]


def details_kept(kept: Kept) -> str:
    named = (
        ("inversion", kept.inversions),
        ("misattribution", kept.misattributions),
        ("wrong", kept.wrong),
        ("missed", kept.missed),
    )
    return "\n".join(f"  {name} {where} {what}" for name, rows in named for where, what in rows)


def summary(half: str, report: Report) -> str:
    lines = [f"{half}: {report.episodes} episodes"]
    for name, tally in (("facts", report.facts), ("rules", report.rules)):
        lines.append(
            f"{name}: precision {tally.precision:.3f}, recall {tally.recall:.3f}, F1 {tally.f1:.3f} "
            f"({tally.right} right, {len(tally.wrong)} wrong, {len(tally.missed)} missed)"
        )
    lines.append(f"silence on noise: {report.silence:.3f} ({report.kept_silent} of {report.silent})")
    return "\n".join(lines)


def details(name: str, tally: Tally) -> str:
    wrong = [f"  wrong  {where} {what}" for where, what in tally.wrong]
    missed = [f"  missed {where} {what}" for where, what in tally.missed]
    return "\n".join([f"{name}:", *wrong, *missed])


def speed(episodes: list[Labelled]) -> float:
    """Episodes a second: the best of a few rounds, because other work on the machine only ever slows it down."""
    best = float("inf")
    for _ in range(SPEED_ROUNDS):
        begun = time.perf_counter()
        for episode in episodes:
            distil(episode.content, episode.observed_at)
        best = min(best, time.perf_counter() - begun)
    return len(episodes) / best


if __name__ == "__main__":
    sys.exit(main())
