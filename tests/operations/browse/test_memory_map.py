"""The map of a store: bounded, and only what the caller may see."""

from collections.abc import Callable

from tests.operations.conftest import second_tenant

from memory_butler.models import Caller, NewFact, NewRule
from memory_butler.models.graph import NodeKind
from memory_butler.operations.browse.memory_map import MapSize, memory_map
from memory_butler.operations.writing import forget, remember
from memory_butler.resources import Resources


async def fact(resources: Resources, subject: str, predicate: str, content: str, **given: object) -> str:
    new = NewFact(subject=subject, predicate=predicate, content=content, **given)  # type: ignore[arg-type]
    return (await remember.fact(resources, new)).ref


async def test_subjects_facts_relations_and_rules(resources: Resources) -> None:
    await fact(resources, "Ana", "employer", "Olaria Sul")
    await fact(resources, "Ana", "birthday", "12 June")
    await fact(resources, "Olaria Sul", "city", "Porto", aliases=("the pottery",))
    await fact(resources, "Bruno", "works at", "The Pottery")
    await remember.rule(resources, NewRule(content="Ask before you book."))
    gone = await fact(resources, "Ana", "car", "red")
    await forget.forget(resources, "fact", gone)
    found = await memory_map(resources)
    assert found.subjects[0].label == "Ana"
    assert {(one.label, one.facts) for one in found.subjects} == {("Ana", 2), ("Bruno", 1), ("Olaria Sul", 1)}
    assert {(one.source, one.label, one.target) for one in found.relations} == {
        ("ana", "employer", "olaria_sul"),
        ("bruno", "works at", "olaria_sul"),
    }
    assert sum(one.kind is NodeKind.RULE for one in found.memories) == 1
    assert (found.total_subjects, found.total_memories) == (3, 5)


async def test_the_limits_keep_the_most_important(resources: Resources) -> None:
    for number in range(4):
        await fact(resources, "Ana", f"number {number}", str(number), importance=number + 1)
    await fact(resources, "Bruno", "drink", "tea")
    found = await memory_map(resources, size=MapSize(subjects=1, each=2))
    assert [one.content for one in found.memories] == ["3", "2"]
    assert (len(found.subjects), found.total_subjects, found.total_memories) == (1, 2, 5)


async def test_nothing_of_other_butlers_and_tenants(resources: Resources, agent: Callable[..., Caller]) -> None:
    await fact(resources, "Ana", "diagnosis", "asthma", scope="health")
    await remember.rule(resources, NewRule(content="Only for health.", scope="health"))
    assert len((await memory_map(resources, agent("health"))).memories) == 2
    assert (await memory_map(resources, agent("work"))).total_memories == 0
    assert (await memory_map(second_tenant(resources))).memories == ()
