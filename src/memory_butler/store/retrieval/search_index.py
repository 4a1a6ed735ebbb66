"""The search index: the passages and postings of every memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from memory_butler.errors import InvalidInput
from memory_butler.models import MemoryType
from memory_butler.settings import Searchable
from memory_butler.store.gate.database import Row, Transaction
from memory_butler.store.gate.recordsets import recordset
from memory_butler.store.gate.vectors import as_numbers

Vector = Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """Index entries of a memory: its words, the names of its subject and their parts, its n-grams if it may not be in
    English, the vectors of its passages, and its domain profile."""

    words: str
    names: Sequence[str]
    secondary_names: Sequence[str]
    grams: Sequence[str]
    vectors: Sequence[Vector]
    profile: Vector
    profile_version: int
    embedding_version: int
    text_search: str
    # Set if the memory is encrypted: how its text can be found. The other fields then say no more than that.
    search: Searchable | None = None


Named = tuple[MemoryType, UUID, Indexed]


async def add(transaction: Transaction, entries: Sequence[Named]) -> None:
    """Have memories found, by their words, their names and their meaning."""
    await _add_words(transaction, entries)
    await _add_vectors(transaction, entries)


async def replace_vectors(transaction: Transaction, entries: Sequence[Named]) -> None:
    """Give memories other vectors and domain profiles; their words stay."""
    ids = [id for _, id, _ in entries]
    await transaction.send("search_index.clear_passages", ids=ids)
    await transaction.send("search_index.clear_profiles", ids=ids)
    await _add_vectors(transaction, entries)


async def _add_words(transaction: Transaction, entries: Sequence[Named]) -> None:
    for config in {indexed.text_search for _, _, indexed in entries}:
        memories = [_words(one) for one in entries if one[2].text_search == config]
        await transaction.send("search_index.add_postings", config=config, memories=recordset(memories))


async def _add_vectors(transaction: Transaction, entries: Sequence[Named]) -> None:
    for versions in {(one.embedding_version, one.profile_version) for _, _, one in entries}:
        own = [one for one in entries if (one[2].embedding_version, one[2].profile_version) == versions]
        passages = [(kind, id, ordinal, vector) for kind, id, one in own for ordinal, vector in enumerate(one.vectors)]
        await transaction.send(
            "search_index.add_vectors",
            types=[kind for kind, *_ in passages],
            ids=[id for _, id, *_ in passages],
            ordinals=[ordinal for _, _, ordinal, _ in passages],
            embedding_version=versions[0],
            dimensions=len(passages[0][-1]) if passages else 0,
            vectors=as_numbers([vector for *_, vector in passages]),
            profile_types=[kind for kind, _, _ in own],
            profile_ids=[id for _, id, _ in own],
            profile_version=versions[1],
            domains=len(own[0][2].profile),
            profiles=as_numbers([one.profile for _, _, one in own]),
        )


def _words(entry: Named) -> Row:
    kind, id, indexed = entry
    names = [f"@{name}" for name in indexed.names] + [f"#{name}" for name in indexed.secondary_names]
    names += [f"~{gram}" for gram in indexed.grams]
    return {"memory_type": kind, "id": id, "words": indexed.words, "names": names}


async def replace(transaction: Transaction, entries: Sequence[Named]) -> None:
    """Index memories again whose words have changed."""
    await clear(transaction, [id for _, id, _ in entries])
    await add(transaction, entries)


async def clear(transaction: Transaction, ids: Sequence[UUID]) -> None:
    await transaction.send("search_index.clear_postings", ids=list(ids))
    await transaction.send("search_index.clear_passages", ids=list(ids))
    await transaction.send("search_index.clear_profiles", ids=list(ids))


async def after(transaction: Transaction, memory_id: UUID, limit: int) -> list[Row]:
    return await transaction.all("search_index.after", after=memory_id, limit=limit)


async def require_text_search(transaction: Transaction, config: str) -> None:
    """A text search configuration that the database does not know would fail every search and every write."""
    if await transaction.one("search_index.find_text_search", config=config) is None:
        raise InvalidInput(
            f"The database has no text search configuration {config!r}.",
            recovery="Set retrieval.text_search to one it has, such as english, german or simple.",
        )
