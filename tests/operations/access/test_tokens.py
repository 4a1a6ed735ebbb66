"""Tokens: shown once, recognised until they expire or are revoked, never worth more than their maker."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from memory_butler.errors import InvalidInput, NotFound, PermissionDenied
from memory_butler.models import Caller, NewToken, Principal, Role
from memory_butler.operations.access import tokens
from memory_butler.resources import Resources


async def principal_of(resources: Resources, secret: str) -> Principal:
    principal, _ = await tokens.authenticate(resources, secret)
    return principal


def _as(resources: Resources, role: Role) -> Caller:
    return Caller(Principal(resources.settings.tenant, "main", role))


def _at(resources: Resources, now: datetime) -> Resources:
    return replace(resources, clock=lambda: now)


async def test_a_token_says_who_its_bearer_is(resources: Resources) -> None:
    """Tenant, butler and role are the token's own, and its secret is nowhere in what is listed."""
    tenant = resources.settings.tenant
    token, secret = await tokens.create(
        resources, NewToken(tenant=tenant, butler="chef", role="reader", label="Kitchen")
    )
    (listed,) = (await tokens.list_tokens(resources, tenant)).items
    assert listed == token and secret not in repr(listed)
    found = await principal_of(resources, secret)
    assert found == Principal(tenant, "chef", Role.READER, name="Kitchen", token_id=token.id)


@pytest.mark.parametrize("spoiled", ["", "x", "mbt_", "mbt_" + "0" * 43])
async def test_what_is_no_token_is_nobody(resources: Resources, spoiled: str) -> None:
    """An invented token is refused with the same words as a revoked one."""
    await tokens.create(resources, NewToken(tenant=resources.settings.tenant, butler="chef"))
    with pytest.raises(PermissionDenied, match="not known, was revoked or has expired"):
        await principal_of(resources, spoiled)


async def test_a_token_ends_with_its_time_or_when_revoked(resources: Resources) -> None:
    """Both at once, for whoever asks the store."""
    tenant, now = resources.settings.tenant, resources.clock()
    _, brief = await tokens.create(
        resources, NewToken(tenant=tenant, butler="chef", expires_at=now + timedelta(minutes=5))
    )
    kept, lasting = await tokens.create(resources, NewToken(tenant=tenant, butler="chef"))
    later = replace(resources, clock=lambda: now + timedelta(minutes=5))
    with pytest.raises(PermissionDenied):
        await principal_of(later, brief)
    assert (await principal_of(later, lasting)).butler == "chef"
    revoked = await tokens.revoke(later, tenant, kept.id)
    assert revoked.revoked_at == now + timedelta(minutes=5)
    with pytest.raises(PermissionDenied):
        await principal_of(later, lasting)


async def test_its_last_use_is_visible(resources: Resources) -> None:
    """To five minutes: the second use inside them is not written down."""
    tenant, now = resources.settings.tenant, resources.clock()
    _, secret = await tokens.create(resources, NewToken(tenant=tenant, butler="chef"))
    for seconds, noted in ((10, 10), (300, 10), (311, 311)):
        await tokens.authenticate(_at(resources, now + timedelta(seconds=seconds)), secret)
        (listed,) = (await tokens.list_tokens(resources, tenant)).items
        assert listed.last_used_at == now + timedelta(seconds=noted)


@pytest.mark.parametrize("role", [Role.READER, Role.AGENT])
async def test_only_who_governs_hands_out_tokens(resources: Resources, role: Role) -> None:
    """Readers and agents can neither make, list nor revoke them."""
    tenant, caller = resources.settings.tenant, _as(resources, role)
    token, _ = await tokens.create(resources, NewToken(tenant=tenant, butler="chef"))
    with pytest.raises(PermissionDenied):
        await tokens.create(resources, NewToken(tenant=tenant, butler="chef"), caller)
    with pytest.raises(PermissionDenied):
        await tokens.list_tokens(resources, tenant, caller)
    with pytest.raises(PermissionDenied):
        await tokens.revoke(resources, tenant, token.id, caller)


async def test_nobody_hands_out_more_than_they_have(resources: Resources) -> None:
    """An administrator makes no operators and no tokens of other tenants; an operator makes both."""
    tenant, admin, operator = resources.settings.tenant, _as(resources, Role.ADMIN), _as(resources, Role.OPERATOR)
    with pytest.raises(PermissionDenied):
        await tokens.create(resources, NewToken(tenant=tenant, butler="chef", role="operator"), admin)
    with pytest.raises(PermissionDenied):
        await tokens.create(resources, NewToken(tenant=f"{tenant}-x", butler="chef"), admin)
    _, secret = await tokens.create(resources, NewToken(tenant=f"{tenant}-x", butler="chef", role="operator"), operator)
    assert (await principal_of(resources, secret)).tenant == f"{tenant}-x"


async def test_bad_wishes_are_refused(resources: Resources) -> None:
    """A role that does not exist, a time that is over, a token that is not there."""
    tenant = resources.settings.tenant
    with pytest.raises(InvalidInput, match=r"role .* is unknown"):
        await tokens.create(resources, NewToken(tenant=tenant, butler="chef", role="king"))
    with pytest.raises(InvalidInput, match="expires_at"):
        await tokens.create(resources, NewToken(tenant=tenant, butler="chef", expires_at=resources.clock()))
    with pytest.raises(NotFound):
        await tokens.revoke(resources, tenant, resources.make_id(resources.clock()))


async def test_an_admin_cannot_revoke_the_token_of_an_operator(resources: Resources) -> None:
    tenant = resources.settings.tenant
    operator, secret = await tokens.create(
        resources, NewToken(tenant=tenant, butler="ops", role=Role.OPERATOR), resources.local_operator()
    )
    admin = Caller(Principal(tenant, "main", Role.ADMIN))
    with pytest.raises(PermissionDenied, match="Only an operator"):
        await tokens.revoke(resources, tenant, operator.id, admin)
    assert (await principal_of(resources, secret)).role is Role.OPERATOR
    assert (await tokens.revoke(resources, tenant, operator.id, resources.local_operator())).revoked_at
