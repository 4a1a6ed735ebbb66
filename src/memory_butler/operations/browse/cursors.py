"""Cursors of paged lists: opaque to the client, valid only for the same list and filters."""

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
MAX_CHARACTERS = 1000
_CHECK_BYTES = 9


@dataclass(frozen=True, slots=True)
class Cursors:
    """Encodes and decodes the cursors of one list: its name, its tenant and its filters."""

    name: str
    tenant: str
    filters: Any = None

    def encode(self, place: list[Any]) -> str:
        body = json.dumps([VERSION, place], separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(self._checksum(body) + body).decode().rstrip("=")

    def decode(self, cursor: str | None, *parts: Callable[[Any], Any]) -> list[Any] | None:
        """Returns the position to continue from, part by part; None at the beginning. Refuses a foreign cursor.

        The checksum catches mistakes, not forgeries: a forged cursor gives no access beyond the caller's own.
        """
        if cursor is None:
            return None
        try:
            raw = base64.b64decode(cursor[:MAX_CHARACTERS] + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
            checksum, body = raw[:_CHECK_BYTES], raw[_CHECK_BYTES:]
            if checksum != self._checksum(body):
                raise ValueError("changed, or of another list")
            version, place = json.loads(body)
            if version != VERSION:
                raise ValueError("of another version")
            return [parse(part) for parse, part in zip(parts, place, strict=True)]
        except (ValueError, TypeError, OverflowError, RecursionError, binascii.Error):
            raise InvalidInput(
                "The cursor does not belong to this list.",
                recovery="Pass the `cursor` of the previous page with the same filters and order, or leave it out.",
            ) from None

    def _checksum(self, body: bytes) -> bytes:
        filters = asdict(self.filters) if self.filters is not None else None
        scope = json.dumps([self.name, self.tenant, filters], default=str, sort_keys=True)
        return hashlib.sha256(scope.encode() + b"\0" + body).digest()[:_CHECK_BYTES]


def cut_page(rows: Sequence[One], limit: int, cursors: Cursors, place: Callable[[One], list[Any]]) -> Page[One]:
    """Returns a page of `limit` rows. One row more than the limit means that there is a next page."""
    page = tuple(rows[:limit])
    return Page(items=page, cursor=cursors.encode(place(page[-1])) if len(rows) > limit else None)
