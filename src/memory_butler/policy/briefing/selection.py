"""Selection of a briefing's lines: each candidate has at most one claim on the token budget.

In this order: warnings and vital facts that the task could run into; what is relevant to its words, names and things;
standing rules and preferences for this kind of work; what is one step away from the relevant; recent episodes. What has
none of these claims stays out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from memory_butler.models import Hit, Maturity, MemoryType, Permanence, Ranked
from memory_butler.policy.briefing.answer_style import is_unconditional
from memory_butler.policy.briefing.claims import Claim
from memory_butler.policy.briefing.domains import Profile, StoredProfile, strongest
from memory_butler.policy.briefing.evidence import TASK_SHARE, Evidence, evidence_of, is_preference, usefulness
from memory_butler.policy.briefing.prohibitions import is_prohibition
from memory_butler.policy.briefing.task import Task
from memory_butler.policy.memories.text import NOTES_TAG, is_note

# A warning, a prohibition or a grave fact that the task could run into, and not only one of its kind of work.
VITAL_USEFULNESS = 0.45
# The same for the gravest facts.
GRAVEST_FROM = 9
GRAVEST_USEFULNESS = 0.24
# Beside a line that is much more useful a weak one is noise, and for a terse task even the best line is weak: the
# minimum is a share of the best usefulness, but never less than this share of the setting.
LEAST_SHARE = 0.4
# If no line reaches this usefulness, the task is probably about nothing that is stored.
FAINT = 0.2
# A fact that the task needs more likely than not is relevant to it.
CLEAR_USEFULNESS = 0.5
# For a greeting or a question about general knowledge.
MIN_WITHOUT_NEED = 0.8
NEARLY_ALL_WORDS = 0.8
# A warning that is missing costs more than one too many: it needs this share of the usefulness of other lines.
WARNING_SHARE = 0.75
# So does a grave fact about health or diet in a task of a kind in which nobody mentions it.
CARE_SHARE = 0.33
CARE_AT_STAKE = 0.4
HEALTH_OF_HOUSEHOLD = 0.3
# An episode that is only of the same kind of work needs more: most of what it holds is in facts and rules.
EPISODE_SHARE = 1.45


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The settings of the selection."""

    min_usefulness: float
    min_relevance: float
    vital_from: int
    with_standing: bool = True
    with_related: bool = True
    with_episodes: bool = True


class Chosen(NamedTuple):
    """A line of a briefing, with its claim and the probability that the task needs it."""

    entry: Ranked
    claim: Claim
    usefulness: float


def choose(ranked: Sequence[Ranked], profiles: Mapping[UUID, StoredProfile], task: Task, rules: Rules) -> list[Chosen]:
    """The memories with a claim, in ranking order."""
    evidence = evidence_of([entry.hit for entry in ranked], profiles, task)
    corrections = {entry.hit.replaced_by for entry in ranked if entry.hit.type is MemoryType.FACT}
    candidates = [
        (entry, found, usefulness(found))
        for entry, found in zip(ranked, evidence, strict=True)
        if not _is_for_searches(entry.hit, rules) and (not _is_unsure_note(entry.hit) or entry.hit.id in corrections)
    ]
    best = max((probability for _, _, probability in candidates), default=0.0)
    least = rules.min_usefulness * (max(LEAST_SHARE, best) if best >= FAINT else 1)
    chosen = []
    for entry, found, probability in candidates:
        hit, needed = entry.hit, least * _share_needed(entry.hit, found, task)
        if task.needs_no_memory:
            needed = max(needed, MIN_WITHOUT_NEED)
        if probability >= needed or _answers_words(entry, rules):
            claim = _claim(entry, found, probability, task, rules)
        elif hit.pinned or is_unconditional(hit, None if task.needs_no_memory else profiles.get(hit.id), task):
            claim = Claim.STANDING
        else:
            continue
        if not _is_told_for(claim, hit, rules):
            continue
        chosen.append(Chosen(entry, claim, round(probability, 6)))
    return chosen


def kinds_to_find(profile: Profile, domains: Sequence[str], *, is_for_household: bool) -> Profile:
    """The kinds of work to find candidates for. In a task for several people everybody's health may matter."""
    kinds = strongest(profile, TASK_SHARE)
    if is_for_household:
        place = domains.index("health")
        kinds[place] = max(kinds[place], HEALTH_OF_HOUSEHOLD * float(kinds.max(initial=0)))
    return kinds


def _share_needed(hit: Hit, found: Evidence, task: Task) -> float:
    """The share of the usual minimum that is enough for this memory."""
    if hit.maturity == Maturity.ANTI_PATTERN:
        return WARNING_SHARE
    if hit.type is MemoryType.EPISODE and not (found.is_named or found.mentions_named):
        return EPISODE_SHARE
    is_gravest = (hit.importance or 0) >= GRAVEST_FROM and found.care >= CARE_AT_STAKE
    return CARE_SHARE if is_gravest and task.is_for_household and not (found.of_another or found.elsewhere) else 1


def _is_told_for(claim: Claim, hit: Hit, rules: Rules) -> bool:
    """True if a line with this claim is told. A note of one event is no standing rule or preference."""
    if claim is Claim.STANDING:
        return hit.pinned or (rules.with_standing and not _is_distilled_note(hit))
    return claim is not Claim.RELATED or rules.with_related


def _is_distilled_note(hit: Hit) -> bool:
    return NOTES_TAG in hit.tags and is_note(hit.predicate_label)


def _is_for_searches(hit: Hit, rules: Rules) -> bool:
    """Episodes, unless they are wanted and still true. A fact that a note corrects is told with a mark."""
    return hit.type is MemoryType.EPISODE and (hit.since_changed or not rules.with_episodes)


def _is_unsure_note(hit: Hit) -> bool:
    """A note that may not be worth keeping is found by searches only, until it is used, restated or confirmed."""
    is_unsure = hit.permanence == Permanence.VOLATILE and _is_distilled_note(hit)
    return is_unsure and not (hit.pinned or hit.last_referenced_at or hit.last_confirmed_at)


def _answers_words(entry: Ranked, rules: Rules) -> bool:
    """True for what a search for the task's words would return near the top, and for what has nearly all of them."""
    return entry.parts.relevance >= rules.min_relevance or entry.hit.word_coverage >= NEARLY_ALL_WORDS


def _claim(entry: Ranked, found: Evidence, probability: float, task: Task, rules: Rules) -> Claim:
    hit = entry.hit
    if _is_grave(hit, rules) and probability >= _vital_usefulness(hit):
        return Claim.VITAL
    is_direct = found.is_named or found.mentions_named or _answers_words(entry, rules)
    is_of_standing = hit.type is MemoryType.RULE or is_preference(hit, task)
    if is_direct or (not is_of_standing and probability >= CLEAR_USEFULNESS):
        return Claim.RELEVANT
    if found.one_step and usefulness(found._replace(one_step=0)) < rules.min_usefulness:
        return Claim.RELATED
    return Claim.RECENT if hit.type is MemoryType.EPISODE else Claim.STANDING


def _is_grave(hit: Hit, rules: Rules) -> bool:
    if hit.type is MemoryType.RULE:
        return hit.maturity == Maturity.ANTI_PATTERN or is_prohibition(hit.content)
    return (hit.importance or 0) >= rules.vital_from


def _vital_usefulness(hit: Hit) -> float:
    is_gravest = hit.type is not MemoryType.RULE and (hit.importance or 0) >= GRAVEST_FROM
    return GRAVEST_USEFULNESS if is_gravest else VITAL_USEFULNESS
