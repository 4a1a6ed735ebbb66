"""What a vector index is made of."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """An index: its kind, and what it is built with, by name."""

    kind: str
    options: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return f"{self.kind} ({', '.join(f'{name} {value}' for name, value in self.options)})"
