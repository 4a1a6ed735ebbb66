"""What stands around a result of a search."""

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from memory_butler.models.vocabulary import MemoryType


class Kinship(StrEnum):
    """How a neighbour belongs to a result: a turn of its session, another fact of its subject, what it came from."""

    BEFORE = "before"
    AFTER = "after"
    SAME_SUBJECT = "same_subject"
    SOURCE = "source"


class Neighbour(NamedTuple):
    """A memory beside a result, in the order of the statement. Without content it is named only: the answer holds it
    at another place."""

    type: MemoryType
    relation: Kinship
    id: UUID
    ref: str
    content: str | None
    subject_label: str | None
    predicate_label: str | None
    created_at: datetime
    observed_at: datetime | None
    valid_at: datetime | None
