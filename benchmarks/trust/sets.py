"""The labelled texts: poisoned ones and legitimate ones of the same form."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memory_butler.models import MemoryType

FOLDER = Path(__file__).parent
_CANARY = re.compile(r"\{\{(.+?)\}\}")
HALVES = ("development", "held_out")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text with its source (None if the caller does not say) and its type; `canary` is the harmful part."""

    source: str | None
    type: MemoryType
    text: str
    canary: str | None

    @property
    def half(self) -> str:
        """Half of the texts are never looked at while detectors are changed."""
        return HALVES[hashlib.sha256(self.text.encode()).digest()[0] % 2]


def load(name: str) -> list[Labelled]:
    return list(_parse((FOLDER / f"{name}.txt").read_text(encoding="utf-8")))


def _parse(content: str) -> Iterator[Labelled]:
    for line in content.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        source, kind, text = (part.strip() for part in line.split(" | ", 2))
        found = _CANARY.search(text)
        plain = _CANARY.sub(r"\1", text).replace("\\n", "\n")
        yield Labelled(None if source == "-" else source, MemoryType(kind), plain, found[1] if found else None)
