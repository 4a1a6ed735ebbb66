"""Adds notes to a checked proposal: what the distiller left out, in the person's own words."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from memory_butler.ai.salience import load_salience
from memory_butler.models import Batch, CheckedProposal, Item, MemoryType
from memory_butler.operations.retrieval.indexing import Entry, embed_entries, index_embedded
from memory_butler.policy.briefing.domains import Vectors
from memory_butler.policy.consolidation.notes import Candidate, NoteRules, candidates, chosen
from memory_butler.policy.consolidation.salience import SalienceModel
from memory_butler.policy.consolidation.told_twice import tell_once
from memory_butler.resources import Resources
from memory_butler.store.retrieval.search_index import Indexed


class Notes(NamedTuple):
    """The notes of a batch with their index entries, which the salience was computed from. `told` are the items that
    stay beside them."""

    told: Sequence[Item]
    items: Sequence[Item] = ()
    entries: Sequence[Indexed] = ()


async def find_notes(resources: Resources, batch: Batch, checked: CheckedProposal) -> Notes:
    """Returns the sentences worth keeping that no accepted item says. Each is embedded once, also if it is stored."""
    settings = resources.settings.consolidation.notes
    items = [item for _, item in checked.items]
    if not settings.enabled:
        return Notes(items)
    found = await asyncio.to_thread(candidates, batch, items)
    if not found:
        return Notes(items)
    model = await asyncio.to_thread(load_salience)
    vectors = await embed_entries(resources, [note_entry(one.item) for one in found])
    rules = NoteRules(
        hand_from=settings.hand_from,
        session_from=settings.session_from,
        chat_from=settings.chat_from,
        sure_from=settings.sure_from,
        chat_most=settings.chat_most,
    )
    judged = [(one, _probability(model, one, own)) for one, own in zip(found, vectors, strict=True)]
    told, kept = tell_once(items, chosen(judged, rules))
    if resources.database.encryption:
        # The index of an encrypted note is not the text that it was judged by.
        return Notes(told, kept)
    by_name = {(one.item.subject, one.item.predicate): own for one, own in zip(found, vectors, strict=True)}
    joined = [item for item in kept if (item.subject, item.predicate) not in by_name]
    more = await embed_entries(resources, [note_entry(item) for item in joined])
    by_name |= {(item.subject, item.predicate): own for item, own in zip(joined, more, strict=True)}
    own_vectors = [by_name[item.subject, item.predicate] for item in kept]
    return Notes(told, kept, await index_embedded(resources, [note_entry(item) for item in kept], own_vectors))


def note_entry(item: Item) -> Entry:
    return Entry(MemoryType.FACT, item.content, item.tags, item.subject, item.predicate)


def _probability(model: SalienceModel, one: Candidate, vectors: Vectors) -> float:
    return model.probability(one.features, np.mean(vectors, axis=0, dtype=np.float32))
