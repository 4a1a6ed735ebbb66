"""Commands for API tokens, which authenticate the callers of a service."""

import re
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from memory_butler.adapters.cli import terminal
from memory_butler.adapters.cli.options import Json
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from uuid import UUID

    from rich.console import RenderableType

    from memory_butler.models import Token
    from memory_butler.resources import Resources

token_app = typer.Typer(no_args_is_help=True, help="Create, list and revoke API tokens.", rich_markup_mode=None)

TokenTenant = Annotated[str | None, typer.Option("--tenant", help="Tenant of the token (default: yours).")]
ONCE = "It is shown only once. Store it like a password; the database holds only its hash."
SPANS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
LONGEST_DAYS = 36_500
PAGE = 100


@token_app.command("create")
def create(
    ctx: typer.Context,
    *,
    tenant: TokenTenant = None,
    butler: Annotated[
        str | None, typer.Option(help="Butler that the caller acts as (default: the configured butler).")
    ] = None,
    role: Annotated[str, typer.Option(help="reader, agent, admin or operator.")] = "agent",
    expires: Annotated[
        str | None, typer.Option(metavar="WHEN", help="Lifetime (90d, 12h), date or time (default: never).")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Purpose of the token; shown with the changes made by it.")] = None,
    as_json: Json = False,
) -> None:
    """Create an API token and print it once."""
    from memory_butler.models import NewToken
    from memory_butler.operations.access import tokens

    settings = terminal.settings_of(ctx)

    async def task(opened: "Resources") -> "tuple[Token, str]":
        new = NewToken(
            tenant=tenant or opened.settings.tenant,
            butler=butler or opened.settings.butler,
            role=role,
            label=label,
            expires_at=parse_expiry(expires, opened.clock()),
        )
        return await tokens.create(opened, new, opened.local_operator())

    token, secret = terminal.run_task(settings, task)
    until = "without expiry" if token.expires_at is None else f"until {token.expires_at.isoformat(timespec='minutes')}"
    named = "" if token.tenant == settings.tenant else f" --tenant {token.tenant}"
    text = (
        f"{secret}\n\n{ONCE}\n"
        f"Its caller acts as the {token.role} {token.butler!r} of the tenant {token.tenant!r}, {until}.\n"
        f"To revoke it: memory-butler token revoke {token.id}{named}\n"
    )
    terminal.print_result(as_json, {"token": secret, **asdict(token), "note": ONCE}, text)


@token_app.command("list")
def list_(ctx: typer.Context, *, tenant: TokenTenant = None, as_json: Json = False) -> None:
    """List a tenant's API tokens, the newest first, with role, expiry and last use."""
    from memory_butler.models import Token
    from memory_butler.operations.access import tokens

    async def task(opened: "Resources") -> "tuple[list[Token], datetime]":
        owner, listed, cursor = tenant or opened.settings.tenant, list[Token](), None
        while True:
            page = await tokens.list_tokens(opened, owner, opened.local_operator(), limit=PAGE, cursor=cursor)
            listed, cursor = [*listed, *page.items], page.cursor
            if cursor is None:
                return listed, opened.clock()

    terminal.run_and_print(
        ctx,
        task,
        lambda result: _table(*result),
        lambda result: {"tokens": result[0], "count": len(result[0])},
        crop=False,
    )


@token_app.command("revoke")
def revoke(
    ctx: typer.Context,
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token, as `token list` shows it.")],
    *,
    tenant: TokenTenant = None,
    as_json: Json = False,
) -> None:
    """Revoke an API token. Servers apply it within service.token_cache_seconds."""
    from memory_butler.operations.access import tokens

    parsed_id, settings = _id(token_id), terminal.settings_of(ctx)

    async def task(opened: "Resources") -> "Token":
        return await tokens.revoke(opened, tenant or opened.settings.tenant, parsed_id, opened.local_operator())

    token = terminal.run_task(settings, task)
    seconds = settings.service.token_cache_seconds
    text = f"Revoked {token.label!r}. Servers that cached it stop accepting it within {seconds:g} seconds.\n"
    terminal.print_result(as_json, token, text)


def parse_expiry(argument: str | None, now: datetime) -> datetime | None:
    """The expiry of a token: a lifetime from now, the end of a day (UTC), or a time."""
    if argument is None:
        return None
    text = argument.strip()
    span = re.fullmatch(r"(\d{1,6})\s*([mhdw])", text, re.ASCII | re.IGNORECASE)
    if span:
        length = timedelta(**{SPANS[span[2].lower()]: int(span[1])})
        if length > timedelta(days=LONGEST_DAYS):
            raise InvalidInput(f"--expires {argument!r} is more than a hundred years.")
        return now + length
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"--expires {argument!r} is not a lifetime, date or time.",
            recovery="Use for example 90d, 12h, 2027-03-31 or 2027-03-31T18:00:00+02:00.",
        ) from None
    if re.fullmatch(r"[\d-]{8,10}", text):
        return moment.replace(tzinfo=UTC) + timedelta(days=1)
    if moment.tzinfo is None:
        raise InvalidInput(
            f"--expires {argument!r} has no time zone.",
            recovery="Use ISO 8601, e.g. 2027-03-31T18:00:00+02:00.",
        )
    return moment


def _id(argument: str) -> "UUID":
    from uuid import UUID

    try:
        return UUID(argument.strip())
    except ValueError:
        raise InvalidInput(
            f"{argument[:80]!r} is not a token id.", recovery="`memory-butler token list` shows the ids."
        ) from None


def _table(tokens: "list[Token]", now: datetime) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    from memory_butler.adapters.cli.tables.memories import date_of, safe

    if not tokens:
        return Text("There are no tokens. Create one with `memory-butler token create`.")
    table = Table(box=None, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("token", overflow="fold", min_width=36)  # the whole id, for copying
    table.add_column("role", overflow="fold")
    table.add_column("last used", no_wrap=True)
    table.add_column("state", overflow="fold")
    for token in tokens:
        state = _state(token, now)
        table.add_row(
            Text.assemble((safe(token.label), "bold"), f"\n{token.id}"),
            f"{token.role}\n{token.butler}",
            date_of(token.last_used_at),
            Text(state, style="" if state.startswith("valid") else "dim"),
        )
    return table


def _state(token: "Token", now: datetime) -> str:
    if token.revoked_at:
        return f"revoked {token.revoked_at:%Y-%m-%d}"
    if token.expires_at is None:
        return "valid"
    return f"{'expired' if token.expires_at <= now else 'valid until'} {token.expires_at:%Y-%m-%d}"
