"""Supersession: a new fact coexists with, restates or replaces a known one, decided by structure, not meaning."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID


class LiveMemory(Protocol):
    """The fields of a live memory that the decision needs."""

    @property
    def id(self) -> UUID: ...

    @property
    def ref(self) -> str: ...

    @property
    def content(self) -> str: ...

    @property
    def origin(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Coexists:
    """No live fact of the same property or occurrence: the new fact is stored."""


@dataclass(frozen=True, slots=True)
class Restates:
    """The same fact is already stored and is confirmed instead."""

    known: LiveMemory


@dataclass(frozen=True, slots=True)
class Replaces:
    """The property has another value: the old fact is superseded; both are kept."""

    old: LiveMemory


Decision = Coexists | Restates | Replaces


def decide(content: str, *, is_event: bool, known: LiveMemory | None) -> Decision:
    """`known` is the live fact of the same property, or for an event the live record of the same occurrence."""
    if known is None:
        return Coexists()
    if is_event or known.content == content:
        return Restates(known)
    return Replaces(known)
