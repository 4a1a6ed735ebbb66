"""Options and arguments that several commands share."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON.")]
ToolJson = Annotated[bool, typer.Option("--json", help="Print one line of JSON, in the format of the MCP tool.")]
Ref = Annotated[str, typer.Argument(metavar="REF", help="A reference (fact:k3f7 or k3f7), or a type if ID follows.")]
Id = Annotated[str | None, typer.Argument(metavar="ID", help="The id, if REF is only a type.")]
Key = Annotated[str | None, typer.Option(help="Idempotency key: retrying with the same key has no further effect.")]
Reason = Annotated[str | None, typer.Option(help="Reason for the change, stored in its event.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the changes without making them.")]
Tenant = Annotated[
    str | None, typer.Option(help="Tenant to act on (default: yours). Access to another tenant is audited.")
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Also show scores, ranks, tiers and the other details of the ranking.")
]
Types = Annotated[list[str] | None, typer.Option("--type", help="Only fact, rule or episode; can be repeated.")]
TierFilter = Annotated[str | None, typer.Option(help="Only this tier: eden, mid or long.")]
Scope = Annotated[str | None, typer.Option(help="Only this scope (default: 'global' and this butler's own).")]
Mode = Annotated[str, typer.Option(help="hybrid, semantic (embeddings only) or keyword (words only).")]
Limit = Annotated[int | None, typer.Option(help="Maximum number of results (default 10).")]
MinConfidence = Annotated[float | None, typer.Option(help="Minimum confidence, 0–1 (default 0.2).")]
MinRelevance = Annotated[
    float | None, typer.Option(help="Minimum relevance, 0–1 (0 returns the best matches regardless).")
]
Since = Annotated[str | None, typer.Option(metavar="TIME", help="Only memories from this time or later.")]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Only memories from before this time.")]
AsOf = Annotated[
    str | None, typer.Option(metavar="TIME", help="Use the state of the store at this time: 2026-03-01T09:30:00+01:00.")
]
Expand = Annotated[int, typer.Option(help="Number of neighbours to show with each result, 0–5.")]
Deep = Annotated[
    bool,
    typer.Option("--deep", help="Let a cross-encoder look at the best candidates again; see `memory-butler models`."),
]
WithTags = Annotated[list[str] | None, typer.Option("--tag", help="Only with this tag; can be repeated.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; can be repeated.")]
Importance = Annotated[int, typer.Option(help="Importance, 1–10.")]
Source = Annotated[str, typer.Option(help="Where the content comes from: user, agent, import, tool or external.")]
StoreScope = Annotated[str, typer.Option(help="Scope: 'global' (every butler reads it) or a butler's name.")]
