"""The graph around a memory or a subject, two steps deep. A pure read that counts no references."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from memory_butler.english.text.normalize import normal_name
from memory_butler.errors import NotFound
from memory_butler.models import GLOBAL_SCOPE, Caller, Episode, Fact, Memory, Principal
from memory_butler.models.graph import Edge, EdgeKind, LinkedNode, MemoryGraph, MemoryLinks, Node, NodeKind, Subject
from memory_butler.models.neighbours import Neighbour, NeighbourRelation
from memory_butler.operations.retrieval.named_memory import require
from memory_butler.policy.access import visibility
from memory_butler.policy.memories.validation import (
    LABEL_CHARACTERS,
    NAME_CHARACTERS,
    clean_text,
    parse_handle,
    whole_number,
)
from memory_butler.resources import Resources, on_replica
from memory_butler.store.browse import graph as store
from memory_butler.store.gate.database import Transaction
from memory_butler.store.memories import links as joined_to
from memory_butler.store.retrieval import neighbours

# Limits of one graph: more nodes cannot be read or clicked.
MAX_NODES = 70
CENTER_LINKS = 30
OUTER_LINKS = 6
SUBJECT_FACTS = 24
SIBLING_FACTS = 10
TURNS = 2
MAX_LINKS = 200
MAX_SUBJECTS = 100


@dataclass
class _GraphBuilder:
    """Collects nodes and edges in the order found. An edge to a node beyond the limit is dropped."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], Edge] = field(default_factory=dict)
    more: bool = False

    def add_node(self, node: Node) -> bool:
        if node.key in self.nodes:
            return True
        if len(self.nodes) >= MAX_NODES:
            self.more = True
            return False
        self.nodes[node.key] = node
        return True

    def add_edge(self, source: Node, target: Node, relation: str) -> None:
        if self.add_node(source) and self.add_node(target):
            edge = Edge(source=source.key, target=target.key, relation=relation)
            self.edges.setdefault((edge.source, edge.target, edge.relation), edge)

    def add_links(self, node: Node, linked: Sequence[LinkedNode], limit: int) -> None:
        self.more = self.more or len(linked) > limit
        for entry in linked[:limit]:
            outbound = entry.link.source_id == node.id
            source, target = (node, entry.other) if outbound else (entry.other, node)
            self.add_edge(source, target, entry.link.relation)

    def add_subjects(self, facts: Iterable[Node]) -> None:
        for fact in facts:
            self.add_edge(fact, subject_node(fact), EdgeKind.ABOUT)

    def build(self, hidden: int = 0) -> MemoryGraph:
        return MemoryGraph(
            nodes=tuple(self.nodes.values()), edges=tuple(self.edges.values()), more=self.more, hidden=hidden
        )


@on_replica
async def memory_graph(
    resources: Resources, memory_type: str, handle: str, caller: Caller | None = None
) -> MemoryGraph:
    """Returns a memory with the memories within two links; for a fact also its subject and the subject's other facts,
    for an episode the neighbouring turns of its agent session."""
    caller = resources.allowed(caller, "links")
    wanted = parse_handle(memory_type, handle)
    viewer, scopes = visibility.viewer(caller.principal), visible_scopes(caller.principal)
    async with resources.database.read(caller.principal.tenant) as transaction:
        memory = await require(transaction, caller, wanted)
        center = node_of(memory)
        hidden = await joined_to.hidden(transaction, memory.id, viewer)
        near = (await store.links(transaction, [memory.id], viewer, CENTER_LINKS + 1))[memory.id]
        about = await _same_subject(transaction, memory, scopes)
        builder = _GraphBuilder()
        builder.add_node(center)
        builder.add_links(center, near, CENTER_LINKS)
        if isinstance(memory, Fact):
            others = [fact for fact in about if fact.id != memory.id]
            builder.add_subjects([center, *others[:SIBLING_FACTS]])
            builder.more = builder.more or len(others) > SIBLING_FACTS
        await _add_outer(transaction, builder, [entry.other for entry in near[:CENTER_LINKS]], viewer)
    if isinstance(memory, Episode) and memory.session_id:
        _add_turns(builder, center, await _turns(resources, caller, memory))
    return builder.build(hidden)


@on_replica
async def subject_graph(resources: Resources, name: str, caller: Caller | None = None) -> MemoryGraph:
    """Returns a subject with the facts about it, and the memories linked to those."""
    caller = resources.allowed(caller, "links")
    wanted = normal_name(clean_text(name, "subject", NAME_CHARACTERS))
    viewer = visibility.viewer(caller.principal)
    async with resources.database.read(caller.principal.tenant) as transaction:
        facts = await store.facts(transaction, [wanted], visible_scopes(caller.principal), SUBJECT_FACTS + 1)
        if not facts:
            raise NotFound(
                f"There is no fact about {name.strip()[:80]!r}.",
                recovery="Try another name, or choose one of the listed subjects.",
            )
        builder = _GraphBuilder(more=len(facts) > SUBJECT_FACTS)
        builder.add_node(subject_node(facts[0]))
        builder.add_subjects(facts[:SUBJECT_FACTS])
        await _add_outer(transaction, builder, facts[:SUBJECT_FACTS], viewer)
    return builder.build()


@on_replica
async def memory_links(
    resources: Resources, memory_type: str, handle: str, caller: Caller | None = None
) -> MemoryLinks:
    """Returns the links of a memory in both directions, newest first, with the start of the linked content."""
    caller = resources.allowed(caller, "links")
    wanted, viewer = parse_handle(memory_type, handle), visibility.viewer(caller.principal)
    async with resources.database.read(caller.principal.tenant) as transaction:
        memory = await require(transaction, caller, wanted)
        linked = (await store.links(transaction, [memory.id], viewer, MAX_LINKS + 1))[memory.id]
        hidden = await joined_to.hidden(transaction, memory.id, viewer)
    return MemoryLinks(memory=memory.id, joined=tuple(linked[:MAX_LINKS]), hidden=hidden, more=len(linked) > MAX_LINKS)


@on_replica
async def subjects(
    resources: Resources, caller: Caller | None = None, *, words: str | None = None, limit: int = 12
) -> list[Subject]:
    """Returns the subjects with the most live facts, optionally only those whose name contains the words."""
    caller = resources.allowed(caller, "list_memories")
    wanted = clean_text(words, "words", LABEL_CHARACTERS) if words else None
    limit = whole_number(limit, "limit", 1, MAX_SUBJECTS)
    async with resources.database.read(caller.principal.tenant) as transaction:
        return await store.subjects(transaction, wanted, visible_scopes(caller.principal), limit)


def node_of(memory: Memory) -> Node:
    fact_fields = {}
    at = memory.observed_at if isinstance(memory, Episode) else memory.created_at
    if isinstance(memory, Fact):
        at = memory.valid_at or memory.created_at
        fact_fields = {name: getattr(memory, name) for name in ("subject", "subject_label", "predicate_label")}
    return Node(
        kind=NodeKind(memory.type),
        id=memory.id,
        ref=memory.ref,
        content=memory.content[: store.CHARACTERS],
        validity=memory.validity,
        at=at,
        **fact_fields,
    )


def subject_node(fact: Node) -> Node:
    return Node(kind=NodeKind.SUBJECT, subject=fact.subject, subject_label=fact.subject_label)


async def _add_outer(
    transaction: Transaction, builder: _GraphBuilder, near: Sequence[Node], viewer: str | None
) -> None:
    """Add the links of the neighbours, and the subjects of all facts in the graph."""
    present = {node.id: node for node in near if node.id and not node.is_gone and node.key in builder.nodes}
    for memory_id, linked in (await store.links(transaction, list(present), viewer, OUTER_LINKS + 1)).items():
        builder.add_links(present[memory_id], linked, OUTER_LINKS)
    builder.add_subjects([node for node in builder.nodes.values() if node.kind is NodeKind.FACT])


async def _turns(resources: Resources, caller: Caller, memory: Memory) -> Sequence[Neighbour]:
    request = neighbours.Around(
        ids=[memory.id],
        expand=TURNS,
        reach=visibility.readable(caller.principal, None, None),
        min_confidence=0.0,
        now=resources.clock(),
    )
    [turns] = await neighbours.around(resources.database, caller.principal.tenant, request)
    return turns


def _add_turns(builder: _GraphBuilder, center: Node, turns: Sequence[Neighbour]) -> None:
    """Add an edge from each turn of the agent session to the one before it."""
    before = [_turn(one) for one in turns if one.relation is NeighbourRelation.BEFORE]
    after = [_turn(one) for one in turns if one.relation is NeighbourRelation.AFTER]
    for earlier, later in pairwise([*before, center, *after]):
        builder.add_edge(later, earlier, EdgeKind.FOLLOWS)


def _turn(neighbour: Neighbour) -> Node:
    return Node(
        kind=NodeKind.EPISODE,
        id=neighbour.id,
        ref=neighbour.ref,
        content=(neighbour.content or "")[: store.CHARACTERS],
        validity="active",
        at=neighbour.observed_at,
    )


async def _same_subject(transaction: Transaction, memory: Memory, scopes: Sequence[str] | None) -> list[Node]:
    """Returns the facts of the same subject: the fact itself, and one more than the limit."""
    return (
        await store.facts(transaction, [memory.subject], scopes, SIBLING_FACTS + 2) if isinstance(memory, Fact) else []
    )


def visible_scopes(principal: Principal) -> tuple[str, str] | None:
    """The scopes whose facts and rules a caller may see; None: all."""
    viewer = visibility.viewer(principal)
    return None if viewer is None else (GLOBAL_SCOPE, viewer)
