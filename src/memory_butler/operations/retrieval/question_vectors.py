"""The vectors of a question: one for each embedding version that the tenant's memories have.

After a change of the model, or of the way passages are cut, memories keep their vectors until they are embedded again.
A question is embedded for each version, so that it finds all of them.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from memory_butler.ai.embedding import Embedder
from memory_butler.errors import MemoryButlerError, TargetUnavailable
from memory_butler.models import Mode
from memory_butler.models.answers import Reembedding
from memory_butler.resources import Resources
from memory_butler.store.retrieval.embedding_versions import StoredVersion
from memory_butler.store.retrieval.search import EarlierVector, SearchQuery


async def with_vectors(
    resources: Resources, query: SearchQuery, text: str, mode: Mode, *, tenant: str
) -> tuple[SearchQuery, tuple[str, ...]]:
    """The query with the vectors of a text, and what it has to do without: without the model, a hybrid search continues
    with words alone."""
    if mode is Mode.KEYWORD:
        return replace(query, embedding=None, earlier=()), ()
    expected = _others(resources, resources.known_versions.expected(tenant))
    earlier = asyncio.create_task(_earlier_vectors(resources, tenant, text, expected)) if expected else None
    others: Sequence[EarlierVector] = ()
    try:
        vector = (await resources.embedder.embed_query(text)).tolist()
    except TargetUnavailable as problem:
        if mode is Mode.SEMANTIC:
            raise
        return replace(query, embedding=None, earlier=()), (f"searched by words only: {problem.message}",)
    finally:
        if earlier is not None:
            others = await earlier
    return replace(query, embedding=vector, earlier=others), ()


async def _earlier_vectors(
    resources: Resources, tenant: str, text: str, expected: Sequence[int]
) -> Sequence[EarlierVector]:
    """The vectors for versions that the tenant was last seen to have, as far as their models are here."""
    models = await _models(resources, tenant, expected)
    found = await asyncio.gather(
        *(_earlier_vector(resources, version, model, text) for version, model in models if model is not None)
    )
    return [one for one in found if one is not None]


async def _earlier_vector(
    resources: Resources, version: StoredVersion, model: Embedder, text: str
) -> EarlierVector | None:
    try:
        vector = await model.embed_query(text)
    except MemoryButlerError:
        # Said with the answer: no vector of the question has this version.
        return None
    scale, shift = model.version.calibration.relative_to(resources.embedder.version.calibration)
    return EarlierVector(version.id, vector.tolist(), scale, shift)


async def profile_versions(resources: Resources, tenant: str) -> list[int]:
    """The versions of domain profiles that a briefing for the tenant can use."""
    expected = _others(resources, resources.known_versions.expected(tenant))
    domains, found = resources.domains, [resources.domains.version]
    if expected:
        stored = await resources.known_versions.stored(resources.database, tenant, expected)
        found += [domains.version_under(one.name, one.digest) for one in stored]
    return list(dict.fromkeys(found))


async def lacks_vectors(resources: Resources, tenant: str, query: SearchQuery, versions: Mapping[int, int]) -> bool:
    """True if the search has to be repeated: the tenant has memories of a version for which the question has no
    vector, although the model is here."""
    resources.known_versions.learn(tenant, versions)
    missing = _unasked(query, versions) if query.embedding is not None else []
    return any(model is not None for _, model in await _models(resources, tenant, missing)) if missing else False


async def state_of(
    resources: Resources, tenant: str, query: SearchQuery, versions: Mapping[int, int]
) -> tuple[Reembedding | None, tuple[str, ...]]:
    """How many of a tenant's memories are still embedded with an earlier version, and a note if the search could not
    compare some of them by meaning."""
    earlier = sum(count for version, count in versions.items() if version != query.embedding_version)
    if not earlier or query.embedding is None:
        return None, ()
    missing = _unasked(query, versions)
    by_words = sum(versions[version] for version in missing)
    found = Reembedding(memories=sum(versions.values()), earlier=earlier, by_words_only=by_words)
    if not by_words:
        return found, ()
    stored = await resources.known_versions.stored(resources.database, tenant, missing)
    names = ", ".join(dict.fromkeys(one.name for one in stored))
    return found, (
        f"{by_words} of {found.memories} memories were searched by words only: they are embedded with {names}, which is"
        " not available here, until memory-butler index reembed has replaced their vectors",
    )


def _others(resources: Resources, versions: Iterable[int]) -> list[int]:
    return [one for one in versions if one != resources.embedding_version]


def _unasked(query: SearchQuery, versions: Mapping[int, int]) -> list[int]:
    """The versions for which the question has no vector."""
    asked = {query.embedding_version, *(one.version for one in query.earlier)}
    return [version for version in versions if version not in asked]


async def _models(resources: Resources, tenant: str, ids: Iterable[int]) -> list[tuple[StoredVersion, Embedder | None]]:
    """Some versions with their models, as far as they are here."""
    stored = await resources.known_versions.stored(resources.database, tenant, ids)
    return [(one, await resources.earlier_models.find(one.name, one.digest)) for one in stored]
