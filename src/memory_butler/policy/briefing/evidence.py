"""Evidence for and against telling a memory, and the probability that the task needs it."""

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import mul
from typing import NamedTuple
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memory_butler.english.text.names import NameFinder, name_key
from memory_butler.english.text.normalize import as_words
from memory_butler.models import Hit, Maturity, MemoryType
from memory_butler.policy.briefing.domains import ANSWER_STYLE, StoredProfile, strongest
from memory_butler.policy.briefing.people import Role, roles_of
from memory_butler.policy.briefing.task import Task

TRIFLE_UP_TO = 3
USUAL_UP_TO = 5
# A similarity from which being the nearest counts in full.
NEAR_FROM = 0.35
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
# `kind_lead` is in units of three standard deviations, which are at least so large.
MIN_DEVIATION = 0.08
DEVIATIONS = 3.0
RIVALS = 20
USUAL_CORRELATION = 0.15
USUAL_DEVIATION = 0.17
# Activation of a task that says clearly what kind of work it is.
CLEAR_TASK = 0.6

CACHED_PREDICATES = 4096
# A preference is a rule in part: many are about trifles.
PREFERENCE_WEIGHT = 0.5
# Predicates of facts that say how the user wants things: "prefers_units", "code_style", "date_format".
_PREFERENCE = re.compile(r"\b(?:prefer\w*|style|formats?|conventions?|habits?|tone|units)\b", re.IGNORECASE)


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
    kind_lead: float
    """How far the cosine of the two profiles is above that of the other candidates. A short task has a weak profile,
    which is near to all memories or to none: then only the comparison tells."""
    rule_for_kind: float
    """For a rule: the cosine of the two domain profiles; half of it for a preference of the user."""
    one_step: float
    """How well the best memory matches that is about the same person or thing."""
    care: float
    """For an important fact about health or diet: how much the task is of a kind where nobody mentions it."""
    lightness: float
    """1 for low importance, 1/2 for the usual one, 0 for more."""
    of_another: float
    """1 for a health fact about a person whom the task does not concern."""
    elsewhere: float
    """1 if it is about a person or thing that has nothing to do with those in the task."""
    nearness: float
    """1 for the candidate whose similarity is highest, 1/2 for the next one, and so on; less if even that is low."""


# Fitted to labelled tasks of several people: `python -m benchmarks.briefing --fit`.
WEIGHTS = Evidence(
    similarity=1.85,
    words=2.95,
    is_named=3.3,
    mentions_named=1.65,
    kind_match=1.0,
    kind_lead=1.75,
    rule_for_kind=2.9,
    one_step=2.05,
    care=1.3,
    lightness=-1.0,
    of_another=-2.0,
    elsewhere=-1.7,
    nearness=1.5,
)
OFFSET = -3.75


def usefulness(evidence: Evidence) -> float:
    """Probability that the task needs a memory."""
    logit = OFFSET + sum(map(mul, WEIGHTS, evidence))
    return 1 / (1 + math.exp(-logit))


def evidence_of(hits: Sequence[Hit], profiles: Mapping[UUID, StoredProfile], task: Task) -> list[Evidence]:
    """The evidence for each candidate, seen beside the others."""
    if not hits:
        return []
    unknown = np.zeros(len(task.domains))
    # Concatenated: numpy takes several times as long to make an array of many small ones.
    stored = np.concatenate([profiles.get(hit.id, unknown) for hit in hits]).astype(np.float32)
    kinds = _kinds(stored.reshape(len(hits), len(task.domains)), task)
    nearness = _nearness([hit.similarity or 0.0 for hit in hits])
    named, subjects = NameFinder(task.names), NameFinder(_subjects(hits, task))
    roles = roles_of(hits) if task.is_for_household else {}
    found = [
        _evidence(hit, kind, near, named, task, is_concerned=_is_concerned(hit, roles, task))
        for hit, kind, near in zip(hits, kinds, nearness, strict=True)
    ]
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
    lead: float
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
    columns = (matches, correlations, _leads(correlations), health, health | food)
    return list(map(_Kind._make, zip(*(column.tolist() for column in columns), strict=True)))


def _leads(correlations: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """How far each is above the mean. In a small store usual rivals fill up the comparison."""
    missing = max(0, RIVALS - len(correlations))
    share = missing / max(RIVALS, len(correlations))
    own = float(correlations.mean())
    mean = share * USUAL_CORRELATION + (1 - share) * own
    variance = share * (USUAL_DEVIATION**2 + (USUAL_CORRELATION - mean) ** 2)
    variance += (1 - share) * (float(correlations.var()) + (own - mean) ** 2)
    above = (correlations - mean) / max(MIN_DEVIATION, math.sqrt(variance))
    return np.asarray(np.clip(above, -1, DEVIATIONS) / DEVIATIONS, np.float32)


def _nearness(similarities: Sequence[float]) -> list[float]:
    found = [0.0] * len(similarities)
    for place, at in enumerate(sorted(range(len(similarities)), key=lambda at: -similarities[at])):
        found[at] = min(1.0, max(similarities[at], 0.0) / NEAR_FROM) / (1 + place)
    return found


def _is_concerned(hit: Hit, roles: Mapping[str, Role], task: Task) -> bool:
    """False for a fact about somebody who is known to be outside the group that the task is for."""
    if hit.is_named or not task.is_for_household:
        return True
    if task.is_about_user(hit):
        return not task.is_for_children
    role = roles.get(name_key(hit.subject_label or ""))
    return role is None or role is Role.CHILD or (role is Role.ADULT and not task.is_for_children)


def _evidence(hit: Hit, kind: _Kind, nearness: float, named: NameFinder, task: Task, *, is_concerned: bool) -> Evidence:
    is_named, similarity = hit.is_named, hit.similarity or 0.0
    mentions = not is_named and bool(named.names_in(hit.content))
    care = of_another = 0.0
    # Few memories are, and the rest asks for nothing of this.
    if kind.is_about_care:
        is_spared = is_named or mentions or (task.is_for_household and is_concerned)
        care = _care(hit, kind, task) if is_concerned or mentions else 0.0
        is_of_another = _is_health_of_another(hit, kind, task) or _is_care_for_others(hit, kind, task)
        of_another = float(not is_spared and is_of_another)
    return Evidence(  # in the order of its fields: by name would take twice as long
        similarity if similarity > 0.0 else 0.0,
        min(hit.word_score + hit.mention_score, MAX_WORDS),
        1.0 if is_named else 0.0,
        1.0 if mentions else 0.0,
        kind.match,
        max(kind.lead, 0.0) if care and task.is_for_household else kind.lead,
        _rule_weight(hit, task) * kind.correlation,
        0.0,
        care,
        _lightness(hit),
        of_another,
        0.0,
        nearness,
    )


def _lightness(hit: Hit) -> float:
    if hit.type is MemoryType.RULE:
        return 0.0
    importance = hit.importance or 0
    return 1.0 if importance <= TRIFLE_UP_TO else 0.5 * (importance <= USUAL_UP_TO)


def _care(hit: Hit, kind: _Kind, task: Task) -> float:
    """How much the task is of a kind in which health and diet matter, though nobody mentions them."""
    if not _is_care(hit, kind):
        return 0.0
    kinds = ["travel", "sport"]
    if task.is_for_household:
        kinds += ["food", "family", "health"]
    elif task.is_about_user(hit):
        kinds += ["food"]
    return min(1.0, max(map(task.activation, kinds)))


def _rule_weight(hit: Hit, task: Task) -> float:
    if hit.type is MemoryType.RULE:
        return float(hit.maturity != Maturity.ANTI_PATTERN)
    return PREFERENCE_WEIGHT * is_preference(hit, task)


def is_preference(hit: Hit, task: Task) -> bool:
    """True for a fact that says how the user wants things."""
    # The predicate first: it is looked up, and most say something else.
    return hit.type is MemoryType.FACT and _says_preference(hit.predicate_label or "") and task.is_about_user(hit)


@lru_cache(CACHED_PREDICATES)
def _says_preference(predicate: str) -> bool:
    return bool(_PREFERENCE.search(as_words(predicate)))


def _is_care_for_others(hit: Hit, kind: _Kind, task: Task) -> bool:
    """Health and diet of those outside the group that the task is for."""
    return task.is_for_household and _is_care(hit, kind)


def _is_care(hit: Hit, kind: _Kind) -> bool:
    return hit.type is MemoryType.FACT and (hit.importance or 0) >= CARE_FROM and kind.is_about_care


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
