"""Everything about one subject: its facts by property, its other names, and the subjects that they name."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory_butler.english.text.normalize import as_words, normal_name
from memory_butler.errors import NotFound
from memory_butler.models import EVERY_SCOPE, GLOBAL_SCOPE, LIVE, Caller, Fact, MemoryType
from memory_butler.models.graph import Subject
from memory_butler.models.listings import ListedMemory, Listing
from memory_butler.operations.browse import graph, listings
from memory_butler.policy.access import visibility
from memory_butler.policy.memories.validation import NAME_CHARACTERS, clean_text
from memory_butler.policy.retrieval.highlight import names_in
from memory_butler.resources import Resources, on_replica
from memory_butler.store.memories import aliases


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A fact that names another subject: `label` names it in words."""

    subject: str
    label: str
    fact: Fact
    outbound: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectProfile:
    """`facts` are in use, the newest first; `former` are not any more. `more` says that not all are here."""

    subject: str
    label: str
    facts: tuple[ListedMemory, ...]
    former: tuple[ListedMemory, ...]
    aliases: tuple[str, ...]
    relations: tuple[Relation, ...]
    more: bool


@on_replica
async def subject_profile(resources: Resources, name: str, caller: Caller | None = None) -> SubjectProfile:
    """Returns what is known about a subject, up to 100 facts."""
    caller = resources.allowed(caller, "list_memories")
    wanted = normal_name(clean_text(name, "subject", NAME_CHARACTERS))
    scope = EVERY_SCOPE if caller.principal.role.governs else None
    listing = Listing(type=MemoryType.FACT, subject=wanted, scope=scope)
    page = await listings.memories(resources, listing, caller, limit=listings.MAX_LIMIT)
    if not page.items:
        raise NotFound(f"There is no fact about {name.strip()[:80]!r}.", recovery="Choose one of the listed subjects.")
    facts = [one for one in page.items if isinstance(one.memory, Fact)]
    live = tuple(one for one in facts if one.memory.validity in LIVE)
    label = (live or tuple(facts))[0].memory
    assert isinstance(label, Fact)
    viewer = visibility.viewer(caller.principal)
    async with resources.database.read(caller.principal.tenant) as transaction:
        names = await aliases.of_subject(transaction, wanted, None if viewer is None else (GLOBAL_SCOPE, viewer))
    known = await graph.subjects(resources, caller, limit=graph.MAX_SUBJECTS)
    return SubjectProfile(
        subject=wanted,
        label=label.subject_label,
        facts=live,
        former=tuple(one for one in facts if one.memory.validity not in LIVE),
        aliases=tuple(names),
        relations=(
            *_outbound(live, wanted, known),
            *await _inbound(resources, caller, scope, wanted, label.subject_label),
        ),
        more=page.cursor is not None,
    )


def _outbound(facts: Sequence[ListedMemory], subject: str, known: Sequence[Subject]) -> list[Relation]:
    """The facts whose value names a known subject."""
    labels = {one.subject: as_words(one.label) for one in known if one.subject != subject}
    return [
        Relation(subject=other, label=labels[other], fact=one.memory, outbound=True)
        for one in facts
        if isinstance(one.memory, Fact)
        for other in names_in(one.memory.content, labels)
    ]


async def _inbound(resources: Resources, caller: Caller, scope: str | None, subject: str, label: str) -> list[Relation]:
    """The facts of other subjects whose value names this one."""
    listing = Listing(
        type=MemoryType.FACT, words=as_words(label), scope=scope, validity=tuple(str(one) for one in LIVE)
    )
    page = await listings.memories(resources, listing, caller, limit=listings.DEFAULT_LIMIT)
    return [
        Relation(subject=one.memory.subject, label=one.memory.subject_label, fact=one.memory, outbound=False)
        for one in page.items
        if isinstance(one.memory, Fact)
        and one.memory.subject != subject
        and names_in(one.memory.content, {subject: as_words(label)})
    ]
