"""The output of the import command for the data of another product."""

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from memory_butler.adapters.cli.tables.memories import counted_kinds, safe
from memory_butler.models import NewEpisode, NewFact
from memory_butler.operations.transfer.import_foreign import KINDS, Adopted, New

CONTENT_SHOWN = 200


def as_json(done: Adopted) -> dict[str, Any]:
    return {
        "from": done.source,
        "dry_run": done.dry_run,
        "stored": dict(done.stored),
        "superseding": done.superseding,
        "left_out": dict(done.left_out),
        "redacted": dict(done.redacted),
        "examples": [{"type": KINDS[type(new)], "about": _about(new), "content": new.content} for new in done.examples],
    }


def table(done: Adopted) -> RenderableType:
    rows = Table(box=None, pad_edge=False, expand=True)
    rows.add_column("type", width=7)
    rows.add_column("about", no_wrap=True, overflow="ellipsis", width=26)
    rows.add_column("content", no_wrap=True, overflow="ellipsis", ratio=1)
    for new in done.examples:
        content = " ".join(new.content.split())[:CONTENT_SHOWN]
        rows.add_row(*(Text(safe(part)) for part in (KINDS[type(new)], _about(new), content)))
    total = sum(done.stored.values())
    more = f" (the first {len(done.examples)} are shown)" if total > len(done.examples) else ""
    counted = [f"{count:,} {kind}{'s' * (count != 1)}" for kind, count in sorted(done.stored.items())]
    lines = [f"{'Would store' if done.dry_run else 'Stored'} {', '.join(counted) or 'nothing'}{more}."]
    if done.superseding:
        lines.append(f"{done.superseding:,} of the facts supersede an existing fact.")
    lines += [f"Left out {count:,}: {safe(why)}." for why, count in sorted(done.left_out.items())]
    if done.redacted:
        lines.append(f"Redacted {counted_kinds(done.redacted)}.")
    return Group(*([rows] if done.examples else []), *(Text(line.replace("..", ".")) for line in lines))


def _about(new: New) -> str:
    if isinstance(new, NewEpisode):
        return f"{new.butler}, {new.observed_at:%Y-%m-%d}" if new.observed_at else new.butler
    return f"{new.subject}: {new.predicate}" if isinstance(new, NewFact) else new.scope
