"""Tokens on the command line: made and shown once, listed without their secret, revoked."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from tests.adapters.conftest import Type
from typer.testing import Result

from memory_butler.adapters.cli_tokens import ONCE, moment_in
from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput, NotFound, PermissionDenied
from memory_butler.models import Principal, Role
from memory_butler.operations import tokens

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
Run = Callable[[Butler], Type]


def _secret(ran: Result) -> str:
    return str(ran.output.split()[0])


async def test_a_token_is_made_shown_once_and_works(terminal: Run, butler: Butler) -> None:
    """It is the first line that is printed, the next says that it will not be seen again, and it opens the store for
    the one it names."""
    other = f"{butler.settings.tenant}-b"
    ran = await terminal(butler)(
        "token", "create", "--tenant", other, "--butler", "chef", "--role", "reader", "--expires", "90d", "--label", "K"
    )
    assert ran.exit_code == 0 and " ".join(ran.output.split()[1:]).startswith(ONCE)
    found = await tokens.recognise(butler, _secret(ran))
    assert (found.tenant, found.butler, found.role, found.name) == (other, "chef", Role.READER, "K")
    listed = await terminal(butler)("token", "list", "--tenant", other)
    assert _secret(ran) not in listed.output and "never" in listed.output and "2026-05-30" in listed.output


async def test_what_is_left_out_is_as_configured(terminal: Run, butler: Butler) -> None:
    """The configured tenant and butler, an agent, without an end; and as JSON the same."""
    ran = await terminal(butler)("token", "create", "--json")
    made = json.loads(ran.output)
    assert made["token"].startswith("mbt_") and made["note"] == ONCE
    named = {name: made[name] for name in ("tenant", "butler", "role", "expires_at", "revoked_at", "last_used_at")}
    nothing = dict.fromkeys(("expires_at", "revoked_at", "last_used_at"))
    assert named == {"tenant": butler.settings.tenant, "butler": "main", "role": "agent", **nothing}
    listed = json.loads((await terminal(butler)("token", "list", "--json")).output)
    assert listed == {"tokens": [{name: made[name] for name in made if name not in ("token", "note")}], "count": 1}


async def test_a_revoked_token_is_worthless(terminal: Run, butler: Butler) -> None:
    """It says within which time servers notice, is listed as revoked, its id in one piece, and is refused."""
    made = json.loads((await terminal(butler)("token", "create", "--json")).output)
    await tokens.recognise(butler, made["token"])
    ran = await terminal(butler)("token", "revoke", made["id"])
    assert ran.exit_code == 0 and "within 60 seconds" in " ".join(ran.output.split())
    listed = (await terminal(butler)("token", "list")).output
    assert "revoked 2026-03-01" in " ".join(listed.split()) and f"{made['id']} " in listed
    with pytest.raises(PermissionDenied):
        await tokens.recognise(butler, made["token"])


async def test_the_person_at_the_machine_leaves_a_trace_in_other_tenants(terminal: Run, butler: Butler) -> None:
    """Listing another tenant's tokens is an event of that tenant; a tenant that does not exist is not made by it."""
    other = f"{butler.settings.tenant}-b"
    ran = await terminal(butler)("token", "list", "--tenant", other)
    assert isinstance(ran.exception, NotFound)
    await terminal(butler)("token", "create", "--tenant", other)
    await terminal(butler)("token", "list", "--tenant", other)
    async with butler.database.read(other) as session:
        assert await session.one("stats.log") == {"events": 1}


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
    assert moment_in(given, NOW) == when


@pytest.mark.parametrize("given", ["", "soon", "90", "90 y", "-3d", "2027-03-31T18:00:00", "2027-13-01", "999999w"])
def test_an_end_that_is_unclear_is_refused(given: str) -> None:
    """Rather than a token that ends at another time than was meant."""
    with pytest.raises(InvalidInput):
        moment_in(given, NOW)


@pytest.mark.parametrize(
    "arguments", [["create", "--role", "king"], ["create", "--expires", "2020-01-01"], ["revoke", "7"]]
)
async def test_what_cannot_be_is_said(terminal: Run, butler: Butler, arguments: list[str]) -> None:
    """A role there is not, an end in the past, an id that is none."""
    assert isinstance((await terminal(butler)("token", *arguments)).exception, InvalidInput)


async def test_a_label_names_who_changed_something_and_no_butler(butler: Butler) -> None:
    """What a token's bearer stores is its butler's; the label is who is named in the history."""
    from memory_butler.models import Caller, NewFact, NewToken
    from memory_butler.operations import look, remember

    tenant = butler.settings.tenant
    _, secret = await tokens.create(butler, NewToken(tenant=tenant, butler="chef", label="health"))
    caller = Caller(await tokens.recognise(butler, secret))
    assert caller.principal == Principal(tenant, "chef", Role.AGENT, "health", caller.principal.token_id)
    stored = await remember.fact(butler, NewFact(subject="Anna", predicate="color", content="green"), caller)
    seen = await look.look(butler, "fact", stored.ref, caller)
    assert seen.memory.source_butler == "chef"  # type: ignore[union-attr]
    assert seen.events[0].actor == "health"
