"""Kinds of work: how much a task and a memory belong to each domain.

A domain is a broad activity such as changing code, writing to somebody, or cooking. A profile holds one activation per
domain. It comes from the similarity to the domain's typical phrases, from telling words and verbs, and from tags.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memory_butler.english.text.stems import stem
from memory_butler.policy.briefing.task_cues import looks_like_code
from memory_butler.policy.retrieval.calibration import UNCALIBRATED, Calibration

Vectors = npt.NDArray[np.float32]
Profile = npt.NDArray[np.float32]
StoredProfile = Sequence[float] | npt.NDArray[np.float64]
Places = npt.NDArray[np.int_]

ANSWER_STYLE = "answer_style"
# A domain is as similar as the mean of its nearest phrases.
NEAREST_PHRASES = 2
# Phrases that one product compares a vector with. For larger ones the library starts threads, which cost more time.
BLOCK = 512
# Unrelated texts have a similarity of about 0.1 to 0.25.
MIN_SIMILARITY = 0.25
GAIN = 3.0
PER_WORD = 0.25
MAX_WORDS = 2
FOR_VERB = 0.3
FOR_TAG = 0.45
MAX_ACTIVATION = 1.5
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
# The first word of a sentence or step, also after words such as "please", "can you" and "let's". "Tell me" is
# no message.
_FIRST = re.compile(
    r"(?:^|[.!?;:,\n]\s{1,8}|\d[.)]\s{1,8}|\b(?:and|then)\s{1,8})"
    r"(?:(?:please|pls|ok|okay|now|just|also|let'?s|(?:can|could|would|will) you|help me|time to|i'd like to"
    r"|(?:i|we) (?:need|want|have|should) to)\s{1,8}){0,4}"
    r"([^\W\d_]{1,60})(?!\w|\s{1,8}(?:me|us)\b)",
    re.IGNORECASE,
)
# A prompt that names files or functions is work on software, whatever the names mean.
FOR_CODE = 0.5
OTHERS_BESIDE_CODE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One kind of work, as declared."""

    name: str
    tasks: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    is_software: bool = False
    """Work on programs and what they run on."""
    implies: Mapping[str, float] = field(default_factory=dict)
    """Domains whose rules such a task needs too, with the share of the activation that they get."""


@dataclass(frozen=True)
class DomainPhrases:
    """The domains with the vectors of their phrases."""

    domains: tuple[Domain, ...]
    tasks: tuple[Vectors, ...]
    memories: tuple[Vectors, ...]
    calibration: Calibration = UNCALIBRATED

    @cached_property
    def _all_tasks(self) -> "_Phrases":
        return _together(self.tasks)

    @cached_property
    def _all_memories(self) -> "_Phrases":
        return _together(self.memories)

    @cached_property
    def _of_stem(self) -> dict[str, list[int]]:
        """The domains of each telling word."""
        found: dict[str, list[int]] = {}
        for place, domain in enumerate(self.domains):
            for word in frozenset(map(stem, domain.words)):
                found.setdefault(word, []).append(place)
        return found

    def task_profile(self, vectors: Vectors, text: str) -> Profile:
        """The activations of a task; `vectors` are those of the whole text and of its sentences."""
        first = {verb.casefold() for verb in _FIRST.findall(text)}
        verbs = [FOR_VERB * (not first.isdisjoint(domain.verbs)) for domain in self.domains]
        if looks_like_code(text):
            verbs[self._place("code")] += FOR_CODE
        profile = self._activations(vectors, self._all_tasks, text, verbs)
        if looks_like_code(text):
            profile *= np.array([1.0 if one.is_software else OTHERS_BESIDE_CODE for one in self.domains], np.float32)
        return self._with_implied(profile)

    def _with_implied(self, profile: Profile) -> Profile:
        wider = profile.copy()
        for domain, activation in zip(self.domains, profile, strict=True):
            for name, share in domain.implies.items():
                place = self._place(name)
                wider[place] = max(wider[place], share * activation)
        return wider

    def _place(self, name: str) -> int:
        return next(place for place, domain in enumerate(self.domains) if domain.name == name)

    def memory_profile(self, vectors: Vectors, text: str, tags: Sequence[str]) -> Profile:
        """The activations of a memory; `vectors` are those of its passages."""
        given = {tag.casefold() for tag in tags}
        tagged = [FOR_TAG * (not given.isdisjoint(domain.tags)) for domain in self.domains]
        return self._activations(vectors, self._all_memories, text, tagged)

    def _activations(self, vectors: Vectors, phrases: "_Phrases", text: str, cues: Sequence[float]) -> Profile:
        similarity = (_nearest(vectors, phrases) - self.calibration.zero) * self.calibration.scale
        used = np.sort(similarity[phrases.is_used])
        # The median, without the checks that make numpy's ten times as slow.
        usual = float(used[(len(used) - 1) // 2] + used[len(used) // 2]) / 2 if len(used) else 0.0
        telling = [0] * len(self.domains)
        for word in {stem(word) for word in _WORD.findall(text.casefold().replace("_", " "))}:
            for place in self._of_stem.get(word, ()):
                telling[place] += 1
        bonus = [cue + PER_WORD * min(MAX_WORDS, count) for cue, count in zip(cues, telling, strict=True)]
        activation = np.maximum((similarity - max(usual, MIN_SIMILARITY)) * GAIN, 0) + bonus
        return (np.minimum(activation, MAX_ACTIVATION) * phrases.is_used).astype(np.float32)


class _Phrases(NamedTuple):
    """The phrases of all domains in blocks, the places of each domain's among them, and whether it has any."""

    blocks: tuple[Vectors, ...]
    places: Places
    is_used: npt.NDArray[np.bool_]


def _together(phrases: Sequence[Vectors]) -> _Phrases:
    filled = [part for part in phrases if len(part)]
    rows = np.concatenate(filled) if filled else np.empty((0, 0), np.float32)
    blocks = tuple(rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK))
    return _Phrases(blocks, _places(phrases), np.array([len(part) > 0 for part in phrases], np.bool_))


def _places(phrases: Sequence[Vectors]) -> Places:
    """For each domain the places of its phrases among all phrases, in rows of equal length: the place behind the last
    phrase fills them up. The only phrase of a domain counts for all its nearest."""
    ends = list(accumulate(map(len, phrases), initial=0))
    longest = max(NEAREST_PHRASES, *map(len, phrases)) if phrases else NEAREST_PHRASES
    places = np.full((len(phrases), longest), ends[-1])
    for row, (start, end) in zip(places, pairwise(ends), strict=True):
        row[: end - start] = range(start, end)
        if 0 < end - start < NEAREST_PHRASES:
            row[:NEAREST_PHRASES] = start
    return places


def _nearest(vectors: Vectors, phrases: _Phrases) -> npt.NDArray[np.float64]:
    """The similarity to each domain; 0 to a domain without phrases."""
    if not len(vectors) or not phrases.blocks:
        return np.zeros(len(phrases.places))
    none = np.array([-np.inf], np.float32)
    # Each passage by itself, so that its similarity does not depend on the others.
    rows = [np.concatenate([*(block @ vector for block in phrases.blocks), none]) for vector in vectors]
    cosines = np.array(rows)[:, phrases.places]
    cosines.partition(-NEAREST_PHRASES, axis=2)
    nearest = cosines[:, :, -NEAREST_PHRASES:].sum(axis=2) / np.float32(NEAREST_PHRASES)
    return np.where(phrases.is_used, nearest.max(axis=0), 0).astype(np.float64)


def strongest(profile: Profile, min_share: float) -> Profile:
    """A profile without the activations below a share of the strongest one."""
    return np.where(profile >= min_share * profile.max(initial=0), profile, 0).astype(np.float32)
