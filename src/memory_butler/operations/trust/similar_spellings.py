"""Memories with a near spelling of an identifier: listed before something is forgotten or purged, never touched."""

from dataclasses import asdict, dataclass
from uuid import UUID

from memory_butler.english.text.normalize import as_words
from memory_butler.operations.trust.exact_matches import MAX_MEMORIES, Matches, Target, places
from memory_butler.policy.trust import identifiers
from memory_butler.policy.trust.near_spellings import near_prefilter, near_spellings
from memory_butler.resources import Resources
from memory_butler.store.trust import forgetting

LISTED = 50
REFS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarSpelling:
    """A near spelling, how it differs, and the memories that contain it. `refs` are the first of them."""

    spelling: str
    why: str
    count: int
    refs: tuple[str, ...]


async def find_similar(
    resources: Resources, tenant: str, target: Target, matches: Matches
) -> tuple[SimilarSpelling, ...]:
    """The near spellings in memories that do not match, the most frequent first."""
    known = {entry.id for entry in matches.memories}
    found: dict[str, tuple[str, list[tuple[UUID, str]]]] = {}
    seen = 0
    for identifier in _identifiers(target):
        rows = forgetting.that_may_name(
            resources.database,
            tenant,
            target.reach,
            every_state=target.every_state,
            **asdict(near_prefilter(identifier)),
        )
        async for row in rows:
            if row["id"] in known:
                continue
            near = {
                spelling: kind
                for _, texts in places(row)
                for text in texts
                for spelling, kind in near_spellings(text, identifier).items()
                if spelling not in target.texts
            }
            for spelling, kind in near.items():
                memories = found.setdefault(spelling, (kind, []))[1]
                memories.append((row["id"], f"{row['type']}:{row['ref']}"))
            seen += bool(near)
            if seen == MAX_MEMORIES:
                break
    listed = (
        SimilarSpelling(
            spelling=spelling,
            why=kind,
            count=len(memories),
            refs=tuple(ref for _, ref in sorted(memories)[:REFS]),
        )
        for spelling, (kind, memories) in found.items()
    )
    return tuple(sorted(listed, key=lambda entry: (-entry.count, entry.spelling)))[:LISTED]


def _identifiers(target: Target) -> tuple[str, ...]:
    """The identifiers whose near spellings are listed: those of the request, and the name of the subject."""
    name = identifiers.normal_text(as_words(target.subject or ""))
    return tuple(dict.fromkeys(entry for entry in (*target.texts, name) if entry))
