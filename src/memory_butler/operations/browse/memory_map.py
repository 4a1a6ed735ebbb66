"""The map of a store: subjects, the facts about them, their relations, and rules. A pure read."""

from dataclasses import dataclass

from memory_butler.models import Caller
from memory_butler.models.graph import MapRelation, MemoryMap, NodeKind
from memory_butler.operations.browse.graph import visible_scopes
from memory_butler.policy.memories.relations import relation_of
from memory_butler.resources import Resources, on_replica
from memory_butler.store.browse import graph as store

# A picture can show, and a browser draw smoothly, 2,000 nodes in all.
MAX_SUBJECTS = 300
MAX_FACTS = 1_500
MAX_RULES = 200
FACTS_EACH = 40


@dataclass(frozen=True, slots=True)
class MapSize:
    """The largest number of each in a map; `each` is the number of facts of one subject."""

    subjects: int = MAX_SUBJECTS
    facts: int = MAX_FACTS
    rules: int = MAX_RULES
    each: int = FACTS_EACH


WHOLE, DIGEST = MapSize(), MapSize(subjects=36, facts=300, rules=24, each=30)


@on_replica
async def memory_map(resources: Resources, caller: Caller | None = None, *, size: MapSize | None = None) -> MemoryMap:
    """The largest subjects with their most important facts, the newest rules, and facts that relate two subjects."""
    caller, size = resources.allowed(caller, "links"), size or WHOLE
    scopes = visible_scopes(caller.principal)
    async with resources.database.read(caller.principal.tenant) as transaction:
        subjects = await store.subjects(transaction, None, scopes, size.subjects)
        names = [one.subject for one in subjects]
        memories = await store.map_memories(
            transaction, names, scopes, each=size.each, limit=size.facts, rules=size.rules
        )
        aliases = await store.map_aliases(transaction, names)
        totals = await store.map_totals(transaction, scopes)
    known = aliases | {name: name for name in names}
    relations = []
    for one in memories:
        if one.kind is NodeKind.FACT and one.subject and one.predicate:
            found = relation_of(one.subject, one.predicate, one.content, known)
            if found:
                relations.append(MapRelation(source=one.subject, target=found.other, label=found.label, ref=one.ref))
    return MemoryMap(
        subjects=tuple(subjects),
        memories=tuple(memories),
        relations=tuple(relations),
        total_subjects=totals["subjects"],
        total_memories=totals["memories"],
    )
