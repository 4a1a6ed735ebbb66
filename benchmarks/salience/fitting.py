"""Samples of the salience model and its fit: logistic regression with an L2 penalty, by Newton's method."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.consolidation.merged import says
from benchmarks.consolidation.scoring import ALL_HALVES, labelled
from memory_butler.ai.embedding import Embedder
from memory_butler.languages.speech.answers import ANSWERED
from memory_butler.languages.speech.mentions import likely_subject, mentions
from memory_butler.languages.speech.utterances import ASSISTANT, USER, Utterance, utterances
from memory_butler.languages.speech.vetoes import veto
from memory_butler.policy.consolidation.salience import Features, features
from memory_butler.policy.retrieval.passages import cut_passages, passage_head

FOLDER = Path(__file__).parent
FOLDS = 5
STEPS = 30
# Fitted by cross-validation: a vector has 384 numbers for some 1,400 sentences.
FEATURE_PENALTY = 1.0
VECTOR_PENALTY = 0.25
NOTE = "note:000000000000"
Array = npt.NDArray[np.float64]


class Sample(NamedTuple):
    """A labelled sentence."""

    language: str
    text: str
    wanted: bool
    features: Features
    passage: str
    is_vetoed: bool


def read(path: Path) -> list[tuple[str, str]]:
    """The sentences of a file with their languages, which stand in brackets on lines of their own."""
    found, language = [], "en"
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            language = line[1:-1]
        elif line and not line.startswith("#"):
            found.append((language, line))
    return found


def samples() -> list[Sample]:
    """All labelled sentences, each once: those of the lists, and those of the episodes that may be tuned on."""
    found = {text: (language, True) for language, text in read(FOLDER / "positive.txt")}
    found |= {text: (language, False) for language, text in read(FOLDER / "negative.txt")}
    listed = [sample(text, language, wanted) for text, (language, wanted) in found.items()]
    known = {text.casefold().rstrip(".!") for text in found}
    return listed + [one for one in of_episodes() if one.text.casefold().rstrip(".!") not in known]


def of_episodes() -> list[Sample]:
    """The sentences of the development episodes: wanted if they say a gold, in any of them. A sentence that a held-out
    episode has, too, is left out."""
    held_out = "\n".join(one.content for half in ALL_HALVES if half.endswith("held_out") for one in labelled(half))
    found: dict[str, Sample] = {}
    for episode in (one for half in ALL_HALVES if half.endswith("development") for one in labelled(half)):
        golds = [gold["keys"] for gold in (*episode.facts, *episode.rules)]
        for said in utterances(episode.content):
            if said.speaker == ASSISTANT or said.text.casefold() in held_out.casefold():
                continue
            wanted = any(says(said.quoted.casefold(), keys) for keys in golds)
            one = of_utterance(said, episode.language, wanted=wanted)
            key = one.text.casefold().rstrip(".!")
            if wanted or key not in found:
                found[key] = one
    return list(found.values())


def sample(text: str, language: str, wanted: bool) -> Sample:
    question, is_answer, answer = text.partition(f"?{ANSWERED}")
    said = utterances(f"Bob: yes\n{text}")[1:] or [Utterance(text, 0, USER, "", False)]
    if is_answer:
        one = Utterance(answer, 0, USER, "", False, f"{question}?")
    elif said[0].label not in ("", "Bob"):
        one = said[0]
    else:
        one = Utterance(text, 0, USER, "", text.endswith("?"))
    return of_utterance(one, language, wanted=wanted)._replace(text=text)


def of_utterance(one: Utterance, language: str, *, wanted: bool) -> Sample:
    named = mentions(one.told)
    subject = likely_subject(one, named)
    found = features(one.told, names=len(named), is_about_another=subject != USER)
    (passage, *_) = cut_passages(one.quoted, head=passage_head(subject, NOTE, one.quoted))
    return Sample(language, one.quoted, wanted, found, passage, veto(one) is not None)


async def matrix(embedder: Embedder, found: Sequence[Sample]) -> Array:
    """Features and vectors, one row per sample, with a constant in front."""
    vectors = np.asarray(await embedder.embed([one.passage for one in found]), np.float64)
    signs = np.array([one.features for one in found], np.float64)
    return np.hstack([np.ones((len(found), 1)), signs, vectors])


def fit(rows: Array, wanted: Array) -> Array:
    """The weights: the constant, the features, the vector."""
    count = len(Features._fields)
    penalty = np.concatenate(
        [[1e-6], np.full(count, FEATURE_PENALTY), np.full(rows.shape[1] - 1 - count, VECTOR_PENALTY)]
    )
    weights = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        expected = probability(rows, weights)
        gradient = rows.T @ (expected - wanted) + penalty * weights
        hessian = (rows * (expected * (1 - expected))[:, None]).T @ rows + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        weights -= step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def probability(rows: Array, weights: Array) -> Array:
    return 1 / (1 + np.exp(-(rows @ weights)))


def cross_validated(rows: Array, wanted: Array) -> Array:
    """The probability of each sample by a model that was not fitted to it. Folds are taken in turn."""
    found = np.zeros(len(wanted))
    fold = np.arange(len(wanted)) % FOLDS
    for one in range(FOLDS):
        found[fold == one] = probability(rows[fold == one], fit(rows[fold != one], wanted[fold != one]))
    return found
