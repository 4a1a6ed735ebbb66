"""Parameters of vector indexes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """Kind and build options of an index."""

    kind: str
    options: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return f"{self.kind} ({', '.join(f'{name} {value}' for name, value in self.options)})"
