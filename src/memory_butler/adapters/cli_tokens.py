"""The commands about tokens, by which callers of the service say who they are."""

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_butler.adapters import terminal
from memory_butler.adapters.terminal import settings_of
from memory_butler.errors import InvalidInput

if TYPE_CHECKING:
    from uuid import UUID

    from rich.console import RenderableType

    from memory_butler.butler import Butler
    from memory_butler.models import Token

token_app = typer.Typer(
    no_args_is_help=True, help="Make, list and revoke the tokens of a service's callers.", rich_markup_mode=None
)

Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON.")]
Tenant = Annotated[str | None, typer.Option(help="Whose; the configured tenant's unless named.")]
ONCE = "This is the only time it is shown. Keep it like a password; what is stored is a hash of it."
SPANS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
LONGEST_DAYS = 36_500
PAGE = 100


@token_app.command("create")
def create(
    ctx: typer.Context,
    *,
    tenant: Tenant = None,
    butler: Annotated[str | None, typer.Option(help="Whom the bearer works as; the configured butler.")] = None,
    role: Annotated[str, typer.Option(help="reader, agent, admin or operator.")] = "agent",
    expires: Annotated[
        str | None, typer.Option(metavar="WHEN", help="A span (90d, 12h), a date or a moment; never unless given.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="What it is for; named with what its bearer changes.")] = None,
    as_json: Json = False,
) -> None:
    """Make a token and print it, once."""
    from memory_butler.models import NewToken
    from memory_butler.operations import tokens

    settings = settings_of(ctx)

    async def task(opened: "Butler") -> "tuple[Token, str]":
        wanted = NewToken(
            tenant=tenant or opened.settings.tenant,
            butler=butler or opened.settings.butler,
            role=role,
            label=label,
            expires_at=moment_in(expires, opened.clock()),
        )
        return await tokens.create(opened, wanted, opened.local_operator())

    token, secret = terminal.work(settings, task)
    if as_json:
        terminal.print_json({"token": secret, **shape(token), "note": ONCE})
        return
    console = terminal.console()
    console.print(f"{secret}\n", soft_wrap=True, markup=False)
    until = "for good" if token.expires_at is None else f"until {token.expires_at.isoformat(timespec='minutes')}"
    console.print(
        f"{ONCE}\nIt makes its bearer the {token.role} {token.butler!r} of the tenant {token.tenant!r}, {until}.\n"
        f"To take it back: memory-butler token revoke {token.id}{_named(opened_tenant=settings.tenant, token=token)}",
        soft_wrap=True,
        markup=False,
    )


@token_app.command("list")
def list_(ctx: typer.Context, *, tenant: Tenant = None, as_json: Json = False) -> None:
    """List a tenant's tokens, the newest first: whose, until when, and when they were last used."""
    from memory_butler.models import Token
    from memory_butler.operations import tokens

    async def task(opened: "Butler") -> "tuple[list[Token], datetime]":
        whose, found, cursor = tenant or opened.settings.tenant, list[Token](), None
        while True:
            page = await tokens.listed(opened, whose, opened.local_operator(), limit=PAGE, cursor=cursor)
            found, cursor = [*found, *page.items], page.cursor
            if cursor is None:
                return found, opened.clock()

    found, now = terminal.work(settings_of(ctx), task)
    if as_json:
        terminal.print_json({"tokens": [shape(token) for token in found], "count": len(found)})
    else:
        terminal.console().print(_table(found, now), crop=False)


@token_app.command("revoke")
def revoke(
    ctx: typer.Context,
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The token's id, as `token list` shows it.")],
    *,
    tenant: Tenant = None,
    as_json: Json = False,
) -> None:
    """Make a token worthless. Servers notice within service.token_cache_seconds."""
    from memory_butler.operations import tokens

    wanted, settings = _id(token_id), settings_of(ctx)

    async def task(opened: "Butler") -> "Token":
        return await tokens.revoke(opened, tenant or opened.settings.tenant, wanted, opened.local_operator())

    token = terminal.work(settings, task)
    if as_json:
        terminal.print_json(shape(token))
    else:
        seconds = settings.service.token_cache_seconds
        terminal.console().print(
            f"Revoked {token.label!r}. Servers that have just seen it notice within {seconds:g} seconds.",
            soft_wrap=True,
            markup=False,
        )


def shape(token: "Token") -> dict[str, Any]:
    """A token as every door shows it, without its secret."""
    return {
        "id": str(token.id),
        "tenant": token.tenant,
        "butler": token.butler,
        "role": str(token.role),
        "label": token.label,
        "created_at": _iso(token.created_at),
        "created_by": token.created_by,
        "expires_at": _iso(token.expires_at),
        "revoked_at": _iso(token.revoked_at),
        "last_used_at": _iso(token.last_used_at),
    }


def moment_in(given: str | None, now: datetime) -> datetime | None:
    """When a token ends: a span from now, the end of a day (UTC), or a moment."""
    if given is None:
        return None
    text = given.strip()
    span = re.fullmatch(r"(\d{1,6})\s*([mhdw])", text, re.ASCII | re.IGNORECASE)
    if span:
        length = timedelta(**{SPANS[span[2].lower()]: int(span[1])})
        if length > timedelta(days=LONGEST_DAYS):
            raise InvalidInput(f"--expires {given!r} is more than a hundred years.")
        return now + length
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(
            f"--expires {given!r} is no span, date or moment.",
            recovery="Write it like 90d, 12h, 2027-03-31 or 2027-03-31T18:00:00+02:00.",
        ) from None
    if re.fullmatch(r"[\d-]{8,10}", text):
        return moment.replace(tzinfo=UTC) + timedelta(days=1)
    if moment.tzinfo is None:
        raise InvalidInput(
            f"--expires {given!r} has no time zone.", recovery="Write it like 2027-03-31T18:00:00+02:00, or with a Z."
        )
    return moment


def _id(given: str) -> "UUID":
    from uuid import UUID

    try:
        return UUID(given.strip())
    except ValueError:
        raise InvalidInput(
            f"{given[:80]!r} is not a token's id.", recovery="`memory-butler token list` shows the ids."
        ) from None


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _named(*, opened_tenant: str, token: "Token") -> str:
    return "" if token.tenant == opened_tenant else f" --tenant {token.tenant}"


def _table(found: "list[Token]", now: datetime) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    from memory_butler.adapters.tables import date_of, safe

    if not found:
        return Text("There are no tokens. `memory-butler token create` makes one.")
    table = Table(box=None, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("token", overflow="fold", min_width=36)  # an id, in one piece to be copied
    table.add_column("who", overflow="fold")
    table.add_column("last used", no_wrap=True)
    table.add_column("state", overflow="fold")
    for token in found:
        state = _state(token, now)
        table.add_row(
            Text.assemble((safe(token.label), "bold"), f"\n{token.id}"),
            f"{token.role}\n{token.butler}",
            date_of(token.last_used_at),
            Text(state, style="" if state.startswith("good") else "dim"),
        )
    return table


def _state(token: "Token", now: datetime) -> str:
    if token.revoked_at:
        return f"revoked {token.revoked_at:%Y-%m-%d}"
    if token.expires_at is None:
        return "good"
    return f"{'expired' if token.expires_at <= now else 'good until'} {token.expires_at:%Y-%m-%d}"
