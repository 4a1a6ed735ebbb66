"""Evidence for and against telling a memory, and the probability that the task needs it."""

import math
from collections.abc import Mapping, Sequence
from operator import mul
from typing import NamedTuple
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memory_butler.english.text.names import NameFinder, name_key
from memory_butler.models import Hit, Maturity, MemoryType
from memory_butler.policy.briefing.domains import ANSWER_STYLE, StoredProfile, strongest
from memory_butler.policy.briefing.task import Task

TRIFLE_UP_TO = 3
CARE_FROM = 7
# From here on a domain is what a memory is about.
DOMINANT = 0.5
# A relevant memory from which it is one step to others, and how many of these there are.
SOURCE_FROM = 0.55
MAX_SOURCES = 4
MAX_KIND_MATCH = 2.0
MAX_WORDS = 2.0
# Activations below this share of the strongest one say nothing.
TASK_SHARE = 0.3
MEMORY_SHARE = 0.2
# Activation of a task that says clearly what kind of work it is.
CLEAR_TASK = 0.6


class Evidence(NamedTuple):
    """Signals for and against telling a memory, each about 0 to 1."""

    similarity: float
    """Cosine of its best passage and the task."""
    words: float
    """BM25 of the task's words and names, in units of a word that only one memory has."""
    is_named: float
    """1 if the task names its subject."""
    mentions_named: float
    """1 if its text mentions a name in the task."""
    kind_match: float
    """Product of the domain profiles of the task and the memory."""
    kind_correlation: float
    """Cosine of the two domain profiles."""
    rule_for_kind: float
    """For a rule: `kind_correlation`."""
    one_step: float
    """How well the best memory matches that is about the same person or thing."""
    care: float
    """For an important fact about health or diet: how much the task is of a kind where nobody mentions it."""
    is_trifle: float
    """1 for low importance."""
    of_another: float
    """1 for a health fact about a person whom the task does not concern."""
    elsewhere: float
    """1 if it is about a person or thing that has nothing to do with those in the task."""


# Fitted to labelled tasks of several people: `python -m benchmarks.briefing --fit`.
WEIGHTS = Evidence(
    similarity=2.6,
    words=2.2,
    is_named=3.05,
    mentions_named=1.15,
    kind_match=0.9,
    kind_correlation=2.7,
    rule_for_kind=3.05,
    one_step=1.5,
    care=1.2,
    is_trifle=-1.3,
    of_another=-1.95,
    elsewhere=-1.3,
)
OFFSET = -3.55


def usefulness(evidence: Evidence) -> float:
    """Probability that the task needs a memory."""
    logit = OFFSET + sum(map(mul, WEIGHTS, evidence))
    return 1 / (1 + math.exp(-logit))


def evidence_of(hits: Sequence[Hit], profiles: Mapping[UUID, StoredProfile], task: Task) -> list[Evidence]:
    """The evidence for each candidate, seen beside the others."""
    if not hits:
        return []
    unknown = (0.0,) * len(task.domains)
    kinds = _kinds(np.array([profiles.get(hit.id, unknown) for hit in hits], np.float32), task)
    named, subjects = NameFinder(task.names), NameFinder(_subjects(hits, task))
    found = [_evidence(hit, kind, named, task) for hit, kind in zip(hits, kinds, strict=True)]
    about = [_about(hit, subjects) for hit in hits]
    steps = _steps(found, about)
    elsewhere = [
        _is_elsewhere(hit, one, step, names, task)
        for hit, one, step, names in zip(hits, found, steps, about, strict=True)
    ]
    return [
        # Most have neither, and a copy takes as long as everything before.
        one._replace(one_step=step, elsewhere=float(is_elsewhere)) if step or is_elsewhere else one
        for one, step, is_elsewhere in zip(found, steps, elsewhere, strict=True)
    ]


class _Kind(NamedTuple):
    """How a memory's kind of work matches that of the task."""

    match: float
    correlation: float
    is_about_health: bool
    is_about_care: bool


def _kinds(profiles: npt.NDArray[np.float32], task: Task) -> list[_Kind]:
    """All at once: one by one would take longer than the search."""
    kind = strongest(task.profile, TASK_SHARE)
    own = profiles.copy()
    own[:, task.domains.index(ANSWER_STYLE)] = 0
    own[own < MEMORY_SHARE * own.max(axis=1, keepdims=True)] = 0
    products = own @ kind
    lengths = np.linalg.norm(own, axis=1) * np.linalg.norm(kind)
    clear = min(1.0, float(kind.max(initial=0)) / CLEAR_TASK)
    correlations = clear * np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    health, food = (profiles[:, task.domains.index(name)] > DOMINANT for name in ("health", "food"))
    matches = np.minimum(products, MAX_KIND_MATCH)
    return list(
        map(_Kind._make, zip(*(x.tolist() for x in (matches, correlations, health, health | food)), strict=True))
    )


def _evidence(hit: Hit, kind: _Kind, named: NameFinder, task: Task) -> Evidence:
    is_rule = hit.type is MemoryType.RULE and hit.maturity != Maturity.ANTI_PATTERN
    mentions = not hit.is_named and bool(named.names_in(hit.content))
    is_spared = hit.is_named or mentions or task.is_for_household
    return Evidence(  # in the order of its fields: by name would take twice as long
        max(hit.similarity or 0.0, 0.0),
        min(hit.word_score + hit.mention_score, MAX_WORDS),
        float(hit.is_named),
        float(mentions),
        kind.match,
        kind.correlation,
        kind.correlation if is_rule else 0.0,
        0.0,
        _care(hit, kind, task),
        float(hit.type is not MemoryType.RULE and (hit.importance or 0) <= TRIFLE_UP_TO),
        float(not is_spared and _is_health_of_another(hit, kind, task)),
        0.0,
    )


def _care(hit: Hit, kind: _Kind, task: Task) -> float:
    """How much the task is of a kind in which health and diet matter, though nobody mentions them."""
    if hit.type is not MemoryType.FACT or (hit.importance or 0) < CARE_FROM or not kind.is_about_care:
        return 0.0
    kinds = ["travel", "sport"]
    if task.is_for_household:
        kinds += ["food", "family", "health"]
    elif task.is_about_user(hit):
        kinds += ["food"]
    return min(1.0, max(map(task.activation, kinds)))


def _is_health_of_another(hit: Hit, kind: _Kind, task: Task) -> bool:
    """The health of others does not matter for that of a named person or of the user; at table it does."""
    if hit.type is not MemoryType.FACT or not kind.is_about_health:
        return False
    health, food, most = task.activation("health"), task.activation("food"), float(task.profile.max(initial=0))
    is_health_task = health >= DOMINANT * most > 0 and food < DOMINANT
    if not is_health_task or (task.is_first_person and task.is_about_user(hit)):
        return False
    return bool(task.names) or task.is_first_person


def _is_elsewhere(hit: Hit, found: Evidence, step: float, about: frozenset[str], task: Task) -> bool:
    """True for what is about another person or thing: a fact if the task names its own, a rule in any case."""
    if not about or step or found.is_named or found.mentions_named or (task.is_for_household and found.care):
        return False
    return bool(task.names) or (hit.type is MemoryType.RULE and hit.maturity != Maturity.ANTI_PATTERN)


def _subjects(hits: Sequence[Hit], task: Task) -> frozenset[str]:
    """The people and things that the candidates are about, without the user."""
    facts = (hit for hit in hits if hit.type is MemoryType.FACT and hit.subject_label and not task.is_about_user(hit))
    return frozenset(name_key(hit.subject_label or "") for hit in facts)


def _about(hit: Hit, subjects: NameFinder) -> frozenset[str]:
    """The people and things that a memory is about or mentions."""
    return subjects.names_in(hit.content, hit.subject_label)


def _steps(found: Sequence[Evidence], about: Sequence[frozenset[str]]) -> list[float]:
    """How well the best matching memory about the same person or thing matches; less for a common one."""
    frequency: dict[str, int] = {}
    for names in about:
        for name in names:
            frequency[name] = frequency.get(name, 0) + 1
    direct = [1.3 * one.similarity + 0.6 * one.words + 0.5 * one.is_named + 0.3 * one.mentions_named for one in found]
    best = sorted(range(len(found)), key=lambda at: -direct[at])[:MAX_SOURCES]
    sources = [at for at in best if direct[at] > SOURCE_FROM]
    return [
        0.0
        if found[at].is_named or not about[at]
        else max(
            (
                min(direct[source], 1.2) / math.sqrt(min(frequency[name] for name in shared))
                for source in sources
                if source != at and (shared := about[source] & about[at])
            ),
            default=0.0,
        )
        for at in range(len(found))
    ]
