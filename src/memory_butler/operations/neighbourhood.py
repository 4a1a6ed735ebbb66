"""Neighbourhood: what stands around a memory or a subject, two steps far. A pure read; nothing counts as used."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from memory_butler.butler import Butler
from memory_butler.errors import NotFound
from memory_butler.models import GLOBAL_SCOPE, Caller, Episode, Fact, Memory, Principal
from memory_butler.models.neighbourhood import (
    Beside,
    Joined,
    Neighbourhood,
    Spot,
    SpotKind,
    Subject,
    Tie,
    TieKind,
)
from memory_butler.models.neighbours import Kinship, Neighbour
from memory_butler.operations.look import require
from memory_butler.policy import reach
from memory_butler.policy.admission import (
    LABEL_CHARACTERS,
    NAME_CHARACTERS,
    clean_text,
    normal_name,
    parse_handle,
    whole_number,
)
from memory_butler.policy.roles import check_role
from memory_butler.store import links as joined_to
from memory_butler.store import neighbourhood as store
from memory_butler.store import neighbours
from memory_butler.store.database import Session

# What one map holds: more is neither seen nor clicked.
MOST_SPOTS = 70
LINKS_OF_THE_MIDDLE = 30
LINKS_BEYOND = 6
FACTS_OF_A_SUBJECT = 24
FACTS_BESIDE = 10
TURNS = 2
MOST_LINKS = 200
MOST_SUBJECTS = 100


@dataclass
class _Map:
    """Spots and ties in the order in which they are found; a spot that finds no room takes its tie with it."""

    spots: dict[str, Spot] = field(default_factory=dict)
    ties: dict[tuple[str, str, str], Tie] = field(default_factory=dict)
    more: bool = False

    def place(self, spot: Spot) -> bool:
        if spot.key in self.spots:
            return True
        if len(self.spots) >= MOST_SPOTS:
            self.more = True
            return False
        self.spots[spot.key] = spot
        return True

    def tie(self, source: Spot, target: Spot, relation: str) -> None:
        if self.place(source) and self.place(target):
            found = Tie(source=source.key, target=target.key, relation=relation)
            self.ties.setdefault((found.source, found.target, found.relation), found)

    def join(self, one: Spot, around: Sequence[Joined], most: int) -> None:
        self.more = self.more or len(around) > most
        for entry in around[:most]:
            outbound = entry.link.source_id == one.id
            source, target = (one, entry.other) if outbound else (entry.other, one)
            self.tie(source, target, entry.link.relation)

    def about(self, facts: Iterable[Spot]) -> None:
        for fact in facts:
            self.tie(fact, subject_of(fact), TieKind.ABOUT)

    def neighbourhood(self, hidden: int = 0) -> Neighbourhood:
        return Neighbourhood(
            spots=tuple(self.spots.values()), ties=tuple(self.ties.values()), more=self.more, hidden=hidden
        )


async def of_memory(butler: Butler, memory_type: str, handle: str, caller: Caller | None = None) -> Neighbourhood:
    """A memory in the middle; around it what it is linked to and what that is linked to, of a fact its subject with
    the other facts about it, of an episode the turns of its session."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "links")
    wanted = parse_handle(memory_type, handle)
    eyes, scopes = reach.eyes(caller.principal), _scopes(caller.principal)
    async with butler.database.read(caller.principal.tenant) as session:
        memory = await require(session, caller, wanted)
        middle = spot_of(memory)
        hidden = await joined_to.hidden(session, memory.id, eyes)
        near = (await store.links(session, [memory.id], eyes, LINKS_OF_THE_MIDDLE + 1))[memory.id]
        about = await _same_subject(session, memory, scopes)
        found = _Map()
        found.place(middle)
        found.join(middle, near, LINKS_OF_THE_MIDDLE)
        if isinstance(memory, Fact):
            others = [fact for fact in about if fact.id != memory.id]
            found.about([middle, *others[:FACTS_BESIDE]])
            found.more = found.more or len(others) > FACTS_BESIDE
        await _beyond(session, found, [entry.other for entry in near[:LINKS_OF_THE_MIDDLE]], eyes)
    if isinstance(memory, Episode) and memory.session_id:
        _follow(found, middle, await _turns(butler, caller, memory))
    return found.neighbourhood(hidden)


async def of_subject(butler: Butler, name: str, caller: Caller | None = None) -> Neighbourhood:
    """A subject in the middle; around it the facts about it, and what those are linked to."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "links")
    wanted = normal_name(clean_text(name, "subject", NAME_CHARACTERS))
    eyes = reach.eyes(caller.principal)
    async with butler.database.read(caller.principal.tenant) as session:
        facts = await store.facts(session, [wanted], _scopes(caller.principal), FACTS_OF_A_SUBJECT + 1)
        if not facts:
            raise NotFound(
                f"There is no fact about {name.strip()[:80]!r}.",
                recovery="Look for it under another name, or choose one of the subjects that are known.",
            )
        found = _Map(more=len(facts) > FACTS_OF_A_SUBJECT)
        found.place(subject_of(facts[0]))
        found.about(facts[:FACTS_OF_A_SUBJECT])
        await _beyond(session, found, facts[:FACTS_OF_A_SUBJECT], eyes)
    return found.neighbourhood()


async def beside(butler: Butler, memory_type: str, handle: str, caller: Caller | None = None) -> Beside:
    """The links of a memory in both directions, the newest first, with the beginning of what they lead to."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "links")
    wanted, eyes = parse_handle(memory_type, handle), reach.eyes(caller.principal)
    async with butler.database.read(caller.principal.tenant) as session:
        memory = await require(session, caller, wanted)
        around = (await store.links(session, [memory.id], eyes, MOST_LINKS + 1))[memory.id]
        hidden = await joined_to.hidden(session, memory.id, eyes)
    return Beside(memory=memory.id, joined=tuple(around[:MOST_LINKS]), hidden=hidden, more=len(around) > MOST_LINKS)


async def subjects(
    butler: Butler, caller: Caller | None = None, *, words: str | None = None, limit: int = 12
) -> list[Subject]:
    """The subjects with the most facts in use; with words, those that are called so."""
    caller = caller or butler.local_caller()
    check_role(caller.principal, "list_memories")
    wanted = clean_text(words, "words", LABEL_CHARACTERS) if words else None
    most = whole_number(limit, "limit", 1, MOST_SUBJECTS)
    async with butler.database.read(caller.principal.tenant) as session:
        return await store.subjects(session, wanted, _scopes(caller.principal), most)


def spot_of(memory: Memory) -> Spot:
    """A memory as it stands on the map."""
    of_fact = {}
    at = memory.observed_at if isinstance(memory, Episode) else memory.created_at
    if isinstance(memory, Fact):
        at = memory.valid_at or memory.created_at
        of_fact = {name: getattr(memory, name) for name in ("subject", "subject_label", "predicate_label")}
    return Spot(
        kind=SpotKind(memory.type),
        id=memory.id,
        ref=memory.ref,
        content=memory.content[: store.CHARACTERS],
        validity=memory.validity,
        at=at,
        **of_fact,
    )


def subject_of(fact: Spot) -> Spot:
    """What a fact is about."""
    return Spot(kind=SpotKind.SUBJECT, subject=fact.subject, subject_label=fact.subject_label)


async def _beyond(session: Session, found: _Map, near: Sequence[Spot], eyes: str | None) -> None:
    """One step further: what the neighbours are linked to, and which subjects the facts among all of these have."""
    there = {spot.id: spot for spot in near if spot.id and not spot.is_gone and spot.key in found.spots}
    for one, around in (await store.links(session, list(there), eyes, LINKS_BEYOND + 1)).items():
        found.join(there[one], around, LINKS_BEYOND)
    found.about([spot for spot in found.spots.values() if spot.kind is SpotKind.FACT])


async def _turns(butler: Butler, caller: Caller, memory: Memory) -> Sequence[Neighbour]:
    asked = neighbours.Around(
        ids=[memory.id],
        expand=TURNS,
        reach=reach.readable(caller.principal, None, None),
        min_confidence=0.0,
        now=butler.clock(),
    )
    [found] = await neighbours.around(butler.database, caller.principal.tenant, asked)
    return found


def _follow(found: _Map, middle: Spot, turns: Sequence[Neighbour]) -> None:
    """Each turn of a session follows the one before it."""
    before = [_turn(one) for one in turns if one.relation is Kinship.BEFORE]
    after = [_turn(one) for one in turns if one.relation is Kinship.AFTER]
    line = [*before, middle, *after]
    for earlier, later in pairwise(line):
        found.tie(later, earlier, TieKind.FOLLOWS)


def _turn(neighbour: Neighbour) -> Spot:
    return Spot(
        kind=SpotKind.EPISODE,
        id=neighbour.id,
        ref=neighbour.ref,
        content=(neighbour.content or "")[: store.CHARACTERS],
        validity="active",
        at=neighbour.observed_at,
    )


async def _same_subject(session: Session, memory: Memory, scopes: Sequence[str] | None) -> list[Spot]:
    """One more than there is room for, beside the fact itself."""
    return await store.facts(session, [memory.subject], scopes, FACTS_BESIDE + 2) if isinstance(memory, Fact) else []


def _scopes(principal: Principal) -> tuple[str, str] | None:
    eyes = reach.eyes(principal)
    return None if eyes is None else (GLOBAL_SCOPE, eyes)
