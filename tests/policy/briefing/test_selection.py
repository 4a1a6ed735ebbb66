"""What a briefing tells: claims in the order of the budget, and nothing without one."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_butler.models import Maturity, MemoryType, Ranked
from memory_butler.policy.briefing.claims import CLAIM_WORDS, Claim
from memory_butler.policy.briefing.evidence import evidence_of
from memory_butler.policy.briefing.selection import Chosen, Rules, choose, kinds_to_find
from memory_butler.policy.briefing.task import Task

F, R, E = MemoryType.FACT, MemoryType.RULE, MemoryType.EPISODE
DOMAINS = ["code", "food", "health", "answer_style", "travel", "sport"]
RULES = Rules(min_usefulness=0.24, min_relevance=0.05, vital_from=8)


def task(*profile: float, names: Sequence[str] = (), is_first_person: bool = False) -> Task:
    values = np.array([*profile, *[0.0] * (len(DOMAINS) - len(profile))], np.float32)
    return Task(
        profile=values,
        domains=DOMAINS,
        names=frozenset(names),
        user_names=frozenset({"lena"}),
        is_first_person=is_first_person,
    )


COOK, CODE, ILL, CHAT = task(0, 1.2, 0, 0), task(1.2, 0, 0, 0), task(0, 0, 1.2, 0, is_first_person=True), task()
FOOD, CODING, HEALTH, STYLE = (0, 1.4, 0, 0, 0, 0), (1.4, 0, 0, 0, 0, 0), (0, 0.1, 1.4, 0, 0, 0), (0, 0, 0, 1.4, 0, 0)
NO_KIND = (0.0,) * len(DOMAINS)


def told(one: Ranked, given_task: Task, profile: Sequence[float] = NO_KIND, rules: Rules = RULES) -> Claim | None:
    """The claim of a single candidate."""
    chosen = choose([one], {one.hit.id: profile}, given_task, rules)
    return chosen[0].claim if chosen else None


@pytest.mark.parametrize(
    ("given", "profile", "on", "claim"),
    [
        # Rules for the kind of work are told though the task does not mention them; others are not.
        ({"kind": R, "maturity": "established"}, CODING, CODE, Claim.STANDING),
        ({"kind": R, "maturity": "candidate"}, CODING, CODE, Claim.STANDING),
        ({"kind": R, "maturity": "established"}, FOOD, CODE, None),
        # A rule about answers applies to all work, also to a chat.
        ({"kind": R, "maturity": "established"}, STYLE, CODE, Claim.STANDING),
        ({"kind": R, "maturity": "established"}, STYLE, CHAT, Claim.STANDING),
        ({"kind": R, "maturity": "established"}, (0, 1.2, 0, 1.3, 0, 0), CODE, None),
        # Warnings and grave facts of the kind of work come first.
        ({"kind": R, "maturity": "anti_pattern", "similarity": 0.4}, CODING, CODE, Claim.VITAL),
        ({"importance": 10, "subject_label": "Ida", "similarity": 0.3}, FOOD, COOK, Claim.VITAL),
        ({"importance": 10, "subject_label": "Ida"}, FOOD, CODE, None),
        ({"importance": 10, "subject_label": "user"}, HEALTH, CHAT, None),
        # Names, mentions and words of the task.
        ({"is_named": True, "importance": 5}, FOOD, CHAT, Claim.RELEVANT),
        ({"kind": E, "word_score": 1.2, "similarity": 0.4, "importance": 5}, NO_KIND, CHAT, Claim.RELEVANT),
        ({"relevance": 0.3}, NO_KIND, CHAT, Claim.RELEVANT),
        ({"word_coverage": 1.0}, NO_KIND, CHAT, Claim.RELEVANT),
        # A pinned memory is in every briefing; a trifle and a stranger in none.
        ({"pinned": True}, NO_KIND, CHAT, Claim.STANDING),
        ({"importance": 2, "is_named": True}, NO_KIND, CHAT, None),
        ({}, NO_KIND, CODE, None),
        # An episode of the kind of work is recent; one whose fact was replaced is never told.
        ({"kind": E, "similarity": 0.3, "importance": 6}, CODING, CODE, Claim.RELEVANT),
        ({"kind": E, "since_changed": True, "word_coverage": 1.0}, CODING, CODE, None),
    ],
)
def test_claims(
    entry: Callable[..., Ranked], given: dict[str, Any], profile: Sequence[float], on: Task, claim: Claim | None
) -> None:
    assert told(entry(**given), on, profile) is claim


def test_a_mention_of_a_name_in_the_task_is_evidence(entry: Callable[..., Ranked]) -> None:
    named = task(1.2, 0, 0, 0, names=["kestrel"])
    signs_off = entry(content="Georg signs off every Kestrel release.", importance=6, subject_label="Georg")
    assert told(signs_off, named, CODING) is Claim.RELEVANT
    assert evidence_of([signs_off.hit], {}, named)[0].mentions_named == 1


def test_what_is_one_step_away_comes_with_what_is_relevant(entry: Callable[..., Ranked]) -> None:
    """An episode with a rare word of the task names a client; the client's confidentiality comes with it."""
    found = entry(1, E, content="Brandt: the query on SHIPMENT_LEG is slow.", word_score=1.5, similarity=0.5)
    secret = entry(2, F, content="No code may leave their network.", subject_label="Brandt", importance=7)
    other = entry(3, F, content="Invoices go out monthly.", subject_label="Acme", importance=7)
    profiles = {one.hit.id: (0.1, 0.1, 0, 0, 0.1, 0) for one in (found, secret, other)}
    chosen = {
        one.entry.hit.id: one.claim for one in choose([found, secret, other], profiles, task(0.4, 0, 0, 0), RULES)
    }
    assert chosen[secret.hit.id] is Claim.RELATED
    assert other.hit.id not in chosen
    without = choose([found, secret], profiles, task(0.4, 0, 0, 0), replace(RULES, with_related=False))
    assert secret.hit.id not in {one.entry.hit.id for one in without}


def test_everybodys_grave_health_facts_come_in_tasks_for_several_people(entry: Callable[..., Ranked]) -> None:
    """A child's diabetes matters for a family dinner that does not mention it; not for a meal of one's own."""
    ill = entry(importance=10, subject_label="Tove", similarity=0.0)
    light = entry(importance=5, subject_label="Tove", similarity=0.0)
    domains, health = [*DOMAINS, "family"], (*HEALTH, 0)
    alone = replace(COOK, domains=domains, profile=np.array([*COOK.profile, 0], np.float32))
    family = replace(alone, is_for_household=True)
    assert told(ill, family, health) is not None
    assert told(ill, alone, health) is None
    assert told(light, family, health) is None
    assert kinds_to_find(family.profile, domains, is_for_household=True)[2] > 0
    assert kinds_to_find(family.profile, domains, is_for_household=False)[2] == 0


def test_a_prohibition_that_the_task_runs_into_is_a_warning(entry: Callable[..., Ranked]) -> None:
    given = {"kind": R, "maturity": "established"}
    assert told(entry(**given, content="Never commit to main."), CODE, CODING) is Claim.VITAL
    assert told(entry(**given, content="Indent with tabs."), CODE, CODING) is Claim.STANDING


def test_a_note_of_what_happened_is_no_standing_preference(entry: Callable[..., Ranked]) -> None:
    given: dict[str, Any] = {"importance": 4, "similarity": 0.1, "predicate_label": "note:0123456789ab"}
    weak = (0.6, 0.5, 0, 0, 0, 0)
    assert told(entry(**given), CODE, weak) is Claim.STANDING, "stored as it is"
    assert told(entry(**given, tags=("notes",)), CODE, weak) is None
    assert told(entry(**given, tags=("notes",), pinned=True), CODE, weak) is Claim.STANDING


def test_parts_of_a_briefing_are_settings(entry: Callable[..., Ranked]) -> None:
    rule, seen = entry(1, R, maturity="established"), entry(2, E, word_coverage=1.0)
    assert told(rule, CODE, CODING, replace(RULES, with_standing=False)) is None
    assert told(entry(3, R, pinned=True), CODE, CODING, replace(RULES, with_standing=False)) is Claim.STANDING
    assert told(seen, CODE, CODING, replace(RULES, with_episodes=False)) is None
    assert told(entry(4, importance=7, is_named=True), CODE, CODING, replace(RULES, vital_from=7)) is Claim.VITAL


def test_without_profiles_names_and_words_decide(entry: Callable[..., Ranked]) -> None:
    """Right after an upgrade no profiles exist."""
    assert choose([entry(is_named=True)], {}, CODE, RULES)
    assert not choose([entry(kind=R, maturity="proven")], {}, CODE, RULES)


def test_every_claim_has_words() -> None:
    assert set(CLAIM_WORDS) == set(Claim)
    assert [claim.name for claim in Claim] == ["VITAL", "RELEVANT", "STANDING", "RELATED", "RECENT"]


@settings(max_examples=50)
@given(order=st.permutations(range(6)))
def test_the_order_of_the_candidates_does_not_matter(entry: Callable[..., Ranked], order: list[int]) -> None:
    made = [
        entry(n + 1, F, subject_label="Ada", similarity=n / 10, word_score=n / 5, importance=n + 3) for n in range(6)
    ]
    profiles: dict[UUID, Sequence[float]] = {one.hit.id: CODING for one in made}

    def claims(lines: Sequence[Ranked]) -> set[tuple[UUID, Claim, float]]:
        found: list[Chosen] = choose(lines, profiles, CODE, RULES)
        return {(one.entry.hit.id, one.claim, one.usefulness) for one in found}

    assert claims([made[n] for n in order]) == claims(made)


def test_maturity_of_warnings(entry: Callable[..., Ranked]) -> None:
    """A warning needs less evidence than a rule to be told."""
    weak: dict[str, Any] = {"similarity": 0.3, "word_score": 0.45, "importance": 5}
    warning, rule = (
        entry(1, kind, maturity=maturity, **weak) for kind, maturity in ((R, Maturity.ANTI_PATTERN), (E, None))
    )
    assert told(warning, CHAT) is not None
    assert told(rule, CHAT) is None


def test_beside_a_strong_line_weak_ones_stay_out(entry: Callable[..., Ranked]) -> None:
    weak = entry(1, F, similarity=0.5, importance=5)
    strong = entry(2, F, similarity=0.8, word_score=1.5, is_named=True, importance=5)
    low = replace(RULES, min_usefulness=0.07)
    assert [one.entry.hit.id for one in choose([weak], {}, CHAT, low)] == [weak.hit.id]
    assert [one.entry.hit.id for one in choose([weak, strong], {}, CHAT, low)] == [strong.hit.id]
    answer = weak._replace(parts=weak.parts._replace(relevance=0.2))
    assert len(choose([answer, strong], {}, CHAT, low)) == 2, "it answers the words of the task"


def test_a_terse_task_is_told_what_fits_best(entry: Callable[..., Ranked]) -> None:
    """The minimum follows the best line; if even that one says next to nothing, the task is about nothing stored."""
    fair = entry(1, F, similarity=0.4, word_score=0.35, importance=6)
    near = entry(2, F, similarity=0.34, word_score=0.3, importance=6)
    clear = entry(3, F, similarity=0.7, word_score=1.5, importance=6)
    assert [one.entry for one in choose([fair, near], {}, CHAT, RULES)] == [fair, near]
    assert [one.entry for one in choose([fair, near, clear], {}, CHAT, RULES)] == [clear]
    faint = entry(4, F, similarity=0.3, importance=6)
    assert not choose([faint], {}, CHAT, RULES)


def test_a_preference_is_a_standing_line(entry: Callable[..., Ranked]) -> None:
    given: dict[str, Any] = {"importance": 5, "subject_label": "user", "similarity": 0.3}
    assert told(entry(**given, predicate_label="code_style"), CODE, CODING) is Claim.STANDING
    assert told(entry(**given, predicate_label="editor"), CODE, CODING) is Claim.RELEVANT
