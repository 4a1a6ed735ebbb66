"""What a new fact does to what is already known: decided by structure alone, never by a guess at meaning."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID


class Standing(Protocol):
    """A live memory, as far as it matters here."""

    @property
    def id(self) -> UUID: ...

    @property
    def ref(self) -> str: ...

    @property
    def content(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Coexists:
    """Nothing live stands in its place: it is simply stored."""


@dataclass(frozen=True, slots=True)
class Restates:
    """The same is already known: that memory is confirmed instead of getting a twin."""

    known: Standing


@dataclass(frozen=True, slots=True)
class Replaces:
    """The property had another value: the old fact is superseded, both are kept."""

    old: Standing


Decision = Coexists | Restates | Replaces


def decide(content: str, *, is_event: bool, known: Standing | None) -> Decision:
    """`known` is the live fact of the same property, or for an event the live record of the same occurrence."""
    if known is None:
        return Coexists()
    if is_event or known.content == content:
        return Restates(known)
    return Replaces(known)
