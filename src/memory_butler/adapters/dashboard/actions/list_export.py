"""A list of memories as a file: JSON, CSV or Markdown."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from memory_butler.adapters.dashboard.server.page_context import PageContext
from memory_butler.english.text.normalize import as_words
from memory_butler.errors import InvalidInput
from memory_butler.models import Episode, Fact
from memory_butler.models.listings import ListedMemory, Listing
from memory_butler.operations.browse import listings
from memory_butler.policy.memories.text import one_line

MAX_MEMORIES = 10_000
_COLUMNS = ("ref", "type", "subject", "predicate", "content", "scope", "tags", "state", "importance", "confidence",
            "happened", "stored", "last_used", "pinned")  # fmt: skip
# A spreadsheet runs a cell that begins with one of these as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


async def read_all(context: PageContext, listing: Listing) -> list[ListedMemory]:
    """All memories of a list, up to the limit."""
    found: list[ListedMemory] = []
    cursor: str | None = None
    while len(found) < MAX_MEMORIES:
        page = await context.run("list_memories", listings.memories, listing, limit=listings.MAX_LIMIT, cursor=cursor)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            break
    return found


def exported(form: str, listed: Sequence[ListedMemory], noun: str) -> tuple[str, bytes]:
    """The name of the file and its content."""
    rows = [_row(one) for one in listed]
    match form:
        case "JSON":
            return f"{noun}.json", json.dumps(rows, ensure_ascii=False, indent=2).encode()
        case "CSV":
            return f"{noun}.csv", _as_csv(rows).encode("utf-8-sig")
        case "Markdown":
            return f"{noun}.md", _as_markdown(rows, noun).encode()
    raise InvalidInput(f"There is no format {form[:40]!r}.", recovery="Choose JSON, CSV or Markdown.")


def _row(listed: ListedMemory) -> dict[str, Any]:
    memory = listed.memory
    fact = memory if isinstance(memory, Fact) else None
    is_episode = isinstance(memory, Episode)
    happened = memory.observed_at if isinstance(memory, Episode) else fact.valid_at if fact else None
    values = (
        f"{memory.type}:{memory.ref}",
        str(memory.type),
        fact.subject_label if fact else None,
        fact.predicate_label if fact else None,
        memory.content,
        memory.butler if isinstance(memory, Episode) else memory.scope,
        list(memory.tags),
        str(memory.validity),
        getattr(memory, "importance", None),
        None if is_episode else round(listed.effective_confidence, 3),
        happened.isoformat() if happened else None,
        memory.created_at.isoformat(),
        memory.last_referenced_at.isoformat() if memory.last_referenced_at else None,
        memory.pinned,
    )
    return dict(zip(_COLUMNS, values, strict=True))


def _as_csv(rows: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    writer.writerows([_cell(row[name]) for name in _COLUMNS] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> str:
    text = " ".join(value) if isinstance(value, list) else "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) and not isinstance(value, int | float) else text


def _as_markdown(rows: Sequence[dict[str, Any]], noun: str) -> str:
    lines = [f"# {noun.capitalize()}", ""]
    for row in rows:
        about = f"**{row['subject']}** {as_words(row['predicate'])}: " if row["subject"] else ""
        tags = "".join(f" #{tag}" for tag in row["tags"])
        lines.append(f"- {about}{one_line(row['content'], len(row['content']))} [{row['ref']}]{tags}")
    return "\n".join([*lines, ""])
