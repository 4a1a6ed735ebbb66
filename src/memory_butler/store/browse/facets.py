"""Values of a column with the number of memories in use that have them."""

from memory_butler.models import Reach
from memory_butler.store.gate.database import Transaction

_QUERIES = {
    "subject": "facets.subject",
    "predicate": "facets.predicate",
    "scope": "facets.scope",
    "butler": "facets.butler",
    "tag": "facets.tag",
}


async def values(
    transaction: Transaction, facet: str, reach: Reach, words: str | None, limit: int
) -> list[tuple[str, int]]:
    """The most frequent values of `subject`, `predicate`, `scope`, `butler` or `tag` that contain the words."""
    rows = await transaction.all(
        _QUERIES[facet],
        scopes=None if reach.scopes is None else list(reach.scopes),
        butlers=None if reach.butlers is None else list(reach.butlers),
        words=words,
        limit=limit,
    )
    return [(row["value"], row["count"]) for row in rows]
