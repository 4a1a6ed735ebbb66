"""Tokens on the command line: made and shown once, listed without their secret, revoked."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from tests.adapters.conftest import Type
from typer.testing import Result

from memory_butler.adapters.cli.tokens import ONCE, parse_expiry
from memory_butler.errors import InvalidInput, NotFound, PermissionDenied
from memory_butler.models import Principal, Role
from memory_butler.operations.access import tokens
from memory_butler.resources import Resources

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
Run = Callable[[Resources], Type]


async def principal_of(resources: Resources, secret: str) -> Principal:
    principal, _ = await tokens.authenticate(resources, secret)
    return principal


def _secret(ran: Result) -> str:
    return str(ran.output.split()[0])


async def test_a_token_is_made_shown_once_and_works(terminal: Run, resources: Resources) -> None:
    """It is the first line that is printed, the next says that it will not be seen again, and it opens the store for
    the one it names."""
    other = f"{resources.settings.tenant}-b"
    ran = await terminal(resources)(
        "token", "create", "--tenant", other, "--butler", "chef", "--role", "reader", "--expires", "90d", "--label", "K"
    )
    assert ran.exit_code == 0 and " ".join(ran.output.split()[1:]).startswith(ONCE)
    listed = await terminal(resources)("token", "list", "--tenant", other)
    assert _secret(ran) not in listed.output and "never" in listed.output and "2026-05-30" in listed.output
    found = await principal_of(resources, _secret(ran))
    assert (found.tenant, found.butler, found.role, found.name) == (other, "chef", Role.READER, "K")


async def test_what_is_left_out_is_as_configured(terminal: Run, resources: Resources) -> None:
    """The configured tenant and butler, an agent, without an end; and as JSON the same."""
    ran = await terminal(resources)("token", "create", "--json")
    made = json.loads(ran.output)
    assert made["token"].startswith("mbt_") and made["note"] == ONCE
    named = {name: made[name] for name in ("tenant", "butler", "role", "expires_at", "revoked_at", "last_used_at")}
    nothing = dict.fromkeys(("expires_at", "revoked_at", "last_used_at"))
    assert named == {"tenant": resources.settings.tenant, "butler": "main", "role": "agent", **nothing}
    listed = json.loads((await terminal(resources)("token", "list", "--json")).output)
    assert listed == {"tokens": [{name: made[name] for name in made if name not in ("token", "note")}], "count": 1}


async def test_a_revoked_token_is_worthless(terminal: Run, resources: Resources) -> None:
    """It says within which time servers notice, is listed as revoked, its id in one piece, and is refused."""
    made = json.loads((await terminal(resources)("token", "create", "--json")).output)
    await principal_of(resources, made["token"])
    ran = await terminal(resources)("token", "revoke", made["id"])
    assert ran.exit_code == 0 and "within 60 seconds" in " ".join(ran.output.split())
    listed = (await terminal(resources)("token", "list")).output
    assert "revoked 2026-03-01" in " ".join(listed.split()) and f"{made['id']}\t" in listed
    with pytest.raises(PermissionDenied):
        await principal_of(resources, made["token"])


async def test_the_person_at_the_machine_leaves_a_trace_in_other_tenants(terminal: Run, resources: Resources) -> None:
    """Listing another tenant's tokens is an event of that tenant; a tenant that does not exist is not made by it."""
    other = f"{resources.settings.tenant}-b"
    ran = await terminal(resources)("token", "list", "--tenant", other)
    assert isinstance(ran.exception, NotFound)
    await terminal(resources)("token", "create", "--tenant", other)
    await terminal(resources)("token", "list", "--tenant", other)
    async with resources.database.read(other) as transaction:
        assert await transaction.one("stats.log") == {"events": 1}


@pytest.mark.parametrize(
    ("given", "when"),
    [
        (None, None),
        ("90d", NOW + timedelta(days=90)),
        (" 12H ", NOW + timedelta(hours=12)),
        ("30m", NOW + timedelta(minutes=30)),
        ("2w", NOW + timedelta(weeks=2)),
        ("2027-03-31", datetime(2027, 4, 1, tzinfo=UTC)),
        ("2027-03-31T18:00:00+02:00", datetime(2027, 3, 31, 16, tzinfo=UTC)),
        ("2027-03-31T18:00:00Z", datetime(2027, 3, 31, 18, tzinfo=UTC)),
    ],
)
def test_an_end_may_be_a_span_a_date_or_a_moment(given: str | None, when: datetime | None) -> None:
    """A date is good until its end, in UTC."""
    assert parse_expiry(given, NOW) == when


@pytest.mark.parametrize("given", ["", "soon", "90", "90 y", "-3d", "2027-03-31T18:00:00", "2027-13-01", "999999w"])
def test_an_end_that_is_unclear_is_refused(given: str) -> None:
    """Rather than a token that ends at another time than was meant."""
    with pytest.raises(InvalidInput):
        parse_expiry(given, NOW)


@pytest.mark.parametrize(
    "arguments", [["create", "--role", "king"], ["create", "--expires", "2020-01-01"], ["revoke", "7"]]
)
async def test_what_cannot_be_is_said(terminal: Run, resources: Resources, arguments: list[str]) -> None:
    """A role there is not, an end in the past, an id that is none."""
    assert isinstance((await terminal(resources)("token", *arguments)).exception, InvalidInput)


async def test_a_label_names_who_changed_something_and_no_butler(resources: Resources) -> None:
    """What a token's bearer stores is its butler's; the label is who is named in the history."""
    from memory_butler.models import Caller, NewFact, NewToken
    from memory_butler.operations.retrieval import get
    from memory_butler.operations.writing import remember

    tenant = resources.settings.tenant
    _, secret = await tokens.create(resources, NewToken(tenant=tenant, butler="chef", label="health"))
    caller = Caller(await principal_of(resources, secret))
    assert caller.principal == Principal(tenant, "chef", Role.AGENT, "health", caller.principal.token_id)
    stored = await remember.fact(resources, NewFact(subject="Anna", predicate="color", content="green"), caller)
    seen = await get.get(resources, "fact", stored.ref, caller)
    assert seen.memory.source_butler == "chef"
    assert seen.events[0].actor == "health"
