"""Kinds of work: how much a task and a memory belong to each domain.

A domain is a broad activity such as changing code, writing to somebody, or cooking. A profile holds one activation per
domain. It comes from the similarity to the domain's typical phrases, from telling words and verbs, and from tags.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from memory_butler.english.text.stems import stem
from memory_butler.policy.retrieval.calibration import UNCALIBRATED, Calibration

Vectors = npt.NDArray[np.float32]
Profile = npt.NDArray[np.float32]

ANSWER_STYLE = "answer_style"
# A domain is as similar as the mean of its nearest phrases.
NEAREST_PHRASES = 2
# Unrelated texts have a similarity of about 0.1 to 0.25.
MIN_SIMILARITY = 0.25
GAIN = 3.0
PER_WORD = 0.25
MAX_WORDS = 2
FOR_VERB = 0.3
FOR_TAG = 0.45
MAX_ACTIVATION = 1.5
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
# The first word of a sentence, of a step in a list, or after "please" and "can you". "Tell me" is no message.
_FIRST = re.compile(
    r"(?:^|[.!?;:\n]\s+|\d[.)]\s+|\b(?:and|then)\s+)(?:(?:please|pls|(?:can|could|would|will) you)\s+)*"
    r"([^\W\d_]+)(?!\w|\s+(?:me|us)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One kind of work, as declared."""

    name: str
    tasks: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True)
class DomainPhrases:
    """The domains with the vectors of their phrases."""

    domains: tuple[Domain, ...]
    tasks: tuple[Vectors, ...]
    memories: tuple[Vectors, ...]
    calibration: Calibration = UNCALIBRATED

    @cached_property
    def _stems(self) -> list[frozenset[str]]:
        return [frozenset(map(stem, domain.words)) for domain in self.domains]

    def task_profile(self, vectors: Vectors, text: str) -> Profile:
        """The activations of a task; `vectors` are those of the whole text and of its sentences."""
        first = {verb.casefold() for verb in _FIRST.findall(text)}
        verbs = [FOR_VERB * (not first.isdisjoint(domain.verbs)) for domain in self.domains]
        return self._activations(vectors, self.tasks, text, verbs)

    def memory_profile(self, vectors: Vectors, text: str, tags: Sequence[str]) -> Profile:
        """The activations of a memory; `vectors` are those of its passages."""
        given = {tag.casefold() for tag in tags}
        tagged = [FOR_TAG * (not given.isdisjoint(domain.tags)) for domain in self.domains]
        return self._activations(vectors, self.memories, text, tagged)

    def _activations(self, vectors: Vectors, phrases: Sequence[Vectors], text: str, cues: Sequence[float]) -> Profile:
        is_used = np.array([len(part) > 0 for part in phrases])
        cosines = np.array([_nearest(vectors, part) for part in phrases])
        similarity = (cosines - self.calibration.zero) * self.calibration.scale
        usual = float(np.median(similarity[is_used])) if is_used.any() else 0.0
        words = {stem(word) for word in _WORD.findall(text.casefold().replace("_", " "))}
        bonus = np.array(cues) + [PER_WORD * min(MAX_WORDS, len(words & stems)) for stems in self._stems]
        activation = np.clip((similarity - max(usual, MIN_SIMILARITY)) * GAIN, 0, None) + bonus
        return np.asarray(np.clip(activation, 0, MAX_ACTIVATION) * is_used, np.float32)


def _nearest(vectors: Vectors, phrases: Vectors) -> float:
    if not len(vectors) or not len(phrases):
        return 0.0
    cosines = vectors @ phrases.T
    count = min(NEAREST_PHRASES, cosines.shape[1])
    return float(np.partition(cosines, -count, axis=1)[:, -count:].mean(axis=1).max())


def strongest(profile: Profile, min_share: float) -> Profile:
    """A profile without the activations below a share of the strongest one."""
    return np.where(profile >= min_share * profile.max(initial=0), profile, 0).astype(np.float32)
