"""Cross-validate the salience model, and fit it: python -m benchmarks.salience [--fit]."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.salience.fitting import Array, Sample, cross_validated, fit, matrix, samples
from memory_butler.ai.embedding import OnnxEmbedder
from memory_butler.policy.consolidation.salience import Features

TARGET = Path(__file__).parents[2] / "src" / "memory_butler" / "ai" / "salience.toml"
THRESHOLDS = (0.45, 0.55, 0.7)
PER_LINE = 12
DIGITS = 4


async def run(given: argparse.Namespace) -> None:
    found = samples()
    with tempfile.TemporaryDirectory() as folder:
        embedder = OnnxEmbedder(cache=Path(folder))
        rows = await matrix(embedder, found)
        await embedder.close()
    wanted = np.array([float(one.wanted) for one in found])
    report(found, wanted, cross_validated(rows, wanted), show=given.show)
    if given.fit:
        TARGET.write_text(as_toml(fit(rows, wanted)), encoding="utf-8")
        print(f"wrote {TARGET.name}: {rows.shape[1]} numbers")


def report(found: list[Sample], wanted: Array, probabilities: Array, *, show: bool) -> None:
    free = np.array([not one.is_vetoed for one in found])
    print(f"{int(wanted.sum())} wanted, {int(len(wanted) - wanted.sum())} not; cross-validated, with vetoes:")
    print(f"{'':8}" + "".join(f"{f'P / R / silence at {least}':>30}" for least in THRESHOLDS))
    for language in ["all", *dict.fromkeys(one.language for one in found)]:
        own = np.array([language in ("all", one.language) for one in found])
        cells = []
        for least in THRESHOLDS:
            kept = (probabilities >= least) & free & own
            right = float((kept * wanted).sum())
            precision, recall = right / max(kept.sum(), 1), right / max((wanted * own).sum(), 1)
            silence = 1 - (kept.sum() - right) / max(((1 - wanted) * own).sum(), 1)
            cells.append(f"{precision:.3f} / {recall:.3f} / {silence:.3f}")
        print(f"{language:8}" + "".join(f"{cell:>30}" for cell in cells))
    if show:
        order = np.argsort(-np.abs(probabilities - wanted))
        for at in order[:80]:
            print(f"{probabilities[at]:.2f} {'wanted' if wanted[at] else 'noise '} {found[at].text}")


def as_toml(weights: Array) -> str:
    """The model as the package ships it."""
    count = len(Features._fields)
    signs = [
        f"{name} = {value:.{DIGITS}f}" for name, value in zip(Features._fields, weights[1 : count + 1], strict=True)
    ]
    numbers = [f"{value:.{DIGITS}f}" for value in weights[count + 1 :]]
    lines = [f"    {', '.join(numbers[at : at + PER_LINE])}," for at in range(0, len(numbers), PER_LINE)]
    return "\n".join(
        [
            "# Weights of the salience model. `python -m benchmarks.salience --fit` writes this file.",
            f"offset = {weights[0]:.{DIGITS}f}",
            "vector = [",
            *lines,
            "]",
            "",
            "[features]",
            *signs,
            "",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.salience", description=__doc__)
    parser.add_argument("--fit", action="store_true", help="fit to all sentences and write the model")
    parser.add_argument("--show", action="store_true", help="print the sentences that are judged worst")
    asyncio.run(run(parser.parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
