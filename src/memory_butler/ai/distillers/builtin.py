"""The built-in distiller: no model, no network, the same answer every time."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from memory_butler.models import Batch, Distilled
from memory_butler.models.proposals import PROPOSAL_VERSION
from memory_butler.policy.distilling import Found, distil

# Below this it takes a few milliseconds, and a thread would only add to them.
QUICK_CHARACTERS = 4000


class BuiltInDistiller:
    """Turns what the grammar finds into a proposal. It knows nothing of what is stored; applying does the rest."""

    name = "built-in"
    wants_known = False
    can_read_ahead = True

    def __init__(self) -> None:
        self._has_read = False

    async def distil(self, batch: Batch) -> Distilled:
        # The first batch waits for the grammar to be loaded, and nobody else should.
        if self._has_read and sum(map(len, batch.texts.values())) <= QUICK_CHARACTERS:
            return Distilled(proposal=propose(batch))
        proposal = await asyncio.to_thread(propose, batch)
        self._has_read = True
        return Distilled(proposal=proposal)

    async def close(self) -> None:
        return None


@dataclass(slots=True)
class _Item:
    """Something found, as it was said last, with every episode that says it."""

    said: Found
    evidence: list[str] = field(default_factory=list)
    importance: int = 0
    tags: list[str] = field(default_factory=list)

    def add(self, found: Found, handle: str) -> None:
        self.said = found
        self.importance = max(self.importance, found.importance)
        self.tags += [tag for tag in found.tags if tag not in self.tags]
        if handle not in self.evidence:
            self.evidence.append(handle)


def propose(batch: Batch) -> dict[str, Any]:
    """The proposal for a batch. Items are in the order in which they were last said, so that the newest word wins."""
    items: dict[tuple[object, ...], _Item] = {}
    for episode in sorted(batch.episodes, key=lambda one: (one.observed_at, one.created_at)):
        for found in distil(batch.texts.get(episode.id, ""), episode.observed_at):
            key = _key(found)
            item = items.pop(key, None) or _Item(found)
            item.add(found, f"episode:{episode.ref}")
            items[key] = item
    return {
        "version": PROPOSAL_VERSION,
        "facts": [_fact(item) for item in items.values() if item.said.kind == "fact"],
        "rules": [_rule(item) for item in items.values() if item.said.kind == "rule"],
    }


def _key(found: Found) -> tuple[object, ...]:
    if found.kind == "rule":
        return "rule", found.content.casefold()
    return "fact", found.subject.casefold(), found.predicate, found.content.casefold(), found.valid_at


def _fact(item: _Item) -> dict[str, Any]:
    said = item.said
    return {
        "subject": said.subject,
        "predicate": said.predicate,
        "content": said.content,
        "permanence": str(said.permanence),
        "importance": item.importance,
        "tags": item.tags,
        "valid_at": _moment(said.valid_at) if said.valid_at else None,
        "evidence": item.evidence,
    }


def _rule(item: _Item) -> dict[str, Any]:
    return {"content": item.said.content, "tags": item.tags, "evidence": item.evidence}


def _moment(when: datetime) -> str:
    return when.astimezone(UTC).isoformat().replace("+00:00", "Z")
