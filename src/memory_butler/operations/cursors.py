"""Cursors: where a page of a list ended. Opaque to whoever carries them, good for that list only."""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from memory_butler.errors import InvalidInput
from memory_butler.models.listings import Page

One = TypeVar("One")

VERSION = 1
LONGEST = 1000
_CHECK_BYTES = 9


@dataclass(frozen=True, slots=True)
class Cursors:
    """The cursors of one list: its name, whose it is, and how it was narrowed down."""

    name: str
    tenant: str
    asked: Any = None

    def write(self, place: list[Any]) -> str:
        words = json.dumps([VERSION, place], separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(self._check(words) + words).decode().rstrip("=")

    def read(self, cursor: str | None, *parts: Callable[[Any], Any]) -> list[Any] | None:
        """Where to go on, part by part; None at the beginning. One that was changed, or is another list's, is refused.

        The check keeps out mistakes, not liars: whoever makes up a cursor sees what they may see without it.
        """
        if cursor is None:
            return None
        try:
            raw = base64.b64decode(cursor[:LONGEST] + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
            check, words = raw[:_CHECK_BYTES], raw[_CHECK_BYTES:]
            if check != self._check(words):
                raise ValueError("changed, or of another list")
            version, place = json.loads(words)
            if version != VERSION:
                raise ValueError("of another version")
            return [read(part) for read, part in zip(parts, place, strict=True)]
        except (ValueError, TypeError, OverflowError, RecursionError, binascii.Error):
            raise InvalidInput(
                "The cursor does not belong to this list.",
                recovery="Pass the `cursor` of the page before with the same filters and order, or leave it out.",
            ) from None

    def _check(self, words: bytes) -> bytes:
        asked = asdict(self.asked) if self.asked is not None else None
        about = json.dumps([self.name, self.tenant, asked], default=str, sort_keys=True)
        return hashlib.sha256(about.encode() + b"\0" + words).digest()[:_CHECK_BYTES]


def cut(found: Sequence[One], most: int, cursors: Cursors, place: Callable[[One], list[Any]]) -> Page[One]:
    """A page of what was found, which is one more where the list goes on."""
    page = tuple(found[:most])
    return Page(items=page, cursor=cursors.write(place(page[-1])) if len(found) > most else None)
