"""Shared by the importers: note facts, relations, time parsing, and reading files."""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory_butler.english.text.normalize import as_words
from memory_butler.errors import InvalidInput
from memory_butler.models import NewFact
from memory_butler.operations.writing.memory_writer import content_hash
from memory_butler.policy.memories.text import note_predicate
from memory_butler.policy.memories.validation import FACT_CHARACTERS, NAME_CHARACTERS, TAG_CHARACTERS, TAGS

_BREAKS = ("\n\n", "\n", ". ", " ")
MAX_FILE_BYTES = 500_000_000


def note_facts(
    subject: str, text: str, *, tags: Sequence[str] = (), metadata: dict[str, Any] | None = None
) -> Iterator[NewFact]:
    """Return a text as facts that do not replace others of their subject; a long text is split into several facts."""
    for piece in split_text(text, FACT_CHARACTERS):
        yield NewFact(
            subject=subject[:NAME_CHARACTERS].strip() or "memory",
            predicate=note_predicate(content_hash(piece)),
            content=piece,
            tags=normalized_tags(tags),
            metadata=metadata or {},
        )


def relation_fact(source: str, name: str, target: str, metadata: dict[str, Any]) -> NewFact:
    """Return a relation as a fact. The predicate includes the target, so that relations of one name coexist."""
    return NewFact(
        subject=source[:NAME_CHARACTERS],
        predicate=_short(f"{name}:{target}"),
        content=f"{source} {as_words(name)} {target}",
        metadata=metadata,
    )


def _short(name: str) -> str:
    """Shorten a name to the limit. The digest keeps long names distinct, so that no fact replaces another."""
    if len(name) <= NAME_CHARACTERS:
        return name
    digest = content_hash(name).hex()[:12]
    return f"{name[: NAME_CHARACTERS - 1 - len(digest)]}:{digest}"


def split_text(text: str, longest: int) -> Iterator[str]:
    """Split a text at a paragraph, line, sentence or word break, into parts of at most `longest` characters."""
    rest = text.strip()
    while len(rest) > longest:
        cut = next((at for mark in _BREAKS if (at := rest.rfind(mark, longest // 2, longest)) > 0), longest)
        yield rest[:cut].strip()
        rest = rest[cut:].strip()
    if rest:
        yield rest


def normalized_tags(tags: Sequence[object]) -> tuple[str, ...]:
    """Return distinct lowercase tags, within the limits on length and number."""
    shortened = (str(tag).strip()[:TAG_CHARACTERS].strip() for tag in tags)
    return tuple(dict.fromkeys(tag.casefold() for tag in shortened if tag))[:TAGS]


def parse_time(value: object, *, per_second: int = 1) -> datetime | None:
    """Parse a Unix timestamp (in units of 1/`per_second` seconds) or an ISO 8601 text; None if it is neither."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / per_second, UTC)
        if isinstance(value, str) and re.match(r"\d{4}-", value):
            parsed = datetime.fromisoformat(value)
            return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def origin(source: str, id: object, at: datetime | None) -> dict[str, Any]:
    """Return the metadata of an imported memory: its source, its id there, and its time."""
    return {"imported_from": source, "id": id, **({"said_at": at.isoformat()} if at else {})}


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def read_text_file(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InvalidInput(f"{path} is larger than {MAX_FILE_BYTES // 1_000_000} MB.")
        return path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise InvalidInput(
            f"{path} cannot be read: {problem.strerror or problem}.", recovery="Check the path and its permissions."
        ) from problem
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8 text.", recovery="Convert it to UTF-8 first.") from None


def parse_json(text: str) -> Any:
    """Return None if the text is not valid JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def clean_text(value: object) -> str:
    """Return the stripped text, or an empty string if `value` is not a string."""
    return value.strip() if isinstance(value, str) else ""
