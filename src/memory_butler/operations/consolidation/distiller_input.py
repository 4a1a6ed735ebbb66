"""Build the input of a distiller: the episodes without recalled text, and related memories."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from memory_butler.models import (
    GLOBAL_SCOPE,
    Batch,
    Caller,
    Episode,
    Hit,
    KnownMemory,
    Maturity,
    MemoryType,
    Question,
    Role,
)
from memory_butler.models.unreadable import Unreadable
from memory_butler.operations.retrieval.ranked_candidates import rank_candidates
from memory_butler.operations.writing.admission import policy_for
from memory_butler.policy.consolidation.recall_loop_guard import line_hashes, strip_recalled
from memory_butler.policy.trust.redaction import redact
from memory_butler.resources import Resources
from memory_butler.store.consolidation import runs
from memory_butler.store.encryption.vault import KeyUnavailable

CONCURRENT_SEARCHES = 4
# Part of an episode that is used as the search query.
QUERY_CHARACTERS = 2_000


async def build_batch(resources: Resources, shard: Caller, episodes: Sequence[Episode], *, with_known: bool) -> Batch:
    """Returns the batch: episode texts without text recalled from memory and without secrets, which
    episodes of earlier versions may have, and, if wanted, the related memories. Raises KeyUnavailable."""
    for episode in episodes:
        if isinstance(episode.content, Unreadable):
            raise KeyUnavailable(f"episode:{episode.ref} cannot be distilled: {episode.content.because}.")
    hashes = {digest for episode in episodes for digest in line_hashes(episode.content)}
    # Private memories of other butlers cannot have been recalled by this one.
    scopes = (shard.principal.butler, GLOBAL_SCOPE)
    async with resources.database.read(shard.principal.tenant) as transaction:
        stored = await runs.stored_hashes(transaction, hashes, scopes) if hashes else set()
    policy = policy_for(resources, shard.principal.tenant, shard.principal.butler)
    texts = await asyncio.to_thread(
        lambda: {one.id: redact(strip_recalled(one.content, stored), policy).text for one in episodes}
    )
    return Batch(
        butler=shard.principal.butler,
        episodes=tuple(episodes),
        texts=texts,
        known=await related_memories(resources, shard, list(texts.values())) if with_known else (),
        now=resources.clock(),
        tenant=shard.principal.tenant,
    )


async def related_memories(resources: Resources, shard: Caller, texts: Sequence[str]) -> tuple[KnownMemory, ...]:
    """Returns the readable memories related to the texts: one search per text, with the permissions of the butler."""
    limit = resources.settings.consolidation.known
    caller = replace(shard, principal=replace(shard.principal, role=Role.AGENT))
    slots = asyncio.Semaphore(CONCURRENT_SEARCHES)

    async def search(text: str) -> list[Hit]:
        question = Question(query=text[:QUERY_CHARACTERS], types=(MemoryType.FACT, MemoryType.RULE), limit=limit)
        async with slots:
            findings = await rank_candidates(resources, caller, question)
        return [entry.hit for entry in findings.relevant[:limit]]

    queries = [text for text in texts if text.strip()] if limit else []
    hits = {hit.id: hit for results in await asyncio.gather(*map(search, queries)) for hit in results}
    return tuple(known_from_hit(hit) for hit in hits.values() if not isinstance(hit.content, Unreadable))


def known_from_hit(hit: Hit) -> KnownMemory:
    return KnownMemory(
        type=hit.type,
        id=hit.id,
        ref=hit.ref,
        content=hit.content,
        subject=hit.subject_label,
        predicate=hit.predicate_label,
        valid_at=hit.valid_at,
        is_warning=hit.maturity == Maturity.ANTI_PATTERN,
    )
