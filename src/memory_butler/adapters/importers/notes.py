"""What every format needs: notes of any length, moments in any form, and files that can be read."""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory_butler.errors import InvalidInput
from memory_butler.models import NewFact
from memory_butler.operations.keeping import content_hash
from memory_butler.policy.admission import FACT_CHARACTERS, NAME_CHARACTERS, TAG_CHARACTERS, TAGS
from memory_butler.policy.wording import note_predicate, spoken

_BREAKS = ("\n\n", "\n", ". ", " ")
FILE_BYTES = 500_000_000


def notes(
    subject: str, text: str, *, tags: Sequence[str] = (), metadata: dict[str, Any] | None = None
) -> Iterator[NewFact]:
    """A text as facts that stand beside all others of their subject; several, if it is too long for one."""
    for piece in pieces(text, FACT_CHARACTERS):
        yield NewFact(
            subject=subject[:NAME_CHARACTERS].strip() or "memory",
            predicate=note_predicate(content_hash(piece)),
            content=piece,
            tags=clean_tags(tags),
            metadata=metadata or {},
        )


def relation(source: str, name: str, target: str, metadata: dict[str, Any]) -> NewFact:
    """That one thing stands in some relation to another. There may be many of the same name, each with its target."""
    return NewFact(
        subject=source[:NAME_CHARACTERS],
        predicate=_short(f"{name}:{target}"),
        content=f"{source} {spoken(name)} {target}",
        metadata=metadata,
    )


def _short(name: str) -> str:
    """A name that is not too long. Two that begin alike stay two, or one fact would take the other's place."""
    if len(name) <= NAME_CHARACTERS:
        return name
    digest = content_hash(name).hex()[:12]
    return f"{name[: NAME_CHARACTERS - 1 - len(digest)]}:{digest}"


def pieces(text: str, longest: int) -> Iterator[str]:
    """A text cut where it pauses."""
    rest = text.strip()
    while len(rest) > longest:
        cut = next((at for mark in _BREAKS if (at := rest.rfind(mark, longest // 2, longest)) > 0), longest)
        yield rest[:cut].strip()
        rest = rest[cut:].strip()
    if rest:
        yield rest


def clean_tags(given: Sequence[object]) -> tuple[str, ...]:
    """Words that can be tags, as many as a memory may have."""
    words = (str(tag).strip()[:TAG_CHARACTERS].strip() for tag in given)
    return tuple(dict.fromkeys(word.casefold() for word in words if word))[:TAGS]


def moment(given: object, *, per_second: int = 1) -> datetime | None:
    """A moment as a number of seconds, or parts of them, since 1970, or as written; None if it is neither."""
    try:
        if isinstance(given, int | float) and not isinstance(given, bool):
            return datetime.fromtimestamp(given / per_second, UTC)
        if isinstance(given, str) and re.match(r"\d{4}-", given):
            found = datetime.fromisoformat(given)
            return found if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def text_of(path: Path) -> str:
    try:
        if path.stat().st_size > FILE_BYTES:
            raise InvalidInput(f"{path} is too large to be what it should be.")
        return path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise InvalidInput(
            f"{path} cannot be read: {problem.strerror or problem}.", recovery="Check the path and who may read it."
        ) from problem
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8 text.", recovery="Convert it to UTF-8 first.") from None


def json_of(text: str) -> Any:
    """What a text says as JSON; None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def words(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
