"""The live facts that the items of a proposal may restate, replace or correct."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID

from memory_butler.english.text.normalize import normal_name
from memory_butler.models import Item
from memory_butler.models.unreadable import Unreadable
from memory_butler.policy.consolidation.corrections import corrected
from memory_butler.policy.consolidation.duplicates import same_fact_content
from memory_butler.policy.trust.origin import outranks
from memory_butler.store.consolidation.runs import KnownFact


class KnownFacts:
    """The live facts that items may restate or replace, updated while items are applied."""

    def __init__(self, known: Iterable[KnownFact]) -> None:
        self._by_class = defaultdict[tuple[str, str, datetime | None], list[KnownFact]](list)
        for one in known:
            self.add(one)

    def add(self, one: KnownFact) -> None:
        self._by_class[one.subject, class_of(one.predicate), one.valid_at].append(one)

    def remove(self, one: KnownFact) -> None:
        self._by_class[one.subject, class_of(one.predicate), one.valid_at].remove(one)

    def same(self, item: Item) -> KnownFact | None:
        """Returns a fact with the same statement, possibly in other words."""
        return next((one for one in self._near(item) if same_fact_content(one.content, item.content)), None)

    def scope_of(self, item: Item) -> str | None:
        """Returns the scope in which the property is already stored."""
        predicate = normal_name(item.predicate)
        return next((one.scope for one in self._near(item) if one.predicate == predicate and not item.valid_at), None)

    def current(self, item: Item, scope: str) -> KnownFact | None:
        """Returns the live fact of the same property or, for an event, the live record of the same occurrence."""
        predicate = normal_name(item.predicate)
        for one in self._near(item):
            is_same = (one.predicate, one.scope) == (predicate, scope)
            if is_same and (item.valid_at is None or one.content == item.content):
                return one
        return None

    def _near(self, item: Item) -> list[KnownFact]:
        return self._by_class[normal_name(item.subject), class_of(normal_name(item.predicate)), item.valid_at]


class OlderFacts:
    """The live facts about the people and things that corrections name, in the order of storing, updated while items
    are applied."""

    def __init__(self, known: Iterable[KnownFact]) -> None:
        self._by_id = {one.id: one for one in known}

    def add(self, one: KnownFact) -> None:
        self._by_id[one.id] = one

    def remove(self, memory: UUID) -> None:
        self._by_id.pop(memory, None)

    def corrected_by(
        self, item: Item, origin: str, observed: datetime, evidence_times: Mapping[UUID, datetime]
    ) -> KnownFact | None:
        """Returns the fact that a note corrects. It was said before the note, and by no more trusted source."""
        about = names_of(item)
        older = [
            one
            for one in self._by_id.values()
            if one.subject in about
            and evidence_times.get(one.id, observed) < observed
            and not outranks(one.origin, origin)
            and not isinstance(one.content, Unreadable)
        ]
        return corrected(item, older)


def names_of(item: Item) -> set[str]:
    """Returns the people and things that a note is about, as subjects are stored."""
    return {normal_name(name) for name in (item.subject, *item.mentions)}


def class_of(predicate: str) -> str:
    """Returns the predicate without its value key: `likes` for `likes:tea`."""
    return predicate.partition(":")[0]
