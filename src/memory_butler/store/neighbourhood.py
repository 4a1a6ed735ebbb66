"""What memories and subjects are joined to, with the beginning of what stands there."""

from collections.abc import Sequence
from uuid import UUID

from memory_butler.models import Link, MemoryType, Relation
from memory_butler.models.neighbourhood import Joined, Spot, SpotKind, Subject
from memory_butler.store.database import Row, Session

CHARACTERS = 600


async def links(session: Session, ids: Sequence[UUID], eyes: str | None, each: int) -> dict[UUID, list[Joined]]:
    """The newest links of each memory whose other end a butler may see; with no butler's eyes, all of them."""
    found: dict[UUID, list[Joined]] = {one: [] for one in ids}
    if ids:
        rows = await session.all("neighbourhood.links", ids=list(found), eyes=eyes, each=each, characters=CHARACTERS)
        for row in rows:
            found[row["one_id"]].append(_joined(row))
    return found


async def facts(session: Session, subjects: Sequence[str], scopes: Sequence[str] | None, each: int) -> list[Spot]:
    """Facts of each subject, those in use first."""
    rows = await session.all(
        "neighbourhood.facts", subjects=list(subjects), scopes=_listed(scopes), each=each, characters=CHARACTERS
    )
    return [Spot(kind=SpotKind.FACT, **row) for row in rows]


async def subjects(session: Session, words: str | None, scopes: Sequence[str] | None, limit: int) -> list[Subject]:
    """The subjects with the most facts in use."""
    rows = await session.all("neighbourhood.subjects", words=words, scopes=_listed(scopes), limit=limit)
    return [Subject(**row) for row in rows]


def _joined(row: Row) -> Joined:
    link = Link(
        source_type=MemoryType(row["source_type"]),
        source_id=row["source_id"],
        target_type=MemoryType(row["target_type"]),
        target_id=row["target_id"],
        relation=Relation(row["relation"]),
        created_at=row["created_at"],
        availability=row["availability"],
        other_ref=row["other_ref"],
    )
    other = Spot(
        kind=SpotKind(row["other_type"]),
        id=row["other_id"],
        ref=row["other_ref"],
        **{name: row[name] for name in ("content", "subject", "subject_label", "predicate_label", "validity", "at")},
    )
    return Joined(link=link, other=other)


def _listed(scopes: Sequence[str] | None) -> list[str] | None:
    return None if scopes is None else list(scopes)
