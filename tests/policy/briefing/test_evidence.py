"""Evidence that a task needs a memory."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_butler.models import MemoryType, Ranked
from memory_butler.policy.briefing.evidence import WEIGHTS, Evidence, evidence_of, usefulness
from memory_butler.policy.briefing.task import Task

F, R = MemoryType.FACT, MemoryType.RULE
DOMAINS = ["code", "food", "health", "answer_style", "travel", "sport"]


def task(*profile: float, names: Sequence[str] = (), is_first_person: bool = False) -> Task:
    values = np.array([*profile, *[0.0] * (len(DOMAINS) - len(profile))], np.float32)
    return Task(
        profile=values,
        domains=DOMAINS,
        names=frozenset(names),
        user_names=frozenset({"lena"}),
        is_first_person=is_first_person,
    )


CODE, ILL = task(1.2, 0, 0, 0), task(0, 0, 1.2, 0, is_first_person=True)
CODING, HEALTH = (1.4, 0, 0, 0, 0, 0), (0, 0.1, 1.4, 0, 0, 0)


def test_the_health_of_others_does_not_matter_for_ones_own(entry: Callable[..., Ranked]) -> None:
    hits = [entry(n, F, subject_label=who).hit for n, who in ((1, "user"), (2, "Renate"), (3, "Lena"))]
    profiles = {hit.id: HEALTH for hit in hits}
    assert [one.of_another for one in evidence_of(hits, profiles, ILL)] == [0, 1, 0], "Lena is the user"
    at_table = replace(ILL, profile=np.array([0, 1.0, 1.2, 0, 0, 0], np.float32))
    assert [one.of_another for one in evidence_of(hits, profiles, at_table)] == [0, 0, 0]
    for_renate = replace(ILL, names=frozenset({"renate"}))
    named = [hits[0], hits[1]._replace(is_named=True)]
    assert [one.of_another for one in evidence_of(named, profiles, for_renate)] == [0, 0], "Lena asks for both"
    by_somebody = replace(for_renate, is_first_person=False)
    assert [one.of_another for one in evidence_of(named, profiles, by_somebody)] == [1, 0]


def test_grave_facts_about_health_come_along_on_a_trip(entry: Callable[..., Ranked]) -> None:
    """A trip with the family does not ask for the asthma; importance decides, and code does not travel."""
    trip = task(0, 0, 0, 0, 1.0, 0)
    grave, light, code = (entry(n, F, importance=i) for n, i in ((1, 9), (2, 5), (3, 9)))
    profiles = {grave.hit.id: HEALTH, light.hit.id: HEALTH, code.hit.id: CODING}
    hits = [grave.hit, light.hit, code.hit]
    assert [one.care for one in evidence_of(hits, profiles, trip)] == [1, 0, 0]
    assert [one.care for one in evidence_of(hits, profiles, CODE)] == [0, 0, 0]


def test_what_is_about_other_things_stays_out_of_a_task_that_names_its_own(entry: Callable[..., Ranked]) -> None:
    """A rule for one project is no rule for another; without a name in the task a fact of the kind of work may be."""
    pantry = entry(1, F, subject_label="Pantry", importance=5)
    other = entry(2, F, subject_label="Kestrel", is_named=True)
    rule = entry(3, R, content="In Pantry use pnpm.", maturity="established")
    named = task(1.2, 0, 0, 0, names=["kestrel"])
    evidence = evidence_of([pantry.hit, other.hit, rule.hit], {}, named)
    assert [one.elsewhere for one in evidence] == [1, 0, 1]
    evidence = evidence_of([pantry.hit, other.hit, rule.hit], {}, CODE)
    assert [one.elsewhere for one in evidence] == [0, 0, 1]


SIGNALS = len(Evidence._fields)


@settings(max_examples=100)
@given(values=st.lists(st.floats(0, 1), min_size=SIGNALS, max_size=SIGNALS), place=st.integers(0, SIGNALS - 1))
def test_more_evidence_never_speaks_against_a_memory(values: list[float], place: int) -> None:
    """Each signal moves usefulness in the direction of its weight."""
    before, more = Evidence(*values), list(values)
    more[place] += 1
    change = usefulness(Evidence(*more)) - usefulness(before)
    assert change == 0 or (change > 0) == (WEIGHTS[place] > 0)


def test_a_task_for_the_children_concerns_the_children(entry: Callable[..., Ranked]) -> None:
    """Their health speaks for a memory, that of grown-ups and employees against it. Who is unknown may be a child."""
    told = [
        ("Tove", "Tove, Lena's daughter, has diabetes."),
        ("Renate", "Renate, Lena's mother, takes a blood thinner."),
        ("Juan", "Juan is the apprentice and has asthma."),
        ("user", "Lena is allergic to penicillin."),
        ("Kim", "Kim has epilepsy."),
    ]
    hits = [entry(n, subject_label=who, content=text, importance=9).hit for n, (who, text) in enumerate(told, 1)]
    profiles = {hit.id: (*HEALTH, 0) for hit in hits}
    trip = replace(task(0, 0, 0, 0, 1.0, 0), domains=[*DOMAINS, "family"])
    trip = replace(trip, profile=np.array([*trip.profile, 1.0], np.float32), is_for_household=True)
    family = evidence_of(hits, profiles, trip)
    assert [one.care for one in family] == [1, 1, 0, 1, 1]
    assert [one.of_another for one in family] == [0, 0, 1, 0, 0]
    children = evidence_of(hits, profiles, replace(trip, is_for_children=True))
    assert [one.care for one in children] == [1, 0, 0, 0, 1]
    assert [one.of_another for one in children] == [0, 1, 1, 1, 0]


def test_a_preference_of_the_user_counts_as_half_a_rule(entry: Callable[..., Ranked]) -> None:
    subjects = [("user", "code_style"), ("Lena", "prefers_indentation"), ("Georg", "code_style"), ("user", "editor")]
    hits = [entry(n, subject_label=who, predicate_label=what).hit for n, (who, what) in enumerate(subjects, 1)]
    hits.append(entry(5, R).hit)
    found = evidence_of(hits, {hit.id: CODING for hit in hits}, CODE)
    assert [round(one.rule_for_kind, 6) for one in found] == [0.5, 0.5, 0, 0, 1]
