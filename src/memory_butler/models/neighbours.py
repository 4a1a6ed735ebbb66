"""Neighbours of a search result."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from memory_butler.models.vocabulary import MemoryType


class NeighbourRelation(StrEnum):
    """Relation of a neighbour: a turn of the same agent session, a fact of the same subject, or the source episode."""

    BEFORE = "before"
    AFTER = "after"
    SAME_SUBJECT = "same_subject"
    SOURCE = "source"


class Neighbour(NamedTuple):
    """A neighbour; fields in the order of the SQL statement. Without content it is elsewhere in the answer."""

    type: MemoryType
    relation: NeighbourRelation
    id: UUID
    ref: str
    content: str | None
    subject_label: str | None
    predicate_label: str | None
    created_at: datetime
    observed_at: datetime | None
    valid_at: datetime | None
