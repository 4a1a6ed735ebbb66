"""Sessions: a login holds until it is over, and nobody finds its key in the store."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from tests.conftest import MovingClock

from memory_butler.butler import Butler
from memory_butler.errors import PermissionDenied
from memory_butler.models import NewToken, Principal, Role
from memory_butler.operations import sessions, tokens

Connection = psycopg.Connection[Any]


@pytest.fixture
def anna(tenant: str) -> Principal:
    return Principal(tenant, "chef", Role.ADMIN, name="Anna")


def _with(butler: Butler, **dashboard: float) -> Butler:
    changed = butler.settings.dashboard.model_copy(update=dashboard)
    return replace(butler, settings=butler.settings.model_copy(update={"dashboard": changed}))


async def test_a_login_says_who_it_is_and_ends(butler: Butler, anna: Principal) -> None:
    """Whoever has the key is the person who logged in, in every process, until they leave; another key is nobody's."""
    key, other = await sessions.begin(butler, anna), await sessions.begin(butler, anna)
    login = await sessions.recognise(butler, key)
    assert login and sessions.principal_of(login) == anna
    assert await sessions.recognise(butler, key + "x") is None
    await sessions.end(butler, key)
    assert await sessions.recognise(butler, key) is None
    assert await sessions.recognise(butler, other) is not None


async def test_a_login_is_over_after_its_hours(butler: Butler, clock: MovingClock, anna: Principal) -> None:
    """However busy somebody is: after session_hours they log in again, and the old row is swept away."""
    ours = _with(butler, session_hours=2, idle_minutes=60)
    key = await sessions.begin(ours, anna)
    for _ in range(7):
        clock.move(minutes=17)
        assert await sessions.recognise(ours, key)
    clock.move(minutes=1)
    assert await sessions.recognise(ours, key) is None


@pytest.mark.parametrize("idle_minutes", [0.2, 1, 120])
async def test_only_who_is_away_is_logged_out(
    butler: Butler, clock: MovingClock, anna: Principal, idle_minutes: float
) -> None:
    """Whoever clicks stays, also where little patience is set; a page that asks by itself keeps nobody logged in."""
    ours = _with(butler, idle_minutes=idle_minutes)
    busy, away = await sessions.begin(ours, anna), await sessions.begin(ours, anna)
    for _ in range(4):
        clock.move(minutes=idle_minutes / 4)
        found = await sessions.recognise(ours, away, is_there=False)
        assert await sessions.recognise(ours, busy)
    assert found is None


async def test_a_login_is_worth_what_its_token_is(butler: Butler, clock: MovingClock, tenant: str) -> None:
    """It ends with the token's revocation, and with the token's own time."""
    wanted = NewToken(tenant=tenant, butler="chef", role="admin")
    token, secret = await tokens.create(butler, wanted)
    short, brief = await tokens.create(butler, replace(wanted, expires_at=clock.now.replace(hour=10)))
    key = await sessions.begin(butler, await tokens.recognise(butler, secret))
    other = await sessions.begin(butler, await tokens.recognise(butler, brief))
    assert await sessions.recognise(butler, key) and await sessions.recognise(butler, other)
    await tokens.revoke(butler, tenant, token.id)
    assert await sessions.recognise(butler, key) is None
    clock.move(minutes=61)
    assert short.expires_at and await sessions.recognise(butler, other) is None


async def test_a_login_ends_with_what_was_shown(butler: Butler, clock: MovingClock, anna: Principal) -> None:
    """Where it says by itself until when it holds; what holds for longer does not make a login longer."""
    ours = _with(butler, session_hours=2, idle_minutes=1000)
    short, long = (replace(anna, expires_at=clock.now + timedelta(minutes=minutes)) for minutes in (30, 500))
    brief, usual = await sessions.begin(ours, short), await sessions.begin(ours, long)
    clock.move(minutes=29)
    assert await sessions.recognise(ours, brief) and await sessions.recognise(ours, usual)
    clock.move(minutes=1)
    assert await sessions.recognise(ours, brief) is None and await sessions.recognise(ours, usual)
    with pytest.raises(PermissionDenied, match="has expired"):
        await sessions.begin(ours, short)
    clock.move(minutes=90)
    assert await sessions.recognise(ours, usual) is None


async def test_the_key_is_nowhere_in_the_store(butler: Butler, owner: Connection, anna: Principal) -> None:
    """Only a hash of it is kept, and logins that are over are removed with the next one."""
    key = await sessions.begin(butler, anna)
    rows = owner.execute("SELECT s::text FROM memory.sessions s WHERE tenant_id = %s", (anna.tenant,)).fetchall()
    assert len(rows) == 1 and key not in rows[0][0]
    owner.execute("UPDATE memory.sessions SET created_at = created_at - interval '2 days', expires_at = created_at"
                  " - interval '1 day' WHERE tenant_id = %s", (anna.tenant,))  # fmt: skip
    await sessions.begin(butler, anna)
    left = owner.execute("SELECT count(*) FROM memory.sessions WHERE tenant_id = %s", (anna.tenant,)).fetchone()
    assert left == (1,)
