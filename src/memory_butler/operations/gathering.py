"""Gathering: what a distiller is given besides the episodes themselves."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from memory_butler.butler import Butler
from memory_butler.models import GLOBAL_SCOPE, Batch, Caller, Episode, Hit, Known, Maturity, MemoryType, Question, Role
from memory_butler.operations.find import find
from memory_butler.policy.served import line_hashes, without_served
from memory_butler.store import consolidation

ASKED_AT_ONCE = 4
# As much of an episode as a search makes use of.
ASKED_CHARACTERS = 2_000


async def gather(butler: Butler, shard: Caller, episodes: Sequence[Episode], *, with_known: bool) -> Batch:
    """Episodes less what the memory served itself and, if it is wanted, what is known that bears on them."""
    hashes = {digest for episode in episodes for digest in line_hashes(episode.content)}
    # What another butler keeps to itself cannot have been served to this one.
    scopes = (shard.principal.butler, GLOBAL_SCOPE)
    async with butler.database.read(shard.principal.tenant) as session:
        stored = await consolidation.stored_hashes(session, hashes, scopes) if hashes else set()
    texts = {episode.id: without_served(episode.content, stored) for episode in episodes}
    return Batch(
        butler=shard.principal.butler,
        episodes=tuple(episodes),
        texts=texts,
        known=await known_about(butler, shard, list(texts.values())) if with_known else (),
        now=butler.clock(),
    )


async def known_about(butler: Butler, shard: Caller, texts: Sequence[str]) -> tuple[Known, ...]:
    """What is known that bears on each of these texts: a search for each, as the butler itself would make it."""
    most = butler.settings.consolidation.known
    caller = replace(shard, principal=replace(shard.principal, role=Role.AGENT))
    gate = asyncio.Semaphore(ASKED_AT_ONCE)

    async def search(text: str) -> list[Hit]:
        question = Question(query=text[:ASKED_CHARACTERS], types=(MemoryType.FACT, MemoryType.RULE), limit=most)
        async with gate:
            found = await find(butler, caller, question)
        return [entry.hit for entry in found.relevant[:most]]

    asked = [text for text in texts if text.strip()] if most else []
    hits = {hit.id: hit for found in await asyncio.gather(*map(search, asked)) for hit in found}
    return tuple(as_known(hit) for hit in hits.values())


def as_known(hit: Hit) -> Known:
    return Known(
        type=hit.type,
        id=hit.id,
        ref=hit.ref,
        content=hit.content,
        subject=hit.subject_label,
        predicate=hit.predicate_label,
        valid_at=hit.valid_at,
        is_warning=hit.maturity == Maturity.ANTI_PATTERN,
    )
