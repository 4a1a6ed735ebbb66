"""Tokens: shown once, recognised until they expire or are revoked, never worth more than their maker."""

from dataclasses import replace
from datetime import timedelta

import pytest

from memory_butler.butler import Butler
from memory_butler.errors import InvalidInput, NotFound, PermissionDenied
from memory_butler.models import Caller, NewToken, Principal, Role
from memory_butler.operations import tokens


def _as(butler: Butler, role: Role) -> Caller:
    return Caller(Principal(butler.settings.tenant, "main", role))


async def test_a_token_says_who_its_bearer_is(butler: Butler) -> None:
    """Tenant, butler and role are the token's own, and its secret is nowhere in what is listed."""
    tenant = butler.settings.tenant
    token, secret = await tokens.create(butler, NewToken(tenant=tenant, butler="chef", role="reader", label="Kitchen"))
    found = await tokens.recognise(butler, secret)
    assert found == Principal(tenant, "chef", Role.READER, name="Kitchen", token_id=token.id)
    (listed,) = (await tokens.listed(butler, tenant)).items
    assert listed == token and secret not in repr(listed)


@pytest.mark.parametrize("spoiled", ["", "x", "mbt_", "mbt_" + "0" * 43])
async def test_what_is_no_token_is_nobody(butler: Butler, spoiled: str) -> None:
    """An invented token is refused with the same words as a revoked one."""
    await tokens.create(butler, NewToken(tenant=butler.settings.tenant, butler="chef"))
    with pytest.raises(PermissionDenied, match="not known, was revoked or has expired"):
        await tokens.recognise(butler, spoiled)


async def test_a_token_ends_with_its_time_or_when_revoked(butler: Butler) -> None:
    """Both at once, for whoever asks the store."""
    tenant, now = butler.settings.tenant, butler.clock()
    _, brief = await tokens.create(
        butler, NewToken(tenant=tenant, butler="chef", expires_at=now + timedelta(minutes=5))
    )
    kept, lasting = await tokens.create(butler, NewToken(tenant=tenant, butler="chef"))
    later = replace(butler, clock=lambda: now + timedelta(minutes=5))
    with pytest.raises(PermissionDenied):
        await tokens.recognise(later, brief)
    assert (await tokens.recognise(later, lasting)).butler == "chef"
    revoked = await tokens.revoke(later, tenant, kept.id)
    assert revoked.revoked_at == now + timedelta(minutes=5)
    with pytest.raises(PermissionDenied):
        await tokens.recognise(later, lasting)


async def test_its_last_use_is_visible(butler: Butler) -> None:
    """To five minutes: the second use inside them is not written down."""
    tenant, now = butler.settings.tenant, butler.clock()
    _, secret = await tokens.create(butler, NewToken(tenant=tenant, butler="chef"))
    for seconds, noted in ((10, 10), (300, 10), (311, 311)):
        await tokens.admit(replace(butler, clock=lambda at=now + timedelta(seconds=seconds): at), secret)
        (listed,) = (await tokens.listed(butler, tenant)).items
        assert listed.last_used_at == now + timedelta(seconds=noted)


@pytest.mark.parametrize("role", [Role.READER, Role.AGENT])
async def test_only_who_governs_hands_out_tokens(butler: Butler, role: Role) -> None:
    """Readers and agents can neither make, list nor revoke them."""
    tenant, caller = butler.settings.tenant, _as(butler, role)
    token, _ = await tokens.create(butler, NewToken(tenant=tenant, butler="chef"))
    with pytest.raises(PermissionDenied):
        await tokens.create(butler, NewToken(tenant=tenant, butler="chef"), caller)
    with pytest.raises(PermissionDenied):
        await tokens.listed(butler, tenant, caller)
    with pytest.raises(PermissionDenied):
        await tokens.revoke(butler, tenant, token.id, caller)


async def test_nobody_hands_out_more_than_they_have(butler: Butler) -> None:
    """An administrator makes no operators and no tokens of other tenants; an operator makes both."""
    tenant, admin, operator = butler.settings.tenant, _as(butler, Role.ADMIN), _as(butler, Role.OPERATOR)
    with pytest.raises(PermissionDenied):
        await tokens.create(butler, NewToken(tenant=tenant, butler="chef", role="operator"), admin)
    with pytest.raises(PermissionDenied):
        await tokens.create(butler, NewToken(tenant=f"{tenant}-x", butler="chef"), admin)
    _, secret = await tokens.create(butler, NewToken(tenant=f"{tenant}-x", butler="chef", role="operator"), operator)
    assert (await tokens.recognise(butler, secret)).tenant == f"{tenant}-x"


async def test_bad_wishes_are_refused(butler: Butler) -> None:
    """A role that does not exist, a time that is over, a token that is not there."""
    tenant = butler.settings.tenant
    with pytest.raises(InvalidInput, match="role must be one of reader, agent, admin, operator"):
        await tokens.create(butler, NewToken(tenant=tenant, butler="chef", role="king"))
    with pytest.raises(InvalidInput, match="expires_at"):
        await tokens.create(butler, NewToken(tenant=tenant, butler="chef", expires_at=butler.clock()))
    with pytest.raises(NotFound):
        await tokens.revoke(butler, tenant, butler.make_id(butler.clock()))
