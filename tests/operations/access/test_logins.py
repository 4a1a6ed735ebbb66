"""Sessions: a login holds until it is over, and nobody finds its key in the store."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from tests.conftest import MovingClock

from memory_butler.errors import PermissionDenied
from memory_butler.models import NewToken, Principal, Role
from memory_butler.operations.access import logins, tokens
from memory_butler.resources import Resources

Connection = psycopg.Connection[Any]


async def principal_of(resources: Resources, secret: str) -> Principal:
    principal, _ = await tokens.authenticate(resources, secret)
    return principal


@pytest.fixture
def anna(tenant: str) -> Principal:
    return Principal(tenant, "chef", Role.ADMIN, name="Anna")


def _with(resources: Resources, **dashboard: float) -> Resources:
    changed = resources.settings.dashboard.model_copy(update=dashboard)
    return replace(resources, settings=resources.settings.model_copy(update={"dashboard": changed}))


async def test_a_login_says_who_it_is_and_ends(resources: Resources, anna: Principal) -> None:
    """Whoever has the key is the person who logged in, in every process, until they leave; another key is nobody's."""
    key, other = await logins.log_in(resources, anna), await logins.log_in(resources, anna)
    login = await logins.authenticate(resources, key)
    assert login and logins.principal_of(login) == anna
    assert await logins.authenticate(resources, key + "x") is None
    await logins.log_out(resources, key)
    assert await logins.authenticate(resources, key) is None
    assert await logins.authenticate(resources, other) is not None


async def test_a_login_is_over_after_its_hours(resources: Resources, clock: MovingClock, anna: Principal) -> None:
    """However busy somebody is: after session_hours they log in again, and the old row is swept away."""
    ours = _with(resources, session_hours=2, idle_minutes=60)
    key = await logins.log_in(ours, anna)
    for _ in range(7):
        clock.move(minutes=17)
        assert await logins.authenticate(ours, key)
    clock.move(minutes=1)
    assert await logins.authenticate(ours, key) is None


@pytest.mark.parametrize("idle_minutes", [0.2, 1, 120])
async def test_only_who_is_away_is_logged_out(
    resources: Resources, clock: MovingClock, anna: Principal, idle_minutes: float
) -> None:
    """Whoever clicks stays, also where little patience is set; a page that asks by itself keeps nobody logged in."""
    ours = _with(resources, idle_minutes=idle_minutes)
    busy, away = await logins.log_in(ours, anna), await logins.log_in(ours, anna)
    for _ in range(4):
        clock.move(minutes=idle_minutes / 4)
        found = await logins.authenticate(ours, away, is_there=False)
        assert await logins.authenticate(ours, busy)
    assert found is None


async def test_a_login_is_worth_what_its_token_is(resources: Resources, clock: MovingClock, tenant: str) -> None:
    """It ends with the token's revocation, and with the token's own time."""
    wanted = NewToken(tenant=tenant, butler="chef", role="admin")
    token, secret = await tokens.create(resources, wanted)
    short, brief = await tokens.create(resources, replace(wanted, expires_at=clock.now.replace(hour=10)))
    key = await logins.log_in(resources, await principal_of(resources, secret))
    other = await logins.log_in(resources, await principal_of(resources, brief))
    assert await logins.authenticate(resources, key) and await logins.authenticate(resources, other)
    await tokens.revoke(resources, tenant, token.id)
    assert await logins.authenticate(resources, key) is None
    clock.move(minutes=61)
    assert short.expires_at and await logins.authenticate(resources, other) is None


async def test_a_login_ends_with_what_was_shown(resources: Resources, clock: MovingClock, anna: Principal) -> None:
    """Where it says by itself until when it holds; what holds for longer does not make a login longer."""
    ours = _with(resources, session_hours=2, idle_minutes=1000)
    short, long = (replace(anna, expires_at=clock.now + timedelta(minutes=minutes)) for minutes in (30, 500))
    brief, usual = await logins.log_in(ours, short), await logins.log_in(ours, long)
    clock.move(minutes=29)
    assert await logins.authenticate(ours, brief) and await logins.authenticate(ours, usual)
    clock.move(minutes=1)
    assert await logins.authenticate(ours, brief) is None and await logins.authenticate(ours, usual)
    with pytest.raises(PermissionDenied, match="has expired"):
        await logins.log_in(ours, short)
    clock.move(minutes=90)
    assert await logins.authenticate(ours, usual) is None


async def test_the_key_is_nowhere_in_the_store(resources: Resources, owner: Connection, anna: Principal) -> None:
    """Only a hash of it is kept, and logins that are over are removed with the next one."""
    key = await logins.log_in(resources, anna)
    rows = owner.execute("SELECT s::text FROM memory.sessions s WHERE tenant_id = %s", (anna.tenant,)).fetchall()
    assert len(rows) == 1 and key not in rows[0][0]
    owner.execute("UPDATE memory.sessions SET created_at = created_at - interval '2 days', expires_at = created_at"
                  " - interval '1 day' WHERE tenant_id = %s", (anna.tenant,))  # fmt: skip
    await logins.log_in(resources, anna)
    left = owner.execute("SELECT count(*) FROM memory.sessions WHERE tenant_id = %s", (anna.tenant,)).fetchone()
    assert left == (1,)
