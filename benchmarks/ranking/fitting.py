"""Fitting the judge: its weights, and the probability its votes stand for. Pure, with numpy alone.

The weights are those under which the evidence of each question stands out most among the question's candidates: a
softmax over the candidates, its logarithm summed over questions. Only comparisons within a question count, so no
question is easy or hard for the fit. The problem is convex and has a dozen unknowns; Newton's method solves it in a
few steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from benchmarks.ranking.candidates import Collected, Collection, headline
from benchmarks.support.conversations import LONGMEMEVAL
from memory_butler.policy.retrieval import relevance

# One set has four times the questions of the other, and easier ones. Of 4, 8, 12, 16, 24 and 32, and of ridges
# from 0.003 to 0.03, these found most evidence on both sets together, in conversations they were not
# fitted to.
WEIGHT_OF_SET = {LONGMEMEVAL: 16.0}
RIDGE = 3e-2
FOLDS = 5
STEPS = 50
ENOUGH = 1e-8
# What is fitted to has episodes alone, so it cannot tell what the type of a memory is worth, or where a fact came from.
BY_HAND = ("preferred_type", "source_match", "exact_match")
SHIPPED = np.array(relevance.WEIGHTS)
# Calibration looks at what may be returned, and not at the long tail that nobody sees.
LOOKED_AT = 30
BANDS = (0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1)


@dataclass(frozen=True, slots=True)
class Example:
    """A question's candidates, which of them are evidence, and how much the question counts."""

    signals: np.ndarray
    labels: np.ndarray
    weight: float = 1.0


def examples(collection: Collection, *, without: str | None = None) -> list[Example]:
    """The headline questions, less those of one fold."""
    return [
        Example(one.signals, one.labels, WEIGHT_OF_SET.get(name, 1.0))
        for name, collected in collection.items()
        for one in headline(collected)
        if one.fold != without
    ]


def folded(collection: Collection) -> dict[str, list[Collected]]:
    """The questions with the fold each belongs to: its conversation; in a set that is but one, every fifth question."""
    found = {}
    for name, collected in collection.items():
        alone = len({one.tenant for one in collected}) == 1
        found[name] = [
            replace(one, fold=f"{one.tenant} {at % FOLDS}" if alone else one.tenant)
            for at, one in enumerate(headline(collected))
        ]
    return found


def fit_weights(given: Sequence[Example], *, left_out: Sequence[str] = (), start: np.ndarray = SHIPPED) -> np.ndarray:
    """The weights that fit best: those left out are zero, those set by hand stay; `start` is where to look first."""
    kept = [one for one in given if one.labels.any()]
    names = relevance.Signals._fields
    free = np.array([name not in BY_HAND and name not in left_out for name in names])
    weights = np.array([0.0 if name in left_out else value for name, value in zip(names, start, strict=True)])
    if not kept:
        return weights
    signals = np.concatenate([one.signals for one in kept])
    problem = _Problem(
        inputs=signals[:, free],
        base=signals[:, ~free] @ weights[~free],
        lengths=np.array([len(one.labels) for one in kept]),
        target=np.concatenate([one.labels / one.labels.sum() for one in kept]),
        share=np.array([one.weight for one in kept]) / sum(one.weight for one in kept),
    )
    weights[free] = problem.solved(weights[free])
    return weights


class _Problem:
    """The loss of some weights, its slope and its curvature, on signals brought to a spread of 1."""

    def __init__(
        self, *, inputs: np.ndarray, base: np.ndarray, lengths: np.ndarray, target: np.ndarray, share: np.ndarray
    ) -> None:
        spread = inputs.std(axis=0)
        self.spread = np.where(spread > 1e-9, spread, 1.0)
        self.inputs = inputs / self.spread
        self.base, self.target, self.share = base, target, share
        self.starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        self.question = np.repeat(np.arange(len(lengths)), lengths)

    def solved(self, start: np.ndarray) -> np.ndarray:
        """Newton's method, each step halved until it leads downhill."""
        theta = start * self.spread
        loss, chance = self._loss(theta)
        for _ in range(STEPS):
            slope, curve = self._slope(theta, chance)
            step = np.linalg.solve(curve, slope)
            size = 1.0
            ahead, chance_ahead = self._loss(theta - step)
            while ahead > loss and size > 1e-6:
                size /= 2
                ahead, chance_ahead = self._loss(theta - size * step)
            if ahead > loss:
                break
            theta, loss, chance = theta - size * step, ahead, chance_ahead
            if slope @ step < ENOUGH:
                break
        return theta / self.spread

    def _loss(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """How badly the evidence stands out, and the chance each candidate is given."""
        votes = self.base + self.inputs @ theta
        top = np.maximum.reduceat(votes, self.starts)
        raised = np.exp(votes - top[self.question])
        total = np.add.reduceat(raised, self.starts)
        missed = np.log(total) + top - np.add.reduceat(self.target * votes, self.starts)
        return float(self.share @ missed + RIDGE / 2 * theta @ theta), raised / total[self.question]

    def _slope(self, theta: np.ndarray, chance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        share = self.share[self.question]
        usual = np.add.reduceat(self.inputs * chance[:, None], self.starts)
        slope = self.inputs.T @ ((chance - self.target) * share) + RIDGE * theta
        curve = self.inputs.T @ (self.inputs * (chance * share)[:, None]) - usual.T @ (usual * self.share[:, None])
        return slope, curve + RIDGE * np.eye(len(theta))


def votes_to_calibrate(
    collected: Sequence[Collected], weights: np.ndarray, weight: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the first candidates of each question: what relevance is computed from, whether it is evidence, its weight."""
    votes, labels = [np.zeros(0)], [np.zeros(0)]
    for one in collected:
        if len(one.found):
            own = one.signals @ weights
            first = np.argsort(-own, kind="stable")[:LOOKED_AT]
            votes.append(own[first] + relevance.OF_THE_BEST * own.max() - one.penalty)
            labels.append(one.labels[first].astype(float))
    joined = np.concatenate(votes)
    return joined, np.concatenate(labels), np.full(len(joined), weight)


def fit_calibration(votes: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Slope and offset of the logistic function that turns votes into probabilities."""
    middle = votes.mean()
    inputs = np.stack([votes - middle, np.ones_like(votes)], axis=1)
    share = weights / weights.sum()
    theta = np.zeros(2)
    for _ in range(STEPS):
        chance = _logistic(inputs @ theta)
        slope = inputs.T @ ((chance - labels) * share) + 1e-6 * theta
        curve = inputs.T @ (inputs * (chance * (1 - chance) * share)[:, None]) + 1e-6 * np.eye(2)
        step = np.linalg.solve(curve, slope)
        step /= max(1.0, float(np.abs(step).max()))
        theta = theta - step
        if slope @ step < ENOUGH:
            break
    return float(theta[0]), float(theta[1] - theta[0] * middle)


def reliability(
    votes: np.ndarray, labels: np.ndarray, weights: np.ndarray, calibration: tuple[float, float]
) -> list[dict[str, float]]:
    """By bands of the predicted probability: what was predicted on average, and how often it was evidence."""
    chance = _logistic(calibration[0] * votes + calibration[1])
    rows = []
    for low, high in pairwise(BANDS):
        inside = (chance >= low) & ((chance < high) | (high == 1))
        if weights[inside].sum() > 0:
            mean = {
                "predicted": float(np.average(chance[inside], weights=weights[inside])),
                "observed": float(np.average(labels[inside], weights=weights[inside])),
            }
            rows.append({"from": low, "to": high, "candidates": int(inside.sum()), **mean})
    return rows


def _logistic(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(values, -500, 500)))
