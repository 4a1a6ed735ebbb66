"""Find memories for a list: the search that agents use, then the memories that contain the stems of the words."""

from dataclasses import dataclass, replace
from uuid import UUID

from memory_butler.errors import DeadlinePassed, OverloadRejected, TargetUnavailable
from memory_butler.models import LIVE, Caller, Fact, MemoryType, Question
from memory_butler.models.listings import ListedMemory, Listing, Sort
from memory_butler.operations.browse import listings
from memory_butler.operations.retrieval import search
from memory_butler.policy.memories.validation import SEARCH_LIMIT
from memory_butler.policy.retrieval.highlight import has_words, word_stems
from memory_butler.resources import Resources

# Memories that only contain the words, after those that the search found.
MAX_LITERAL = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The memories, best match first. `with_words` of them have words of the question, the others are only close in
    meaning. `more` says that further memories contain the words."""

    items: tuple[ListedMemory, ...]
    with_words: int
    more: bool


async def find(resources: Resources, listing: Listing, caller: Caller | None = None) -> Found:
    """Returns the best matches for the words of a listing that also have its filters.

    The search knows memories in use only; others are found by their words alone. Nothing counts as referenced.
    """
    caller = resources.allowed(caller, "list_memories")
    query = listing.words or ""
    ranked = await _search(resources, listing, query, caller) if _is_searched(listing) else []
    wanted = replace(listing, words=None, sort=Sort.CREATED, descending=True)
    best: list[ListedMemory] = []
    if ranked:
        page = await listings.memories(resources, replace(wanted, ids=tuple(ranked)), caller, limit=SEARCH_LIMIT)
        places = {id: place for place, id in enumerate(ranked)}
        best = sorted(page.items, key=lambda one: places[one.memory.id])
    wanted = replace(wanted, words=word_stems(query))
    literal = await listings.memories(resources, wanted, caller, limit=MAX_LITERAL)
    known = {one.memory.id for one in best}
    others = [one for one in literal.items if one.memory.id not in known]
    # The words themselves before what is only close in meaning.
    worded = [one for one in best if has_words(_text(one), query)]
    close = [one for one in best if not has_words(_text(one), query)]
    items = (*worded, *others, *close)[:SEARCH_LIMIT]
    return Found(items=items, with_words=len(worded) + len(others), more=literal.cursor is not None)


def _is_searched(listing: Listing) -> bool:
    states = set(listing.validity)
    return not states or not states.isdisjoint(LIVE)


async def _search(resources: Resources, listing: Listing, query: str, caller: Caller) -> list[UUID]:
    kinds = listings.kinds_of(listing)
    if not kinds:
        return []
    question = Question(
        query=query,
        types=tuple(str(kind) for kind in kinds),
        scope=listing.scope,
        butler=listing.butler if kinds == (MemoryType.EPISODE,) else None,
        tags=listing.tags,
        limit=SEARCH_LIMIT,
        min_confidence=0.0,
    )
    try:
        answer = await search.search(resources, question, caller, bump=False)
    except (TargetUnavailable, DeadlinePassed, OverloadRejected):
        # The words are looked up all the same.
        return []
    return [one.hit.id for one in answer.results]


def _text(one: ListedMemory) -> str:
    memory = one.memory
    about = f"{memory.subject_label} {memory.predicate_label} " if isinstance(memory, Fact) else ""
    return f"{about}{memory.content} {' '.join(memory.tags)}"
