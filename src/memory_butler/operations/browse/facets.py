"""The values of a filter with the number of memories in use that have them: suggestions for lists."""

from dataclasses import dataclass
from enum import StrEnum

from memory_butler.models import EVERY_SCOPE, Caller
from memory_butler.policy.access import visibility
from memory_butler.policy.memories.validation import LABEL_CHARACTERS, clean_text, whole_number
from memory_butler.resources import Resources, on_replica
from memory_butler.store.browse import facets

MAX_VALUES = 50


class Facet(StrEnum):
    SUBJECT = "subject"
    PREDICATE = "predicate"
    SCOPE = "scope"
    BUTLER = "butler"
    TAG = "tag"


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetValue:
    value: str
    count: int


@on_replica
async def values(
    resources: Resources, facet: Facet, caller: Caller | None = None, *, words: str = "", limit: int = 12
) -> list[FacetValue]:
    """Returns the most frequent values that contain the words, with their counts."""
    caller = resources.allowed(caller, "list_memories")
    limit = whole_number(limit, "limit", 1, MAX_VALUES)
    wanted = clean_text(words, "words", LABEL_CHARACTERS) if words.strip() else None
    reach = visibility.readable(caller.principal, EVERY_SCOPE if caller.principal.role.governs else None, None)
    async with resources.database.read(caller.principal.tenant) as transaction:
        found = await facets.values(transaction, facet, reach, wanted, limit)
    return [FacetValue(value=value, count=count) for value, count in found]
