"""What other memories have left, as memories of ours: one small file for each format, and how it is shown."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from memory_butler.adapters.importers import (
    claude_code,
    claude_mem,
    markdown,
    mcp_memory,
    mcp_memory_service,
    mem0,
)
from memory_butler.adapters.tables import safe
from memory_butler.errors import InvalidInput
from memory_butler.models import NewEpisode, NewFact
from memory_butler.operations.adopt import KINDS, Adopted, New, Parsed

CONTENT_SHOWN = 200

# Reads what is at a path, for a butler, whose own the notes become that are about nobody in particular.
Parser = Callable[[Path, str], Parsed]
FORMATS: dict[str, Parser] = {
    mcp_memory.NAME: mcp_memory.parse,
    mem0.NAME: mem0.parse,
    claude_mem.NAME: claude_mem.parse,
    mcp_memory_service.NAME: mcp_memory_service.parse,
    markdown.NAME: markdown.parse,
    claude_code.NAME: claude_code.parse,
}


def parser_of(name: str) -> Parser:
    if name not in FORMATS:
        raise InvalidInput(f"--from {name!r} is not known.", recovery=f"It is one of: {', '.join(FORMATS)}.")
    return FORMATS[name]


def shape(done: Adopted) -> dict[str, Any]:
    return {
        "from": done.source,
        "dry_run": done.dry_run,
        "stored": dict(done.stored),
        "superseding": done.superseding,
        "left_out": dict(done.left_out),
        "examples": [{"type": KINDS[type(new)], "about": _about(new), "content": new.content} for new in done.examples],
    }


def table(done: Adopted) -> RenderableType:
    shown = Table(box=None, pad_edge=False, expand=True)
    shown.add_column("type", width=7)
    shown.add_column("about", no_wrap=True, overflow="ellipsis", width=26)
    shown.add_column("content", no_wrap=True, overflow="ellipsis", ratio=1)
    for new in done.examples:
        content = " ".join(new.content.split())[:CONTENT_SHOWN]
        shown.add_row(*(Text(safe(part)) for part in (KINDS[type(new)], _about(new), content)))
    total = sum(done.stored.values())
    more = f" (the first {len(done.examples)} are shown)" if total > len(done.examples) else ""
    counted = [f"{count:,} {kind}{'s' * (count != 1)}" for kind, count in sorted(done.stored.items())]
    said = [f"{'Would store' if done.dry_run else 'Stored'} {', '.join(counted) or 'nothing'}{more}."]
    if done.superseding:
        said.append(f"{done.superseding:,} of the facts take the place of one that is there.")
    said += [f"Left out {count:,}: {safe(why)}." for why, count in sorted(done.left_out.items())]
    return Group(*([shown] if done.examples else []), *(Text(line.replace("..", ".")) for line in said))


def _about(new: New) -> str:
    if isinstance(new, NewEpisode):
        return f"{new.butler}, {new.observed_at:%Y-%m-%d}" if new.observed_at else new.butler
    return f"{new.subject}: {new.predicate}" if isinstance(new, NewFact) else new.scope
