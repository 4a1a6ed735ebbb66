"""The built-in distiller: no model, no network, deterministic."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from memory_butler.english.extraction import Finding, distil, distil_by_hand
from memory_butler.english.extraction.findings import Draft, fact
from memory_butler.languages.detection import Language, language_of
from memory_butler.languages.speech.introductions import may_introduce, own_name
from memory_butler.languages.speech.utterances import USER, utterances
from memory_butler.languages.speech.vetoes import Veto, vetoes
from memory_butler.models import Batch, DistillerResult
from memory_butler.models.proposals import PROPOSAL_VERSION
from memory_butler.models.vocabulary import BY_HAND

# Shorter batches take a few milliseconds, and a thread would only add overhead.
QUICK_CHARACTERS = 4000
NAME = "name"
# "Ich bin Ute" has two words besides the name, too few for a note.
PLAIN = frozenset({None, Veto.LENGTH, Veto.CHATTER})


class BuiltInDistiller:
    """Turns the findings of the grammar into a proposal. It does not know the stored memories."""

    name = "built-in"
    wants_known = False
    can_read_ahead = True

    def __init__(self) -> None:
        self._is_loaded = False

    async def distil(self, batch: Batch) -> DistillerResult:
        # The first batch loads the grammar, which must not block the event loop.
        if self._is_loaded and sum(map(len, batch.texts.values())) <= QUICK_CHARACTERS:
            return DistillerResult(proposal=propose(batch))
        proposal = await asyncio.to_thread(propose, batch)
        self._is_loaded = True
        return DistillerResult(proposal=proposal)

    async def close(self) -> None:
        return None


@dataclass(slots=True)
class _Item:
    """The latest finding of its key, with all episodes that contain it."""

    finding: Finding
    evidence: list[str] = field(default_factory=list)
    importance: int = 0
    tags: list[str] = field(default_factory=list)

    def add(self, finding: Finding, handle: str) -> None:
        self.finding = finding
        self.importance = max(self.importance, finding.importance)
        self.tags += [tag for tag in finding.tags if tag not in self.tags]
        if handle not in self.evidence:
            self.evidence.append(handle)


def propose(batch: Batch) -> dict[str, Any]:
    """Return the proposal for a batch. Items are in the order of their latest episode, so that the newest one wins."""
    items: dict[tuple[object, ...], _Item] = {}
    for episode in sorted(batch.episodes, key=lambda episode: (episode.observed_at, episode.created_at)):
        text = batch.texts.get(episode.id, "")
        read = distil_by_hand if episode.metadata.get(BY_HAND) is True else distil
        found = read(text, episode.observed_at) + introductions(text)
        for finding in found:
            # The grammar is English. It would misread another language; the sentence is kept as a note instead.
            is_other = language_of(text[finding.span[0] : finding.span[1]]) is Language.OTHER
            if is_other and finding.predicate != NAME:
                continue
            key = _key(finding)
            item = items.pop(key, None) or _Item(finding)
            item.add(finding, f"episode:{episode.ref}")
            items[key] = item
    return {
        "version": PROPOSAL_VERSION,
        "facts": [_fact(item) for item in items.values() if item.finding.kind == "fact"],
        "rules": [_rule(item) for item in items.values() if item.finding.kind == "rule"],
    }


def introductions(text: str) -> list[Finding]:
    """The name of the user, where a sentence in another language gives it."""
    if not may_introduce(text):
        return []
    said = utterances(text)
    own = [one for one, veto in zip(said, vetoes(said), strict=True) if one.speaker == USER and veto in PLAIN]
    named = [(Draft(USER, NAME, own_name(one.text)), (one.start, one.start + len(one.text))) for one in own]
    return [found for draft, span in named if draft.content and (found := fact(draft, span)) is not None]


def _key(finding: Finding) -> tuple[object, ...]:
    if finding.kind == "rule":
        return "rule", finding.content.casefold()
    return "fact", finding.subject.casefold(), finding.predicate, finding.content.casefold(), finding.valid_at


def _fact(item: _Item) -> dict[str, Any]:
    finding = item.finding
    return {
        "subject": finding.subject,
        "predicate": finding.predicate,
        "content": finding.content,
        "permanence": str(finding.permanence),
        "importance": item.importance,
        "tags": item.tags,
        "valid_at": _timestamp(finding.valid_at) if finding.valid_at else None,
        "evidence": item.evidence,
    }


def _rule(item: _Item) -> dict[str, Any]:
    return {"content": item.finding.content, "tags": item.tags, "evidence": item.evidence}


def _timestamp(when: datetime) -> str:
    return when.astimezone(UTC).isoformat().replace("+00:00", "Z")
