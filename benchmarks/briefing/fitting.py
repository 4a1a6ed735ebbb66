"""Fits the weights of the selection: a logistic regression over the evidence, cross-validated by person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.briefing.sets import LabelledSet
from memory_butler.policy.briefing.evidence import Evidence

Numbers = npt.NDArray[np.float64]
# A must counts for more than a line too many, and what may be told is a weak example.
MUST, MAY, NOISE = 2.0, 0.1, 1.0
# All persons count alike, whatever the number of their memories and tasks, but the development set, whose figures must
# hold, counts for so many.
DEVELOPMENT_SET, ITS_WEIGHT = "briefing-dev", 25.0
PENALTY = 3.0
STEPS = 60


@dataclass(frozen=True, slots=True)
class Example:
    """The evidence for each memory that a task could be told, by key."""

    task: Mapping[str, Any]
    evidence: Mapping[str, Evidence]


def fit(examples: Mapping[str, Sequence[Example]], sets: Mapping[str, LabelledSet]) -> tuple[float, Evidence]:
    """The offset and the weights."""
    rows, labels, weights = [], [], []
    total = sum(len(one.evidence) for tasks in examples.values() for one in tasks)
    for name, tasks in examples.items():
        groups = sets[name].groups
        person = total / len(examples) / max(1, sum(len(one.evidence) for one in tasks))
        person *= ITS_WEIGHT if name == DEVELOPMENT_SET else 1
        for example in tasks:
            musts = {groups[must["key"]] for must in example.task["must"]}
            mays = {groups[key] for key in example.task.get("may", ())}
            for key, evidence in example.evidence.items():
                group = groups[key]
                weight = MUST if group in musts else MAY if group in mays else NOISE
                rows.append([1.0, *evidence])
                labels.append(float(group in musts or group in mays))
                weights.append(weight * person)
    solution = _logistic(np.array(rows), np.array(labels), np.array(weights))
    return float(solution[0]), Evidence(*(float(value) for value in solution[1:]))


def _logistic(rows: Numbers, labels: Numbers, weights: Numbers) -> Numbers:
    """Newton's method with a penalty on all weights but the offset."""
    penalty = PENALTY * np.eye(rows.shape[1])
    penalty[0, 0] = 1e-6
    solution: Numbers = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-rows @ solution))
        slope = rows.T @ (weights * (chance - labels)) + penalty @ solution
        curve = (rows.T * (weights * chance * (1 - chance))) @ rows + penalty
        solution = solution - np.linalg.solve(curve, slope)
    return solution
